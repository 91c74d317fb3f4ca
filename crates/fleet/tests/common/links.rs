//! What the tests over a real network share: fleets with certificates, clients of our own, and what they say.

#![allow(dead_code)]

use equimarl_fleet::{Fleet, Founding, Header, Member, MessageKind, RunConfig, StepId, Zenoh, found};
use equimarl_worlds::builtin;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait};

/// The drones of a team; a fleet may have more members.
pub const AGENTS: usize = 3;

/// Whether this process has the environment that TLS links need. If not, the test is run in one that has.
pub fn prepared(test: &str) -> bool {
    if Zenoh::prepared() {
        return true;
    }
    let (name, value) = Zenoh::ENVIRONMENT;
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let output = again.args([test, "--exact", "--nocapture"]).env(name, value).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    false
}

pub fn make(folder: &Path, members: usize) -> Fleet {
    let open = |_| TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<TcpListener> = (0..=members).map(open).collect();
    let founding = Founding {
        fleet: "yard".into(),
        model: "none".into(),
        world: builtin().usual("wildlife").unwrap().with("drones", AGENTS),
        run: RunConfig::default(),
        tls: true,
        addresses: listeners.iter().map(|l| l.local_addr().unwrap().to_string()).collect(),
        years: 1,
    };
    found(folder, &founding).unwrap()
}

/// A client of our own that connects to agent 0 with these TLS settings.
pub fn client(fleet: &Fleet, protocol: &str, tls: Value) -> zenoh::Result<Session> {
    let victim = fleet.address(Member::agent(0)).unwrap();
    let config = json!({
        "mode": "client",
        "connect": { "endpoints": [format!("{protocol}/{victim}")], "timeout_ms": 1500, "exit_on_failure": true },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": { "unicast": { "open_timeout": 1000 }, "link": { "tls": tls } },
    });
    zenoh::open(zenoh::Config::from_json5(&config.to_string()).unwrap()).wait()
}

pub fn credentials(trusts: &Fleet, is: &Fleet, who: Member) -> Value {
    json!({
        "root_ca_certificate": trusts.authority(),
        "connect_private_key": is.secret(who, "tls.key.pem"),
        "connect_certificate": is.secret(who, "tls.pem"),
        "enable_mtls": true,
    })
}

/// What the insider with agent 2's certificate and key sends to agent 0 in the i-th place.
pub fn hostile(fleet: &Fleet, i: usize) -> Vec<u8> {
    let own = fleet.signer(Member::agent(2)).unwrap();
    let header = |kind, sender| Header {
        kind,
        run: [i as u8; 16],
        place: StepId { episode: 0, step: i as u32 },
        round: 0,
        sender,
        receiver: Member::agent(0),
    };
    match i % 6 {
        0 => vec![i as u8; i % 700],
        1 => own.signer(header(MessageKind::Features, Member::agent(1)).message(&[0; 384])),
        2 => own.signer(header(MessageKind::Observation, Member::WORLD).message(&[1; 90])),
        3 => own.signer(header(MessageKind::Welcome, Member::WORLD).message(&[0; 37])),
        4 => own.signer(header(MessageKind::End, Member::WORLD).message(&[])),
        _ => header(MessageKind::Features, Member::agent(2)).message(&[0; 448]),
    }
}

/// Puts bytes, whatever they are.
pub fn put(session: &Session, key: &str, bytes: Vec<u8>) {
    let put = session.put(key, bytes).congestion_control(CongestionControl::Block).express(true);
    put.wait().unwrap();
}
