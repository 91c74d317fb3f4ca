//! A fleet of agents that see feature vectors and sense things that do not act: boats in a harbour.

mod common;

use common::{agents, folder, team};
use equimarl_fleet::audit::Recording;
use equimarl_fleet::{
    Faults, HEADER, Header, Host, Member, MessageKind, MessageLog, Moment, Reason, RunPlan, Signer,
    Workspace, may_meet, pool,
};
use equimarl_group::Group;
use equimarl_learn::{Choice, Learned};
use equimarl_nn::{Policy, Scratch, Sent};
use equimarl_worlds::scene::Scene;
use equimarl_worlds::{
    Actions, Edges, End, Envs, Loose, Outcome, Purpose, Result, Senders, Spec, Stream, Summary, World, moves,
    play,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const BOATS: usize = 5;
const PIERS: [[i32; 2]; 4] = [[3, 0], [0, 3], [-3, 0], [0, -3]];
const BUOYS: usize = 2;
const MOVES: [[i32; 2]; 5] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];

/// What is wrong with a harbour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// The third pier shows what is no number.
    Mist,
    /// Boats hear a buoy that is not there.
    Ghost,
    /// Edge vectors have a number too few.
    Flat,
    /// Boats hear buoys before piers.
    Unsorted,
}

/// Boats bring goods to piers, which wait for some and have a current; buoys drift. Quarter turns turn everything.
struct Harbour {
    spec: Arc<Spec>,
    flaw: Flaw,
    boats: Vec<[i32; 2]>,
    last: Vec<usize>,
    waiting: [u32; 4],
    current: [usize; 4],
    buoys: [[i32; 2]; BUOYS],
    step: u32,
}

impl Harbour {
    fn new(flaw: Flaw) -> Harbour {
        let group: Group = "C4".parse().unwrap();
        let names = ["stay", "down", "right", "up", "left"].map(String::from).to_vec();
        let actions = Actions::Choice { names, rep: moves(&group, &MOVES).unwrap(), marks: vec![] };
        let kind = |kind: &str, count, features: &str| Senders {
            kind: kind.into(),
            count,
            features: features.into(),
        };
        let spec = Spec {
            features: "2*trivial + rotation".into(),
            senders: vec![kind("pier", PIERS.len(), "trivial + rotation"), kind("buoy", BUOYS, "")],
            edge: "rotation + trivial".into(),
            ..Spec::new("harbour", BOATS, &group, actions)
        };
        Harbour {
            spec: Arc::new(spec),
            flaw,
            boats: vec![[0, 0]; BOATS],
            last: vec![0; BOATS],
            waiting: [0; 4],
            current: [0; 4],
            buoys: [[0, 0]; BUOYS],
            step: 0,
        }
    }

    fn envs(flaw: Flaw) -> Box<dyn Envs> {
        Box::new(Loose::new(vec![Harbour::new(flaw)]).unwrap())
    }
}

fn anywhere(stream: &mut Stream) -> [i32; 2] {
    [0, 0].map(|_| stream.below(9) as i32 - 4)
}

fn moved(at: [i32; 2], by: usize) -> [i32; 2] {
    [0, 1].map(|axis| (at[axis] + MOVES[by][axis]).clamp(-4, 4))
}

