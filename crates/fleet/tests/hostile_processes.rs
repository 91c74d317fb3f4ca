//! Agents as processes of their own, and somebody else at their door: an observer that sends, and answers of a run that is over.
//! Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/links.rs"]
mod links;

use common::{drones, folder};
use equimarl_fleet::keys::{Change, change};
use equimarl_fleet::{
    Fleet, Header, Host, Member, MessageKind, Moment, Observer, Reason, RunPlan, Transport, Zenoh, node,
};
use equimarl_nn::model::{fnv1a, read_file};
use links::{AGENTS, client, credentials, hostile, make, prepared, put};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long links of a revoked member may live.
const REVOKED_WITHIN: f64 = 2.0;

/// Processes that end with the test.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn command(folder: &Path, index: usize, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_equimarl-agent"));
    command.arg("--fleet").arg(folder.join("fleet.toml")).args(["--stay", "--agents", &index.to_string()]);
    command.args(more).stdout(Stdio::null());
    command
}

fn agent(folder: &Path, index: usize, more: &[&str]) -> Child {
    command(folder, index, more).arg("--quiet").spawn().unwrap()
}

/// An agent, and what it says.
fn heard(folder: &Path, index: usize, more: &[&str]) -> (Child, Receiver<String>) {
    let mut child = command(folder, index, more).stderr(Stdio::piped()).spawn().unwrap();
    let (said, lines) = channel();
    let errors = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || errors.lines().map_while(Result::ok).for_each(|line| drop(said.send(line))));
    (child, lines)
}

/// The options of an agent with a sensor that always sees the same.
fn sees(folder: &Path) -> Vec<String> {
    let script = folder.join("sensor.sh");
    let look = format!("while echo '{} ; 1 1 0'; do read told; done", "0 ".repeat(441));
    std::fs::write(&script, look).unwrap();
    let sensor = format!("sh {}", script.display());
    ["--sensor", &sensor, "--period", "100", "--deadline", "40"].map(String::from).into()
}

/// Waits until an agent says of itself that it is so.
fn wait_for(observer: &Observer, agent: usize, what: &str, so: &dyn Fn(&Value) -> bool) -> Value {
    for _ in 0..1200 {
        let member = &observer.status()["members"][agent + 1];
        if member["up"] == true && so(&member["status"]) {
            return member["status"].clone();
        }
        sleep(PATIENCE / 1200);
    }
    panic!("{what}: {}", observer.status());
}

fn decided(status: &Value) -> u64 {
    status["decided"].as_u64().unwrap_or(0)
}

/// Messages that came in and were not believed.
fn dropped(status: &Value) -> u64 {
    let by_reason = status["dropped_by_agents"].as_object().unwrap();
    by_reason.values().filter_map(Value::as_u64).sum()
}

/// A fleet of drones with its model in its folder.
fn yard(name: &str) -> (Fleet, std::path::PathBuf) {
    let folder = folder(name);
    let fleet = make(&folder, AGENTS);
    drones(AGENTS).network.save(fleet.model(), &json!({}), &json!({})).unwrap();
    (fleet, folder)
}

#[test]
fn nothing_that_an_observer_sends_comes_in() {
    if !prepared("nothing_that_an_observer_sends_comes_in") {
        return;
    }
    let (fleet, folder) = yard("observed");
    let own = sees(&folder);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let _processes = Processes(vec![agent(&folder, 0, &own), agent(&folder, 1, &own)]);
    let observer = Observer::open(&fleet).unwrap();
    let wait_for = |what: &str, so: &dyn Fn(&Value) -> bool| wait_for(&observer, 0, what, so);
    wait_for("it decides", &|status| decided(status) > 5);
    let watcher = client(&fleet, "tls", credentials(&fleet, &fleet, Member::OBSERVER)).unwrap();
    sleep(Duration::from_millis(300));
    for i in 0..500 {
        for key in ["agent-0/agent-1", "agent-0/agent-2", "agent-0/observer", "status/agent-0"] {
            put(&watcher, &format!("fleet/yard/{key}"), hostile(&fleet, i));
        }
    }
    let before = decided(&observer.status()["members"][1]["status"]);
    let status = wait_for("it goes on", &|status| decided(status) > before + 10);
    assert_eq!((dropped(&status), &observer.status()["forged"]), (0, &json!(0)), "{status}");
    // A member under its own name gets in, and is counted: the door is not simply shut.
    let insider = client(&fleet, "tls", credentials(&fleet, &fleet, Member::agent(2))).unwrap();
    sleep(Duration::from_millis(300));
    for i in 0..100 {
        put(&insider, "fleet/yard/agent-0/agent-2", hostile(&fleet, i));
    }
    let status = wait_for("it counts", &|status| dropped(status) == 100);
    let before = decided(&status);
    wait_for("it goes on", &|status| decided(status) > before + 5);
    drop(observer);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A copy of all that a member had, as it was.
fn stolen(from: &Path, name: &str) -> (Fleet, std::path::PathBuf) {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if path.is_dir() { copy(&path, &to) } else { assert!(std::fs::copy(&path, &to).is_ok()) }
        }
    }
    let to = folder(name);
    copy(from, &to);
    (Fleet::load(&to.join("fleet.toml")).unwrap(), to)
}

