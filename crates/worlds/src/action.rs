//! How a group acts on a world, worked out from its declaration for every element.

use crate::error::{Error, Result};
use crate::spec::Spec;
use equimarl_group::{Element, Group, Plane, Rep, Symmetry, Turn, Types};

/// The action of every group element on agents, actions, pixels, vectors and edges; or that of some turns by any angle, which
/// stand in place of elements ([`GroupAction::of_turns`]).
#[derive(Clone, Debug)]
pub struct GroupAction {
    /// The group of the declaration.
    pub group: Group,
    /// The turns, if they stand in place of the group's elements.
    turns: Vec<Turn>,
    plane: Option<Plane>,
    agents: Option<Vec<Vec<usize>>>,
    /// Where each element sends choices; empty where agents act by vectors.
    actions: Vec<Vec<usize>>,
    /// The matrix of each element on vectors that agents act by, row by row.
    vectors: Vec<Vec<f64>>,
    edge: Vec<Matrix>,
    features: Vec<Matrix>,
    senders: Vec<Vec<Matrix>>,
    /// On what breaks the symmetry; empty if nothing is known to.
    cause: Vec<Matrix>,
}

/// A small square matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
struct Matrix {
    dim: usize,
    entries: Vec<f32>,
}

impl Matrix {
    fn of(rep: &Rep, g: Element) -> Matrix {
        let matrix = rep.matrix(g);
        let dim = matrix.nrows();
        // Nearly whole numbers are whole: then turning by quarters is exact.
        let tidy = |x: f64| if (x - x.round()).abs() < 1e-9 { x.round() } else { x };
        let entries = (0..dim * dim).map(|k| tidy(matrix[(k / dim, k % dim)]) as f32).collect();
        Matrix { dim, entries }
    }

    fn turned(types: &Types, turn: Turn) -> Matrix {
        Matrix { dim: types.dim(), entries: types.matrix(turn).into_iter().map(|x| x as f32).collect() }
    }

    /// Whether it only permutes and negates numbers, which rounds nothing.
    fn is_exact(&self) -> bool {
        self.entries.chunks_exact(self.dim.max(1)).all(|row| {
            row.iter().filter(|x| x.abs() == 1.0).count() == 1
                && row.iter().filter(|x| **x != 0.0).count() == 1
        })
    }

