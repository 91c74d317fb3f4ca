//! A program with a world of its own, and every verb of `equimarl`: try `cargo run --release -- --help`.

mod harbour;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

fn main() -> ExitCode {
    match equimarl_worlds::Registry::default().with(harbour::Harbour) {
        Ok(worlds) => equimarl_cli::run(worlds),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