impl World for Harbour {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.step = 0;
        self.last.fill(0);
        self.boats.iter_mut().for_each(|boat| *boat = anywhere(stream));
        self.buoys.iter_mut().for_each(|buoy| *buoy = anywhere(stream));
        self.waiting = [0; 4].map(|_| stream.below(4));
        self.current = [0; 4].map(|_| stream.below(5) as usize);
        Ok(())
    }

    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        let mut reward = 0.0;
        for (boat, &action) in self.boats.iter_mut().zip(actions) {
            *boat = moved(*boat, action);
            if let Some(pier) = PIERS.iter().position(|pier| pier == boat)
                && self.waiting[pier] > 0
            {
                self.waiting[pier] -= 1;
                reward += 1.0;
            }
        }
        self.last.copy_from_slice(actions);
        self.buoys.iter_mut().for_each(|buoy| *buoy = moved(*buoy, stream.below(5) as usize));
        self.waiting[stream.below(4) as usize] += 1;
        self.step += 1;
        let end = match self.step {
            _ if self.waiting.iter().any(|&w| w > 11) => End::Terminated,
            25 => End::Truncated,
            _ => End::Running,
        };
        Ok(Outcome { reward, end })
    }

    fn observe(&self, who: usize, out: &mut [f32]) {
        let turning = |by: usize| MOVES[by].map(|x| x as f32);
        if let Some(pier) = who.checked_sub(BOATS) {
            if pier >= PIERS.len() {
                return; // of a buoy nothing is seen but where it is
            }
            let [y, x] = turning(self.current[pier]);
            out.copy_from_slice(&[self.waiting[pier] as f32 / 3.0, y, x]);
            if self.flaw == Flaw::Mist && pier == 2 {
                out[1] = f32::NAN;
            }
            return;
        }
        let [y, x] = turning(self.last[who]);
        let far = self.boats[who].iter().map(|x| x.abs()).sum::<i32>();
        out.copy_from_slice(&[far as f32 / 7.0, self.step as f32 / 25.0, y, x]);
    }

    /// Others that are near; boats far from everything hear nobody.
    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        edges.clear();
        let own = self.boats[agent];
        let mut near: Vec<(usize, [i32; 2])> = vec![];
        near.extend(self.boats.iter().copied().enumerate().filter(|&(boat, _)| boat != agent));
        near.extend(PIERS.into_iter().enumerate().map(|(pier, at)| (BOATS + pier, at)));
        near.extend(self.buoys.into_iter().enumerate().map(|(buoy, at)| (BOATS + PIERS.len() + buoy, at)));
        if self.flaw == Flaw::Ghost {
            near.push((BOATS + PIERS.len() + BUOYS, own));
        }
        if self.flaw == Flaw::Unsorted {
            near.reverse();
        }
        for (who, at) in near {
            let [y, x] = [own[0] - at[0], own[1] - at[1]];
            let far = y.abs() + x.abs();
            if far <= 4 {
                let vector = [y as f32 / 4.0, x as f32 / 4.0, far as f32 / 3.0];
                edges.hear(who, if self.flaw == Flaw::Flat { &vector[..2] } else { &vector });
            }
        }
    }

    fn scene(&self) -> Result<Scene> {
        Ok(Scene::new(9.0, 9.0))
    }
}

fn plan(episodes: u32) -> RunPlan {
    RunPlan { episodes, seed: 4, ..RunPlan::default() }
}

fn run(policy: &Arc<Policy>, plan: RunPlan, faults: &Faults, log: Option<MessageLog>) -> (Host, Vec<Moment>) {
    let mut host = Host::new(Harbour::envs(Flaw::None), plan, (policy, 5), Signer::Open).unwrap();
    let mut moments = vec![];
    pool::run(&mut host, agents(policy, BOATS), faults, log, 1, &mut |_, moment| {
        moments.extend(moment);
        Ok(true)
    })
    .unwrap();
    (host, moments)
}

#[test]
fn it_plays_the_very_episodes_that_the_whole_network_plays() {
    let mut envs = Harbour::envs(Flaw::None);
    let (policy, sharing) = team(&*envs, 6);
    for choice in [Choice::Sampled, Choice::Greedy] {
        let mut learned = Learned::new((*policy).clone(), &sharing, choice, &*envs).unwrap();
        let expected = play(&mut *envs, &mut learned, 12, 4).unwrap();
        let (host, moments) = run(&policy, RunPlan { choice, ..plan(12) }, &Faults::default(), None);
        assert_eq!(Summary::of(host.episodes(), host.spec()), expected);
        assert_eq!((host.report().missed, host.report().refused.total()), (0, 0));
        assert!(host.report().expected > 1000, "boats meet");
        let mut taken = [0; 5];
        moments.iter().flat_map(|m| &m.actions.choices).for_each(|&action| taken[action] += 1);
        assert!(choice == Choice::Greedy || taken.iter().all(|&n| n > 20), "{taken:?}");
    }
}

