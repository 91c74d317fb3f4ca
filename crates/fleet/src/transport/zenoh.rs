//! Members on separate machines, over zenoh.
//!
//! Every member listens at its own address; of each pair that may talk, the later one in the fleet's order opens the link.
//! So every possible pair has a direct link, and nothing is forwarded. A message for B from A is put to
//! `fleet/ID/B/A`; only B subscribes to `fleet/ID/B/*`.

use super::Transport;
use crate::config::{Fleet, TLS_CERTIFICATE, TLS_KEY};
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::{HEADER, MAX_PAYLOAD};
use crate::seal::SIGNATURE;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::SampleKind;
use zenoh::{Session, Wait};

/// Messages of one sender that may wait to be looked at. More are a flood, and lost; nobody else's are.
const WAITING: usize = 256;

/// A member's connection over zenoh.
#[derive(Debug)]
pub struct Zenoh {
    mail: Receiver<(Member, Vec<u8>)>,
    letterbox: Arc<Letterbox>,
    /// Who is up, and whether it is known to listen to us.
    up: Arc<Mutex<BTreeMap<Member, bool>>>,
    publishers: BTreeMap<Member, Publisher<'static>>,
    prefix: String,
    me: Member,
    // Dropped in this order: first nobody hears us, then we are gone.
    _alive: LivelinessToken,
    _watch: Subscriber<()>,
    _listen: Subscriber<()>,
    session: Session,
}

/// Where messages wait, so many of each sender.
#[derive(Debug)]
struct Letterbox {
    sender: Sender<(Member, Vec<u8>)>,
    waiting: BTreeMap<Member, AtomicUsize>,
    lost: AtomicU64,
}

/// The variable in the environment that says how zenoh uses threads.
const THREADS_OF_ZENOH: &str = "ZENOH_RUNTIME";

fn broken(what: &str) -> impl Fn(zenoh::Error) -> Error + '_ {
    move |e| {
        let text = e.to_string().replace('\n', " ");
        // zenoh ends its errors with places in its source.
        let text = text.split(" at /").next().unwrap_or_default();
        Error::Network(format!("{what}: {text}"))
    }
}

impl Zenoh {
    /// What the environment of a process with TLS links must have: everything that zenoh does, on one thread.
    ///
    /// zenoh 1.10 reads and writes a TLS link from two threads without a lock around the state that both change
    /// (eclipse-zenoh/zenoh, issue 2557). We saw lost messages and a corrupted heap after some thousand messages. On one
    /// thread they take turns. zenoh reads this when it starts, so a program must have been started with it.
    pub const ENVIRONMENT: (&'static str, &'static str) = (
        THREADS_OF_ZENOH,
        "(app: (handover: rx), acc: (handover: rx), tx: (handover: rx), net: (handover: rx), rx: (worker_threads: 1))",
    );

    /// Whether this process was started with [`Zenoh::ENVIRONMENT`].
    pub fn prepared() -> bool {
        let (name, value) = Zenoh::ENVIRONMENT;
        std::env::var(name).is_ok_and(|found| found == value)
    }

    /// Connects `me` to the members that it may ever talk to. Those that are not there yet are tried again and again.
    ///
    /// # Errors
    /// If its address cannot be listened on, keys and certificates are missing, or links are encrypted and the process was
    /// not started with [`Zenoh::ENVIRONMENT`].
    pub fn open(fleet: &Fleet, me: Member, peers: &[Member]) -> Result<Zenoh> {
        if fleet.config.tls && !Zenoh::prepared() {
            return Err(Error::Network(format!(
                "TLS links need this process to be started with {THREADS_OF_ZENOH}='{}'",
                Zenoh::ENVIRONMENT.1
            )));
        }
        let config = config(fleet, me, peers)?;
        let config = zenoh::Config::from_json5(&config.to_string()).map_err(broken("its settings"))?;
        let address = fleet.listens(me)?;
        let session = zenoh::open(config).wait().map_err(broken(&format!("cannot listen on {address}")))?;
        let prefix = prefix(fleet);
        let (sender, mail) = channel();
        let waiting = peers.iter().map(|&peer| (peer, AtomicUsize::new(0))).collect();
        let letterbox = Arc::new(Letterbox { sender, waiting, lost: AtomicU64::new(0) });
        let door = letterbox.clone();
        let listen = session
            .declare_subscriber(format!("{prefix}/{me}/*"))
            .callback(move |sample| door.deliver(&sample))
            .wait()
            .map_err(broken("cannot subscribe"))?;
        let up = Arc::new(Mutex::new(BTreeMap::new()));
        let seen = up.clone();
        let watch = session
            .liveliness()
            .declare_subscriber(format!("{prefix}/alive/*"))
            .history(true)
            .callback(move |sample| notice(&seen, &sample))
            .wait()
            .map_err(broken("cannot watch who is up"))?;
        let alive = session
            .liveliness()
            .declare_token(format!("{prefix}/alive/{me}"))
            .wait()
            .map_err(broken("cannot say that it is up"))?;
        let publishers = BTreeMap::new();
        let mut open = Zenoh {
            mail,
            letterbox,
            up,
            publishers,
            prefix,
            me,
            _alive: alive,
            _watch: watch,
            _listen: listen,
            session,
        };
        for &peer in peers {
            open.publisher(peer)?;
        }
        Ok(open)
    }

