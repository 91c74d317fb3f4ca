//! States to JSON and back.

use super::*;
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #[test]
    fn a_saved_episode_has_the_same_future(drones in 2usize..6, half in 1usize..5, played in 0usize..99, seed: u64) {
        let mut world = Wildlife::new(drones, 2 * half + 1).unwrap();
        let mut stream = Stream::new(seed, Purpose::World, 0);
        world.reset(&mut stream).unwrap();
        for _ in 0..played {
            let draw = world.draw(&mut stream);
            if world.apply(&random_actions(&world, &mut stream), &draw).end != End::Running {
                world.reset(&mut stream).unwrap();
            }
        }
        let text = serde_json::to_string(&world.save()).unwrap();
        let mut other = Wildlife::new(drones, 2 * half + 1).unwrap();
        other.load(&serde_json::from_str(&text).unwrap()).unwrap();
        for _ in 0..100 {
            prop_assert!(world.same_state(&other));
            prop_assert_eq!(world.save(), other.save());
            let draw = world.draw(&mut stream);
            let actions = random_actions(&world, &mut stream);
            prop_assert_eq!(world.apply(&actions, &draw), other.apply(&actions, &draw));
        }
    }
}

#[test]
fn bad_states_are_refused_and_change_nothing() {
    let mut world = placed(7, &[[1, 1], [2, 2], [3, 3]], [0, 6], 17);
    let good = world.save();
    let with = |name: &str, value: Value| {
        let mut state = good.clone();
        state[name] = value;
        state
    };
    let without = |name: &str| {
        let mut state = good.clone();
        state.as_object_mut().unwrap().remove(name);
        state
    };
    for (state, words) in [
        (with("world", json!("traffic")), "of the world \"traffic\""),
        (without("world"), "no entry `world`"),
        (json!([1, 2]), "no entry `world`"),
        (Value::Null, "no entry `world`"),
        (without("steps"), "missing field `steps`"),
        (with("weather", json!("fine")), "unknown field `weather`"),
        (with("drones", json!([[1, 1], [2, 2]])), "2 drones on a grid of 7, this world 3 on 7"),
        (with("grid", json!(9)), "grid of 9"),
        (with("drones", json!([[1, 1], [2, 7], [3, 3]])), "drone 1 is at [2, 7]"),
        (with("drones", json!([[1, 1], [2, 2], [1, 1]])), "drones 0 and 2 share the cell [1, 1]"),
        (with("drones", json!([[1, 1], [2, -1], [3, 3]])), "invalid value"),
        (with("drones", json!([[1, 1], [2], [3, 3]])), "invalid length"),
        (with("poacher", json!([7, 0])), "the poacher is at [7, 0]"),
        (with("poacher", json!("home")), "invalid type"),
        (with("steps", json!(101)), "101 steps"),
        (with("steps", json!(1.5)), "invalid type"),
    ] {
        let error = world.load(&state).unwrap_err();
        assert!(matches!(error, Error::BadState(_)));
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(world.save(), good);
    }
    assert!(Wildlife::from_state(&with("grid", json!(8))).is_err());
    assert!(Wildlife::from_state(&good).unwrap().same_state(&world));
}

#[test]
fn a_drone_may_stand_on_the_poacher() {
    let world = placed(7, &[[1, 1], [5, 5]], [1, 1], 3);
    assert!(Wildlife::from_state(&world.save()).unwrap().same_state(&world));
}
