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

/// What SUMO would refuse in the first episode is refused before there is a run; SUMO has the last word on what is not understood.
#[test]
fn routes_that_do_not_fit_are_refused_before_there_is_a_run() {
    let path = std::env::temp_dir().join(format!("equimarl-fit-{}.rou.xml", std::process::id()));
    let usual = usual().with("net", NET).with("routes", path.to_str().unwrap()).with("duration", 300usize);
    let made = |text: &[u8], begin: usize| {
        std::fs::write(&path, text).unwrap();
        let made = SumoDefinition.make(&usual.clone().with("begin", begin), &"C4".parse().unwrap(), 1);
        made.err().map_or(String::new(), |error| error.to_string())
    };
    let ok = "<route edges='left0A0 left0A0.140.00'/>";
    let car = |depart: &str, route: &str| format!("<vehicle id='v' depart='{depart}'>{route}</vehicle>");
    let nowhere = "<route edges='left0A0 nowhere'/>";
    for (text, begin, part) in [
        (car("0", ok), 0, ""),
        (car("0", nowhere), 0, "vehicle v takes the road nowhere"),
        (format!("<route id='r' edges='nowhere'/>{}", car("0", ok)), 0, "route r takes the road nowhere"),
        ("<trip id='t' depart='0' from='nowhere' to='left0A0'/>".into(), 0, "trip t takes the road nowhere"),
        (
            "<flow id='f' end='9' from='left0A0' to='A0B0' via='nowhere' number='2'/>".into(),
            0,
            "flow f takes",
        ),
        // Nobody reads as far as that.
        (car("0", ok) + &car("300", ok) + &car("400", nowhere), 0, ""),
        (car("301", ok), 0, "no vehicle departs from second 0 to 300"),
        (car("299", ok), 300, "no vehicle departs from second 300 to 600"),
        (car("299", ok) + &car("300", ok), 300, ""),
        (format!("<flow id='f' begin='0' end='300' number='2'>{ok}</flow>"), 300, "no vehicle departs"),
        (format!("<flow id='f' begin='0' end='301' number='2'>{ok}</flow>"), 300, ""),
        (format!("<flow id='f' number='2'>{ok}</flow>"), 300, ""),
        // Times in words, and who comes on foot, are left to SUMO.
        (car("0:00:10", ok), 7200, ""),
        ("<person id='p' depart='0'/>".into(), 0, ""),
        (String::new(), 0, "is it a file of routes"),
    ] {
        let said = made(format!("<routes>{text}</routes>").as_bytes(), begin);
        assert!(
            said.contains(part) && said.is_empty() == part.is_empty() && !said.contains('\n'),
            "{text}: {said}"
        );
    }
    for text in [&b"no routes at all"[..], &[0x1f, 0x8b, 8, 0, 255]] {
        assert_eq!(made(text, 0), "");
    }
    std::fs::remove_file(path).unwrap();
}
