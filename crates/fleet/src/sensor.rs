//! A program of any language as an agent's sensors and actuators.
//!
//! The agent starts it, reads one observation per line of its output and writes one line per step to its input
//! ([`mod@line`] has the format). A program that ends, says nothing for too long or says nonsense is started again; the agent
//! holds still until it sees something.

pub mod line;

use crate::error::{Error, Result};
use crate::field::{Act, Sense};
use crate::observation::Observation;
use crate::payload::Action;
use crate::shape::Shape;
use equimarl_nn::Policy;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A longer line is no observation.
const MAX_LINE: u64 = 4 << 20;
/// Lines to a program that does not read: more are dropped, since an old action is worth nothing.
const UNREAD: usize = 16;
/// How often the program is looked after.
const LOOK: Duration = Duration::from_millis(20);
/// How long a program that ended is left alone: at first, and at most.
const PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// What is started, and how patient the agent is.
#[derive(Clone, Debug)]
pub struct SensorConfig {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// After so long without a good observation it is started again.
    pub patience: Duration,
    /// An observation that names no step and came longer ago is none: who acted on it would act on a world that is gone.
    pub oldest: Duration,
}

impl SensorConfig {
    /// Reads a command: words, with '...' or "..." around what has spaces. No shell is involved. Observations may be of any age
    /// ([`SensorConfig::within`]).
    ///
    /// # Errors
    /// If there is no word, or a quote does not end.
    pub fn parse(text: &str, patience: Duration) -> Result<SensorConfig> {
        let bad = |why: &str| Error::BadFleet(format!("cannot read the sensor command `{text}`: {why}"));
        let (mut command, mut word, mut quote) = (vec![], None::<String>, None);
        for c in text.chars() {
            match quote {
                Some(q) if c == q => quote = None,
                Some(_) => word.get_or_insert_default().push(c),
                None if c == '\'' || c == '"' => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                None if c.is_whitespace() => command.extend(word.take()),
                None => word.get_or_insert_default().push(c),
            }
        }
        command.extend(word);
        match (quote, command.first()) {
            (Some(_), _) => Err(bad("a quote does not end")),
            (_, None) => Err(bad("there is no program in it")),
            _ => Ok(SensorConfig { command, patience, oldest: Duration::MAX }),
        }
    }

    /// Observations that name no step count for two steps of this length. One would be too few: a program that looks when it is told
    /// what was done looks a step ahead.
    pub fn within(mut self, period: Duration) -> SensorConfig {
        self.oldest = period.saturating_mul(2);
        self
    }

    /// The command of one agent: `{agent}` becomes its index.
    pub fn of(mut self, agent: usize) -> SensorConfig {
        self.command.iter_mut().for_each(|word| *word = word.replace("{agent}", &agent.to_string()));
        self
    }
}

/// An observation, for which step if the sensor said so, and when it came.
#[derive(Debug)]
struct Seen {
    step: Option<u64>,
    came: Instant,
    what: Observation,
}

/// What the reading thread has found.
#[derive(Debug, Default)]
struct Found {
    /// The newest observation that nobody has taken.
    newest: Option<Seen>,
    /// When the last good line came.
    good: Option<Instant>,
    /// Lines that were no observation, and why the last one was not.
    bad: u64,
    why: Option<String>,
    /// Whether lines are JSON; nobody knows before the first one.
    json: Option<bool>,
}

impl Found {
    /// What is seen in step `t`, once.
    fn take(&mut self, t: u64, oldest: Duration) -> Option<Observation> {
        let good = match self.newest.as_ref()? {
            // It says which step this is: an earlier one is over, a later one waits.
            Seen { step: Some(step), .. } if *step > t => return None,
            Seen { step: Some(step), .. } => *step == t,
            Seen { came, .. } => came.elapsed() <= oldest,
        };
        self.newest.take().filter(|_| good).map(|seen| seen.what)
    }
}

/// A running program.
#[derive(Debug)]
struct Running {
    child: Child,
    found: Arc<Mutex<Found>>,
    actions: SyncSender<String>,
    since: Instant,
}

/// A program that is an agent's sensors and actuators.
#[derive(Debug)]
pub struct SensorProcess {
    config: SensorConfig,
    shape: Arc<Shape>,
    running: Option<Running>,
    /// When to start it again, and how long to wait the next time.
    again: (Instant, Duration),
    looked: Instant,
    news: Vec<String>,
    /// Bad lines of this program that people were told of.
    told: u64,
    restarts: u64,
    /// Whether it was started again and has said nothing good since.
    away: bool,
}

impl SensorProcess {
    /// Starts the program, for an agent with this policy.
    ///
    /// # Errors
    /// If the policy cannot act alone, or the program cannot be started at all.
    pub fn start(config: SensorConfig, policy: &Policy) -> Result<SensorProcess> {
        let now = Instant::now();
        let mut sensor = SensorProcess {
            shape: Arc::new(Shape::of(policy)?),
            config,
            running: None,
            again: (now, PAUSE[0]),
            looked: now,
            news: vec![],
            told: 0,
            restarts: 0,
            away: false,
        };
        // A name that is misspelt will be so the next time; what fails later may come back.
        sensor.running = Some(sensor.spawn()?);
        Ok(sensor)
    }

