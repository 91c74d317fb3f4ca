//! The live page: runs while they learn, episodes of trained teams, and a world beside its turned twin.
//!
//! [`Server`] serves one page to browsers on this machine. Everything that it shows comes from the other crates: runs
//! from `equimarl-lab`, worlds from `equimarl-worlds`, policies from `equimarl-nn`. The page sends the state that it shows
//! along with every question, so the server remembers nothing between two of them.
//!
//! ```
//! use equimarl_view::{Options, Server};
//! use std::io::{Read, Write};
//!
//! let server = Server::bind(&Options { port: Some(0), ..Options::default() })?;
//! let url = server.url();
//! std::thread::spawn(move || server.run());
//!
//! let host = url.trim_start_matches("http://").trim_end_matches('/');
//! let mut browser = std::net::TcpStream::connect(host)?;
//! write!(browser, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
//! let mut page = String::new();
//! browser.read_to_string(&mut page)?;
//! assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>equimarl"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod asked;
mod assets;
mod beside;
mod curves;
mod episode;
mod error;
mod events;
mod find;
mod fleet;
mod guard;
mod lines;
mod live;
mod look;
mod models;
mod runs;
mod server;
mod settings;
mod symmetry;

pub use error::{Error, Result};
pub use fleet::{FleetPage, FleetSource};
pub use server::{Options, Server, USUAL_PORT};
