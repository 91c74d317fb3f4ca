//! The client against the real SUMO: trips, episodes, deaths, files of the user. Without one these tests say so and pass, unless
//! `EQUIMARL_SUMO=required`: `.ci/sumo` sets that.

mod common;

use common::{Temp, envs, files, of_files, of_nobody, run, settings, stream, sumo, world};
use equimarl_sumo::wire::Frame;
use equimarl_sumo::{Declared, Options, Process, Shared, Sumo, TripInfo};
use equimarl_worlds::{End, Envs, Named, Outcome, Purpose, Settings, Stream, World, episode, play};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// The same fixed-time lights by SUMO alone and through our client: every number of every trip is the same.
#[test]
fn trips_are_those_of_sumo_alone() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("alone");
    let files = files(&install, &folder, 0.5);
    let mut ours = world(&of_files(&files));
    ours.begin_with(vec![], 84).unwrap();
    let mut actions = vec![0; 4];
    loop {
        ours.control("program", &mut stream(0), &mut actions).unwrap();
        if ours.step(&actions, &mut stream(0)).unwrap().end != End::Running {
            break;
        }
    }
    let out = folder.0.join("alone.xml");
    let done = Command::new(install.program("sumo"))
        .args([
            "-n",
            files[0].to_str().unwrap(),
            "-r",
            files[1].to_str().unwrap(),
            "--seed",
            "42",
            "--end",
            "300",
        ])
        .args(["--tripinfo-output", out.to_str().unwrap(), "--tripinfo-output.write-unfinished", "true"])
        .args(["--no-step-log", "true", "--no-warnings", "true"])
        .env("SUMO_HOME", install.home())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(out).unwrap();
    let attribute = |line: &str, key: &str| {
        let start = line.find(&format!(" {key}=\"")).unwrap() + key.len() + 3;
        line[start..].split('"').next().unwrap().to_string()
    };
    let alone: BTreeMap<String, [String; 7]> = text
        .lines()
        .filter(|l| l.contains("<tripinfo "))
        .map(|l| {
            let keys =
                ["depart", "departDelay", "arrival", "duration", "timeLoss", "waitingTime", "waitingCount"];
            (attribute(l, "id"), keys.map(|k| attribute(l, k)))
        })
        .collect();
    let number = |x: f64| format!("{x:.2}");
    let one = |t: &TripInfo| {
        let numbers = [
            number(t.depart),
            number(t.depart_delay),
            number(t.arrival),
            number(t.duration),
            number(t.time_loss),
            number(t.waiting),
            format!("{}", t.stops),
        ];
        (t.id.clone(), numbers)
    };
    // By vehicle: which two arrive in the same second is no part of a trip.
    let through: BTreeMap<String, [String; 7]> = ours.trips().iter().map(one).collect();
    assert!(alone.len() > 100 && through.len() == ours.trips().len(), "{}", alone.len());
    for (id, numbers) in &alone {
        assert_eq!(through.get(id), Some(numbers), "vehicle {id}");
    }
    assert_eq!(through.len(), alone.len());
    let mean: f64 = alone.values().map(|t| t[4].parse::<f64>().unwrap()).sum::<f64>() / alone.len() as f64;
    println!("{} trips, mean time loss {mean:.6} s, by both", alone.len());
    assert!((ours.totals().unwrap().time_loss - mean).abs() < 1e-9);
}

/// Cars that come in late because the way in is full: nobody is left outside at the end, and no other measure knows of it.
#[test]
fn a_jam_outside_is_measured() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("outside");
    let files = files(&install, &folder, 0.0);
    // Thirty cars that want to come in at once, on a way that takes one every second or two, and turn right.
    let car = |k: usize| {
        format!(
            "<vehicle id='{k}' depart='0' departSpeed='max'><route edges='left0A0 left0A0.140.00 A0bottom0'/></vehicle>"
        )
    };
    std::fs::write(&files[1], format!("<routes>{}</routes>", (0..30).map(car).collect::<String>())).unwrap();
    let mut city = world(&of_files(&files));
    city.begin_with(vec![], 84).unwrap();
    run(&mut city, |_, _| 0);
    let totals = city.totals().unwrap();
    println!("{totals:?}");
    let late = city.trips().iter().map(|t| t.depart).sum::<f64>() / 30.0;
    assert_eq!((city.trips().len(), totals.not_inserted, totals.teleports), (30, 0.0, 0.0));
    assert!(late > 20.0 && (totals.depart_delay - late).abs() < 1e-9, "{late}");
    assert!(totals.time_loss < late, "{totals:?}");
}

