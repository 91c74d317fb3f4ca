//! Agents as processes of their own, and somebody else at their door: an observer that sends, and answers of a run that is over.
//! Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/links.rs"]
mod links;

use common::{drones, folder};
use equimarl_fleet::{
    Fleet, Header, Host, Member, MessageKind, Moment, Observer, Reason, Result, RunPlan, Transport, Zenoh,
    node,
};
use equimarl_nn::model::{fnv1a, read_file};
use links::{AGENTS, client, credentials, hostile, make, prepared, put};
use serde_json::json;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

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

fn agent(folder: &Path, index: usize, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_equimarl-agent"))
        .arg("--fleet")
        .arg(folder.join("fleet.toml"))
        .args(["--quiet", "--stay", "--agents", &index.to_string()])
        .args(more)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
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
    let script = folder.join("sensor.sh");
    let look = format!("while echo '{} ; 1 1 0'; do read told; done", "0 ".repeat(441));
    std::fs::write(&script, look).unwrap();
    let sensor = format!("sh {}", script.display());
    let own = ["--sensor", &sensor, "--period", "100", "--deadline", "40"];
    let _processes = Processes(vec![agent(&folder, 0, &own), agent(&folder, 1, &own)]);
    let observer = Observer::open(&fleet).unwrap();
    let wait_for = |what: &str, so: &dyn Fn(&serde_json::Value) -> bool| {
        for _ in 0..1200 {
            let member = &observer.status()["members"][1];
            if member["up"] == true && so(&member["status"]) {
                return member["status"].clone();
            }
            sleep(Duration::from_millis(50));
        }
        panic!("{what}: {}", observer.status());
    };
    let decided = |status: &serde_json::Value| status["decided"].as_u64().unwrap_or(0);
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
    let dropped = |status: &serde_json::Value| -> u64 {
        status["dropped_by_agents"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64).sum()
    };
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

/// The world's links, which keep every welcome and say old ones again before everything that is sent.
struct Tapped {
    links: Zenoh,
    welcomes: Vec<(Member, Vec<u8>)>,
    again: Vec<(Member, Vec<u8>)>,
    replayed: usize,
}

impl Transport for Tapped {
    fn send(&mut self, to: Member, bytes: Vec<u8>) -> Result<()> {
        if Header::peek(&bytes).is_some_and(|h| h.kind == MessageKind::Welcome) {
            self.welcomes.push((to, bytes.clone()));
        }
        for (_, old) in self.again.iter().filter(|(agent, _)| *agent == to) {
            self.replayed += 1;
            self.links.send(to, old.clone())?;
        }
        self.links.send(to, bytes)
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>> {
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
    let plan = RunPlan { episodes: 1, seed: 8, deadline: ms(20_000), period: ms(2), ..RunPlan::default() };
    let mut run = |replay: bool| {
        world.again = if replay { std::mem::take(&mut world.welcomes) } else { vec![] };
        let signer = fleet.signer(Member::WORLD).unwrap();
        let mut host = Host::new(team.envs(), plan, (&team.policy, fingerprint), signer).unwrap();
        let mut moments: Vec<Moment> = vec![];
        node::run_host(&mut host, &mut world, None, &mut |_, moment| {
            moments.extend(moment);
            Ok(true)
        })
        .unwrap();
        let refused = host.report().refused.of(Reason::OtherRun);
        assert!(moments.iter().all(|m| m.said.iter().all(Option::is_some)), "somebody did not answer");
        (moments.into_iter().map(|m| m.actions).collect::<Vec<_>>(), refused, world.replayed)
    };
    // Links between agents settle in a run of their own: a message that is sent before that is missed, and changes decisions.
    run(false);
    let (first, ..) = run(false);
    // The same episode again: everybody is in the new run and stays there, whatever it is told of the old one.
    let (second, refused, replayed) = run(true);
    assert_eq!(first, second);
    assert!(replayed > 100, "{replayed}");
    assert_eq!(refused, 0, "nobody went back");
    std::fs::remove_dir_all(folder).unwrap();
}