#[test]
fn a_record_shows_that_decisions_are_those_of_the_whole_network_to_the_bit() {
    let (policy, _) = team(&*Harbour::envs(Flaw::None), 6);
    for (name, faults) in
        [("whole", Faults::default()), ("lossy", Faults { drop: 0.01, ..Faults::default() })]
    {
        let folder = folder(&format!("harbour-{name}"));
        let log = MessageLog::new(&folder.join("fleet.jsonl")).unwrap();
        log.about(&json!({ "seed": 4, "greedy": false }));
        let (host, _) = run(&policy, plan(8), &faults, Some(log.clone()));
        log.flush().unwrap();
        let found =
            Recording::load(&folder).unwrap().audit(&policy, &mut *Harbour::envs(Flaw::None)).unwrap();
        assert!(found.steps == host.report().steps && found.compared > 20, "{found:?}");
        assert_eq!(found.compared == found.steps, name == "whole", "{found:?}");
        assert!(found.holds(0.0), "{found:?}");
        assert!(found.sent > 1000 && found.off_edge == 0, "{found:?}");

        // A team that sees other things does not fit the record.
        let (other, _) = team(&*Harbour::envs(Flaw::None), 7);
        let found = Recording::load(&folder).unwrap().audit(&other, &mut *Harbour::envs(Flaw::None)).unwrap();
        assert!(!found.holds(1e-3), "{found:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// What one boat of the first step decides that hears nobody, by hand; with or without what does not act.
fn alone(policy: &Policy, boat: usize, senses: bool) -> Vec<f32> {
    let mut envs = Harbour::envs(Flaw::None);
    envs.start(0, Stream::new(4, Purpose::Evaluation, 0)).unwrap();
    let (world, mut heard) = (envs.world(0), Edges::default());
    world.neighbours(boat, &mut heard);
    let (mut scratch, mut own, mut mixed, mut code) = (Scratch::default(), vec![], vec![], vec![]);
    let (mut features, mut pier) = ([0.0; 4], [0.0; 3]);
    world.observe(boat, &mut features);
    policy.encode_features(&features, &mut scratch, &mut own).unwrap();
    let (mut piers, mut codes, mut buoys) = (vec![], vec![], vec![]);
    for (who, vector) in heard.iter().filter(|(who, _)| senses && *who >= BOATS) {
        if who < BOATS + PIERS.len() {
            world.observe(who, &mut pier);
            policy.encode_sender(0, &pier, &mut scratch, &mut code).unwrap();
            codes.extend_from_slice(&code);
            piers.extend_from_slice(vector);
        } else {
            buoys.extend_from_slice(vector);
        }
    }
    for l in 0..policy.rounds() {
        let senders = [Sent { edges: &piers, features: &codes }, Sent { edges: &buoys, features: &[] }];
        policy.round_among(l, &own, Sent::default(), &senders, &mut scratch, &mut mixed).unwrap();
        std::mem::swap(&mut own, &mut mixed);
    }
    policy.decide(&own).unwrap().log_probabilities
}

#[test]
fn who_hears_nobody_still_senses_what_does_not_act() {
    let (policy, _) = team(&*Harbour::envs(Flaw::None), 6);
    let all = Faults { drop: 1.0, ..Faults::default() };
    let (host, moments) = run(&policy, plan(3), &all, None);
    assert_eq!(host.episodes().len(), 3);
    assert!(host.report().missed == host.report().expected && host.report().cut_off > 0);
    let mut sensed = 0;
    for boat in 0..BOATS {
        let said = &moments[0].said[boat].as_ref().unwrap().log_probabilities;
        assert_eq!(*said, alone(&policy, boat, true));
        sensed += usize::from(*said != alone(&policy, boat, false));
    }
    assert!(sensed > 2, "{sensed} boats sense something");
}

#[test]
fn it_runs_with_lost_and_late_messages_and_a_crash() {
    let (policy, _) = team(&*Harbour::envs(Flaw::None), 6);
    let ms = Duration::from_millis;
    let faults = Faults { drop: 0.3, delay: ms(2), jitter: ms(250), ..Faults::default() };
    let (host, first) = run(&policy, plan(4), &faults, None);
    let report = host.report();
    assert_eq!((host.episodes().len(), report.absent), (4, 0));
    assert!(report.missed > 100 && report.missed < report.expected, "{} {}", report.missed, report.expected);
    assert_eq!(run(&policy, plan(4), &faults, None).1, first, "the same faults, the same run");

    let mut host = Host::new(Harbour::envs(Flaw::None), plan(3), (&policy, 5), Signer::Open).unwrap();
    let mut team = agents(&policy, BOATS);
    let last = team.pop().unwrap().with_crash(Some(6));
    team.push(last);
    pool::run(&mut host, team, &faults, None, 1, &mut |_, _| Ok(true)).unwrap();
    assert!(host.report().absent > 0 && host.report().rejoined == 2, "{:?}", host.report());
}

#[test]
fn what_does_not_act_needs_no_link() {
    let all: Vec<Vec<usize>> = (0..BOATS).map(|i| (0..BOATS).filter(|&j| j != i).collect()).collect();
    assert_eq!(may_meet(&mut *Harbour::envs(Flaw::None)).unwrap(), all);
    // Where links are fixed, the world is looked at.
    let mut harbour = Harbour::new(Flaw::None);
    Arc::make_mut(&mut harbour.spec).links = equimarl_worlds::Links::Fixed;
    let links = may_meet(&mut Loose::new(vec![harbour]).unwrap()).unwrap();
    assert!(links.iter().flatten().all(|&j| j < BOATS) && links.len() == BOATS, "{links:?}");
}

#[test]
fn a_harbour_that_says_nonsense_is_refused() {
    let (policy, _) = team(&*Harbour::envs(Flaw::None), 6);
    for (flaw, part) in [
        (Flaw::Mist, "harbour shows the number NaN of pier 2; features are finite numbers"),
        (Flaw::Ghost, "other agents and then senders in the order of their index"),
        (Flaw::Flat, "with 3 finite numbers each"),
        (Flaw::Unsorted, "other agents and then senders in the order of their index"),
    ] {
        let mut host = Host::new(Harbour::envs(flaw), plan(9), (&policy, 5), Signer::Open).unwrap();
        let team = agents(&policy, BOATS);
        let ended = pool::run(&mut host, team, &Faults::default(), None, 1, &mut |_, _| Ok(true));
        let error = ended.unwrap_err().to_string();
        assert!(error.contains(part), "{flaw:?}: {error}");
    }
}

#[test]
fn a_harbour_that_the_model_was_not_made_for_is_refused_before_the_start() {
    let (policy, _) = team(&*Harbour::envs(Flaw::None), 6);
    let change = |change: &dyn Fn(&mut Spec)| {
        let mut harbour = Harbour::new(Flaw::None);
        change(Arc::make_mut(&mut harbour.spec));
        let envs = Box::new(Loose::new(vec![harbour]).unwrap());
        Host::new(envs, plan(1), (&policy, 5), Signer::Open).unwrap_err().to_string()
    };
    let made_for =
        "made for agents that see 4 numbers, with edges of 3, and 3 of each pier, and 0 of each buoy, and";
    for (error, part) in [
        (change(&|spec| spec.features = "trivial + rotation".into()), "agents of this world see 3 numbers"),
        (change(&|spec| spec.edge.clear()), "see 4 numbers, with edges of 2"),
        (change(&|spec| spec.senders[0].features.clear()), "and 0 of each pier"),
        (change(&|spec| spec.senders[1].kind = "rock".into()), "and 0 of each rock"),
        (change(&|spec| drop(spec.senders.pop())), "and 3 of each pier"),
        (change(&|spec| spec.senders.reverse()), "with edges of 3, and 0 of each buoy, and 3 of each pier"),
    ] {
        assert!(error.contains(made_for) && error.contains(part), "{error}");
    }
    // How many there are does not matter to a network, but a host looks at all of them.
    let error = change(&|spec| spec.senders[0].count = usize::MAX);
    assert!(error.contains("the senders of harbour have more than"), "{error}");
    let error = change(&|spec| (spec.image, spec.features) = (Some([1, 15, 15]), String::new()));
    assert!(error.contains("the world has [1, 15, 15]"), "{error}");
}

/// An agent believes its world, and still nothing that its world says brings it down.
#[test]
fn ten_thousand_damaged_observations_do_an_agent_no_harm() {
    let (policy, _) = team(&*Harbour::envs(Flaw::None), 6);
    let mut host = Host::new(Harbour::envs(Flaw::None), plan(1), (&policy, 5), Signer::Open).unwrap();
    let (mut boats, mut work, mut mail) = (agents(&policy, BOATS), Workspace::default(), vec![]);
    let (mut now, mut seen) = (Duration::ZERO, None);
    for boat in &mut boats {
        boat.poll(now, &|_| true, &mut work, &mut mail).unwrap();
    }
    while seen.is_none() {
        for envelope in std::mem::take(&mut mail) {
            match envelope.to.index() {
                None => host.receive(&envelope.bytes, &mut mail),
                Some(0) if Header::peek(&envelope.bytes).unwrap().kind == MessageKind::Observation => {
                    seen = Some(envelope.bytes);
                }
                Some(i) => boats[i].receive(&envelope.bytes, now, &mut work, &mut mail).unwrap(),
            }
        }
        host.poll(now, &|_| true, &mut mail).unwrap();
    }
    let (seen, boat, mut dice) = (seen.unwrap(), &mut boats[0], Stream::new(3, Purpose::Audit, 0));
    let (mut header, mut answered, damaged) = (Header::peek(&seen).unwrap(), 0, 10_000);
    for _ in 0..damaged {
        let mut payload = seen[HEADER..].to_vec();
        for _ in 0..=dice.below(3) {
            let at = dice.below(payload.len() as u32) as usize;
            payload[at] = dice.below(256) as u8;
        }
        match dice.below(4) {
            0 => payload.truncate(dice.below(payload.len() as u32) as usize),
            1 => payload.push(0),
            _ => {}
        }
        header.place.step += 1;
        boat.receive(&header.message(&payload), now, &mut work, &mut mail).unwrap();
        // Nobody answers, so it decides when all rounds are late.
        now += Duration::from_secs(1);
        boat.poll(now, &|_| true, &mut work, &mut mail).unwrap();
        answered += usize::from(mail.drain(..).any(|l| {
            l.to == Member::WORLD && Header::peek(&l.bytes).is_some_and(|h| h.kind == MessageKind::Action)
        }));
    }
    let refused = boat.drops().of(Reason::Malformed) as usize;
    assert!(refused > damaged / 4 && answered > damaged / 10, "{refused} refused, {answered} answered");
    assert_eq!(refused + answered, damaged);
}
