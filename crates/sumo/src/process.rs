//! One SUMO: started on a free port, talked to, and gone when this is dropped, or when this whole program is killed.

use crate::install::Install;
use crate::wire::{Frame, Garbled, Reader};
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts SUMO, and ends it when its own standard input ends: that is when our program closes it, or dies in whatever way.
/// No signal has to reach anybody, and nothing is left behind.
const GUARD: &str = r#"exec 3<&0
"$@" </dev/null 3<&- &
p=$!
{ read -r _ <&3; kill -9 $p; } 2>/dev/null &
w=$!
exec 3<&-
wait $p
s=$?
kill $w 2>/dev/null
exit $s"#;

/// No city has an answer as long as this, in bytes.
const LONGEST: usize = 1 << 28;
/// What is said of a SUMO whose port somebody else took before it could.
pub(crate) const PORT_TAKEN: &str = "another program took SUMO's port";
/// How often a start is tried on another port.
const TRIES: usize = 5;

/// An option of SUMO that says which one it is: it names a file in a folder whose name nobody can guess.
const LABEL: &str = "--error-log";
/// How long a stranger on the port may keep us from looking whether our SUMO has given up.
const GLANCE: Duration = Duration::from_millis(50);
/// How long a SUMO may take if nobody says otherwise.
const USUAL_PATIENCE: Duration = Duration::from_secs(120);
/// The answer to who is there is shorter.
const SHORT: usize = 1 << 16;

/// Something went wrong with a SUMO: it died, hangs, or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// In words.
    pub why: String,
    /// Whether it would happen again: SUMO read its files and refused them.
    pub refused: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl From<Garbled> for Failure {
    fn from(garbled: Garbled) -> Failure {
        Failure { why: garbled.to_string(), refused: false }
    }
}

/// A SUMO that runs.
#[derive(Debug)]
pub struct Process {
    child: Child,
    port: u16,
    label: String,
    log: PathBuf,
    socket: Option<TcpStream>,
    patience: Duration,
    answer: Vec<u8>,
}

/// How long a SUMO may take for an answer: `EQUIMARL_SUMO_TIMEOUT` seconds, or two minutes.
///
/// # Errors
/// If that is no such number, in words.
pub fn patience() -> Result<Duration, String> {
    let Some(asked) = std::env::var_os("EQUIMARL_SUMO_TIMEOUT") else { return Ok(USUAL_PATIENCE) };
    patience_of(&asked.to_string_lossy())
}

fn patience_of(asked: &str) -> Result<Duration, String> {
    match asked.parse::<f64>() {
        // Shells that "unset" a variable often leave it empty.
        _ if asked.is_empty() => Ok(USUAL_PATIENCE),
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(Duration::from_secs_f64(seconds.min(1e6))),
        _ => Err(format!(
            "EQUIMARL_SUMO_TIMEOUT is `{asked}`: it is how many seconds a SUMO may take for an answer, a number above 0"
        )),
    }
}

