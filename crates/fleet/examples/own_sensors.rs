//! Two agents with sensors and actuators of their own, and no world: each is a body that moves on a line.
//!
//! ```text
//! cargo run --release -p equimarl-fleet --example own_sensors
//! ```

use equimarl_fleet::field::{self, Act, Field, Schedule, Sense};
use equimarl_fleet::{Action, Agent, Faults, Member, Observation, Result, Signer, in_process};
use equimarl_nn::{Interface, Network, NetworkConfig, NetworkKind};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where the two bodies are: the real world, which no agent knows.
static PLACES: [AtomicI32; 2] = [AtomicI32::new(0), AtomicI32::new(9)];

/// Which step an agent was told to take, and what it did.
type Told = Arc<Mutex<Vec<(u64, Option<usize>)>>>;

/// A body: it knows its own speed and sees where the other one is.
struct Body {
    me: usize,
    told: Told,
}

impl Sense for Body {
    fn sense(&mut self, _: u64) -> Result<Option<Observation>> {
        let [here, there] = [self.me, 1 - self.me].map(|i| PLACES[i].load(Ordering::Relaxed) as f32);
        Ok(Some(Observation {
            own: vec![0.1, 0.0],
            neighbours: vec![Member::agent(1 - self.me)],
            edges: vec![0.0, here - there], // from the neighbour to me
            ..Observation::default()
        }))
    }
}

impl Act for Body {
    fn act(&mut self, t: u64, decision: &Action) {
        // Stay, down, right, up, left: this body can go right and left.
        let step = [0, 0, 1, 0, -1][usize::from(decision.action)];
        PLACES[self.me].fetch_add(step, Ordering::Relaxed);
        self.told.lock().unwrap().push((t, Some(decision.action.into())));
    }

    fn hold(&mut self, t: u64) {
        self.told.lock().unwrap().push((t, None));
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let interface = Interface {
        world: "line".into(),
        agents: 2,
        actions: "perm[0 4 1 2 3]".into(),
        features: "rotation".into(),
        ..Interface::default()
    };
    let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &"C4".parse()?);
    let mut x = 0.0f64;
    let mut normal = || {
        x += 1.0;
        (x * 12.9898).sin() * 1.4
    };
    let policy = Arc::new(Network::init(&config, &mut normal)?.policy()?);
    let (period, deadline) = (Duration::from_millis(100), Duration::from_millis(40));
    let schedule = Schedule::new(Duration::ZERO, period, deadline, policy.rounds())?;
    let (_world, ends) = in_process(2);
    let decided = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = ends
        .into_iter()
        .enumerate()
        .map(|(me, mut transport)| {
            let (policy, decided) = (policy.clone(), decided.clone());
            std::thread::spawn(move || -> Result<()> {
                let terms = schedule.terms(2, 0, false, deadline);
                let agent = Agent::new(me, policy, 0, Signer::Open)?;
                let mut agent = agent.in_field(schedule.run("line", 0), terms);
                let told = Arc::new(Mutex::new(vec![]));
                let mut body = Body { me, told: told.clone() };
                let report = field::run(
                    &mut agent,
                    &mut body,
                    &mut transport,
                    Field {
                        schedule,
                        faults: &Faults::default(),
                        log: None,
                        stop: &|| decided.load(Ordering::Relaxed) >= 20,
                        say: &mut |text| eprintln!("agent-{me}: {text}"),
                        watch: &mut |_, report| {
                            decided.fetch_max(report.decided, Ordering::Relaxed);
                        },
                    },
                )?;
                println!("agent-{me}: {report:?}\n  {:?}", told.lock().unwrap());
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "an agent ended badly")??;
    }
    Ok(())
}