/// How long after the file was written the links were closed, as the member says itself.
fn closed_after(lines: &Receiver<String>, number: u64) -> f64 {
    let (end, mut before) = (Instant::now() + PATIENCE, vec![]);
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        let rest =
            line.split_once(&format!("number {number} now; its links were closed ")).map(|(_, rest)| rest);
        if let Some((seconds, _)) = rest.and_then(|rest| rest.split_once(" s ")) {
            return seconds.parse().unwrap();
        }
        before.push(line);
    }
    panic!("number {number} was not taken, but {before:?}");
}

#[test]
fn who_has_a_revoked_members_keys_gets_nothing_in() {
    if !prepared("who_has_a_revoked_members_keys_gets_nothing_in") {
        return;
    }
    let (fleet, place) = yard("revoked");
    let (old, thief) = stolen(&place, "revoked-stolen");
    let file = place.join("fleet.toml");
    let own = sees(&place);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let ((a, said), (b, also)) = (heard(&place, 0, &own), heard(&place, 1, &own));
    let _processes = Processes(vec![a, b]);
    let observer = Observer::open(&fleet).unwrap().following(&file);
    let goes_on = |before: u64| wait_for(&observer, 0, "it goes on", &|status| decided(status) > before + 10);
    let status = goes_on(0);
    assert_eq!(dropped(&status), 0, "{status}");
    let member = Member::agent(2);
    let in_hand = credentials(&old, &old, member);
    let linked = |session: &zenoh::Session| session.info().peers_zid().wait().next().is_some();
    let insider = client(&old, "tls", in_hand.clone()).unwrap();
    sleep(Duration::from_millis(300));
    assert!(linked(&insider));
    for i in 0..100 {
        put(&insider, "fleet/yard/agent-0/agent-2", hostile(&old, i));
    }
    wait_for(&observer, 0, "as a member it is heard", &|status| dropped(status) == 100);

    // It does not end by itself, as an honest member does: its link is closed for it.
    let begun = Instant::now();
    change(&file, member, Change::Revoke).unwrap();
    while linked(&insider) {
        assert!(begun.elapsed() < PATIENCE, "the link stays");
        sleep(Duration::from_millis(2));
    }
    let seen_from_outside = begun.elapsed().as_secs_f64();
    let closed = [closed_after(&said, 1), closed_after(&also, 1)];
    assert!(closed.iter().all(|&seconds| seconds < REVOKED_WITHIN), "{closed:?}");
    assert!(seen_from_outside < REVOKED_WITHIN, "{seen_from_outside}");
    // The old link again, and a new one with the old certificate; under its own name, its next one, another's and the world's.
    let says = |count: u64| {
        let before = decided(&goes_on(0));
        goes_on(before);
        let again = client(&old, "tls", in_hand.clone());
        sleep(Duration::from_millis(500));
        for i in 0..250 {
            for key in ["agent-0/agent-2", "agent-0/agent-2+1", "agent-0/agent-1", "agent-0/world"] {
                let key = format!("fleet/yard/{key}");
                for session in [Some(&insider), again.as_ref().ok()].into_iter().flatten() {
                    let bytes = hostile(&old, i);
                    // A session without a link puts into the void.
                    let _ = session.put(&key, bytes).congestion_control(CongestionControl::Drop).wait();
                }
            }
        }
        sleep(Duration::from_millis(500));
        let status = goes_on(decided(&goes_on(before)));
        assert_eq!(dropped(&status), count, "{status}");
        again.is_ok()
    };
    // TLS knows no revocation here, so that the new link may open; what counts is that nothing passes.
    let opened = says(100);

    // New keys for the member: the old ones are worth nothing still, and the new ones are let in.
    let renewed = change(&file, member, Change::Renew { years: 1 }).unwrap();
    let closed = [closed_after(&said, 2), closed_after(&also, 2)];
    assert!(closed.iter().all(|&seconds| seconds < REVOKED_WITHIN), "{closed:?}");
    assert_eq!(says(100), opened);
    let member = client(&renewed, "tls", credentials(&renewed, &renewed, member)).unwrap();
    sleep(Duration::from_millis(300));
    for i in 0..100 {
        put(&member, "fleet/yard/agent-0/agent-2", hostile(&renewed, i));
    }
    wait_for(&observer, 0, "the renewed member is heard", &|status| dropped(status) == 200);
    drop(observer);
    let _ = (std::fs::remove_dir_all(place), std::fs::remove_dir_all(thief));
}

