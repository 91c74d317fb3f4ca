//! Which code, on which machine: stands beside every number we print.

use serde_json::{Value, json};

/// The commit that this binary was built from; `-changed` if the working tree differed.
pub const COMMIT: &str = env!("EQUIMARL_COMMIT");

/// The processor's name, the number of its cores that we may use, and the instructions that our kernels use.
pub fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let simd = equimarl_kernels::Level::best().name();
    json!({ "cpu": cpu(), "cores": cores, "simd": simd, "os": std::env::consts::OS, "arch": std::env::consts::ARCH })
}

/// Version, commit, CPU and instructions: what stands in every summary and model.
pub fn origin() -> Value {
    let simd = equimarl_kernels::Level::best().name();
    json!({ "version": env!("CARGO_PKG_VERSION"), "commit": COMMIT, "cpu": cpu(), "simd": simd })
}

fn cpu() -> String {
    let listing = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = listing.lines().find_map(|line| line.strip_prefix("model name"));
    name.and_then(|rest| rest.split_once(':')).map_or("unknown".into(), |(_, name)| name.trim().into())
}
