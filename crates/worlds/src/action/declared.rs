//! From a declaration to the action of every element, with what contradicts itself named by its field.

use super::{GroupAction, Matrix, exactly};
use crate::error::{Error, Result};
use crate::spec::Spec;
use equimarl_group::{Element, Group, Plane, Rep, Symmetry, Turn, Types};

impl GroupAction {
    /// Works out a declaration.
    ///
    /// # Errors
    /// If it contradicts itself; the line names the field.
    pub fn new(spec: &Spec) -> Result<GroupAction> {
        let bad = |field: &str, why: String| {
            Error::BadWorld(format!("the declaration of `{}`: `{field}` {why}", spec.world))
        };
        let parse = |field: &str, group: &Group, text: &str| {
            Rep::parse(group, text).map_err(|e| bad(field, format!("is `{text}`: {e}")))
        };
        if spec.agents == 0 {
            return Err(bad("agents", "is 0, and a team has at least one".into()));
        }
        let group: Group =
            spec.group.parse().map_err(|e| bad("group", format!("is `{}`: {e}", spec.group)))?;
        if spec.image.is_none() && spec.features.is_empty() {
            return Err(bad("features", "is empty, and there is no `image`: agents see nothing".into()));
        }
        for (field, image) in [("image", spec.image), ("team_image", spec.team_image)] {
            if image.is_some_and(|shape| shape.contains(&0)) {
                return Err(bad(field, "has a side of 0".into()));
            }
        }
        if let Some([_, height, width]) = spec.image.filter(|[_, height, width]| height != width) {
            return Err(bad("image", format!("is {height} x {width}; what an agent sees is square")));
        }
        let plane = match (spec.plane.as_str(), spec.image) {
            ("", _) => Plane::new(&group).ok(),
            (text, _) => Some(
                parse("plane", &group, text)
                    .and_then(|rep| Plane::by(&rep).map_err(|e| bad("plane", format!("is `{text}`: {e}"))))?,
            ),
        };
        if spec.image.is_some() && plane.is_none() {
            return Err(bad(
                "group",
                format!("is {group}, which does not turn images; C1, C2, C4, D1, D2 and D4 do"),
            ));
        }
        if spec.image.is_some() && !spec.features.is_empty() {
            let why = format!("is `{}`, and there is an `image`: agents see one or the other", spec.features);
            return Err(bad("features", why));
        }
        let edge = match (spec.edge.as_str(), &plane) {
            ("", Some(plane)) => group
                .elements()
                .map(|g| Matrix {
                    dim: 2,
                    entries: plane.matrix(g).as_flattened().iter().map(|&x| x as f32).collect(),
                })
                .collect(),
            ("", None) => {
                return Err(bad(
                    "edge",
                    format!("is empty, and {group} does not act on the plane: say how edge vectors turn"),
                ));
            }
            (text, _) => {
                let rep = parse("edge", &group, text)?;
                group.elements().map(|g| Matrix::of(&rep, g)).collect()
            }
        };
        let matrices = |field: &str, text: &str| -> Result<Vec<Matrix>> {
            if text.is_empty() {
                return Ok(vec![]);
            }
            let rep = parse(field, &group, text)?;
            Ok(group.elements().map(|g| Matrix::of(&rep, g)).collect())
        };
        let features = matrices("features", &spec.features)?;
        let mut senders = vec![];
        for (i, kind) in spec.senders.iter().enumerate() {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if kind.kind.is_empty() || kind.kind.len() > 64 || !kind.kind.chars().all(plain) {
                let why = "which has to be 1 to 64 lower-case letters, digits and dashes";
                return Err(bad("senders", format!("has the kind {:?}, {why}", kind.kind)));
            }
            if spec.senders[..i].iter().any(|other| other.kind == kind.kind) {
                return Err(bad("senders", format!("has the kind `{}` twice", kind.kind)));
            }
            senders.push(matrices("senders", &kind.features)?);
        }
        let (names, rep) = (spec.actions.names(), spec.actions.rep());
        let actions = parse("actions", &group, rep)?;
        if names.is_empty() || actions.dim() != names.len() {
            return Err(bad(
                "actions",
                format!("has {} names and a representation of dimension {}", names.len(), actions.dim()),
            ));
        }
        let marks = spec.actions.marks().len();
        if marks > 0 && marks != names.len() {
            return Err(bad("actions", format!("has {} names and {marks} marks", names.len())));
        }
        if let Some((bound, _)) = spec.actions.vectors() {
            if !(bound > 0.0 && bound.is_finite()) {
                return Err(bad("actions", format!("has the bound {bound}, which has to be above 0")));
            }
            if !actions.is_orthogonal() {
                return Err(bad("actions", format!("has the representation `{rep}`, which changes lengths")));
            }
        } else if !actions.is_permutation() {
            return Err(bad(
                "actions",
                format!("has the representation `{rep}`, which does not permute choices"),
            ));
        }
        let choose = spec.actions.vectors().is_none();
        let permuted: Vec<Vec<usize>> =
            group.elements().filter(|_| choose).map(|g| permuted(&actions, g)).collect();
        if !choose && !spec.legal.is_empty() {
            return Err(bad("legal", "is about choices, and agents act by vectors".into()));
        }
        check_legal(spec, &features, &permuted).map_err(|why| bad("legal", why))?;
        let agents = match &spec.agent_moves {
            None => None,
            Some(moves) => {
                Some(agent_moves(&group, spec.agents, moves).map_err(|why| bad("agent_moves", why))?)
            }
        };
        if spec.measures.iter().filter(|m| m.first).count() > 1 {
            return Err(bad("measures", "has several that are shown first".into()));
        }
        for (i, measure) in spec.measures.iter().enumerate() {
            let reserved = ["steps", "episodes", "return", "length", "terminated", "evaluation"];
            if spec.measures[..i].iter().any(|m| m.name == measure.name)
                || reserved.contains(&measure.name.as_str())
            {
                return Err(bad(
                    "measures",
                    format!("needs another name for `{}`, which is taken", measure.name),
                ));
            }
        }
        for reference in &spec.references {
            let own = reference != "random" && spec.check_controller(reference).is_ok();
            if !own {
                return Err(bad("references", format!("has `{reference}`, which is none of `controllers`")));
            }
        }
        let vectors = match choose {
            true => vec![],
            false => group.elements().map(|g| exactly(&actions, g)).collect(),
        };
        let (turns, cause) = (vec![], matrices("cause", &spec.cause)?);
        Ok(GroupAction {
            turns,
            actions: permuted,
            vectors,
            plane,
            agents,
            edge,
            features,
            senders,
            cause,
            group,
        })
    }

