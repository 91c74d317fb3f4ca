//! Physics that hold in every particle world.

use super::bodies::coasting;
use super::bodies::{Bodies, Integrator, Kind, length};
use super::*;
use crate::stream::{Purpose, Stream};

const DISC: Kind = Kind { radius: 0.15, accel: 5.0, max_speed: f64::INFINITY };

fn crowd(count: usize, half: f64, seed: u64) -> (Bodies, Stream) {
    let mut stream = Stream::new(seed, Purpose::Audit, 0);
    let mut bodies = Bodies::new(vec![DISC; count], 0, None, half);
    for at in &mut bodies.movers.points {
        *at = [0; 2].map(|_| half * (2.0 * stream.unit() - 1.0));
    }
    bodies.movers.settle();
    (bodies, stream)
}

#[test]
fn cells_give_the_same_bits_as_all_pairs() {
    // 40 bodies have a grid; the same ones told to have none try all pairs.
    let (mut cells, mut stream) = crowd(40, 1.0, 1);
    let mut pairs = Bodies::new(vec![DISC; 40], 0, None, 1.0);
    pairs.movers = cloud::Cloud::default();
    pairs.movers.points = cells.movers.points.clone();
    assert!(cells.movers.has_grid() && !pairs.movers.has_grid());
    for _ in 0..200 {
        let controls: Vec<Vector> = (0..40).map(|_| CHOICES[stream.below(5) as usize]).collect();
        cells.step(&controls);
        pairs.step(&controls);
        assert_eq!(cells.places(), pairs.places());
        assert_eq!(cells.velocities(), pairs.velocities());
        for body in 0..40 {
            assert_eq!(cells.touches(body, 0..40), pairs.touches(body, 0..40));
        }
        let at = [stream.unit(), stream.unit()];
        assert_eq!(cells.nearest(at), pairs.nearest(at));
    }
}

#[test]
fn contacts_that_are_left_out_could_not_be_felt() {
    // What mpe2 adds just beyond the reach, by its own formula, without a logarithm that rounds it away.
    let push: f64 = 1e2 * (-40.0f64).exp() * 1e-3;
    assert!(push < 1e-18, "{push}");
}

#[test]
fn bodies_on_one_point_stay_finite_and_part_when_somebody_moves() {
    let (mut bodies, _) = crowd(3, 1.0, 2);
    bodies.movers.points.fill([0.3, -0.2]);
    bodies.step(&[[0.0; 2]; 3]);
    assert_eq!(bodies.velocities(), [[0.0; 2]; 3]);
    for _ in 0..20 {
        bodies.step(&[[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]);
    }
    let all = bodies.places().as_flattened().iter().chain(bodies.velocities().as_flattened());
    assert!(all.into_iter().all(|x| x.is_finite()));
    assert!(length(minus(bodies.places()[0], bodies.places()[1])) > 0.3);
    // As close as numbers can be: the squared distance is 0, the distance is not.
    bodies.movers.points = vec![[0.0, 0.0], [1e-200, 0.0], [1.0, 1.0]];
    bodies.step(&[[0.0; 2]; 3]);
    assert!(bodies.velocities().as_flattened().iter().all(|x| x.is_finite()));
}

#[test]
fn the_two_integrators_differ_by_which_velocity_moves_a_body() {
    let mut one = Bodies::new(vec![DISC], 0, None, 1.0);
    one.velocities = vec![[1.0, 0.0]];
    let mut two = one.clone();
    two.integrator = Integrator::VelocityFirst;
    one.step(&[[1.0, 0.0]]);
    two.step(&[[1.0, 0.0]]);
    assert_eq!(one.velocities(), [[0.75 + 0.5, 0.0]]);
    assert_eq!(one.velocities(), two.velocities());
    assert_eq!((one.places()[0][0], two.places()[0][0]), (0.1, 0.125));
}

#[test]
fn a_body_that_coasts_comes_to_rest_where_it_is_said() {
    for integrator in [Integrator::PositionFirst, Integrator::VelocityFirst] {
        let mut body = Bodies::new(vec![DISC], 0, None, 1.0);
        body.integrator = integrator;
        body.velocities = vec![[0.4, -0.7]];
        let rest = coasting(integrator, [0.0; 2], [0.4, -0.7], [5.0, 0.0]);
        body.step(&[[1.0, 0.0]]);
        for _ in 0..200 {
            body.step(&[[0.0; 2]]);
        }
        assert!(length(minus(rest, body.places()[0])) < 1e-12);
    }
}
