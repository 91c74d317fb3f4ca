//! A member's messages are its own: tens of thousands of malformed, forged, replayed and misdirected ones are counted, and
//! change nothing.

mod common;

use common::{Team, drones};
use ed25519_dalek::SigningKey;
use equimarl_fleet::signer::new_key;
use equimarl_fleet::{
    Action, Agent, Drops, Envelope, Header, Host, Member, MessageKind, Reason, Ring, RunPlan, Signer, StepId,
    Workspace,
};
use equimarl_worlds::{Purpose, Stream};
use std::collections::BTreeMap;
use std::time::Duration;

const AGENTS: usize = 3;

/// A fleet of signing members whose envelopes the test carries itself.
struct Yard {
    seals: BTreeMap<Member, Signer>,
    host: Host,
    agents: Vec<Agent>,
    work: Workspace,
    now: Duration,
    /// Whose observations come late.
    slow: Option<Member>,
    /// Every envelope that was ever sent, for replays.
    history: Vec<Envelope>,
    actions: Vec<Vec<usize>>,
}

impl Yard {
    fn new(team: &Team) -> Yard {
        let members = || std::iter::once(Member::WORLD).chain((0..AGENTS).map(Member::agent));
        let keys: BTreeMap<Member, SigningKey> = members().map(|m| (m, new_key().unwrap())).collect();
        let all: BTreeMap<_, _> = keys.iter().map(|(&m, key)| (m, key.verifying_key())).collect();
        let signer = |key: &SigningKey| Signer::Signed(Box::new(Ring::new(key.clone(), all.clone())));
        let seals: BTreeMap<Member, Signer> = keys.iter().map(|(&m, key)| (m, signer(key))).collect();
        let plan = RunPlan { episodes: 4, seed: 5, ..RunPlan::default() };
        let policy = &team.policy;
        let host = Host::new(team.envs(), plan, (policy, 1), seals[&Member::WORLD].clone());
        let agent = |i| Agent::new(i, policy.clone(), 1, seals[&Member::agent(i)].clone()).unwrap();
        Yard {
            host: host.unwrap(),
            agents: (0..AGENTS).map(agent).collect(),
            work: Workspace::default(),
            now: Duration::ZERO,
            slow: None,
            history: vec![],
            actions: vec![],
            seals,
        }
    }

    fn deliver(&mut self, envelope: &Envelope, out: &mut Vec<Envelope>) {
        match envelope.to.index() {
            None => self.host.receive(&envelope.bytes, out),
            Some(i) => self.agents[i].receive(&envelope.bytes, self.now, &mut self.work, out).unwrap(),
        }
    }

    /// Runs to the end; `attack` adds envelopes of its own after every sweep.
    fn run(&mut self, attack: &mut dyn FnMut(&Yard) -> Vec<Envelope>) {
        let (mut mail, mut held) = (Vec::<Envelope>::new(), Vec::<Envelope>::new());
        while !self.host.over() {
            let mut out = vec![];
            for envelope in std::mem::take(&mut held) {
                self.deliver(&envelope, &mut out);
            }
            for envelope in std::mem::take(&mut mail) {
                let observation =
                    Header::peek(&envelope.bytes).is_some_and(|h| h.kind == MessageKind::Observation);
                match observation && self.slow == Some(envelope.to) {
                    true => held.push(envelope),
                    false => self.deliver(&envelope, &mut out),
                }
            }
            let busy = !out.is_empty() || !held.is_empty();
            for agent in &mut self.agents {
                agent.poll(self.now, &|_| true, &mut self.work, &mut out).unwrap();
            }
            self.host.poll(self.now, &|_| true, &mut out).unwrap();
            self.actions.extend(self.host.take_moment().map(|m| m.actions.choices));
            if out.is_empty() && !busy {
                self.now += Duration::from_millis(1);
            }
            self.history.extend(out.iter().cloned());
            for envelope in attack(self) {
                self.deliver(&envelope, &mut out);
            }
            mail = out;
        }
    }

    fn drops(&self) -> Drops {
        let mut all = self.host.report().refused;
        self.agents.iter().for_each(|agent| all.add(agent.drops()));
        all
    }

    /// The place that the world is at, and everything that honest headers have.
    fn header(&self, kind: MessageKind, sender: Member, receiver: Member) -> Header {
        let run = Header::peek(&self.history.last().unwrap().bytes).unwrap().run;
        Header { kind, run, place: self.host.place(), round: 0, sender, receiver }
    }
}

