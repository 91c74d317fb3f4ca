//! The `equimarl` command with the worlds that come with it.

fn main() -> std::process::ExitCode {
    equimarl_cli::run(equimarl_cli::builtin())
}
