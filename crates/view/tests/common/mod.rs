//! A server, and a client that says exactly what it is told to.
#![allow(dead_code)]

use equimarl_learn::{Method, TrainConfig, run};
use equimarl_view::{Options, Server};
use equimarl_worlds::{Registry, builtin};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

pub struct Page {
    pub host: String,
}

/// What a server answered.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Serves `what` on a free port for as long as the test runs.
pub fn serve(what: Option<&Path>) -> Page {
    serve_with(builtin(), what)
}

/// The same for a program with other worlds.
pub fn serve_with(registry: Registry, what: Option<&Path>) -> Page {
    let options = Options { registry, what: what.map(Into::into), port: Some(0), ..Options::default() };
    let server = Server::bind(&options).unwrap();
    let host = server.url().trim_start_matches("http://").trim_end_matches('/').to_string();
    std::thread::spawn(move || server.run().unwrap());
    Page { host }
}

impl Page {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes as they are.
    pub fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that refuses early may close before everything is sent.
        let _ = stream.write_all(bytes);
        let mut answer = vec![];
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_ascii_lowercase(), body: body.into() }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.raw(
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host).as_bytes(),
        )
    }

    pub fn post_text(&self, path: &str, headers: &str, body: &str) -> Reply {
        let (host, length) = (&self.host, body.len());
        self.raw(
            format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
            )
            .as_bytes(),
        )
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_text(path, "Content-Type: application/json\r\n", &body.to_string())
    }

    /// The answer about an episode.
    pub fn episode(&self, ask: Value) -> Value {
        let reply = self.post("/api/episode", &ask);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// The first list that a listener hears.
    pub fn list(&self) -> Value {
        self.listen(|_| true)
    }

    /// Listens until a list is as wanted.
    pub fn listen(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut stream = self.connect();
        write!(stream, "GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.host).unwrap();
        let (mut heard, mut part) = (vec![], [0; 8192]);
        loop {
            let n = stream.read(&mut part).unwrap();
            assert!(n > 0, "the server hung up: {}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&part[..n]);
            let text = String::from_utf8_lossy(&heard);
            // Every event arrives in a chunk of its own.
            let lists = text.split("data: ").skip(1).filter_map(|d| d.split_once("\n\n"));
            if let Some(list) = lists.filter_map(|(d, _)| serde_json::from_str(d).ok()).find(&wanted) {
                return list;
            }
        }
    }
}

/// An empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn config(method: Method) -> TrainConfig {
    let (registry, world) = (builtin(), builtin().usual("wildlife").unwrap());
    let preset = TrainConfig::preset(&registry, "paper", world, method).unwrap();
    TrainConfig { steps: 1600, evaluate_episodes: 2, evaluate_every: 0, log_every: 80, seed: 5, ..preset }
}

/// A folder with two real runs, trained once for all tests of this file.
pub fn runs() -> &'static Path {
    static RUNS: OnceLock<PathBuf> = OnceLock::new();
    RUNS.get_or_init(|| {
        let folder = folder(&format!("view-runs-{}", std::process::id()));
        for method in [Method::Equivariant, Method::Plain] {
            let run = folder.join("sweep").join(method.name());
            run::create(&builtin(), &run, &config(method)).unwrap();
            run::train(&builtin(), &run, &json!({}), &|| false, &mut |_| {}).unwrap();
        }
        folder
    })
}

/// Copies a run.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in ["config.toml", "metrics.jsonl", "summary.json", "model.safetensors"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
}
