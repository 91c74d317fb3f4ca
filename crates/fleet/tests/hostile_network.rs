//! Strangers and insiders on a real network: mutual TLS, access control and signatures, each tried by a client of our own.
//!
//! Needs the feature `zenoh`; `.ci/fleet` runs it.

#![cfg(feature = "zenoh")]

mod common;
#[path = "common/links.rs"]
mod links;

use common::{drones, folder};
use equimarl_fleet::{
    Agent, Faults, Fleet, Host, Member, Moment, Observer, Reason, RunPlan, Transport, Zenoh, node, pool,
};
use links::{AGENTS, client, credentials, hostile, make, prepared, put};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;
use zenoh::{Session, Wait};

const HOSTILE: usize = 12_000;

/// A running fleet of drones over TLS, in threads.
struct Running {
    stop: Arc<AtomicBool>,
    steps: Arc<AtomicUsize>,
    moments: Arc<Mutex<Vec<Moment>>>,
    threads: Vec<std::thread::JoinHandle<Option<Agent>>>,
}

fn start(fleet: &Fleet, plan: RunPlan) -> Running {
    let team = drones(AGENTS);
    let stop = Arc::new(AtomicBool::new(false));
    let (steps, moments) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![])));
    let mut threads = vec![];
    let everybody = || (0..AGENTS).map(Member::agent);
    for index in 0..AGENTS {
        let (fleet, policy, stop) = (fleet.clone(), team.policy.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            let me = Member::agent(index);
            let mut peers: Vec<Member> = everybody().filter(|&m| m != me).collect();
            peers.push(Member::WORLD);
            let mut transport = Zenoh::open(&fleet, me, &peers).unwrap();
            let mut agent = Agent::new(index, policy, 5, fleet.signer(me).unwrap()).unwrap();
            let stop = || stop.load(Ordering::Relaxed);
            let faults = Faults::default();
            node::run_agent(&mut agent, &mut transport, &faults, None, &stop, &mut |_| {}).unwrap();
            Some(agent)
        }));
    }
    let (fleet, ended, counted, kept) = (fleet.clone(), stop.clone(), steps.clone(), moments.clone());
    threads.push(std::thread::spawn(move || {
        let mut transport = Zenoh::open(&fleet, Member::WORLD, &everybody().collect::<Vec<_>>()).unwrap();
        let signer = fleet.signer(Member::WORLD).unwrap();
        let mut host = Host::new(team.envs(), plan, (&team.policy, 5), signer).unwrap();
        node::run_host(&mut host, &mut transport, None, &mut |_, moment| {
            counted.fetch_add(usize::from(moment.is_some()), Ordering::Relaxed);
            kept.lock().unwrap().extend(moment);
            Ok(!ended.load(Ordering::Relaxed))
        })
        .unwrap();
        assert_eq!(host.report().refused.total(), 0, "{:?}", host.report().refused);
        None
    }));
    Running { stop, steps, moments, threads }
}

