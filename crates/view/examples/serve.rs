//! The page from a program of your own: `cargo run --release -p equimarl-view --example serve -- runs`

use equimarl_view::{Options, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let what = std::env::args().nth(1).map(Into::into);
    let server = Server::bind(&Options { what, ..Options::default() })?;
    println!("{}", server.url());
    Ok(server.run()?)
}
