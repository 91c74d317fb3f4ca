//! What makes the runs of a sweep: this machine, or a Slurm cluster. Both call `equimarl sweep run --index N`.

pub mod local;
pub mod slurm;
