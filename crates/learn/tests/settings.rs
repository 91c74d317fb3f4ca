//! What networks hear of the two worlds: the representations that the specification writes down.

use equimarl_group::Rep;
use equimarl_learn::interface;
use equimarl_nn::{Interface, NetworkKind};
use equimarl_worlds::{WorldConfig, builtin};

fn of(world: &WorldConfig, group: &str) -> Interface {
    let envs = builtin().make(world, &group.parse().unwrap(), 1).unwrap();
    interface(envs.spec(), NetworkKind::CentralEquivariant).unwrap()
}

fn drones(count: usize, group: &str) -> Interface {
    of(&builtin().usual("wildlife").unwrap().with("drones", count), group)
}

fn junctions(rows: usize, cols: usize, group: &str) -> Interface {
    of(&builtin().usual("traffic").unwrap().with("rows", rows).with("cols", cols), group)
}

#[test]
fn actions_turn_as_the_specification_says() {
    assert_eq!(drones(3, "C4").actions, "perm[0 4 1 2 3]");
    assert_eq!(drones(3, "C2").actions, "perm[0 3 4 1 2]");
    assert_eq!(drones(3, "D4").actions, "perm[0 4 1 2 3; 0 1 4 3 2]"); // the mirror swaps 2 and 4
    assert_eq!(drones(3, "D4").team_heads, vec![drones(3, "D4").actions; 3]);
    assert_eq!(junctions(2, 2, "C4").actions, "perm[1 0]");
    assert_eq!(junctions(2, 2, "C2").actions, "2*trivial");
    assert_eq!(junctions(2, 2, "D4").actions, "perm[1 0; 0 1]");
    assert_eq!(junctions(2, 2, "C1").actions, "2*trivial");
}

/// For 2 x 2 and the quarter turn old index k goes to [5,4,1,0,7,6,3,2][k].
#[test]
fn the_central_traffic_head_moves_junctions_and_phases() {
    let c4 = "C4".parse().unwrap();
    let heads = junctions(2, 2, "C4").team_heads;
    let head = Rep::parse(&c4, &heads[0]).unwrap();
    for (k, to) in [5, 4, 1, 0, 7, 6, 3, 2].into_iter().enumerate() {
        let mut old = [0.0; 8];
        old[k] = 1.0;
        let new = head.apply(c4.generators()[0], &old);
        assert_eq!(new.iter().position(|v| *v == 1.0), Some(to), "index {k}");
    }
    assert_eq!(heads, ["perm[3 2 7 6 1 0 5 4]"]); // the same as a gather
    assert!(junctions(2, 3, "C4").team_heads.is_empty(), "this city has no quarter turn");
    assert_eq!(junctions(2, 3, "C2").team_heads.len(), 1);
}

#[test]
fn pictures_have_the_sizes_of_their_worlds() {
    assert_eq!(drones(4, "C4").image, [1, 21, 21]);
    assert_eq!(drones(4, "C4").team_image, [4, 21, 21]);
    assert_eq!(junctions(2, 2, "C4").image, [3, 35, 35]);
    assert_eq!(junctions(2, 2, "C4").team_image, [3, 75, 75]);
    assert_eq!(junctions(1, 3, "C2").team_image, [3, 35, 115]);
}