/// What an insider with agent 2's key can send to agent 0 and to the world, and what anybody can.
fn hostile(yard: &Yard, dice: &mut Stream) -> Vec<Envelope> {
    if yard.history.len() < 20 || yard.agents[0].place().is_none() {
        return vec![];
    }
    let (victim, insider) = (Member::agent(0), Member::agent(2));
    let mut envelopes = vec![];
    let features = [7u8; 4 * 96];
    for _ in 0..40 {
        let target = [victim, Member::WORLD][dice.below(2) as usize];
        let own = &yard.seals[&insider];
        let old = &yard.history[dice.below(yard.history.len() as u32) as usize].bytes;
        let header = |kind, sender| yard.header(kind, sender, target);
        let bytes = match dice.below(12) {
            // Noise.
            0 => (0..dice.below(600)).map(|_| dice.below(256) as u8).collect(),
            // A real message, changed in one bit.
            1 => {
                let mut bytes = old.clone();
                let at = dice.below(bytes.len() as u32) as usize;
                bytes[at] ^= 1 << dice.below(8);
                bytes
            }
            // Half a message.
            2 => old[..dice.below(old.len() as u32) as usize].to_vec(),
            // Another member's features, observation, action or welcome, signed by the insider.
            3 => own.signer(header(MessageKind::Features, Member::agent(1)).message(&features)),
            4 => own.signer(header(MessageKind::Observation, Member::WORLD).message(&[0; 80])),
            5 => {
                let lie =
                    Action { log_probabilities: vec![-1.6; 5], rounds: vec![1; 2], ..Action::default() };
                own.signer(header(MessageKind::Action, Member::agent(1)).message(&lie.bytes()))
            }
            6 => own.signer(header(MessageKind::Welcome, Member::WORLD).message(&[0; 37])),
            7 => own.signer(header(MessageKind::End, Member::WORLD).message(&[])),
            // Its own features, of another run, a past or a far step, or for somebody else.
            8 => own
                .signer(Header { run: [9; 16], ..header(MessageKind::Features, insider) }.message(&features)),
            9 => {
                let place = StepId { episode: dice.below(9) + 50, step: dice.below(99) };
                own.signer(Header { place, ..header(MessageKind::Features, insider) }.message(&features))
            }
            10 => {
                let receiver = Member::agent(1);
                own.signer(Header { receiver, ..header(MessageKind::Features, insider) }.message(&features))
            }
            // A forged request to join in another's name.
            _ => own.signer(
                Header { run: [0; 16], ..header(MessageKind::Join, Member::agent(1)) }.message(&[0; 25]),
            ),
        };
        envelopes.push(Envelope { to: target, bytes });
    }
    envelopes
}

#[test]
fn twenty_thousand_hostile_messages_are_counted_and_change_nothing() {
    let team = drones(AGENTS);
    let mut quiet = Yard::new(&team);
    quiet.run(&mut |_| vec![]);
    assert_eq!(quiet.drops().total(), 0);

    let mut dice = Stream::new(1, Purpose::Audit, 0);
    let mut attacked = Yard::new(&team);
    let mut sent = 0;
    attacked.run(&mut |yard| {
        let envelopes = hostile(yard, &mut dice);
        sent += envelopes.len() as u64;
        envelopes
    });
    assert!(sent > 20_000, "{sent}");
    assert_eq!(attacked.actions, quiet.actions);
    assert_eq!(attacked.host.episodes(), quiet.host.episodes());
    assert_eq!(attacked.drops().total(), sent, "{:?}", attacked.drops());
    for reason in
        [Reason::Malformed, Reason::OtherRun, Reason::Misaddressed, Reason::Stranger, Reason::Forged]
    {
        assert!(attacked.drops().of(reason) > 100, "{} {}", reason.name(), attacked.drops().of(reason));
    }
}

#[test]
fn replays_of_everything_ever_said_are_counted_and_change_nothing() {
    let team = drones(AGENTS);
    let mut quiet = Yard::new(&team);
    quiet.run(&mut |_| vec![]);
    let mut dice = Stream::new(2, Purpose::Audit, 0);
    let mut attacked = Yard::new(&team);
    let (mut sent, mut joins) = (0, 0);
    attacked.run(&mut |yard| {
        let old = |_| &yard.history[dice.below(yard.history.len() as u32) as usize];
        let envelopes: Vec<Envelope> = (0..20).map(old).cloned().collect();
        // An old request to join is answered again, and the answer fits nobody who does not ask.
        let join = |l: &&Envelope| Header::peek(&l.bytes).is_some_and(|h| h.kind == MessageKind::Join);
        joins += envelopes.iter().filter(join).count() as u64;
        sent += envelopes.len() as u64;
        envelopes
    });
    assert!(sent > 2_000, "{sent}");
    assert_eq!(attacked.actions, quiet.actions);
    assert_eq!(attacked.host.episodes(), quiet.host.episodes());
    let dropped = attacked.drops().total();
    assert!(dropped + 3 * joins >= sent / 2, "{dropped} of {sent} dropped, {joins} old requests");
    assert_eq!(attacked.host.report().rejoined, 0);
}

#[test]
fn what_neighbours_say_before_ones_own_observation_comes_is_kept() {
    let team = drones(AGENTS);
    let mut quiet = Yard::new(&team);
    quiet.run(&mut |_| vec![]);
    let mut late = Yard::new(&team);
    late.slow = Some(Member::agent(0));
    late.run(&mut |_| vec![]);
    assert_eq!((late.drops().total(), late.host.report().missed), (0, 0), "{:?}", late.drops());
    assert_eq!(late.actions, quiet.actions);
}

