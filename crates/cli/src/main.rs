//! The `equimarl` command.
fn main() {}