#[test]
fn episodes_depend_on_seed_and_index_alone_and_every_controller_plays() {
    if sumo().is_none() {
        return;
    }
    let mut envs = envs(&settings(), 2);
    let mut means = std::collections::BTreeMap::new();
    for name in [
        "random",
        "program",
        "fixed-cycle",
        "fixed-cycle:2/1",
        "fixed-cycle:2+0",
        "actuated",
        "two-phase-actuated",
        "longest-queue",
        "max-pressure",
    ] {
        let mut controller = Named::new(name, envs.world(0)).unwrap();
        let played = play(&mut *envs, &mut controller, 2, 7).unwrap();
        for key in [
            "time_loss",
            "travel_time",
            "waiting",
            "stops",
            "queue",
            "throughput",
            "depart_delay",
            "not_inserted",
            "teleports",
        ] {
            assert!(played.measures[key].mean.is_finite(), "{name}: {key}");
        }
        assert_eq!(played.length.mean, 30.0);
        means.insert(name, played.measures["time_loss"].mean);
        let again = |envs: &mut dyn Envs| {
            let mut controller = Named::new(name, envs.world(0)).unwrap();
            episode(envs, &mut controller, 7, 1).unwrap()
        };
        assert_eq!(again(&mut *envs), again(&mut *envs), "{name}");
    }
    println!("time loss: {means:?}");
    assert!(means["max-pressure"] < means["random"], "max pressure is no better than chance: {means:?}");
    assert!(means["two-phase-actuated"] < means["program"], "detectors do not help: {means:?}");
    for wrong in ["fixed-cycle:0", "fixed-cycle:3+", "program:3", "actuated:2"] {
        assert!(Named::new(wrong, envs.world(0)).is_err(), "{wrong}");
    }
}

/// Environments that are stepped together do what they do one by one.
#[test]
fn environments_side_by_side_do_the_same() {
    if sumo().is_none() {
        return;
    }
    let (mut both, mut one) = (envs(&settings(), 2), envs(&settings(), 1));
    both.start_all(4, Purpose::World).unwrap();
    let mut outcomes = [Outcome { reward: 0.0, end: End::Running }; 2];
    let actions = |step: usize| (0..8).map(|i| (step + i) % 8).collect::<Vec<usize>>();
    let together: Vec<_> = (0..30)
        .map(|step| {
            both.step(&actions(step), &mut outcomes).unwrap();
            outcomes
        })
        .collect();
    for e in 0..2 {
        one.start(0, Stream::new(4, Purpose::World, e as u64)).unwrap();
        for (step, outcomes) in together.iter().enumerate() {
            let alone = one.step_one(0, &actions(step)[4 * e..4 * e + 4]).unwrap();
            assert_eq!(alone, outcomes[e]);
        }
    }
    let actions = [0; 8];
    assert!(both.step(&actions[..4], &mut outcomes).is_err());
}

/// The processes below a process.
fn below(guard: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|n| n.parse().ok()).collect()
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_string()
}

