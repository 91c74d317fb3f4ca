//! Our light commands against SUMO alone, which runs the same letters as a program of its own. Without SUMO these tests say so and
//! pass, unless `EQUIMARL_SUMO=required`.

mod common;

use common::{Temp, sumo};
use equimarl_sumo::{City, Declared, Install, Net, Options, Shared, Sumo, SumoDefinition, demand};
use equimarl_worlds::{Definition, End, Purpose, Settings, Stream, World};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Decisions of an episode, and seconds of each.
const DECISIONS: usize = 30;
const INTERVAL: usize = 10;

fn settings() -> Settings {
    let usual = Settings::usual(&SumoDefinition.options());
    usual.with("rows", 2usize).with("cols", 2usize).with("duration", DECISIONS * INTERVAL)
}

fn world(settings: &Settings) -> Sumo {
    let options = Options::of(settings).unwrap();
    let declared = Declared::new(&options, &"C4".parse().unwrap()).unwrap();
    Sumo::new(Arc::new(Shared::new(options, declared)))
}

/// A net and vehicles.
fn files(install: &Install, folder: &Path) -> (PathBuf, PathBuf, City) {
    let options = Options::of(&settings()).unwrap();
    let (net, routes) = (folder.join("a.net.xml"), folder.join("a.rou.xml"));
    options.generate(install, &net).unwrap();
    let city = City::new(Net::read(&net).unwrap()).unwrap();
    let trips = demand::draw(&city, &options.flow, &mut Stream::new(3, Purpose::World, 0));
    std::fs::write(&routes, demand::routes(&city, &trips, 0, 0.5)).unwrap();
    (net, routes, city)
}

/// The decisions of `fixed-cycle:2/1`: both straight phases with the left turns after each.
const CYCLE: [usize; 5] = [0, 0, 2, 1, 3];

/// What lights show in every second, as one program that somebody else would write.
fn program(light: &str, phases: &[Option<String>; 8], [yellow, red]: [usize; 2]) -> String {
    let letters = |k: usize| phases[CYCLE[k % CYCLE.len()]].as_deref().unwrap();
    let mut text = format!("<tlLogic id='{light}' type='static' programID='plan' offset='0'>\n");
    for k in 0..DECISIONS {
        let (next, now) = (letters(k), if k == 0 { letters(0) } else { letters(k - 1) });
        let lost = |letter: char| -> String {
            let one = |(a, b): (char, char)| match (a == 'r', b == 'r') {
                (true, _) => 'r',
                (false, true) => letter,
                (false, false) => a,
            };
            now.chars().zip(next.chars()).map(one).collect()
        };
        let mut left = INTERVAL;
        if lost('y').contains('y') {
            for (seconds, letter) in [(yellow, 'y'), (red, 'r')].into_iter().filter(|p| p.0 > 0) {
                text += &format!("<phase duration='{seconds}' state='{}'/>\n", lost(letter));
                left -= seconds;
            }
        }
        text += &format!("<phase duration='{left}' state='{next}'/>\n");
    }
    text + "</tlLogic>\n"
}

/// The times of every vehicle.
type Times = BTreeMap<String, [String; 5]>;

fn alone(install: &Install, folder: &Path, net: &Path, routes: &Path, more: Option<&Path>) -> Times {
    let out = folder.join("alone.xml");
    let mut command = Command::new(install.program("sumo"));
    command.arg("-n").arg(net).arg("-r").arg(routes).arg("--tripinfo-output").arg(&out);
    if let Some(more) = more {
        command.arg("-a").arg(more);
    }
    let end = (DECISIONS * INTERVAL).to_string();
    command.args(["--tripinfo-output.write-unfinished", "true", "--seed", "42", "--end", &end]);
    let done = command.args(["--no-step-log", "true"]).env("SUMO_HOME", install.home()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(out).unwrap();
    let of = |line: &str, key: &str| {
        let start = line.find(&format!(" {key}=\"")).unwrap() + key.len() + 3;
        line[start..].split('"').next().unwrap().to_string()
    };
    let keys = ["depart", "arrival", "duration", "timeLoss", "waitingTime"];
    text.lines().filter(|l| l.contains("<tripinfo ")).map(|l| (of(l, "id"), keys.map(|k| of(l, k)))).collect()
}

fn through(net: &Path, routes: &Path, all_red: usize, controller: &str) -> Times {
    let text = |path: &Path| path.to_str().unwrap().to_string();
    let own = settings().with("net", text(net).as_str()).with("routes", text(routes).as_str());
    let mut city = world(&own.with("all_red", all_red));
    city.begin_with(vec![], 84).unwrap();
    let mut actions = vec![0; 4];
    loop {
        city.control(controller, &mut Stream::new(0, Purpose::Action, 0), &mut actions).unwrap();
        if city.step(&actions, &mut Stream::new(0, Purpose::World, 0)).unwrap().end != End::Running {
            break;
        }
    }
    let number = |x: f64| format!("{x:.2}");
    let times = city.trips().iter().map(|t| {
        let all = [t.depart, t.arrival, t.duration, t.time_loss, t.waiting];
        (t.id.clone(), all.map(number))
    });
    times.collect()
}

/// With and without red for all between: every vehicle has the same times, to the digit.
#[test]
fn lights_do_what_they_are_told() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("plan");
    let (net, routes, city) = files(&install, &folder.0);
    let mut seen = vec![];
    for all_red in [2, 0] {
        let programs = city.junctions.iter().map(|j| program(&j.light, &j.phases, [3, all_red]));
        let plan = folder.0.join("plan.add.xml");
        std::fs::write(&plan, format!("<additional>\n{}</additional>\n", programs.collect::<String>()))
            .unwrap();
        let theirs = alone(&install, &folder.0, &net, &routes, Some(&plan));
        let ours = through(&net, &routes, all_red, "fixed-cycle:2/1");
        println!("all red {all_red} s: {} vehicles", theirs.len());
        assert!(theirs.len() > 100);
        assert_eq!(ours, theirs);
        seen.push(ours);
    }
    assert_ne!(seen[0], seen[1]);
}

/// A net whose lights have two programs: SUMO runs the last one, and so do we take it for the net's own.
#[test]
fn of_two_programs_the_last_one_runs() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("last");
    let (net, routes, _) = files(&install, &folder.0);
    let text = std::fs::read_to_string(&net).unwrap();
    // The same with other green times, before or after.
    let (start, end) =
        (text.find("<tlLogic").unwrap(), text.rfind("</tlLogic>").unwrap() + "</tlLogic>".len());
    let first = &text[start..end];
    let other =
        first.replace("programID=\"0\"", "programID=\"1\"").replace("duration=\"6\"", "duration=\"16\"");
    assert_ne!(first, other);
    let mut times = vec![];
    for (name, programs) in
        [("one", first.into()), ("two", format!("{first}\n{other}")), ("other", other.clone())]
    {
        let path = folder.0.join(format!("{name}.net.xml"));
        std::fs::write(&path, format!("{}{programs}{}", &text[..start], &text[end..])).unwrap();
        times.push(alone(&install, &folder.0, &path, &routes, None));
        let read = Net::read(&path).unwrap();
        let longest = |p: &equimarl_sumo::Program| p.phases.iter().any(|p| p.0 == 16.0);
        assert_eq!(read.programs.len(), 4);
        assert_eq!(read.programs.iter().all(longest), name != "one");
    }
    assert!(times[1] == times[2] && times[1] != times[0]);
}
