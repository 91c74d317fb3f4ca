use super::*;
use crate::audit;
use crate::batch::EnvBatch;
use crate::controller::Named;
use crate::episode::play;
use crate::registry::Definition as _;
use crate::settings::Settings;
use crate::stream::Purpose;
use crate::world::{Exact, World};

fn usual() -> Settings {
    Settings::usual(&Definition.options())
}

fn tag(settings: &Settings, group: &str) -> Tag {
    Tag::of(settings, &group.parse().unwrap()).unwrap()
}

#[test]
fn it_is_symmetric_under_d4_in_all_three_ways() {
    for settings in [
        usual(),
        usual().with("prey_rule", "random"),
        usual().with("arena", "disc").with("prey", 3usize).with("radius", "0.8"),
        usual().with("prey_rule", "random").with("obstacles", 0usize).with("chasers", 40usize),
    ] {
        let report = audit(&tag(&settings, "D4"), 400, 1);
        assert!(report.holds, "{report:?}");
        assert!(report.elements.iter().all(|e| e.start.as_ref().unwrap().holds));
    }
}

#[test]
fn other_groups_and_sizes_are_refused() {
    let error = Tag::of(&usual(), &"C8".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("no permutation of them is a turn by C8"), "{error}");
    for (settings, part) in [
        (usual().with("chasers", 0usize), "`chasers` is 0"),
        (usual().with("prey", 0usize), "`prey` is 0; tag has 1 to"),
        (usual().with("prey_rule", "hides"), "flees or random"),
    ] {
        let error = Tag::of(&settings, &"D4".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn fleeing_prey_stays_inside_and_is_harder_to_catch() {
    let touches = |rule: &str| {
        let mut envs = EnvBatch::of(&tag(&usual().with("prey_rule", rule), "D4"), 1);
        let mut greedy = Named::new("greedy", &envs.worlds()[0]).unwrap();
        play(&mut envs, &mut greedy, 200, 1).unwrap().measures["touches"].mean
    };
    let (flees, random) = (touches("flees"), touches("random"));
    assert!(flees < random && random > 0.1, "{flees} {random}");
    for arena in ["square", "disc"] {
        let mut world = tag(&usual().with("arena", arena).with("step_limit", 500usize), "D4");
        let mut stream = Stream::new(2, Purpose::World, 0);
        world.reset(&mut stream).unwrap();
        for _ in 0..500 {
            let mut actions = [0; 3];
            world.control("greedy", &mut stream, &mut actions).unwrap();
            world.step(&actions, &mut stream).unwrap();
            let prey = world.bodies().places()[3];
            assert!(world.rules.arena.outness(prey) < 1.3, "{arena}: {prey:?}");
        }
    }
}

#[test]
fn a_chaser_on_top_of_its_prey_breaks_nothing() {
    let mut world = tag(&usual(), "D4");
    let outcome = world.apply(&[0, 0, 0], &vec![]);
    assert!(outcome.reward.is_finite());
    assert!(world.bodies().velocities().as_flattened().iter().all(|v| v.is_finite()));
}

#[test]
fn prey_is_drawn_and_heard() {
    let mut world = tag(&usual(), "D4");
    world.reset(&mut Stream::new(1, Purpose::World, 0)).unwrap();
    let scene = world.scene().unwrap();
    assert_eq!((scene.count("chaser"), scene.count("prey"), scene.count("obstacle")), (3, 1, 2));
    assert_eq!(scene.agents.len(), 3);
    let spec = world.spec();
    let kinds: Vec<&str> = spec.senders.iter().map(|s| s.kind.as_str()).collect();
    assert_eq!((kinds, spec.sender_count()), (vec!["prey", "obstacle"], 3));
}
