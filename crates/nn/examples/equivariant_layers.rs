//! Your own group and your own layers: a function of the corners of a tetrahedron that turns with it.
//!
//! `cargo run --release --example equivariant_layers`

use equimarl_group::{Basis, Group, Rep, equivariance_error};
use equimarl_nn::{Linear, Packed};

/// Any source of independent numbers will do.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 3.4
    }
}

/// A layer with weights in the order that it reads them.
struct Made {
    layer: Linear,
    weights: Packed,
}

impl Made {
    fn new(layer: Linear, normal: &mut dyn FnMut() -> f64) -> equimarl_nn::Result<Made> {
        let mut weights = Packed::default();
        layer.realise(&layer.init(normal), &mut weights)?;
        Ok(Made { layer, weights })
    }

    fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = vec![0.0; self.layer.outputs()];
        // A row of another length would be refused; the empty answer then fails the checks below.
        self.layer.forward(&self.weights, x, &mut y).map_or(vec![], |()| y)
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
    let mut normal = numbers(1);
    let first = Made::new(Linear::new(&corners, std::slice::from_ref(&hidden), true)?, &mut normal)?;
    let second = Made::new(Linear::new(&hidden, std::slice::from_ref(&corners), false)?, &mut normal)?;
    let vectors = Rep::parse(&"C3".parse()?, "rotation")?;
    let refused = Linear::new(&vectors, std::slice::from_ref(&vectors), true);
    println!("refused: {}", refused.err().map_or_else(String::new, |e| e.to_string()));

    // Does the whole function turn? f(g x) = g f(x), tried for every element. The assertion is yours to call on your code.
    let network = |x: &[f64]| wide(second.forward(&first.forward(&narrow(x))));
    println!(
        "turned by any element, the answer turns along: {:.1e}",
        equivariance_error(network, &corners, &corners)?
    );

    // What should not turn at all is pooled over the group: a regular block is one number per element.
    let pooled = |x: &[f64]| -> Vec<f64> {
        let features = wide(first.forward(&narrow(x)));
        features.chunks(group.order()).map(|block| block.iter().copied().fold(0.0, f64::max)).collect()
    };
    let still = Rep::trivial(&group).copies(4)?;
    println!("pooled over the group, nothing changes: {:.1e}", equivariance_error(pooled, &corners, &still)?);

    // Forget the symmetry in one place, and it shows.
    let broken = |x: &[f64]| network(x).iter().enumerate().map(|(i, y)| y + 0.1 * i as f64).collect();
    println!("with another bias per corner: {:.1e}", equivariance_error(broken, &corners, &corners)?);
    Ok(())
}

fn narrow(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&v| v as f32).collect()
}

fn wide(x: Vec<f32>) -> Vec<f64> {
    x.into_iter().map(f64::from).collect()
}
