//! Settings: what is refused, what is not looked at, and what a world is called.

use equimarl_sumo::{Options, SumoDefinition};
use equimarl_worlds::{Definition, Settings};

const NET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nets/grid-2x2.net.xml");

fn usual() -> Settings {
    Settings::usual(&SumoDefinition.options())
}

/// Runs and models from before there was a clearance have none.
#[test]
fn old_settings_have_no_clearance() {
    let options = SumoDefinition.options();
    let mut old = Settings::default();
    usual().iter().filter(|(key, _)| *key != "all_red").for_each(|(key, value)| old.set(key, value.clone()));
    assert_eq!(Options::of(&old.complete("sumo", &options).unwrap()).unwrap().all_red, 0);
    assert_eq!(Options::of(&usual()).unwrap().all_red, 2);
    assert_eq!(old.identity(&options), usual().with("all_red", 0usize).identity(&options));
}

#[test]
fn a_change_takes_less_than_an_interval() {
    for (yellow, red, interval, good) in
        [(3, 2, 10, true), (3, 2, 5, false), (3, 0, 5, true), (0, 2, 10, false)]
    {
        let asked = usual().with("yellow", yellow as usize).with("all_red", red as usize);
        let found = Options::of(&asked.with("interval", interval as usize));
        assert_eq!(found.is_ok(), good, "{found:?}");
        assert!(good || found.unwrap_err().to_string().contains("`all_red`"));
    }
    assert!(Options::of(&usual().with("all_red", usize::MAX)).is_err());
}

#[test]
fn what_is_not_looked_at_is_as_usual() {
    let odd = usual().with("lanes", 3usize).with("rows", 7usize).with("tilt", 0.4);
    assert_eq!(SumoDefinition.canonical(odd.clone()), odd);
    let net = odd.with("net", NET);
    assert_eq!(SumoDefinition.canonical(net.clone()), usual().with("net", NET).with("tilt", 0.4));
    let both = usual().with("net", NET).with("routes", "x.rou.xml");
    assert_eq!(SumoDefinition.canonical(net.with("routes", "x.rou.xml")), both);
}

#[test]
fn names_of_worlds_tell_their_files() {
    let label = |settings: &Settings| SumoDefinition.label(settings);
    let town = usual().with("net", "a/Town 1.net.xml");
    assert_eq!(label(&usual()), "sumo-4x4");
    assert_eq!(label(&usual().with("all_red", 0usize)), "sumo-4x4-all-red0");
    assert_eq!(label(&town), "sumo-town-1");
    assert_eq!(label(&town.clone().with("routes", "b/morning.rou.xml")), "sumo-town-1-morning");
    assert_eq!(
        label(&town.with("routes", "b/evening.xml").with("begin", 60usize)),
        "sumo-town-1-evening-begin60"
    );
}

#[test]
fn paths_with_a_comma_are_refused() {
    for (net, routes) in [("/tmp/a,b.net.xml", ""), (NET, "/tmp/a,b.rou.xml")] {
        let options = Options::of(&usual().with("net", net).with("routes", routes)).unwrap();
        let error = options.own_city().unwrap_err().to_string();
        assert!(error.contains("comma") && error.contains("a,b"), "{error}");
    }
}
