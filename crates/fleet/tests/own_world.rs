//! A fleet runs worlds that it has never heard of: here pumps along a canal, which are not even exact.

mod common;

use common::{agents, team};
use equimarl_fleet::{Fallback, Faults, Host, Moment, RunPlan, Signer, may_meet, pool};
use equimarl_group::Group;
use equimarl_learn::{Choice, Learned};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{
    Actions, Better, Edges, End, Envs, Error, Links, Loose, Measure, Outcome, Over, Result, Spec, Stream,
    Summary, World, permutation, play,
};
use std::sync::Arc;

const SIDE: usize = 15;

/// What is wrong with a world, for those that a fleet has to refuse.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// The step of this number fails.
    Stops(u32),
    /// Every start but the first fails.
    StartsOnce,
    /// The ends of the canal meet in this step.
    Bends(u32),
    /// The first pump hears the second, which hears nobody.
    OneWay,
    /// Neighbours are not in order.
    Unsorted,
    /// Nobody knows where the neighbours are.
    Nowhere,
    /// Images have numbers that are none.
    Blind,
    /// Without a decision, pumps do what they cannot.
    Reckless,
    /// No flaw: it also says how far the neighbours are.
    Deep,
}

/// Three pumps on a line: each has water, and keeps it or pumps some to the left or to the right. Rain falls anywhere.
/// Half a turn exchanges left and right.
struct Canal {
    spec: Arc<Spec>,
    water: Vec<u32>,
    step: u32,
    starts: u32,
    flaw: Flaw,
}

impl Canal {
    fn new(pumps: usize, flaw: Flaw) -> Canal {
        let group: Group = "C2".parse().unwrap();
        let rep = permutation(&group, 3, |g, k| if g == 0 || k == 0 { k } else { 3 - k });
        let names = ["keep", "left", "right"].map(String::from).to_vec();
        let full = Measure {
            name: "full".into(),
            title: "full basins".into(),
            unit: String::new(),
            better: Better::Lower,
            over: Over::Steps,
            first: true,
        };
        let spec = Spec {
            edge: if flaw == Flaw::Deep { "rotation + trivial".into() } else { String::new() },
            agent_moves: Some(vec![(0..pumps).rev().collect()]),
            image: Some([1, SIDE, SIDE]),
            measures: vec![full],
            links: Links::Fixed,
            fallbacks: vec![equimarl_worlds::Fallback { name: "in-turn".into(), cycle: 2 }],
            ..Spec::new("canal", pumps, &group, Actions::Choice { names, rep, marks: vec![] })
        };
        Canal { spec: Arc::new(spec), water: vec![0; pumps], step: 0, starts: 0, flaw }
    }

    fn envs(flaw: Flaw) -> Box<dyn Envs> {
        Box::new(Loose::new(vec![Canal::new(3, flaw)]).unwrap())
    }
}

