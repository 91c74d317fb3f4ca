//! Your own group and your own layers: a function of the corners of a tetrahedron that turns with it.
//!
//! `cargo run --release --example equivariant_layers`

use burn::tensor::{Device, Tensor};
use equimarl_group::{Basis, Group, Rep, equivariance_error};
use equimarl_nn::{EquivariantLinearConfig, max_over_group};

/// Any source of independent numbers will do.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 3.4
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A group is given by generators: the turns of a tetrahedron, as permutations of its four corners. Axioms are checked.
    let group: Group = "perm[1 2 0 3; 0 2 3 1]".parse()?;
    println!("{} has {} elements, abelian: {}", group, group.order(), group.is_abelian());

    // Representations say how things turn: corners move, hidden features are functions on the group, and the answer is one number
    // per corner.
    let corners = Rep::parse(&group, "natural")?;
    let hidden = Rep::parse(&group, "4*regular")?;
    println!(
        "maps from corners to corners: {} free weights of 16",
        Basis::linear(&corners, &corners)?.rank()
    );
    println!(
        "maps from corners to hidden features: {} free weights of {}",
        Basis::linear(&corners, &hidden)?.rank(),
        4 * hidden.dim()
    );

    // Two layers, one with a ReLU. Where a ReLU would break the symmetry, the layer does not build.
    let device = Device::flex();
    let mut normal = numbers(1);
    let first = EquivariantLinearConfig::new(corners.clone(), hidden.clone())
        .with_relu()
        .init(&mut normal, &device)?;
    let second = EquivariantLinearConfig::new(hidden.clone(), corners.clone()).init(&mut normal, &device)?;
    let vectors = Rep::parse(&"C3".parse()?, "rotation")?;
    let refused =
        EquivariantLinearConfig::new(vectors.clone(), vectors).with_relu().init(&mut normal, &device);
    println!("refused: {}", refused.err().map_or_else(String::new, |e| e.to_string()));

    // Does the whole function turn? f(g x) = g f(x), tried for every element. The assertion is yours to call on your code.
    let network = |x: &[f64]| row(second.forward(first.forward(tensor(x, &device))));
    println!(
        "turned by any element, the answer turns along: {:.1e}",
        equivariance_error(network, &corners, &corners)?
    );

    // What should not turn at all is pooled over the group.
    let pooled = |x: &[f64]| match max_over_group(first.forward(tensor(x, &device)), &hidden) {
        Ok(y) => row(y),
        Err(_) => vec![],
    };
    let still = Rep::trivial(&group).copies(4)?;
    println!("pooled over the group, nothing changes: {:.1e}", equivariance_error(pooled, &corners, &still)?);

    // Forget the symmetry in one place, and it shows.
    let broken = |x: &[f64]| network(x).iter().enumerate().map(|(i, y)| y + 0.1 * i as f64).collect();
    println!("with another bias per corner: {:.1e}", equivariance_error(broken, &corners, &corners)?);
    Ok(())
}

fn tensor(x: &[f64], device: &Device) -> Tensor<2> {
    let numbers: Vec<f32> = x.iter().map(|&v| v as f32).collect();
    Tensor::<1>::from_floats(numbers.as_slice(), device).reshape([1, x.len()])
}

fn row(x: Tensor<2>) -> Vec<f64> {
    x.into_data().try_to_vec::<f32>().unwrap_or_default().into_iter().map(f64::from).collect()
}