impl Process {
    /// Starts a SUMO with these arguments, which has its log in this folder. It loads its files on its own; the first frame
    /// waits for that.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(install: &Install, arguments: &[String], folder: &Path) -> Result<Process, Failure> {
        let port = free_port().map_err(|e| not_started("no port is free", &e))?;
        Process::start_on(port, install, arguments, folder)
    }

    /// As [`Process::start`] on this port, which was free a moment ago.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_on(
        port: u16,
        install: &Install,
        arguments: &[String],
        folder: &Path,
    ) -> Result<Process, Failure> {
        let patience = patience().map_err(|why| Failure { why, refused: true })?;
        let log = folder.join("sumo.log");
        let file = std::fs::File::create(&log).map_err(|e| not_started(&log.display().to_string(), &e))?;
        let copy = file.try_clone().map_err(|e| not_started("its log", &e))?;
        let child = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(install.program("sumo"))
            .args(arguments)
            .args(["--remote-port", &port.to_string(), LABEL])
            .arg(folder.join("errors.log"))
            .env("SUMO_HOME", install.home())
            // Ctrl-C is for us, and we may want to finish the step.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(file)
            .stderr(copy)
            .spawn()
            .map_err(|e| not_started("sh", &e))?;
        let label = folder.join("errors.log").to_string_lossy().into_owned();
        Ok(Process { child, port, label, log, socket: None, patience, answer: vec![] })
    }

    /// Waits until it listens, and makes sure that it is the one that was started. If another program took its port, says so as
    /// something that may be tried again.
    fn connect(&mut self) -> Result<TcpStream, Failure> {
        let (start, address) = (Instant::now(), SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)));
        loop {
            let known =
                TcpStream::connect_timeout(&address, self.patience).ok().map(|s| self.recognise(s, start));
            match known {
                Some(Ok(Some(socket))) => return Ok(socket),
                Some(Err(error)) => return Err(self.died(&error.to_string())),
                _ => {}
            }
            if let Ok(Some(_)) = self.child.try_wait() {
                if self.log_text().contains("tcpip") {
                    return Err(Failure { why: PORT_TAKEN.into(), refused: false });
                }
                // Refused if it said why; without a word somebody killed it.
                return Err(self.died("it ended before it listened"));
            }
            if start.elapsed() > self.patience {
                return Err(self.died(&format!("it does not listen after {} s", self.patience.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The connection, if our own SUMO is at its other end. A stranger may say anything, or nothing, until ours finds that its port
    /// is taken, and ends.
    fn recognise(&mut self, mut socket: TcpStream, start: Instant) -> std::io::Result<Option<TcpStream>> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(GLANCE))?;
        socket.set_write_timeout(Some(self.patience))?;
        let mut frame = Frame::default();
        frame.ask_option(LABEL.trim_start_matches('-'));
        if socket.write_all(&frame.finish()).is_err() {
            return Ok(None);
        }
        let (mut answer, mut part) = (vec![], [0; 4096]);
        loop {
            match socket.read(&mut part) {
                Ok(0) => return Ok(None),
                Ok(n) => answer.extend_from_slice(&part[..n]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if !matches!(self.child.try_wait(), Ok(None)) || start.elapsed() > self.patience {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Ok(None),
            }
            let length = answer.first_chunk().map(|four| i32::from_be_bytes(*four));
            match length.map(|n| usize::try_from(n).unwrap_or(0)) {
                Some(length) if !(4..=SHORT).contains(&length) => return Ok(None),
                Some(length) if answer.len() >= length => {
                    let ours = Reader::new(&answer[4..length]).option().is_ok_and(|l| l == self.label);
                    socket.set_read_timeout(Some(self.patience))?;
                    return Ok(ours.then_some(socket));
                }
                _ => {}
            }
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// If it died or does not listen any more.
    pub fn send(&mut self, frame: Frame) -> Result<(), Failure> {
        if self.socket.is_none() {
            self.socket = Some(self.connect()?);
        }
        let bytes = frame.finish();
        let sent = self.socket.as_mut().map_or(Ok(()), |socket| socket.write_all(&bytes));
        sent.map_err(|error| self.died(&error.to_string()))
    }

    /// The answer to a frame.
    ///
    /// # Errors
    /// If it died, or says nothing for too long.
    pub fn receive(&mut self) -> Result<Reader<'_>, Failure> {
        let mut answer = std::mem::take(&mut self.answer);
        let read = |socket: &mut TcpStream, answer: &mut Vec<u8>| {
            let mut length = [0; 4];
            socket.read_exact(&mut length)?;
            let length = usize::try_from(i32::from_be_bytes(length)).unwrap_or(0).saturating_sub(4);
            if length > LONGEST {
                return Err(std::io::Error::other(format!("it announces an answer of {length} bytes")));
            }
            answer.resize(length, 0);
            socket.read_exact(answer)
        };
        let done = match &mut self.socket {
            Some(socket) => read(socket, &mut answer),
            None => Err(std::io::Error::other("nothing was sent")),
        };
        self.answer = answer;
        match done {
            Ok(()) => Ok(Reader::new(&self.answer)),
            Err(error) => Err(self.died(&match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    format!("it says nothing for {} s", self.patience.as_secs())
                }
                ErrorKind::UnexpectedEof => "it hung up".into(),
                _ => error.to_string(),
            })),
        }
    }

    /// Ends it in good order, so that it writes its files to their ends.
    ///
    /// # Errors
    /// If it does not end well.
    pub fn close(mut self) -> Result<(), Failure> {
        let mut frame = Frame::default();
        frame.command(crate::wire::id::CLOSE, crate::wire::Body::default());
        self.send(frame)?;
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(_)) => return Err(self.died("it did not end well")),
                _ if start.elapsed() > self.patience => return Err(self.died("it does not end")),
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What happened, with SUMO's own last words, and whether they are about its input.
    fn died(&mut self, what: &str) -> Failure {
        // Its last words may still be on their way to the log.
        for _ in 0..40 {
            if !matches!(self.child.try_wait(), Ok(None)) || self.log_text().contains("Quitting") {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let log = self.log_text();
        let words: Vec<&str> = log.lines().filter(|l| l.starts_with("Error")).map(str::trim).collect();
        let own = |l: &&&str| !l.contains("tcpip") && !l.contains("Socket");
        match words.iter().find(own) {
            Some(words) => Failure { why: format!("SUMO says: {words}"), refused: true },
            None => Failure { why: format!("SUMO died or hangs: {what}"), refused: false },
        }
    }

    /// The id of the shell that guards it, for tests.
    pub fn guard(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.socket = None;
        // The end of its input is what the guard waits for.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn not_started(what: &str, error: &std::io::Error) -> Failure {
    Failure { why: format!("SUMO cannot be started: {what}: {error}"), refused: true }
}

/// A port that nobody uses now.
fn free_port() -> std::io::Result<u16> {
    let mut last = std::io::Error::other("none was tried");
    for _ in 0..TRIES {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr()) {
            Ok(address) => return Ok(address.port()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_none_is_refused() {
        assert_eq!(patience_of("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(patience_of(""), Ok(USUAL_PATIENCE));
        for bad in ["abc", "0", "-1", "nan", "inf", "2 s"] {
            let said = patience_of(bad).unwrap_err();
            assert!(said.contains("EQUIMARL_SUMO_TIMEOUT") && said.contains(bad), "{said}");
        }
    }
}