impl World for Canal {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.starts += 1;
        if self.flaw == Flaw::StartsOnce && self.starts > 1 {
            return Err(Error::BadWorld("the sluice is shut".into()));
        }
        self.step = 0;
        self.water.iter_mut().for_each(|water| *water = stream.below(5));
        Ok(())
    }

    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        if self.flaw == Flaw::Stops(self.step) {
            return Err(Error::BadWorld("the pumps are stuck".into()));
        }
        let before = self.water.clone();
        for (i, &action) in actions.iter().enumerate() {
            if action > 0 && before[i] > 0 {
                self.water[i] -= 1;
                // What is pumped over an end is gone.
                let to = if action == 1 { i.checked_sub(1) } else { Some(i + 1) };
                if let Some(water) = to.and_then(|to| self.water.get_mut(to)) {
                    *water += 1;
                }
            }
        }
        let wet = stream.below(self.water.len() as u32) as usize;
        self.water[wet] += 1;
        self.step += 1;
        let most = self.water.iter().max().copied().unwrap_or(0);
        let end = match (most > 6, self.step) {
            (true, _) => End::Terminated,
            (_, 30) => End::Truncated,
            _ => End::Running,
        };
        Ok(Outcome { reward: -f64::from(most), end })
    }

    /// A block as bright as its basin is full, and a wall where the canal ends.
    fn observe(&self, who: usize, out: &mut [f32]) {
        out.fill(0.0);
        for y in 0..SIDE {
            for x in 0..SIDE {
                let block = (5..10).contains(&y) && (5..10).contains(&x);
                let wall = (who == 0 && x == 0) || (who + 1 == self.water.len() && x + 1 == SIDE);
                out[y * SIDE + x] = match (block, wall) {
                    (true, _) => self.water[who] as f32 / 8.0,
                    (_, true) => 1.0,
                    _ => 0.0,
                };
            }
        }
        if self.flaw == Flaw::Blind {
            out[7] = f32::NAN;
        }
    }

    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let last = self.water.len() - 1;
        let closed = matches!(self.flaw, Flaw::Bends(step) if step <= self.step);
        let meets = |other: usize| agent.abs_diff(other) == 1 || (closed && agent.abs_diff(other) == last);
        let mut others: Vec<usize> = (0..=last).filter(|&other| other != agent && meets(other)).collect();
        match self.flaw {
            Flaw::OneWay if agent == 1 => others.clear(),
            Flaw::Unsorted => others.reverse(),
            _ => {}
        }
        let way = if self.flaw == Flaw::Nowhere { f32::INFINITY } else { 1.0 };
        for other in others {
            let vector = [0.0, if other < agent { way } else { -way }, agent.abs_diff(other) as f32 / 2.0];
            edges.hear(other, if self.flaw == Flaw::Deep { &vector } else { &vector[..2] });
        }
    }

    fn measure(&self, _which: usize, _end: End) -> Option<f64> {
        Some(self.water.iter().filter(|&&water| water > 4).count() as f64)
    }

    /// The pump at the right end goes on pumping to the right.
    fn hold(&self, agent: usize) -> usize {
        match self.flaw {
            Flaw::Reckless => 3,
            _ if agent + 1 == self.water.len() => 2,
            _ => 0,
        }
    }

    fn scene(&self) -> Result<Scene> {
        Ok(Scene::new(3.0, 1.0))
    }
}

fn plan(episodes: u32) -> RunPlan {
    RunPlan { episodes, seed: 4, ..RunPlan::default() }
}

#[test]
fn it_plays_the_very_episodes_that_the_whole_network_plays() {
    plays_the_very_episodes(Flaw::None);
}

#[test]
fn edge_vectors_may_have_any_number_of_numbers() {
    plays_the_very_episodes(Flaw::Deep);
}

fn plays_the_very_episodes(flaw: Flaw) {
    let mut envs = Canal::envs(flaw);
    let (policy, sharing) = team(&*envs, 6);
    let mut learned = Learned::new((*policy).clone(), &sharing, Choice::Sampled, &*envs).unwrap();
    let expected = play(&mut *envs, &mut learned, 12, 4).unwrap();
    let mut host = Host::new(envs, plan(12), (&policy, 5), Signer::Open).unwrap();
    let mut taken = [0; 3];
    pool::run(&mut host, agents(&policy, 3), &Faults::default(), None, 1, &mut |_, moment| {
        moment.iter().flat_map(|m| &m.actions.choices).for_each(|&action| taken[action] += 1);
        Ok(true)
    })
    .unwrap();
    assert_eq!(Summary::of(host.episodes(), host.spec()), expected);
    assert!(expected.measures["full"].mean > 0.0 && taken.iter().all(|&n| n > 10), "{expected:?} {taken:?}");
    assert_eq!((host.report().missed, host.report().refused.total()), (0, 0));
}

#[test]
fn it_needs_the_links_that_are_there_at_the_start() {
    assert_eq!(may_meet(&mut *Canal::envs(Flaw::None)).unwrap(), [vec![1], vec![0, 2], vec![1]]);
    // One that hears another must be heard by it, so both need the link.
    assert_eq!(may_meet(&mut *Canal::envs(Flaw::OneWay)).unwrap(), [vec![1], vec![0, 2], vec![1]]);
}