fn the_sumo(world: &Sumo) -> u32 {
    for _ in 0..400 {
        let found = below(world.guard().unwrap()).into_iter().find(|&pid| name(pid) == "sumo");
        if let Some(pid) = found {
            return pid;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("there is no SUMO")
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn is_there(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

fn gone(pid: u32) -> bool {
    (0..300).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !is_there(pid)
    })
}

#[test]
fn a_sumo_that_dies_costs_its_episode_and_no_more() {
    if sumo().is_none() {
        return;
    }
    let mut city = world(&settings());
    let mut chance = stream(2);
    city.reset(&mut chance).unwrap();
    let end = city.step(&[0; 4], &mut chance).unwrap().end;
    assert_eq!(end, End::Running);
    signal("-KILL", the_sumo(&city));
    assert_eq!(city.step(&[0; 4], &mut chance).unwrap().end, End::Abandoned);
    assert_eq!(city.deaths(), 1);
    city.reset(&mut chance).unwrap();
    assert_eq!(run(&mut city, |step, _| step % 8).len(), 30);
    // Three times in a row is no accident.
    for time in 1..=3 {
        city.reset(&mut chance).unwrap();
        signal("-KILL", the_sumo(&city));
        let done = city.step(&[0; 4], &mut chance);
        match time {
            3 => assert!(done.unwrap_err().to_string().contains("3 times in a row")),
            _ => assert_eq!(done.unwrap().end, End::Abandoned),
        }
    }
}

/// With `EQUIMARL_SUMO_TIMEOUT=2`, which `.ci/sumo` sets: a SUMO that hangs is one that died, and is gone.
#[test]
fn a_sumo_that_hangs_is_given_up() {
    if sumo().is_none() || std::env::var("EQUIMARL_SUMO_TIMEOUT").is_err() {
        eprintln!("skipped: EQUIMARL_SUMO_TIMEOUT is not set");
        return;
    }
    let mut city = world(&settings());
    city.reset(&mut stream(2)).unwrap();
    city.step(&[0; 4], &mut stream(2)).unwrap();
    let pid = the_sumo(&city);
    signal("-STOP", pid);
    assert_eq!(city.step(&[0; 4], &mut stream(2)).unwrap().end, End::Abandoned);
    assert!(gone(pid));
}

#[test]
fn dropped_cities_leave_nobody_behind() {
    if sumo().is_none() {
        return;
    }
    let mut city = world(&settings());
    city.reset(&mut stream(2)).unwrap();
    // One that nobody has talked to yet, and one in the middle of its episode.
    let first = the_sumo(&city);
    city.reset(&mut stream(3)).unwrap();
    assert!(gone(first));
    city.step(&[0; 4], &mut stream(2)).unwrap();
    let (guard, second) = (city.guard().unwrap(), the_sumo(&city));
    drop(city);
    assert!(gone(second) && gone(guard));
}

/// This test as a program of its own: it starts two cities, says so, and waits to be killed.
#[test]
fn a_killed_program_leaves_nobody_behind() {
    if sumo().is_none() {
        return;
    }
    if std::env::var("EQUIMARL_SUMO_CHILD").is_ok() {
        let mut cities = [world(&settings()), world(&settings())];
        cities.iter_mut().for_each(|city| city.reset(&mut stream(2)).unwrap());
        // One was talked to, the other was not.
        cities[0].step(&[0; 4], &mut stream(2)).unwrap();
        let pids = [&cities[0], &cities[1]].map(|city| (city.guard().unwrap(), the_sumo(city)));
        println!("pids {} {} {} {} end", pids[0].0, pids[0].1, pids[1].0, pids[1].1);
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_program_leaves_nobody_behind", "--nocapture"])
        .env("EQUIMARL_SUMO_CHILD", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.map_while(Result::ok).find(|l| l.contains("pids ")).unwrap();
    let pids: Vec<u32> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|&pid| is_there(pid)));
    signal("-KILL", child.id());
    child.wait().unwrap();
    assert!(pids.iter().all(|&pid| gone(pid)), "{pids:?}");
}

#[test]
fn input_that_sumo_refuses_is_said_in_its_words() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("bad");
    let files = files(&install, &folder, 0.5);
    let error = |settings: &Settings| {
        let mut city = world(settings);
        let done = city.reset(&mut stream(1)).and_then(|()| city.step(&[0; 4], &mut stream(1)));
        done.unwrap_err().to_string()
    };
    std::fs::write(
        &files[1],
        "<routes><vehicle id='0' depart='0'><route edges='nowhere'/></vehicle></routes>",
    )
    .unwrap();
    let said = error(&of_files(&files));
    assert!(said.contains("SUMO says: Error") && said.contains("nowhere"), "{said}");
    assert!(said.contains("a.net.xml with ") && said.contains("a.rou.xml"), "{said}");
    std::fs::write(&files[1], "no routes at all").unwrap();
    let said = error(&of_files(&files));
    assert!(said.contains("SUMO says: Error"), "{said}");
    std::fs::remove_file(&files[1]).unwrap();
    let options = Options::of(&of_files(&files)).unwrap();
    assert!(options.own_city().unwrap_err().to_string().contains("no such file of routes"));
    // A disk that is full.
    let full = PathBuf::from("/dev/full");
    if full.exists() {
        let grid = Options::of(&settings()).unwrap();
        assert!(grid.generate(&install, &full.join("x")).unwrap_err().to_string().contains("netgenerate"));
    }
}

/// Demand that begins late: with `begin` the same trips as without, an hour later.
#[test]
fn an_episode_may_begin_late() {
    let Some(install) = sumo() else { return };
    let folder = Temp::new("late");
    let files = files(&install, &folder, 0.5);
    let play = |settings: &Settings| {
        let mut city = world(settings);
        city.begin_with(vec![], 84).unwrap();
        run(&mut city, |step, agent| (step / 2 + agent) % 2);
        city.trips().to_vec()
    };
    let usual = play(&of_files(&files));
    let text = std::fs::read_to_string(&files[1]).unwrap();
    let later = text.split("depart=\"").enumerate().map(|(k, part)| match part.split_once('"') {
        Some((second, rest)) if k > 0 => format!("{}\"{rest}", second.parse::<u32>().unwrap() + 3600),
        _ => part.to_string(),
    });
    std::fs::write(&files[1], later.collect::<Vec<_>>().join("depart=\"")).unwrap();
    // Before that nobody drives, and lights that nobody meets are no perfect ones.
    for (settings, part) in
        [(of_files(&files), "from second 0 to 300"), (of_nobody(&files), "is it a file of routes")]
    {
        let mut city = world(&settings);
        city.begin_with(vec![], 84).unwrap();
        let end = (0..30).map(|step| city.step(&[step % 2; 4], &mut stream(0))).last().unwrap();
        let error = end.unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("a.net.xml") && error.contains("--begin"), "{error}");
    }
    let late = play(&of_files(&files).with("begin", 3600usize));
    assert!(usual.len() > 100);
    assert_eq!(late.len(), usual.len());
    for (a, b) in usual.iter().zip(&late) {
        assert_eq!(
            (&a.id, a.depart + 3600.0, a.duration, a.time_loss),
            (&b.id, b.depart, b.duration, b.time_loss)
        );
    }
    // Drawn demand begins with the episode.
    let mut city = world(&settings().with("begin", 7200usize));
    city.reset(&mut stream(5)).unwrap();
    run(&mut city, |step, _| step % 2);
    assert!(city.trips().len() > 50 && city.trips().iter().all(|t| t.depart >= 7200.0));
}