/// The world's links, which keep every welcome and say old ones again before everything that is sent.
struct Tapped {
    links: Zenoh,
    welcomes: Vec<(Member, Vec<u8>)>,
    again: Vec<(Member, Vec<u8>)>,
    replayed: usize,
}

impl Transport for Tapped {
    fn send(&mut self, to: Member, bytes: Vec<u8>) -> equimarl_fleet::Result<()> {
        if Header::peek(&bytes).is_some_and(|h| h.kind == MessageKind::Welcome) {
            self.welcomes.push((to, bytes.clone()));
        }
        for (_, old) in self.again.iter().filter(|(agent, _)| *agent == to) {
            self.replayed += 1;
            self.links.send(to, old.clone())?;
        }
        self.links.send(to, bytes)
    }

    fn receive(&mut self, wait: Duration) -> equimarl_fleet::Result<Option<Vec<u8>>> {
        self.links.receive(wait)
    }

    fn settled(&self) -> bool {
        self.links.settled()
    }

    fn alive(&self, member: Member) -> bool {
        self.links.alive(member)
    }
}

#[test]
fn welcomes_of_a_run_that_is_over_change_nothing_in_the_next() {
    if !prepared("welcomes_of_a_run_that_is_over_change_nothing_in_the_next") {
        return;
    }
    let (fleet, folder) = yard("welcomed");
    let _processes = Processes((0..AGENTS).map(|i| agent(&folder, i, &[])).collect());
    let agents: Vec<Member> = (0..AGENTS).map(Member::agent).collect();
    let links = Zenoh::open(&fleet, Member::WORLD, &agents).unwrap();
    let mut world = Tapped { links, welcomes: vec![], again: vec![], replayed: 0 };
    let team = drones(AGENTS);
    let fingerprint = fnv1a(&read_file(fleet.model()).unwrap());
    let ms = Duration::from_millis;
    let plan = RunPlan { episodes: 6, seed: 8, deadline: ms(20_000), period: ms(2), ..RunPlan::default() };
    // The world of a run, which may be gone after so many steps without a word.
    let mut run = |replay: bool, steps: usize| {
        world.again = if replay { std::mem::take(&mut world.welcomes) } else { vec![] };
        world.welcomes.clear();
        let signer = fleet.signer(Member::WORLD).unwrap();
        let mut host = Host::new(team.envs(), plan, (&team.policy, fingerprint), signer).unwrap();
        let (mut moments, begun): (Vec<Moment>, _) = (vec![], Instant::now());
        // Agents that are back in an old run do not answer, and the world waits long for each step.
        node::run_host(&mut host, &mut world, None, &mut |_, moment| {
            moments.extend(moment);
            Ok(moments.len() < steps && begun.elapsed() < PATIENCE)
        })
        .unwrap();
        assert!(host.over() || moments.len() == steps, "only {} steps in {PATIENCE:?}", moments.len());
        // What it was answered in its last step is for nobody.
        let over = host.over();
        for _ in 0..if over { 0 } else { 25 } {
            while world.links.receive(ms(20)).unwrap().is_some() {}
        }
        let refused = host.report().refused.of(Reason::OtherRun);
        assert!(moments.iter().all(|m| m.said.iter().all(Option::is_some)), "somebody did not answer");
        let actions = moments.into_iter().map(|m| m.actions).collect::<Vec<_>>();
        (actions, over, refused, world.replayed)
    };
    // Links between agents settle in a run of their own: a message that is sent before that is missed, and changes decisions.
    run(false, usize::MAX);
    let (first, over, ..) = run(false, usize::MAX);
    assert!(over && first.len() > 30, "{}", first.len());
    // A run whose world is gone without an end: the agents live on, and ask to be let in by themselves.
    let (begun, over, ..) = run(false, 10);
    assert!(!over && begun == first[..10]);
    // The same episodes again: the agents that were welcomed by the world that is gone are in the new run and stay there, whatever
    // they are told of the old one.
    let (second, _, refused, replayed) = run(true, usize::MAX);
    assert_eq!(first, second);
    assert!(replayed > 100, "{replayed}");
    assert_eq!(refused, 0, "nobody went back");
    std::fs::remove_dir_all(folder).unwrap();
}
