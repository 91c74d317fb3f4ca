//! Programs that are started, say something and end. One that does not end is given up: on a broken disk or network, it would
//! hold us up for ever.

use crate::process::patience;
use std::io::{Error, ErrorKind, Read, Result};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a program says. It runs in no folder of the user's: Python would take what lies there for its packages.
///
/// # Errors
/// If it cannot be started, or has not ended after the time that a SUMO may take for an answer.
pub(crate) fn ask(command: &mut Command) -> Result<Output> {
    ask_within(command, patience().map_err(Error::other)?)
}

fn ask_within(command: &mut Command, patience: Duration) -> Result<Output> {
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (start, mut child) = (Instant::now(), command.spawn()?);
    let [stdout, stderr] = [listen(child.stdout.take()), listen(child.stderr.take())];
    let too_long = || {
        let why = format!("it does not end after {} s (EQUIMARL_SUMO_TIMEOUT)", patience.as_secs_f64());
        Error::new(ErrorKind::TimedOut, why)
    };
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > patience => {
                child.kill()?;
                child.wait()?;
                return Err(too_long());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    // It has ended; a child of its own may hold the other end of the pipe.
    let read = |text: &Receiver<Vec<u8>>| text.recv_timeout(patience).map_err(|_| too_long());
    Ok(Output { status, stdout: read(&stdout)?, stderr: read(&stderr)? })
}

/// Reads to the end, beside us: a full pipe would stop who writes into it.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut text = vec![];
        // What was said before an error is all that there is.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
        let _ = send.send(text);
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn programs_are_heard_to_their_end_and_not_for_ever() {
        let said = ask(&mut sh("yes | head -n 100000; pwd; echo no >&2; exit 3")).unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        assert!(text.len() > 200_000 && text.ends_with("y\n/\n"), "{}", text.len());
        assert_eq!((said.status.code(), said.stderr.as_slice()), (Some(3), &b"no\n"[..]));
        let start = Instant::now();
        let error = ask_within(&mut sh("exec sleep 60"), Duration::from_millis(200)).unwrap_err();
        assert!(error.to_string().contains("does not end after 0.2 s"), "{error}");
        // Whoever leaves somebody behind who keeps the pipe open is given up, too.
        ask_within(&mut sh("sleep 2 &"), Duration::from_millis(200)).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