    /// How often the program was started again.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    fn spawn(&self) -> Result<Running> {
        let Some((program, arguments)) = self.config.command.split_first() else {
            return Err(Error::BadFleet("there is no sensor command".into()));
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| Error::BadFleet(format!("cannot start the sensor `{program}`: {why}")))?;
        let found = Arc::new(Mutex::new(Found::default()));
        let (actions, waiting) = sync_channel::<String>(UNREAD);
        if let (Some(output), Some(mut input)) = (child.stdout.take(), child.stdin.take()) {
            let (found, shape) = (found.clone(), self.shape.clone());
            std::thread::spawn(move || read(output, &found, &shape));
            std::thread::spawn(move || {
                while let Ok(line) = waiting.recv() {
                    if write(&mut input, &line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Running { child, found, actions, since: Instant::now() })
    }

    /// Looks after the program: starts again what has ended, and ends what is silent.
    fn tend(&mut self) {
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let Some(running) = &mut self.running else {
            if Instant::now() >= self.again.0 {
                match self.spawn() {
                    Ok(running) => {
                        self.running = Some(running);
                        self.restarts += 1;
                        self.away = true;
                        self.told = 0;
                    }
                    Err(why) => self.rest(why.to_string()),
                }
            }
            return;
        };
        let (bad, why, good) = {
            let mut found = lock(&running.found);
            (found.bad, found.why.take(), found.good)
        };
        if let Some(why) = why.filter(|_| self.told == 0) {
            self.news.push(format!("the sensor says what is no observation: {why}"));
        }
        self.told = self.told.max(bad);
        if good.is_some() {
            self.again.1 = PAUSE[0];
            if std::mem::take(&mut self.away) {
                self.news.push("the sensor is back".into());
            }
        }
        let silent = good.unwrap_or(running.since).elapsed();
        match running.child.try_wait() {
            Ok(None) if silent < self.config.patience => {}
            Ok(None) => {
                let _ = running.child.kill();
                let _ = running.child.wait();
                self.rest(format!("the sensor gave no observation for {:.1} s", silent.as_secs_f64()));
            }
            Ok(Some(status)) => self.rest(format!("the sensor ended ({status})")),
            Err(why) => self.rest(format!("the sensor cannot be watched: {why}")),
        }
    }

    fn rest(&mut self, why: String) {
        self.running = None;
        let pause = self.again.1;
        self.again = (Instant::now() + pause, (2 * pause).min(PAUSE[1]));
        self.news.push(format!("{why}; holding still, starting it again"));
    }
}

impl Drop for SensorProcess {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

impl Sense for SensorProcess {
    fn sense(&mut self, t: u64) -> Result<Option<Observation>> {
        self.tend();
        let Some(running) = &self.running else { return Ok(None) };
        Ok(lock(&running.found).take(t, self.config.oldest))
    }

    fn news(&mut self) -> Option<String> {
        (!self.news.is_empty()).then(|| self.news.remove(0))
    }
}

impl Act for SensorProcess {
    fn act(&mut self, t: u64, decision: &Action) {
        self.tell(|json| line::action(t, Some(decision), json));
    }

    fn hold(&mut self, t: u64) {
        self.tell(|json| line::action(t, None, json));
    }
}

impl SensorProcess {
    fn tell(&mut self, text: impl Fn(bool) -> String) {
        if let Some(running) = &self.running {
            // Before its first line nobody knows how to talk to it. One that does not read misses it.
            if let Some(json) = lock(&running.found).json {
                let _ = running.actions.try_send(text(json));
            }
        }
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(input: &mut ChildStdin, line: &str) -> std::io::Result<()> {
    writeln!(input, "{line}")?;
    input.flush()
}

/// Reads lines until there are no more.
fn read(output: ChildStdout, found: &Mutex<Found>, shape: &Shape) {
    let (mut output, mut bytes) = (BufReader::new(output), vec![]);
    loop {
        bytes.clear();
        match (&mut output).take(MAX_LINE).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let parsed = line::observation(&bytes, shape);
        let mut found = lock(found);
        match parsed {
            Ok((step, seen)) => {
                found.json = Some(bytes.trim_ascii_start().first() == Some(&b'{'));
                let came = Instant::now();
                found.newest = Some(Seen { step, came, what: seen });
                found.good = Some(came);
            }
            Err(why) => {
                found.bad += 1;
                found.why = Some(why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_and_quotes() {
        let words = |text| SensorConfig::parse(text, Duration::ZERO).map(|c| c.command);
        assert_eq!(
            words("python3 'my sensor.py'  --at=\"a b\" ''").unwrap(),
            ["python3", "my sensor.py", "--at=a b", ""]
        );
        assert!(words("").is_err() && words("  ").is_err() && words("a 'b").is_err());
    }

    #[test]
    fn an_observation_is_of_the_step_that_it_names_or_young() {
        let second = Duration::from_secs(1);
        let taken = |step: Option<u64>, age: Duration| {
            let came = Instant::now() - age;
            let seen = Seen { step, came, what: Observation { own: vec![1.0], ..Observation::default() } };
            let mut found = Found { newest: Some(seen), ..Found::default() };
            (found.take(7, second).is_some(), found.newest.is_some())
        };
        assert_eq!(taken(None, Duration::ZERO), (true, false));
        assert_eq!(taken(None, 2 * second), (false, false), "it is gone, and the agent holds still");
        assert_eq!(taken(Some(7), 2 * second), (true, false), "it says itself what it is of");
        assert_eq!(taken(Some(6), Duration::ZERO), (false, false));
        assert_eq!(taken(Some(8), Duration::ZERO), (false, true), "it waits");
        assert!(Found::default().take(7, second).is_none());
        let config = SensorConfig::parse("cat", second).unwrap();
        assert_eq!((config.oldest, config.within(second).oldest), (Duration::MAX, 2 * second));
    }
}