    fn apply(&self, v: &[f32], out: &mut [f32]) {
        for (row, out) in self.entries.chunks_exact(self.dim.max(1)).zip(out) {
            // From the first product on, so that -0 stays what it is.
            let mut products = row.iter().zip(v).map(|(a, b)| a * b);
            let first = products.next().unwrap_or(0.0);
            *out = products.fold(first, |sum, x| sum + x);
        }
    }
}

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

    /// How many elements or turns there are.
    pub fn count(&self) -> usize {
        if self.turns.is_empty() { self.group.order() } else { self.turns.len() }
    }

    /// What an element or a turn is called.
    pub fn name(&self, g: Element) -> String {
        self.turn(g).map_or_else(|| self.group.element_name(g).into(), |turn| turn.to_string())
    }

    /// The turn, if turns stand in place of elements.
    pub fn turn(&self, g: Element) -> Option<Turn> {
        self.turns.get(g).copied()
    }

    /// Whether the group acts on the whole world, and not only on what one agent sees.
    pub fn is_global(&self) -> bool {
        self.agents.is_some()
    }

    /// Where g sends an agent; itself where the group does not act on the whole world.
    pub fn agent(&self, g: Element, agent: usize) -> usize {
        self.agents.as_ref().map_or(agent, |all| all[g][agent])
    }

    /// How many actions an agent chooses from; 0 if it acts by vectors.
    pub fn choices(&self) -> usize {
        self.actions.first().map_or(0, Vec::len)
    }

    /// The action that the agent takes in the transformed world when it takes `action` here.
    #[inline]
    pub fn action(&self, g: Element, action: usize) -> usize {
        self.actions[g][action]
    }

    /// The vector by which the agent acts in the transformed world when it acts by `v` here.
    ///
    /// # Panics
    /// If agents choose: the caller is a program, and it is wrong.
    pub fn vector(&self, g: Element, v: &[f64], out: &mut [f64]) {
        for (row, out) in self.vectors[g].chunks_exact(v.len().max(1)).zip(out) {
            *out = row.iter().zip(v).map(|(a, b)| a * b).sum();
        }
    }

    /// The vector by which the agent acts here when it acts by `v` in the transformed world: matrices are orthogonal.
    ///
    /// # Panics
    /// If agents choose: the caller is a program, and it is wrong.
    pub fn vector_back(&self, g: Element, v: &[f64], out: &mut [f64]) {
        let (matrix, dim) = (&self.vectors[g], v.len());
        for (k, out) in out.iter_mut().enumerate() {
            *out = (0..dim).map(|row| matrix[row * dim + k] * v[row]).sum();
        }
    }

    /// How many numbers a vector has that agents act by; 0 if they choose.
    pub fn vector_dim(&self) -> usize {
        self.vectors.first().map_or(0, |m| (m.len() as f64).sqrt().round() as usize)
    }

    /// Whether g only permutes and negates the numbers of vectors that agents act by, and so maps a box to itself.
    pub fn vector_is_exact(&self, g: Element) -> bool {
        self.vectors.get(g).is_none_or(|m| m.iter().all(|x| *x == 0.0 || x.abs() == 1.0))
    }

    /// How the group turns pixels, where it does.
    pub fn plane(&self) -> Option<&Plane> {
        self.plane.as_ref()
    }

    /// The dimension of edge vectors.
    pub fn edge_dim(&self) -> usize {
        self.edge.first().map_or(0, |m| m.dim)
    }

    /// The dimension of what breaks the symmetry; 0 if nothing is known to.
    pub fn cause_dim(&self) -> usize {
        self.cause.first().map_or(0, |m| m.dim)
    }

    /// What breaks the symmetry, transformed.
    pub fn cause(&self, g: Element, v: &[f32], out: &mut [f32]) {
        if let Some(matrix) = self.cause.get(g) {
            matrix.apply(v, out);
        }
    }

    /// An edge vector, transformed.
    #[inline]
    pub fn edge(&self, g: Element, v: &[f32], out: &mut [f32]) {
        self.edge[g].apply(v, out);
    }

    /// Whether g only permutes and negates the numbers of edge vectors: then transforming them rounds nothing.
    pub fn edge_is_exact(&self, g: Element) -> bool {
        self.edge[g].is_exact()
    }

    /// The same for the feature vectors of agents, or of a kind of senders.
    pub fn features_are_exact(&self, g: Element, kind: Option<usize>) -> bool {
        let matrices = kind.map_or(&self.features, |kind| &self.senders[kind]);
        matrices.get(g).is_none_or(Matrix::is_exact)
    }

    /// The dimension of an agent's feature vector; 0 if it sees an image.
    pub fn features_dim(&self) -> usize {
        self.features.first().map_or(0, |m| m.dim)
    }

    /// The dimension of what is heard of senders of a kind.
    pub fn sender_dim(&self, kind: usize) -> usize {
        self.senders[kind].first().map_or(0, |m| m.dim)
    }

    /// A feature vector, transformed: an agent's, or that of a kind of senders.
    pub fn features(&self, g: Element, kind: Option<usize>, v: &[f32], out: &mut [f32]) {
        let matrices = kind.map_or(&self.features, |kind| &self.senders[kind]);
        if let Some(matrix) = matrices.get(g) {
            matrix.apply(v, out);
        }
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

/// The matrix of an element, row by row; nearly whole numbers are whole.
fn exactly(rep: &Rep, g: Element) -> Vec<f64> {
    let matrix = rep.matrix(g);
    let tidy = |x: f64| if (x - x.round()).abs() < 1e-9 { x.round() } else { x };
    let dim = matrix.nrows();
    (0..dim * dim).map(|k| tidy(matrix[(k / dim, k % dim)])).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Actions, Better, Measure, Over, Senders};

    fn spec() -> Spec {
        let group: Group = "C4".parse().unwrap();
        let names = ["a", "b", "c", "d"].map(String::from).to_vec();
        let actions = Actions::Choice { names, rep: "regular".into(), marks: vec![] };
        Spec { features: "2*trivial + rotation".into(), ..Spec::new("lake", 4, &group, actions) }
    }

    #[test]
    fn a_sound_declaration_is_worked_out() {
        let ring = Spec { agent_moves: Some(vec![vec![1, 2, 3, 0]]), ..spec() };
        let acts = GroupAction::new(&ring).unwrap();
        let group = acts.group.clone();
        for g in group.elements() {
            for h in group.elements() {
                let gh = group.mul(g, h);
                for k in 0..4 {
                    assert_eq!(acts.agent(gh, k), acts.agent(g, acts.agent(h, k)));
                    assert_eq!(acts.action(gh, k), acts.action(g, acts.action(h, k)));
                }
            }
            let mut out = [0.0; 2];
            acts.edge(g, &[3.0, 4.0], &mut out);
            assert_eq!(out[0].abs() + out[1].abs(), 7.0);
        }
        assert_eq!((acts.features_dim(), acts.edge_dim()), (4, 2));
        let quarter = group.element("r").unwrap();
        let mut turned = [0.0; 4];
        acts.features(quarter, None, &[1.0, 2.0, 3.0, 4.0], &mut turned);
        assert_eq!(turned[..2], [1.0, 2.0]);
        assert_eq!(turned[2].abs() + turned[3].abs(), 7.0);
    }

    #[test]
    fn contradictions_are_named_with_their_field() {
        let actions = |names: usize, rep: &str| Actions::Choice {
            names: (0..names).map(|k| k.to_string()).collect(),
            rep: rep.into(),
            marks: vec![],
        };
        let measure = |name: &str, first| Measure {
            name: name.into(),
            title: name.into(),
            unit: String::new(),
            better: Better::Lower,
            over: Over::Steps,
            first,
        };
        let kind =
            |kind: &str, features: &str| Senders { kind: kind.into(), count: 1, features: features.into() };
        for (bad, part) in [
            (Spec { agents: 0, ..spec() }, "`agents` is 0"),
            (Spec { group: "C".into(), ..spec() }, "`group` is `C`"),
            (Spec { features: String::new(), ..spec() }, "agents see nothing"),
            (Spec { image: Some([1, 3, 5]), ..spec() }, "`image` is 3 x 5; what an agent sees is square"),
            (
                Spec { image: Some([1, 5, 5]), group: "C3".into(), actions: actions(3, "regular"), ..spec() },
                "`group` is C3, which does not turn images",
            ),
            (
                Spec { image: Some([1, 5, 5]), ..spec() },
                "and there is an `image`: agents see one or the other",
            ),
            (
                Spec { group: "C3".into(), actions: actions(3, "regular"), ..spec() },
                "`edge` is empty, and C3 does not act on the plane",
            ),
            (Spec { edge: "spin".into(), ..spec() }, "`edge` is `spin`"),
            (Spec { features: "2*trivial + colour".into(), ..spec() }, "`features` is `2*trivial + colour`"),
            (
                Spec { actions: actions(3, "regular"), ..spec() },
                "`actions` has 3 names and a representation of dimension 4",
            ),
            (Spec { actions: actions(2, "rotation"), ..spec() }, "does not permute choices"),
            // Three turns in a row are nothing, and four quarter turns are.
            (Spec { actions: actions(3, "perm[1 2 0]"), ..spec() }, "`actions` is `perm[1 2 0]`"),
            (
                Spec { agent_moves: Some(vec![vec![1, 2, 0, 3]]), ..spec() },
                "`agent_moves` is no action of C4",
            ),
            (Spec { agent_moves: Some(vec![vec![0, 0, 1, 2]]), ..spec() }, "does not send 4 agents"),
            (Spec { agent_moves: Some(vec![]), ..spec() }, "has 0 lists, and C4 has 1 generators"),
            (Spec { measures: vec![measure("a", true), measure("b", true)], ..spec() }, "shown first"),
            (Spec { measures: vec![measure("return", false)], ..spec() }, "needs another name for `return`"),
            (
                Spec { senders: vec![kind("pier", ""), kind("pier", "")], ..spec() },
                "has the kind `pier` twice",
            ),
            (Spec { senders: vec![kind("pier", "2*")], ..spec() }, "`senders` is `2*`"),
            (
                Spec { senders: vec![kind("Stone pier", "")], ..spec() },
                "`senders` has the kind \"Stone pier\"",
            ),
            (Spec { senders: vec![kind("", "")], ..spec() }, "1 to 64 lower-case letters, digits and dashes"),
            (
                Spec { references: vec!["nearest".into()], ..spec() },
                "`references` has `nearest`, which is none of `controllers`",
            ),
            (Spec { references: vec!["random".into()], ..spec() }, "`references` has `random`"),
            (Spec { legal: vec![0; 3], ..spec() }, "`legal` names 3 features, each below 4, for 4 actions"),
            (Spec { legal: vec![0, 1, 2, 9], ..spec() }, "`legal` names 4 features, each below 4"),
            (
                Spec { legal: vec![0, 1, 2, 3], ..spec() },
                "`legal` has feature 0 for action 0, and the group does not move them together",
            ),
        ] {
            let error = GroupAction::new(&bad).unwrap_err().to_string();
            assert!(error.contains("the declaration of `lake`: ") && error.contains(part), "{part}: {error}");
        }
    }
}