    /// How some turns of SO(2) or O(2) act, numbered in their order; the first should turn nothing, because number 0 stands for
    /// that. Agents keep their numbers, and everything that agents see and do has to be made of channels that turn.
    ///
    /// # Errors
    /// If it is not, or the declaration contradicts itself.
    pub fn of_turns(spec: &Spec, symmetry: &Symmetry, turns: &[Turn]) -> Result<GroupAction> {
        let own = GroupAction::new(spec)?;
        let bad = |field: &str, why: String| {
            Error::BadWorld(format!("{} is not under {symmetry}: `{field}` {why}", spec.world))
        };
        let still = own.group.elements().all(|g| (0..spec.agents).all(|i| own.agent(g, i) == i));
        if symmetry.is_finite() {
            return Err(bad("group", "has finitely many elements".into()));
        }
        if spec.image.is_some() || !own.is_global() || !still {
            return Err(bad("agents", "are places or see pixels, which turn by quarters at most".into()));
        }
        if spec.actions.vectors().is_none() {
            let why = "are choices, and no permutation of them is a turn by every angle; `actions = continuous` has all turns";
            return Err(bad("actions", why.into()));
        }
        let types = |field: &str, text: &str| {
            let text = if text.is_empty() { "rotation" } else { text };
            Types::parse(symmetry, text).map_err(|error| bad(field, format!("is `{text}`: {error}")))
        };
        let matrices = |field: &str, text: &str| -> Result<Vec<Matrix>> {
            let types = types(field, text)?;
            Ok(turns.iter().map(|&turn| Matrix::turned(&types, turn)).collect())
        };
        let actions = types("actions", spec.actions.rep())?;
        let mut senders = vec![];
        for kind in &spec.senders {
            senders.push(match kind.features.as_str() {
                "" => vec![],
                text => matrices("senders", text)?,
            });
        }
        Ok(GroupAction {
            actions: vec![],
            vectors: turns.iter().map(|&turn| actions.matrix(turn)).collect(),
            plane: None,
            agents: Some(vec![(0..spec.agents).collect(); turns.len()]),
            edge: matrices("edge", &spec.edge)?,
            features: matrices("features", &spec.features)?,
            senders,
            cause: match spec.cause.as_str() {
                "" => vec![],
                text => matrices("cause", text)?,
            },
            turns: turns.to_vec(),
            group: own.group,
        })
    }
}

