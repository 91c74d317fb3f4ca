//! Members on separate machines, over zenoh.
//!
//! Every member listens at its own address; of each pair that may talk, the later one in the fleet's order opens the link.
//! So every possible pair has a direct link, and nothing is forwarded. A message for B from A is put to
//! `fleet/ID/B/A`; only B subscribes to `fleet/ID/B/*`.

mod settings;

use super::Transport;
use crate::certificates::check;
use crate::config::Fleet;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::{HEADER, MAX_PAYLOAD};
use crate::signer::SIGNATURE;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
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
    /// Who came up, and whether it is still up.
    up: Arc<Mutex<BTreeMap<Member, bool>>>,
    opened: Instant,
    publishers: BTreeMap<Member, Publisher<'static>>,
    house: House,
    status: Publisher<'static>,
    prefix: String,
    me: Member,
    // Dropped in this order: first nobody hears us, then we are gone.
    _alive: LivelinessToken,
    _watch: Subscriber<()>,
    _listen: Subscriber<()>,
    session: Session,
}

/// Word of who is up may come later than the first messages. So long, who was not heard of is waited for.
const UNHEARD: Duration = Duration::from_secs(10);

/// Members of one process. They hand their messages to each other, signed as always, and need no link.
#[derive(Clone, Debug, Default)]
pub struct House {
    members: Arc<BTreeSet<Member>>,
    boxes: Arc<Mutex<BTreeMap<Member, Arc<Letterbox>>>>,
}

impl House {
    /// For these members.
    pub fn new(members: impl IntoIterator<Item = Member>) -> House {
        House { members: Arc::new(members.into_iter().collect()), boxes: Arc::default() }
    }