/// A junction with pavements, cycle tracks, crossings and U-turns can be driven.
#[test]
fn a_net_with_people_on_foot_is_driven() {
    if sumo().is_none() {
        return;
    }
    let net = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nets/walk.net.xml");
    let folder = Temp::new("walk");
    let routes = folder.0.join("walk.rou.xml");
    let people = (0..20).map(|k| {
        format!("<person id='p{k}' depart='{}'><walk from='left0A0' to='A0right0'/></person>", 5 * k)
    });
    // SUMO leaves out what departs before what stands above it.
    let car = "<vehicle id='car' depart='0'><route edges='left0A0 A0right0'/></vehicle>";
    std::fs::write(&routes, format!("<routes>{car}{}</routes>", people.collect::<String>())).unwrap();
    for routes in ["", routes.to_str().unwrap()] {
        let own = settings().with("net", net).with("routes", routes);
        let options = Options::of(&own).unwrap();
        let declared = Declared::new(&options, &"C4".parse().unwrap()).unwrap();
        let mut city = Sumo::new(Arc::new(Shared::new(options, declared)));
        city.reset(&mut stream(1)).unwrap();
        let outcomes = run(&mut city, |step, _| step / 3 % 2);
        assert_eq!(outcomes.len(), 30);
        assert!(!routes.is_empty() || city.trips().len() > 50);
    }
}

/// Whoever has the port, SUMO is not taken for it.
#[test]
fn another_program_on_the_port_is_not_taken_for_sumo() {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    let Some(install) = sumo() else { return };
    let folder = Temp::new("port");
    let [net, routes] = files(&install, &folder, 0.5);
    let arguments: Vec<String> = ["-n", net.to_str().unwrap(), "-r", routes.to_str().unwrap()]
        .into_iter()
        .chain(["--no-step-log", "true"])
        .map(String::from)
        .collect();
    let attempt = |port: u16| {
        let mut process = Process::start_on(port, &install, &arguments, &folder.0).unwrap();
        let mut frame = Frame::default();
        frame.step_to(1.0);
        process.send(frame)
    };
    // One that says nothing, and one that answers with something else.
    for answer in [None, Some(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]), Some(&[0, 0, 0, 6, 0, 0][..])] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut guests = vec![];
            for mut guest in listener.incoming().flatten() {
                if let Some(answer) = answer {
                    let _ = guest.read(&mut [0; 100]);
                    let _ = guest.write_all(answer);
                } else {
                    guests.push(guest);
                }
            }
        });
        let failure = attempt(port).unwrap_err();
        assert!(failure.why.contains("took SUMO's port") && !failure.refused, "{failure}");
    }
    // Another SUMO, which was started by somebody else.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let other = Temp::new("stranger");
    let stranger = Process::start_on(port, &install, &arguments, &other.0).unwrap();
    // It takes one guest, so nobody knocks before; it loads its files for a moment.
    std::thread::sleep(std::time::Duration::from_secs(2));
    // It takes our question for its guest's, and ends when we hang up: then the port may even become ours.
    if let Err(failure) = attempt(port) {
        assert!(failure.why.contains("took SUMO's port"), "{failure}");
    }
    drop(stranger);
    // And on a free port it is ours.
    attempt(port).unwrap();
}