#[test]
fn its_own_fallback_and_its_own_way_to_hold_still_are_used() {
    let envs = Canal::envs(Flaw::None);
    let (policy, _) = team(&*envs, 6);
    let fallback = Fallback::named("in-turn", envs.spec()).unwrap();
    let mut host = Host::new(envs, plan(2), (&policy, 5), Signer::Open).unwrap();
    let mut team: Vec<_> = agents(&policy, 3).into_iter().map(|a| a.with_fallback(fallback)).collect();
    let last = team.pop().unwrap().with_crash(Some(5));
    team.push(last);
    let deaf = Faults { drop: 1.0, ..Faults::default() };
    let mut moments: Vec<Moment> = vec![];
    pool::run(&mut host, team, &deaf, None, 1, &mut |_, moment| {
        moments.extend(moment);
        Ok(true)
    })
    .unwrap();
    assert!(moments.len() > 8);
    for moment in &moments {
        let step = moment.place.step as usize;
        let turn = step / 2 % 3;
        assert_eq!(moment.actions.choices, [turn, turn, if step < 5 { turn } else { 2 }], "step {step}");
    }
}

/// How a run in a world with a flaw ends.
fn failure(flaw: Flaw, crash: Option<u32>) -> (Host, String) {
    let (policy, _) = team(&*Canal::envs(Flaw::None), 6);
    let mut host = Host::new(Canal::envs(flaw), plan(12), (&policy, 5), Signer::Open).unwrap();
    let team = agents(&policy, 3).into_iter().map(|a| a.with_crash(crash)).collect();
    let ended = pool::run(&mut host, team, &Faults::default(), None, 1, &mut |_, _| Ok(true));
    (host, ended.unwrap_err().to_string())
}

#[test]
fn a_world_that_fails_ends_the_run_and_says_why() {
    let (host, error) = failure(Flaw::Stops(3), None);
    assert_eq!(error, "the world canal stopped in episode 0 at step 3: the pumps are stuck");
    // Agents are told, so that they do not wait for it.
    assert!(host.over() && host.report().steps == 3);
    let (host, error) = failure(Flaw::StartsOnce, None);
    assert_eq!(error, "the world canal stopped in episode 1 at step 0: the sluice is shut");
    assert!(host.over() && host.episodes().len() == 1);
}

#[test]
fn a_world_that_says_nonsense_is_refused() {
    for (flaw, crash, part) in [
        (Flaw::Bends(4), None, "agent 0 hears agent 2, and did not at the start; canal declares"),
        (Flaw::OneWay, None, "agent 0 hears agent 1, but not the other way round"),
        (Flaw::Unsorted, None, "canal says that agent-1 hears [2, 0]"),
        (Flaw::Nowhere, None, "canal says that agent-0 hears [1], from [0.0, -inf]"),
        (Flaw::Blind, None, "canal shows agent-0 the number NaN"),
        (Flaw::Reckless, Some(2), "canal holds agent-0 by action 3, and there are actions 0 to 2"),
    ] {
        let (_, error) = failure(flaw, crash);
        assert!(error.contains(part), "{flaw:?}: {error}");
    }
}

#[test]
fn a_world_that_a_fleet_cannot_live_in_is_refused_before_the_start() {
    let (policy, _) = team(&*Canal::envs(Flaw::None), 6);
    let change = |change: &dyn Fn(&mut Spec)| {
        let mut canal = Canal::new(3, Flaw::None);
        change(Arc::make_mut(&mut canal.spec));
        let envs = Box::new(Loose::new(vec![canal]).unwrap());
        Host::new(envs, plan(1), (&policy, 5), Signer::Open).unwrap_err().to_string()
    };
    let landmark = equimarl_worlds::Senders { kind: "weir".into(), count: 1, features: String::new() };
    for (error, part) in [
        (change(&|spec| spec.world = "lake".into()), "made for the world `canal`, and this is `lake`"),
        (change(&|spec| spec.image = Some([1, 21, 21])), "images of [1, 15, 15] and has 3 actions"),
        (
            change(&|spec| spec.senders = vec![landmark.clone()]),
            "see an image, with edges of 2, and agents of this world see an image, with edges of 2, and 0 of each weir",
        ),
        (
            change(&|spec| spec.edge = "3*trivial".into()),
            "with edges of 2, and agents of this world see an image, with edges of 3",
        ),
    ] {
        assert!(error.contains(part), "{error}");
    }
}