impl Running {
    fn wait_for(&self, steps: usize) {
        for _ in 0..3000 {
            if self.steps.load(Ordering::Relaxed) >= steps {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("the fleet has stopped at step {}", self.steps.load(Ordering::Relaxed));
    }

    fn end(self) -> (Vec<Agent>, Vec<Moment>) {
        self.stop.store(true, Ordering::Relaxed);
        let agents = self.threads.into_iter().filter_map(|t| t.join().unwrap()).collect();
        let moments = std::mem::take(&mut *self.moments.lock().unwrap());
        (agents, moments)
    }
}

#[test]
fn strangers_get_nothing_in_or_out_and_insiders_are_themselves_only() {
    if !prepared("strangers_get_nothing_in_or_out_and_insiders_are_themselves_only") {
        return;
    }
    let (here, there) = (folder("hostile"), folder("foreign"));
    // Agents 3 and 4 have certificates of the same authority, and are no part of the team.
    let (fleet, foreign) = (make(&here, AGENTS + 2), make(&there, AGENTS));
    let ms = Duration::from_millis;
    let plan = RunPlan { episodes: 10_000, seed: 3, deadline: ms(5000), period: ms(2), ..RunPlan::default() };
    let running = start(&fleet, plan);
    running.wait_for(20);

    // Strangers: no certificate, a foreign one, no TLS at all.
    let nothing = json!({ "root_ca_certificate": fleet.authority() });
    assert!(client(&fleet, "tls", nothing).is_err(), "no certificate");
    let alien = credentials(&fleet, &foreign, Member::agent(2));
    assert!(client(&fleet, "tls", alien).is_err(), "another authority's certificate");
    assert!(client(&fleet, "tcp", json!({})).is_err(), "no TLS");

    // A certificate of our authority whose owner is no peer: the link opens, and nothing passes it.
    let heard = Arc::new(AtomicUsize::new(0));
    let listen = |session: &Session| {
        let heard = heard.clone();
        let count = move |_: zenoh::sample::Sample| {
            heard.fetch_add(1, Ordering::Relaxed);
        };
        session.declare_subscriber("fleet/**").callback(count).wait().unwrap()
    };
    let outsider = client(&fleet, "tls", credentials(&fleet, &fleet, Member::agent(3))).unwrap();
    // A session hears its own messages, so others listen.
    let spies = [3, 2].map(|i| client(&fleet, "tls", credentials(&fleet, &fleet, Member::agent(i))).unwrap());
    let _ears = spies.each_ref().map(listen);
    sleep(ms(300));
    for i in 0..500 {
        put(&outsider, "fleet/yard/agent-0/agent-2", hostile(&fleet, i));
        put(&outsider, "fleet/yard/agent-0/agent-3", hostile(&fleet, i));
    }

    // An observer: it hears what members say of themselves, and nothing that it puts comes in.
    let observer = Observer::open(&fleet).unwrap();
    let watcher = client(&fleet, "tls", credentials(&fleet, &fleet, Member::OBSERVER)).unwrap();
    sleep(ms(300));
    for i in 0..500 {
        put(&watcher, "fleet/yard/agent-0/agent-2", hostile(&fleet, i));
        put(&watcher, "fleet/yard/agent-0/observer", hostile(&fleet, i));
        put(&watcher, "fleet/yard/status/agent-0", hostile(&fleet, i));
    }
    let mut seen = observer.status();
    for _ in 0..600 {
        seen = observer.status();
        if !seen["members"][0]["status"].is_null() {
            break;
        }
        sleep(ms(50));
    }
    let world = &seen["members"][0];
    assert!(world["status"]["steps"].as_u64().is_some() && world["up"] == true, "{seen}");
    assert_eq!(seen["forged"], 0, "{seen}");

    // An insider: agent 2's certificate and key in a client of its own. Under another's name nothing arrives ...
    let insider = client(&fleet, "tls", credentials(&fleet, &fleet, Member::agent(2))).unwrap();
    sleep(ms(300));
    for i in 0..500 {
        put(&insider, "fleet/yard/agent-0/agent-1", hostile(&fleet, i));
        put(&insider, "fleet/yard/agent-0/world", hostile(&fleet, i));
    }
    // ... and under its own everything arrives, is counted, and changes nothing.
    for i in 0..HOSTILE {
        put(&insider, "fleet/yard/agent-0/agent-2", hostile(&fleet, i));
        if i % 100 == 0 {
            sleep(ms(2));
        }
    }
    sleep(ms(1000));
    let steps = running.steps.load(Ordering::Relaxed);
    running.wait_for(steps + 50);
    // Everybody stops at once, so the world's last steps may be without answers.
    let steps = running.steps.load(Ordering::Relaxed);
    drop((outsider, insider, watcher, observer));
    let (team, mut moments) = running.end();
    moments.truncate(steps - 1);

    assert_eq!(heard.load(Ordering::Relaxed), 0, "somebody else's messages were heard");
    let drops = team[0].drops();
    assert_eq!(drops.total(), HOSTILE as u64, "{drops:?}");
    assert!(drops.of(Reason::Malformed) > 1000 && drops.of(Reason::OtherRun) > 1000, "{drops:?}");
    assert_eq!((team[1].drops().total(), team[2].drops().total()), (0, 0));

    // The same episodes in one process, undisturbed.
    let team = drones(AGENTS);
    let mut expected = vec![];
    let mut host = team.host(plan);
    pool::run(&mut host, team.agents(), &Faults::default(), None, 1, &mut |_, moment| {
        expected.extend(moment);
        Ok(expected.len() < moments.len())
    })
    .unwrap();
    assert!(moments.len() > 100);
    for (network, process) in moments.iter().zip(&expected) {
        assert_eq!((network.place, &network.actions), (process.place, &process.actions));
        let said = |m: &Moment| -> Vec<Vec<f32>> {
            m.said.iter().map(|s| s.as_ref().unwrap().log_probabilities.clone()).collect()
        };
        assert_eq!(said(network), said(process));
    }
    let _ = (std::fs::remove_dir_all(here), std::fs::remove_dir_all(there));
}

#[test]
fn a_flood_of_one_sender_is_counted_and_loses_nobody_elses_messages() {
    if !prepared("a_flood_of_one_sender_is_counted_and_loses_nobody_elses_messages") {
        return;
    }
    let folder = folder("flood");
    let fleet = make(&folder, 2);
    let (a, b, world) = (Member::agent(0), Member::agent(1), Member::WORLD);
    let mut victim = Zenoh::open(&fleet, a, &[b, world]).unwrap();
    let mut flooder = Zenoh::open(&fleet, b, &[a, world]).unwrap();
    let mut host = Zenoh::open(&fleet, world, &[a, b]).unwrap();
    for _ in 0..500 {
        if victim.settled() && flooder.settled() && host.settled() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    for _ in 0..1000 {
        flooder.send(a, vec![1; 100]).unwrap();
    }
    sleep(Duration::from_millis(500));
    host.send(a, vec![2; 100]).unwrap();
    sleep(Duration::from_millis(500));
    let (mut junk, mut good) = (0, 0);
    while let Some(bytes) = victim.receive(Duration::from_millis(100)).unwrap() {
        match bytes[0] {
            1 => junk += 1,
            _ => good += 1,
        }
    }
    assert_eq!((good, junk + victim.lost()), (1, 1000));
    assert!(junk < 1000, "some were too many");
    std::fs::remove_dir_all(folder).unwrap();
}