    fn of(&self, member: Member) -> Option<Arc<Letterbox>> {
        self.boxes.lock().ok()?.get(&member).cloned()
    }
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
        Zenoh::open_in(fleet, me, peers, &House::default())
    }

    /// As [`Zenoh::open`], for one of several members of this process.
    ///
    /// # Errors
    /// As [`Zenoh::open`].
    pub fn open_in(fleet: &Fleet, me: Member, peers: &[Member], house: &House) -> Result<Zenoh> {
        check_threads(fleet)?;
        check(fleet, me)?;
        let far: Vec<Member> = peers.iter().copied().filter(|p| !house.members.contains(p)).collect();
        let config = settings::config(fleet, me, &far)?;
        let config = zenoh::Config::from_json5(&config.to_string()).map_err(broken("its settings"))?;
        let address = fleet.listens(me)?;
        let session = zenoh::open(config).wait().map_err(broken(&format!("cannot listen on {address}")))?;
        let prefix = prefix(fleet);
        let (sender, mail) = channel();
        let waiting = peers.iter().map(|&peer| (peer, AtomicUsize::new(0))).collect();
        let letterbox = Arc::new(Letterbox { sender, waiting, lost: AtomicU64::new(0) });
        if let Ok(mut boxes) = house.boxes.lock() {
            boxes.insert(me, letterbox.clone());
        }
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
        let status = session.declare_publisher(format!("{prefix}/status/{me}"));
        let status =
            status.congestion_control(CongestionControl::Drop).wait().map_err(broken("cannot publish"))?;
        let publishers = BTreeMap::new();
        let mut open = Zenoh {
            mail,
            letterbox,
            opened: Instant::now(),
            up,
            publishers,
            house: house.clone(),
            status,
            prefix,
            me,
            _alive: alive,
            _watch: watch,
            _listen: listen,
            session,
        };
        for peer in far {
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

fn check_threads(fleet: &Fleet) -> Result<()> {
    if fleet.config.tls && !Zenoh::prepared() {
        return Err(Error::Network(format!(
            "TLS links need this process to be started with {THREADS_OF_ZENOH}='{}'",
            Zenoh::ENVIRONMENT.1
        )));
    }
    Ok(())
}

/// The links of one who watches.
#[derive(Debug)]
pub struct Ears {
    up: Arc<Mutex<BTreeMap<Member, bool>>>,
    _subscribers: [Subscriber<()>; 2],
    _session: Session,
}

impl Ears {
    /// Who came up, and whether it is still up.
    pub fn up(&self) -> BTreeMap<Member, bool> {
        self.up.lock().map(|up| up.clone()).unwrap_or_default()
    }
}

/// Listens to what members say of themselves.
pub fn watch_status(fleet: &Fleet, take: impl Fn(&[u8]) + Send + Sync + 'static) -> Result<Ears> {
    check_threads(fleet)?;
    check(fleet, Member::OBSERVER)?;
    let config = settings::observer(fleet)?;
    let config = zenoh::Config::from_json5(&config.to_string()).map_err(broken("its settings"))?;
    let session = zenoh::open(config).wait().map_err(broken("cannot watch"))?;
    let prefix = prefix(fleet);
    let status = session
        .declare_subscriber(format!("{prefix}/status/*"))
        .callback(move |sample| {
            if sample.payload().len() <= HEADER + MAX_PAYLOAD + SIGNATURE {
                take(&sample.payload().to_bytes());
            }
        })
        .wait()
        .map_err(broken("cannot subscribe"))?;
    let up = Arc::new(Mutex::new(BTreeMap::new()));
    let seen = up.clone();
    let alive = session
        .liveliness()
        .declare_subscriber(format!("{prefix}/alive/*"))
        .history(true)
        .callback(move |sample| notice(&seen, &sample))
        .wait()
        .map_err(broken("cannot watch who is up"))?;
    Ok(Ears { up, _subscribers: [status, alive], _session: session })
}

fn prefix(fleet: &Fleet) -> String {
    format!("fleet/{}", fleet.config.fleet)
}

impl Letterbox {
    /// Takes a message from the network. The access control has seen to it that a key ends with its sender's name.
    fn deliver(&self, sample: &zenoh::sample::Sample) {
        let payload = sample.payload();
        // Too long to be a message: nothing of it is copied, and what is left is no message either.
        let fits = payload.len() <= HEADER + MAX_PAYLOAD + SIGNATURE;
        self.put(last_name(sample), || if fits { payload.to_bytes().into_owned() } else { vec![] });
    }

    /// Keeps a message of somebody, if there is room.
    fn put(&self, sender: Option<Member>, bytes: impl FnOnce() -> Vec<u8>) {
        let waiting = sender.and_then(|sender| self.waiting.get_key_value(&sender));
        let Some((&sender, waiting)) = waiting.filter(|(_, n)| n.load(Ordering::Relaxed) < WAITING) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        waiting.fetch_add(1, Ordering::Relaxed);
        // Nobody listens any more when this fails.
        let _ = self.sender.send((sender, bytes()));
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
        SampleKind::Put => up.insert(member, true),
        SampleKind::Delete => up.insert(member, false),
    };
}

impl Drop for Zenoh {
    fn drop(&mut self) {
        if let Ok(mut boxes) = self.house.boxes.lock() {
            boxes.remove(&self.me);
        }
    }
}

impl Transport for Zenoh {
    fn send(&mut self, to: Member, bytes: Vec<u8>) -> Result<()> {
        if self.house.members.contains(&to) {
            if let Some(neighbour) = self.house.of(to) {
                neighbour.put(Some(self.me), || bytes);
            }
            return Ok(());
        }
        self.publisher(to)?.put(bytes).wait().map_err(broken("cannot send"))
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>> {
        if wait.is_zero() {
            return Ok(self.mail.try_recv().ok().map(|envelope| self.letterbox.taken(envelope)));
        }
        match self.mail.recv_timeout(wait) {
            Ok(envelope) => Ok(Some(self.letterbox.taken(envelope))),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Network("the session is closed".into())),
        }
    }

    fn publish(&mut self, bytes: Vec<u8>) {
        // Nobody needs to watch.
        let _ = self.status.put(bytes).wait();
    }

    fn settled(&self) -> bool {
        // What is sent to somebody whose subscription is not known here yet is lost.
        let listens =
            |p: &Publisher<'static>| p.matching_status().wait().is_ok_and(|status| status.matching());
        let mut here = self.letterbox.waiting.keys().filter(|p| self.house.members.contains(*p));
        here.all(|&p| self.house.of(p).is_some()) && self.publishers.values().all(listens)
    }

    fn lost(&mut self) -> u64 {
        self.letterbox.lost.swap(0, Ordering::Relaxed)
    }

    fn alive(&self, member: Member) -> bool {
        if self.house.members.contains(&member) {
            return self.house.of(member).is_some();
        }
        match self.up.lock().ok().and_then(|up| up.get(&member).copied()) {
            Some(up) => up,
            // Who is no peer, because it was revoked, is not waited for at all.
            None => self.letterbox.waiting.contains_key(&member) && self.opened.elapsed() < UNHEARD,
        }
    }
}
