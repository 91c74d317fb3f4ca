//! `equimarl view` as a person starts it.

mod common;

use common::{folder, refuses};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A page that ends with its test.
struct Page {
    child: Child,
    host: String,
}

fn start(args: &[&str]) -> Page {
    let mut child = Command::new(env!("CARGO_BIN_EXE_equimarl"))
        .arg("view")
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let host = first.trim().strip_prefix("http://").unwrap().strip_suffix('/').unwrap().to_string();
    Page { child, host }
}

impl Page {
    fn ask(&self, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.lines().next().unwrap_or("").into()
    }

    /// Ends the page, and gives what it wrote to standard error.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        self.child.wait().unwrap();
        log
    }
}

#[test]
fn the_first_line_is_the_address_and_refusals_are_logged() {
    let empty = folder("view-empty");
    let page = start(&[empty.to_str().unwrap(), "--port", "0"]);
    assert!(page.host.starts_with("127.0.0.1:"));
    assert!(page.ask(&page.host).contains("200"));
    assert!(page.ask("evil.example\u{7f}").contains("40"));
    assert!(page.ask("evil.example").contains("403"));
    let log = page.end();
    let refused =
        log.lines().find(|l| l.starts_with("refused 403 GET \"/\"")).unwrap_or_else(|| panic!("{log}"));
    assert!(refused.contains("evil.example"));
    assert!(!log.contains("warning"));
}

#[test]
fn the_usual_port_may_be_taken_and_other_names_are_allowed_by_a_flag() {
    // Whoever holds the usual port, this test or another program, two pages find two ports.
    let _taken = TcpListener::bind(("127.0.0.1", equimarl_view::USUAL_PORT));
    let empty = folder("view-ports");
    let page = start(&[empty.to_str().unwrap(), "--allow-host", "box.lan"]);
    let port = page.host.rsplit(':').next().unwrap();
    assert_ne!(port, equimarl_view::USUAL_PORT.to_string());
    assert!(page.ask(&format!("box.lan:{port}")).contains("200"));
    assert!(page.ask(&format!("other.lan:{port}")).contains("403"));
    assert!(page.end().contains("is taken"));
}

#[test]
fn an_open_address_is_warned_of() {
    let empty = folder("view-open");
    let page = start(&[empty.to_str().unwrap(), "--port", "0", "--address", "0.0.0.0"]);
    assert!(page.ask(&page.host).contains("200"));
    assert!(page.end().contains("warning: everybody who can reach 0.0.0.0"));
}

#[test]
fn what_cannot_be_shown_is_an_error_of_one_line() {
    refuses(&["view", "/no/such/folder"], "cannot look at /no/such/folder");
    let folder = folder("view-wrong");
    std::fs::write(folder.join("model.safetensors"), "nonsense").unwrap();
    refuses(&["view", folder.join("model.safetensors").to_str().unwrap()], "cannot use");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refuses(&["view", folder.to_str().unwrap(), "--port", &port], "cannot listen on 127.0.0.1");
}