/// That what says whether an action can be taken is moved as the action is.
fn check_legal(spec: &Spec, features: &[Matrix], actions: &[Vec<usize>]) -> std::result::Result<(), String> {
    let (legal, dim) = (&spec.legal, features.first().map_or(0, |m| m.dim));
    if legal.is_empty() {
        return Ok(());
    }
    if legal.len() != spec.actions.count() || legal.iter().any(|&k| k >= dim) {
        return Err(format!(
            "names {} features, each below {dim}, for {} actions",
            legal.len(),
            spec.actions.count()
        ));
    }
    for (matrix, moved) in features.iter().zip(actions) {
        for (action, &from) in legal.iter().enumerate() {
            let to = legal[moved[action]];
            if matrix.entries[to * dim + from] != 1.0 {
                return Err(format!(
                    "has feature {from} for action {action}, and the group does not move them together"
                ));
            }
        }
    }
    Ok(())
}

/// Where every element sends each of the points that a representation permutes.
fn permuted(rep: &Rep, g: Element) -> Vec<usize> {
    let matrix = rep.matrix(g);
    let image = |k: usize| (0..matrix.nrows()).find(|&row| matrix[(row, k)] > 0.5).unwrap_or(k);
    (0..matrix.ncols()).map(image).collect()
}

/// Where every element sends the agents, from where the generators do.
fn agent_moves(
    group: &Group,
    agents: usize,
    moves: &[Vec<usize>],
) -> std::result::Result<Vec<Vec<usize>>, String> {
    if moves.len() != group.generators().len() {
        return Err(format!(
            "has {} lists, and {group} has {} generators",
            moves.len(),
            group.generators().len()
        ));
    }
    let still: Vec<usize> = (0..agents).collect();
    for list in moves {
        let mut sorted = list.clone();
        sorted.sort_unstable();
        if sorted != still {
            return Err(format!(
                "has the list {list:?}, which does not send {agents} agents to each other's places"
            ));
        }
    }
    // Every element is reached from the identity by generators.
    let mut all: Vec<Option<Vec<usize>>> = vec![None; group.order()];
    all[group.identity()] = Some(still);
    let mut waiting = vec![group.identity()];
    while let Some(g) = waiting.pop() {
        let at = all[g].clone().unwrap_or_default();
        for (&s, list) in group.generators().iter().zip(moves) {
            let image: Vec<usize> = at.iter().map(|&i| list[i]).collect();
            let sg = group.mul(s, g);
            match &all[sg] {
                None => {
                    all[sg] = Some(image);
                    waiting.push(sg);
                }
                Some(known) if *known != image => {
                    return Err(format!(
                        "is no action of {group}: two ways to make {} send the agents to {known:?} and to {image:?}",
                        group.element_name(sg)
                    ));
                }
                Some(_) => {}
            }
        }
    }
    all.into_iter().map(|list| list.ok_or_else(|| "does not reach every element".to_string())).collect()
}