    fn publisher(&mut self, to: Member) -> Result<&Publisher<'static>> {
        Ok(match self.publishers.entry(to) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let key = format!("{}/{to}/{}", self.prefix, self.me);
                let declared = self.session.declare_publisher(key).express(true);
                let declared = declared.congestion_control(CongestionControl::Drop).wait();
                entry.insert(declared.map_err(broken("cannot publish"))?)
            }
        })
    }
}

fn prefix(fleet: &Fleet) -> String {
    format!("fleet/{}", fleet.config.fleet)
}

impl Letterbox {
    /// Takes a message from the network. The access control has seen to it that a key ends with its sender's name.
    fn deliver(&self, sample: &zenoh::sample::Sample) {
        let waiting = last_name(sample).and_then(|sender| self.waiting.get_key_value(&sender));
        let Some((&sender, waiting)) = waiting.filter(|(_, n)| n.load(Ordering::Relaxed) < WAITING) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let payload = sample.payload();
        // Too long to be a message: nothing of it is copied, and what is left is no message either.
        let fits = payload.len() <= HEADER + MAX_PAYLOAD + SIGNATURE;
        let bytes = if fits { payload.to_bytes().into_owned() } else { vec![] };
        waiting.fetch_add(1, Ordering::Relaxed);
        // Nobody listens any more when this fails.
        let _ = self.sender.send((sender, bytes));
    }

    fn taken(&self, (sender, bytes): (Member, Vec<u8>)) -> Vec<u8> {
        if let Some(waiting) = self.waiting.get(&sender) {
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        bytes
    }
}

fn last_name(sample: &zenoh::sample::Sample) -> Option<Member> {
    sample.key_expr().as_str().rsplit('/').next()?.parse().ok()
}

/// Somebody came up or went down.
fn notice(up: &Mutex<BTreeMap<Member, bool>>, sample: &zenoh::sample::Sample) {
    let (Some(member), Ok(mut up)) = (last_name(sample), up.lock()) else { return };
    match sample.kind() {
        SampleKind::Put => up.insert(member, false),
        SampleKind::Delete => up.remove(&member),
    };
}

impl Transport for Zenoh {
    fn send(&mut self, to: Member, bytes: Vec<u8>) -> Result<()> {
        self.publisher(to)?.put(bytes).wait().map_err(broken("cannot send"))
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>> {
        if wait.is_zero() {
            return Ok(self.mail.try_recv().ok().map(|letter| self.letterbox.taken(letter)));
        }
        match self.mail.recv_timeout(wait) {
            Ok(letter) => Ok(Some(self.letterbox.taken(letter))),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Network("the session is closed".into())),
        }
    }

    fn lost(&mut self) -> u64 {
        self.letterbox.lost.swap(0, Ordering::Relaxed)
    }

    fn alive(&self, member: Member) -> bool {
        let Ok(mut up) = self.up.lock() else { return false };
        let (Some(listens), Some(publisher)) = (up.get_mut(&member), self.publishers.get(&member)) else {
            return false;
        };
        // What is sent before its subscription is known here is lost, although it is up.
        if !*listens {
            *listens = publisher.matching_status().wait().is_ok_and(|status| status.matching());
        }
        *listens
    }
}

/// zenoh's settings. Its defaults of 10 s would keep a member that comes back waiting.
fn config(fleet: &Fleet, me: Member, peers: &[Member]) -> Result<Value> {
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
        let file = |path: &Path| match path.canonicalize() {
            Ok(path) => Ok(path.display().to_string()),
            Err(why) => Err(Error::file(path, why)),
        };
        let key = file(&fleet.secret(me, TLS_KEY))?;
        let certificate = file(&fleet.secret(me, TLS_CERTIFICATE))?;
        config["transport"]["link"]["tls"] = json!({
            "root_ca_certificate": file(&fleet.authority())?,
            "listen_private_key": key,
            "listen_certificate": certificate,
            "connect_private_key": key,
            "connect_certificate": certificate,
            "enable_mtls": true,
            "verify_name_on_connect": true,
            "close_link_on_expiration": true,
        });
        config["access_control"] = access(fleet, me, peers);
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
        subjects.push(json!({ "id": name, "cert_common_names": [name] }));
        policies.push(json!({ "rules": ids, "subjects": [name] }));
    }
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    })
}
