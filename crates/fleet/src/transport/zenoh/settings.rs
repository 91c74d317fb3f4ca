//! How zenoh is set up: direct links, short leases, mutual TLS, and nothing that is not allowed.

use super::prefix;
use crate::config::{Fleet, TLS_CERTIFICATE, TLS_KEY};
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::{HEADER, MAX_PAYLOAD};
use crate::signer::SIGNATURE;
use serde_json::{Value, json};
use std::path::Path;

/// zenoh's settings. Its defaults of 10 s would keep a member that comes back waiting.
pub fn config(fleet: &Fleet, me: Member, peers: &[Member]) -> Result<Value> {
    let protocol = if fleet.config.tls { "tls" } else { "tcp" };
    let endpoint = |member| Ok(format!("{protocol}/{}", fleet.address(member)?));
    // The world is the first of all.
    let order = |member: Member| member.index().map_or(0, |i| i + 1);
    let before: Result<Vec<String>> =
        peers.iter().filter(|&&p| order(p) < order(me)).map(|&p| endpoint(p)).collect();
    let mut config = json!({
        "mode": "peer",
        "listen": { "endpoints": [format!("{protocol}/{}", fleet.listens(me)?)], "exit_on_failure": true },
        "connect": {
            "endpoints": before?,
            "timeout_ms": -1,
            "exit_on_failure": false,
            "retry": { "period_init_ms": 100, "period_max_ms": 500, "period_increase_factor": 2 },
        },
        "open": { "return_conditions": { "connect_scouted": false, "declares": false } },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "adminspace": { "enabled": false },
        "transport": {
            "unicast": {
                "open_timeout": 1000,
                "accept_timeout": 1000,
                "max_sessions": (4 * peers.len()).max(16),
            },
            "link": {
                "protocols": [protocol],
                "tx": {
                    "lease": 1000,
                    "keep_alive": 4,
                    // A message that finds no room is lost, but not after the usual 1 ms: a busy machine needs longer.
                    "queue": {
                        "size": { "data": 16 },
                        "congestion_control": { "drop": { "wait_before_drop": 100_000 } },
                    },
                },
                "rx": { "max_message_size": 2 * (HEADER + MAX_PAYLOAD + SIGNATURE) },
            },
            "shared_memory": { "enabled": false },
        },
    });
    if fleet.config.tls {
        config["transport"]["link"]["tls"] = tls(fleet, me)?;
        config["access_control"] = access(fleet, me, peers);
    }
    Ok(config)
}

/// Both ends show certificates.
fn tls(fleet: &Fleet, me: Member) -> Result<Value> {
    let file = |path: &Path| match path.canonicalize() {
        Ok(path) => Ok(path.display().to_string()),
        Err(why) => Err(Error::file(path, why)),
    };
    let key = file(&fleet.secret(me, TLS_KEY))?;
    let certificate = file(&fleet.secret(me, TLS_CERTIFICATE))?;
    Ok(json!({
        "root_ca_certificate": file(&fleet.authority())?,
        "listen_private_key": key,
        "listen_certificate": certificate,
        "connect_private_key": key,
        "connect_certificate": certificate,
        "enable_mtls": true,
        "verify_name_on_connect": true,
        "close_link_on_expiration": true,
    }))
}

/// The settings of one who watches: it listens nowhere and connects to everybody.
pub fn observer(fleet: &Fleet) -> Result<Value> {
    let protocol = if fleet.config.tls { "tls" } else { "tcp" };
    let all: Result<Vec<String>> =
        fleet.members().map(|member| Ok(format!("{protocol}/{}", fleet.address(member)?))).collect();
    let mut config = json!({
        "mode": "peer",
        "listen": { "endpoints": [] },
        "connect": {
            "endpoints": all?,
            "timeout_ms": -1,
            "exit_on_failure": false,
            "retry": { "period_init_ms": 100, "period_max_ms": 500, "period_increase_factor": 2 },
        },
        "open": { "return_conditions": { "connect_scouted": false, "declares": false } },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "adminspace": { "enabled": false },
        "transport": {
            "unicast": { "open_timeout": 1000, "accept_timeout": 1000 },
            "link": { "protocols": [protocol], "tx": { "lease": 1000, "keep_alive": 4 } },
            "shared_memory": { "enabled": false },
        },
    });
    if fleet.config.tls {
        config["transport"]["link"]["tls"] = tls(fleet, Member::OBSERVER)?;
    }
    Ok(config)
}

/// Everything is denied, except: a peer, known by its certificate, puts messages for me under its own name, listens to its
/// own mail and says that it is up; and I do the same at its end.
fn access(fleet: &Fleet, me: Member, peers: &[Member]) -> Value {
    let prefix = prefix(fleet);
    let (mut rules, mut subjects, mut policies) = (vec![], vec![], vec![]);
    for peer in peers {
        let name = peer.to_string();
        let rule = |id: &str, flow: &str, keys: Vec<String>, messages: &[&str]| {
            json!({
                "id": format!("{name} {id}"),
                "permission": "allow",
                "flows": [flow],
                "messages": messages,
                "key_exprs": keys,
            })
        };
        let own = [
            rule("puts", "ingress", vec![format!("{prefix}/{me}/{peer}")], &["put"]),
            rule("listens", "ingress", vec![format!("{prefix}/{peer}/*")], &["declare_subscriber"]),
            rule("is up", "ingress", vec![format!("{prefix}/alive/{peer}")], &["liveliness_token"]),
            rule(
                "watches",
                "ingress",
                vec![format!("{prefix}/alive/*")],
                &["declare_liveliness_subscriber", "liveliness_query"],
            ),
            rule("gets", "egress", vec![format!("{prefix}/{peer}/{me}")], &["put"]),
            rule("hears", "egress", vec![format!("{prefix}/{me}/*")], &["declare_subscriber"]),
            rule("sees me", "egress", vec![format!("{prefix}/alive/{me}")], &["liveliness_token"]),
            rule(
                "is watched",
                "egress",
                vec![format!("{prefix}/alive/*")],
                &["declare_liveliness_subscriber", "liveliness_query"],
            ),
        ];
        let ids: Vec<Value> = own.iter().map(|rule| rule["id"].clone()).collect();
        rules.extend(own);
        subjects.push(json!({ "id": name, "cert_common_names": [fleet.certificate_name(*peer)] }));
        policies.push(json!({ "rules": ids, "subjects": [name] }));
    }
    let watches = |id: &str, flow: &str, keys: Vec<String>, messages: &[&str]| json!({ "id": format!("observer {id}"), "permission": "allow", "flows": [flow], "messages": messages, "key_exprs": keys });
    // Who watches may ask for what is put there for it, and for who is up. Nothing that it puts comes in.
    let seen = [
        watches("listens", "ingress", vec![format!("{prefix}/status/*")], &["declare_subscriber"]),
        watches(
            "watches",
            "ingress",
            vec![format!("{prefix}/alive/*")],
            &["declare_liveliness_subscriber", "liveliness_query"],
        ),
        watches("hears", "egress", vec![format!("{prefix}/status/{me}")], &["put"]),
        watches("sees me", "egress", vec![format!("{prefix}/alive/{me}")], &["liveliness_token"]),
    ];
    let ids: Vec<Value> = seen.iter().map(|rule| rule["id"].clone()).collect();
    rules.extend(seen);
    subjects.push(json!({ "id": "observer", "cert_common_names": [Member::OBSERVER.to_string()] }));
    policies.push(json!({ "rules": ids, "subjects": ["observer"] }));
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    })
}