#[test]
fn an_old_welcome_does_not_let_a_new_agent_in() {
    let team = drones(AGENTS);
    let mut yard = Yard::new(&team);
    yard.run(&mut |_| vec![]);
    let welcome = |l: &&Envelope| {
        Header::peek(&l.bytes).is_some_and(|h| h.kind == MessageKind::Welcome) && l.to == Member::agent(0)
    };
    let old = yard.history.iter().find(welcome).unwrap().bytes.clone();
    let mut fresh = Agent::new(0, team.policy.clone(), 1, yard.seals[&Member::agent(0)].clone()).unwrap();
    fresh.receive(&old, Duration::ZERO, &mut Workspace::default(), &mut vec![]).unwrap();
    assert!(!fresh.joined());
    assert_eq!(fresh.drops().of(Reason::OtherRun), 1);
}

#[test]
fn a_captured_welcome_does_not_send_an_agent_back_to_an_old_run() {
    let team = drones(AGENTS);
    let yard = Yard::new(&team);
    let world = || {
        let plan = RunPlan { episodes: 4, seed: 5, ..RunPlan::default() };
        Host::new(team.envs(), plan, (&team.policy, 1), yard.seals[&Member::WORLD].clone()).unwrap()
    };
    let mut agent = Agent::new(0, team.policy.clone(), 1, yard.seals[&Member::agent(0)].clone()).unwrap();
    let mut work = Workspace::default();
    let mut later = Workspace::default();
    // Asks until it is let in; the answer.
    let mut join = |host: &mut Host, agent: &mut Agent, seconds: u64| {
        let now = Duration::from_secs(seconds);
        let (mut out, mut answers) = (vec![], vec![]);
        agent.poll(now, &|_| true, &mut work, &mut out).unwrap();
        host.receive(&out[0].bytes, &mut answers);
        let welcome = answers[0].bytes.clone();
        agent.receive(&welcome, now, &mut work, &mut out).unwrap();
        welcome
    };
    let (mut old, mut new) = (world(), world());
    let captured = join(&mut old, &mut agent, 5);
    let fresh = join(&mut new, &mut agent, 10);
    let now = Duration::from_secs(11);
    assert_ne!(Header::peek(&captured).unwrap().run, Header::peek(&fresh).unwrap().run);
    assert_eq!(agent.drops().total(), 0);
    // It is in the new run. The old world's answer is signed and for this agent's life, and still an old one.
    agent.receive(&captured, now, &mut later, &mut vec![]).unwrap();
    assert_eq!(agent.drops().of(Reason::OtherRun), 1);
    // It has not asked for anything: the same run goes on, and asking again does not count as coming back.
    agent.receive(&fresh, now, &mut later, &mut vec![]).unwrap();
    assert_eq!(agent.drops().total(), 1);
    join(&mut new, &mut agent, 20);
    assert_eq!(new.report().rejoined, 0);
}

#[test]
fn an_agent_with_another_model_is_not_let_in() {
    let team = drones(AGENTS);
    let mut yard = Yard::new(&team);
    let mut other = Agent::new(0, team.policy.clone(), 2, yard.seals[&Member::agent(0)].clone()).unwrap();
    let mut out = vec![];
    other.poll(Duration::ZERO, &|_| true, &mut Workspace::default(), &mut out).unwrap();
    let mut answers = vec![];
    yard.host.receive(&out[0].bytes, &mut answers);
    assert!(answers.is_empty() && yard.host.joined() == 0);
    let late = Duration::from_secs(61);
    yard.host.poll(Duration::ZERO, &|_| true, &mut answers).unwrap();
    let error = yard.host.poll(late, &|_| true, &mut answers).unwrap_err().to_string();
    assert!(error.contains("another model file") && error.contains("agent-0, agent-1, agent-2"), "{error}");
}

#[test]
fn an_agent_of_another_version_is_not_let_in_and_the_world_says_why() {
    let team = drones(AGENTS);
    let mut yard = Yard::new(&team);
    let mut old = Agent::new(0, team.policy.clone(), 1, Signer::Open).unwrap();
    let mut out = vec![];
    old.poll(Duration::ZERO, &|_| true, &mut Workspace::default(), &mut out).unwrap();
    let mut bytes = out[0].bytes.clone();
    bytes[2] = 1;
    // It is right in all but its version.
    let bytes = yard.seals[&Member::agent(0)].signer(bytes);
    let mut answers = vec![];
    yard.host.receive(&bytes, &mut answers);
    assert!(answers.is_empty() && yard.host.joined() == 0);
    assert_eq!(yard.host.report().refused.of(Reason::OtherVersion), 1);
    yard.host.poll(Duration::ZERO, &|_| true, &mut answers).unwrap();
    let error = yard.host.poll(Duration::from_secs(61), &|_| true, &mut answers).unwrap_err().to_string();
    let line =
        "1 messages were of version 1, and this world speaks version 3: run the same release everywhere";
    assert!(error.contains(line) && !error.contains("are they running"), "{error}");
}
