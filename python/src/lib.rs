//! What Python cannot do fast: worlds that are stepped together, groups and bases of equivariant maps, and training.
//!
//! This is the private module `equimarl._core`. It has no memory that Python sees: arrays come from NumPy, are checked on
//! every call, and belong to whoever made them. The face that people use is in `python/equimarl`.

mod arrays;
mod audit;
mod basis;
mod envs;
mod error;
mod figure;
mod foreign;
mod group;
mod model;
mod options;
mod part;
mod picture;
mod sight;
mod space;
mod surroundings;
mod team;
mod together;
mod training;

// `equimarl-render` keeps its raster and its letters to itself. These are its files, not copies of them.
#[path = "../../crates/render/src/letters.rs"]
mod letters;
#[path = "../../crates/render/src/raster.rs"]
mod raster;

/// The compiled part of equimarl. Use the package `equimarl` instead.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::audit::{audit, declared, neighbours};
    #[pymodule_export]
    use crate::basis::{basis, bias_basis};
    #[pymodule_export]
    use crate::envs::Envs;
    #[pymodule_export]
    use crate::figure::curves;
    #[pymodule_export]
    use crate::foreign::ForeignWorld;
    #[pymodule_export]
    use crate::group::{Group, Rep};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::options::worlds;
    #[pymodule_export]
    use crate::space::Space;
    #[pymodule_export]
    use crate::team::Team;
    #[pymodule_export]
    use crate::training::{Stop, begin, extend, train};

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::training::alone()
    }
}
