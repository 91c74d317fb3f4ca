//! What a world should hold, whoever wrote it.

use crate::harbour::{Harbour, State};
use equimarl_group::Group;
use equimarl_worlds::{
    Auditing, Controller, EnvBatch, Named, Purpose, Registry, Stream, World, audit, audit_by, play,
};

fn harbour(group: &str) -> State {
    State::new(3, 7, &group.parse::<Group>().unwrap()).unwrap()
}

#[test]
fn it_can_be_registered() {
    assert_eq!(Registry::default().with(Harbour).unwrap().names(), ["harbour"]);
}

#[test]
fn it_is_symmetric_in_any_wind() {
    for wind in [0.0, 0.3, 1.0] {
        let report = audit(&harbour("D4").with_wind(wind, "any").unwrap(), 500, 1);
        assert!(report.holds, "{report:?}");
    }
}

#[test]
fn a_steady_wind_breaks_the_symmetry_by_as_much_as_it_blows_and_turns_along() {
    let windy = harbour("D4").with_wind(0.3, "west").unwrap();
    let report = audit(&windy, 500, 1);
    // The identity, and the mirror along the wind, which exchanges north and south.
    let holds = report.elements.iter().filter(|e| e.holds).count();
    let most = report.elements.iter().filter_map(|e| e.variation).map(|v| v.most).fold(0.0, f64::max);
    assert!(holds == 2 && (most - 0.3).abs() < 1e-12, "{report:?}");
    let along = Auditing { steps: 500, seed: 1, cause: true, ..Auditing::default() };
    assert!(audit_by(&windy, &along).holds);
}

#[test]
fn wind_takes_boats_from_their_berths() {
    let taken = |wind: f64| {
        let calm = harbour("C1");
        let mut nearest = Named::new("nearest", &calm).unwrap();
        play(&mut EnvBatch::of(&calm.with_wind(wind, "any").unwrap(), 1), &mut nearest, 50, 1)
            .unwrap()
            .total
            .mean
    };
    let (calm, stormy) = (taken(0.0), taken(0.5));
    assert!(calm > 4.0 && stormy < 0.7 * calm, "{calm} without wind, {stormy} in wind");
}

#[test]
fn sizes_that_make_no_harbour_are_refused() {
    let group = "D4".parse().unwrap();
    for (boats, size) in [(0, 7), (25, 7), (1 << 63, 7), (usize::MAX, 101), (3, 1), (3, usize::MAX)] {
        let error = State::new(boats, size, &group).err().unwrap().to_string();
        assert!(error.contains("do not fit"), "{error}");
    }
    assert!(State::new(24, 7, &group).is_ok());
    let sideways = harbour("D4").with_wind(0.1, "above").err().unwrap().to_string();
    assert!(sideways.contains("any, north, west, south or east"), "{sideways}");
    for wind in [-0.1, 1.1, f64::NAN] {
        assert!(
            harbour("D4")
                .with_wind(wind, "any")
                .err()
                .unwrap()
                .to_string()
                .contains("`wind` is a probability")
        );
    }
}

#[test]
fn controllers_are_known_by_their_whole_name() {
    // A controller is asked before the world was ever reset.
    let made = harbour("C1");
    let mut actions = [9; 3];
    let mut stream = Stream::new(1, Purpose::Action, 0);
    Named::new("nearest", &made).unwrap().act(&made, &mut stream, &mut actions).unwrap();
    assert!(actions.iter().all(|&action| action < 5));
    for bad in ["nearest:banana", "nearest:", "wise"] {
        assert!(Named::new(bad, &made).is_err() && made.control(bad, &mut stream, &mut actions).is_err());
    }
}
