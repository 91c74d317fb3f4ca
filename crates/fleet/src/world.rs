//! What a fleet asks of a world, whatever world it is.

use crate::error::{Error, Result};
use crate::member::Member;
use crate::shape::Shape;
use equimarl_nn::{Policy, Senses, WorldShape};
use equimarl_worlds::{Edges, Envs, GroupAction, Links, Purpose, Senders, Stream, World};
use std::collections::BTreeSet;

/// An action's number takes a byte in the list of probabilities.
const MAX_ACTIONS: usize = 255;
/// Senders, and numbers that are seen of all of them: more are refused before memory is taken.
const MAX_SENSED: usize = 1 << 22;

/// Refuses a world that a fleet of this policy cannot live in; what its observations have, otherwise.
pub(crate) fn check(envs: &dyn Envs, policy: &Policy) -> Result<Shape> {
    let bad = |why: String| Err(Error::Mismatch(why));
    let (spec, config) = (envs.spec(), policy.config());
    if envs.is_empty() {
        return bad("there is no environment to play in".into());
    }
    let shape = Shape::of(policy)?;
    config.check_world(&WorldShape {
        world: &spec.world,
        agents: spec.agents,
        image: spec.image,
        team_image: spec.team_image,
        actions: spec.actions.count(),
    })?;
    let acts = GroupAction::new(spec)?;
    let kinds = spec.senders.iter().enumerate();
    config.check_senses(&Senses {
        features: acts.features_dim(),
        edge: acts.edge_dim(),
        senders: kinds.map(|(kind, s)| (s.kind.as_str(), acts.sender_dim(kind))).collect(),
    })?;
    // A world that declares none has none that could be told: zeros are, whatever else may break it (a main road).
    if shape.cause > 0 && ![0, shape.cause].contains(&acts.cause_dim()) {
        return bad(format!(
            "this network must be told what breaks the symmetry, in {} numbers, and {} as it is here has {} of them",
            shape.cause,
            spec.world,
            acts.cause_dim()
        ));
    }
    if policy.acts_by_vectors() != spec.actions.vectors().is_some() {
        let does = |vectors: bool| if vectors { "act by vectors" } else { "choose" };
        let by_vectors = policy.acts_by_vectors();
        return bad(format!(
            "this model was made for agents that {}, and agents of {} {}",
            does(by_vectors),
            spec.world,
            does(!by_vectors)
        ));
    }
    // Of a vector, one number more is said: the deviation.
    if spec.actions.count() + usize::from(policy.acts_by_vectors()) > MAX_ACTIONS {
        return bad(format!(
            "agents of {} have {} actions, and messages have room for {MAX_ACTIONS}",
            spec.world,
            spec.actions.count()
        ));
    }
    let sensed = |sum: usize, (of, dim): (&Senders, &usize)| {
        sum.saturating_add(of.count.saturating_mul((*dim).max(1)))
    };
    if spec.senders.iter().zip(&shape.senders).fold(0, sensed) > MAX_SENSED {
        return bad(format!(
            "the senders of {} have more than {MAX_SENSED} numbers, and a host looks at all of them in every step",
            spec.world
        ));
    }
    Ok(shape)
}

/// Whom an agent hears, across edge vectors of `dim` numbers, checked: a world may come from anywhere.
pub(crate) fn hear(world: &dyn World, agent: usize, dim: usize, heard: &mut Edges) -> Result<()> {
    world.neighbours(agent, heard);
    let all = world.agents().saturating_add(world.spec().sender_count());
    let others = heard.from.iter().all(|&j| (j as usize) < all && j as usize != agent);
    let numbers =
        heard.vectors.len() == dim * heard.from.len() && heard.vectors.iter().all(|x| x.is_finite());
    if others && numbers && heard.from.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    Err(Error::Mismatch(format!(
        "{} says that {} hears {:?}, from {:?}; that should be other agents and then senders in the order of their \
         index, with {dim} finite numbers each",
        world.spec().world,
        Member::agent(agent),
        heard.from,
        heard.vectors
    )))
}

/// Whom each agent may ever be a neighbour of, and so needs a link to, in the order of their index.
///
/// Where links are fixed, an episode is started to see them: use environments of your own.
///
/// # Errors
/// If there is no environment, the world does not start, or says nonsense.
pub fn may_meet(envs: &mut dyn Envs) -> Result<Vec<Vec<usize>>> {
    let agents = envs.spec().agents;
    if envs.spec().links == Links::All {
        return Ok((0..agents).map(|i| (0..agents).filter(|&j| j != i).collect()).collect());
    }
    if envs.is_empty() {
        return Err(Error::Mismatch("there is no environment to see who meets whom in".into()));
    }
    envs.start(0, Stream::new(0, Purpose::Evaluation, 0))?;
    let mut links = vec![BTreeSet::new(); agents];
    let (mut heard, dim) = (Edges::default(), GroupAction::new(envs.spec())?.edge_dim());
    for i in 0..agents {
        hear(envs.world(0), i, dim, &mut heard)?;
        // Senders that do not act need no link: an agent senses them.
        for j in heard.from.iter().map(|&j| j as usize).filter(|&j| j < agents) {
            links[i].insert(j);
            // What one says must reach the other.
            links[j].insert(i);
        }
    }
    Ok(links.into_iter().map(|of| of.into_iter().collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::builtin;

    fn meet(name: &str, settings: &[(&str, usize)]) -> Vec<Vec<usize>> {
        let usual = builtin().usual(name).unwrap();
        let world = settings.iter().fold(usual, |world, &(key, value)| world.with(key, value));
        may_meet(&mut *builtin().make(&world, &"C2".parse().unwrap(), 1).unwrap()).unwrap()
    }

    #[test]
    fn drones_may_all_meet() {
        assert_eq!(meet("wildlife", &[("drones", 3)]), [[1, 2], [0, 2], [0, 1]]);
    }

    #[test]
    fn junctions_meet_those_beside_them() {
        let expected: Vec<Vec<usize>> =
            vec![vec![1, 2], vec![0, 3], vec![0, 3, 4], vec![1, 2, 5], vec![2, 5], vec![3, 4]];
        assert_eq!(meet("traffic", &[("rows", 3), ("cols", 2)]), expected);
    }
}
