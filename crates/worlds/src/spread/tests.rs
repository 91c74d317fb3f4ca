use super::*;
use crate::batch::EnvBatch;
use crate::controller::Named;
use crate::episode::play;
use crate::registry::Definition as _;
use crate::scene::Edit;
use crate::settings::Settings;
use crate::stream::Purpose;
use crate::world::{Edges, Exact, World};
use crate::{Auditing, Controller, audit, audit_by, audit_turns};

fn usual() -> Settings {
    Settings::usual(&Definition.options())
}

fn spread(settings: &Settings, group: &str) -> Spread {
    Spread::of(settings, &group.parse().unwrap()).unwrap()
}

fn looking(steps: usize) -> Auditing {
    Auditing { steps, seed: 1, ..Auditing::default() }
}

fn started(settings: &Settings, seed: u64) -> (Spread, Stream) {
    let (mut world, mut stream) = (spread(settings, "D4"), Stream::new(seed, Purpose::World, 0));
    world.reset(&mut stream).unwrap();
    (world, stream)
}

#[test]
fn it_is_symmetric_under_d4_in_all_three_ways() {
    for settings in [
        usual(),
        usual().with("agents", 5usize).with("landmarks", 2usize).with("arena", "disc").with("size", 0.3),
        usual().with("integrator", "velocity-first").with("radius", "0.5"),
        usual().with("agents", 40usize).with("radius", "0.5"),
    ] {
        let report = audit(&spread(&settings, "D4"), 300, 1);
        assert!(report.holds, "{report:?}");
        assert!(report.elements.iter().all(|e| e.start.as_ref().unwrap().holds));
        assert_eq!(report.elements.len(), 8);
    }
}

#[test]
fn a_square_start_that_leans_to_one_side_breaks_the_start_alone() {
    /// Starts only in the right half.
    #[derive(Clone)]
    struct Leaning(Spread);
    impl World for Leaning {
        fn spec(&self) -> &std::sync::Arc<crate::Spec> {
            self.0.spec()
        }
        fn reset(&mut self, stream: &mut Stream) -> crate::Result<()> {
            self.0.reset(stream)?;
            self.0.bodies.movers.points.iter_mut().for_each(|p| p[0] = p[0].abs());
            Ok(())
        }
        fn step(&mut self, actions: &[usize], stream: &mut Stream) -> crate::Result<crate::Outcome> {
            self.0.step(actions, stream)
        }
        fn observe(&self, who: usize, out: &mut [f32]) {
            self.0.observe(who, out);
        }
        fn neighbours(&self, agent: usize, edges: &mut Edges) {
            self.0.neighbours(agent, edges);
        }
        fn scene(&self) -> crate::Result<crate::scene::Scene> {
            self.0.scene()
        }
    }
    impl Exact for Leaning {
        type Chance = Vec<Vector>;
        fn draw(&self, stream: &mut Stream) -> Vec<Vector> {
            self.0.draw(stream)
        }
        fn apply(&mut self, actions: &[usize], chance: &Vec<Vector>) -> crate::Outcome {
            self.0.apply(actions, chance)
        }
        fn transformed(&self, g: usize) -> crate::Result<Leaning> {
            Ok(Leaning(self.0.transformed(g)?))
        }
        fn transform_chance(&self, g: usize, chance: &Vec<Vector>) -> Vec<Vector> {
            self.0.transform_chance(g, chance)
        }
        fn save(&self) -> serde_json::Value {
            self.0.save()
        }
        fn load(&mut self, state: &serde_json::Value) -> crate::Result<()> {
            self.0.load(state)
        }
        fn start_density(&self) -> Option<f64> {
            let right = self.0.bodies.places().iter().all(|p| p[0] >= 0.0);
            Some(if right { self.0.start_density()? } else { 0.0 })
        }
    }
    let report = audit(&Leaning(spread(&usual(), "D4")), 100, 1);
    assert!(!report.holds);
    let starts: Vec<bool> = report.elements.iter().map(|e| e.start.as_ref().unwrap().holds).collect();
    // Besides the identity, only the mirror that exchanges up and down maps the right half to itself.
    assert_eq!(starts, [true, false, false, false, false, false, true, false]);
    assert!(report.elements.iter().all(|e| e.counterexample.is_none()));
    let text = report.elements[1].start.clone().unwrap().text.unwrap();
    assert!(text.contains("in the transformed state with one of 0"), "{text}");
}

#[test]
fn the_law_of_the_start_is_what_it_says() {
    for arena in ["square", "disc"] {
        let (mut world, mut stream) = started(&usual().with("arena", arena), 3);
        let mut quarters = [0usize; 4];
        let mut squares = 0.0;
        for _ in 0..2000 {
            world.reset(&mut stream).unwrap();
            assert_eq!(world.start_density(), Some(1.0));
            for [x, y] in world.bodies().places().iter().chain(world.bodies().fixed()) {
                quarters[usize::from(*x > 0.0) + 2 * usize::from(*y > 0.0)] += 1;
                squares += x * x + y * y;
            }
        }
        assert!(quarters.iter().all(|n| n.abs_diff(3000) < 250), "{quarters:?}");
        // The mean of x^2 + y^2 is 2/3 in the square and 1/2 in the disc.
        let (mean, expected) = (squares / 12000.0, if arena == "disc" { 0.5 } else { 2.0 / 3.0 });
        assert!((mean - expected).abs() < 0.02, "{arena}: {mean}");
    }
}

#[test]
fn other_groups_are_refused_with_a_reason() {
    for group in ["C8", "D8", "C3", "C16"] {
        let error = Spread::of(&usual(), &group.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("no permutation of them is a turn by"), "{error}");
    }
    for group in ["C1", "C2", "C4", "D1", "D2", "D4"] {
        assert!(audit(&spread(&usual(), group), 50, 1).holds);
    }
}

#[test]
fn settings_that_make_no_world_are_refused() {
    for (settings, part) in [
        (usual().with("agents", 0usize), "`agents` is 0; spread has 1 to 100000"),
        (usual().with("agents", 1usize << 40), "`agents` is"),
        (usual().with("landmarks", 200_000usize), "`landmarks` is 200000"),
        (usual().with("radius", "0"), "a distance above 0"),
        (usual().with("radius", "-1"), "a distance above 0"),
        (usual().with("radius", "inf"), "a distance above 0"),
        (usual().with("radius", "near"), "not `near`"),
        (usual().with("local_ratio", 1.5), "`local_ratio` is a weight"),
        (usual().with("size", 0.0), "`size` is 0.01"),
        (usual().with("arena", "ring"), "square or disc"),
        (usual().with("integrator", "euler"), "position-first (mpe2)"),
        (usual().with("step_limit", 0usize), "`step_limit` is 0"),
    ] {
        let error = Spread::of(&settings, &"D4".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    // A number where a name is wanted is the name.
    let settings = usual().with("radius", 0.5).complete("spread", &Definition.options()).unwrap();
    assert_eq!(settings.text("radius").unwrap(), "0.5");
}

#[test]
fn who_is_heard_depends_on_the_radius() {
    for (agents, seed) in [(3usize, 1), (60, 2)] {
        let settings = usual().with("agents", agents).with("size", 2.0);
        let (all, _) = started(&settings, seed);
        let (near, _) = started(&settings.with("radius", "0.7"), seed);
        assert_eq!(all.bodies().places(), near.bodies().places());
        let (mut everybody, mut heard) = (Edges::default(), Edges::default());
        for agent in 0..agents {
            all.neighbours(agent, &mut everybody);
            assert_eq!(everybody.from.len(), 2 * agents - 1);
            near.neighbours(agent, &mut heard);
            let expected: Vec<(usize, &[f32])> =
                everybody.iter().filter(|(_, v)| v[0] * v[0] + v[1] * v[1] <= 0.49).collect();
            assert_eq!(heard.iter().collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn a_greedy_team_beats_a_random_one() {
    let mean = |name: &str| {
        let mut envs = EnvBatch::of(&spread(&usual(), "D4"), 1);
        let mut controller = Named::new(name, &envs.worlds()[0]).unwrap();
        play(&mut envs, &mut controller, 200, 1).unwrap()
    };
    let (greedy, random) = (mean("greedy"), mean("random"));
    assert!(greedy.total.mean > random.total.mean + 5.0, "{greedy:?} {random:?}");
    assert!(greedy.measures["covered"].mean > 0.5);
}

#[test]
fn a_greedy_team_turns_along() {
    let (mut world, mut stream) = started(&usual(), 4);
    let mut controller = Named::new("greedy", &world).unwrap();
    let acts = crate::GroupAction::new(world.spec()).unwrap();
    let (mut here, mut there) = ([0; 3], [0; 3]);
    for _ in 0..25 {
        controller.act(&world, &mut stream, &mut here).unwrap();
        for g in 0..8 {
            controller.act(&world.transformed(g).unwrap(), &mut stream, &mut there).unwrap();
            assert_eq!(there, here.map(|a| acts.action(g, a)));
        }
        world.apply(&here, &vec![]);
    }
}

#[test]
fn states_are_saved_edited_and_drawn() {
    let (mut world, mut stream) = started(&usual(), 5);
    for _ in 0..7 {
        world.step(&[1, 2, 3], &mut stream).unwrap();
    }
    let mut other = spread(&usual(), "D4");
    other.load(&serde_json::from_str(&world.save().to_string()).unwrap()).unwrap();
    assert!(other.same_state(&world));
    for (key, value, part) in [
        ("agents", serde_json::json!([[0, 0, 0, 0]]), "it has 1 agents, this world 3"),
        ("agents", serde_json::json!([[0, 0]]), "must be a list with [x, y, vx, vy]"),
        ("landmarks", serde_json::json!([[1e300, 0], [0, 0], [0, 0]]), "within 1000000"),
        ("steps", serde_json::json!(26), "0 to 25"),
    ] {
        let mut state = world.save();
        state[key] = value;
        let error = other.load(&state).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert!(other.same_state(&world));
    }
    let scene = world.scene_after(&[1, 2, 3]).unwrap();
    assert_eq!((scene.count("agent"), scene.count("landmark"), scene.count("heading")), (3, 3, 3));
    assert_eq!(scene.agents.len(), 3);
    // Dragged to where it is drawn, an agent stays where it is.
    let before = world.bodies().places()[1];
    world.edit(&Edit::moved("agent 1", scene.agents[1].at)).unwrap();
    let after = world.bodies().places()[1];
    assert!((before[0] - after[0]).abs() < 1e-5 && (before[1] - after[1]).abs() < 1e-5);
    world.edit(&Edit::moved("landmark 2", [0.0, 0.0])).unwrap();
    assert_eq!(world.bodies().fixed()[2], [-1.4, 1.4]);
    for id in ["agent 3", "prey 0", "landmark 9"] {
        assert!(world.edit(&Edit::moved(id, [1.0, 1.0])).is_err());
    }
    assert!(world.edit(&Edit::moved("agent 0", [-1.0, 0.0])).is_err());
}

#[test]
fn vectors_in_a_disc_have_every_turn_and_boxes_have_not() {
    let continuous = usual().with("actions", "continuous");
    for (arena, group, rules, actions, start) in [
        ("disc", "D4", true, true, true),
        ("disc", "C8", true, true, true),
        ("disc", "D16", true, true, true),
        ("disc", "C7", true, true, true),
        ("square", "D4", true, true, true),
        ("square", "C8", true, false, false),
    ] {
        let report = audit(&spread(&continuous.clone().with("arena", arena), group), 200, 1);
        let all = |f: &dyn Fn(&crate::ElementReport) -> bool| report.elements.iter().all(f);
        let found = (
            all(&|e| e.counterexample.is_none()),
            all(&|e| e.actions.as_ref().unwrap().holds),
            all(&|e| e.start.as_ref().unwrap().holds),
        );
        assert_eq!(found, (rules, actions, start), "{arena} under {group}: {:?}", report.elements[1]);
        assert_eq!(report.holds, rules && actions && start);
    }
    let report = audit(&spread(&continuous, "C8"), 50, 1);
    let text = report.elements[1].actions.clone().unwrap().text.unwrap();
    assert!(text.contains("which is beyond the box of 1"), "{text}");
}

/// Three verdicts under random angles and mirrors: rules, actions, start.
#[test]
fn every_angle_holds_in_a_disc_and_breaks_a_box() {
    use equimarl_group::{Symmetry, Turn};
    let continuous = usual().with("actions", "continuous");
    for (symmetry, seed) in [(Symmetry::So2, 3), (Symmetry::O2, 4)] {
        let mut stream = Stream::new(seed, Purpose::Audit, 2);
        let mut unit = || stream.unit();
        let turns: Vec<Turn> = (0..40).map(|_| symmetry.any_turn(&mut unit)).collect();
        assert_eq!(turns.iter().any(|turn| turn.mirror), symmetry.has_mirrors());
        for (arena, actions, start) in [("disc", true, true), ("square", false, false)] {
            let world = spread(&continuous.clone().with("arena", arena), "D4");
            let report = audit_turns(&world, &symmetry, &turns, &looking(100));
            assert_eq!(report.elements.len(), 40);
            for element in &report.elements {
                assert!(element.counterexample.is_none(), "{arena}: {element:?}");
                assert_eq!(element.actions.as_ref().unwrap().holds, actions, "{arena}: {element:?}");
            }
            // A turn by next to nothing leaves most of a square where it was.
            let kept = report.elements.iter().filter(|e| e.start.as_ref().unwrap().holds).count();
            assert!(if start { kept == 40 } else { kept < 10 }, "{arena}: {kept}");
        }
        // Whoever acts by vectors is asked for vectors: the states of a controller are not those of random actions.
        let world = spread(&continuous.clone().with("arena", "disc"), "D4");
        let by = |name: &str| Auditing { controller: Some(name.into()), ..looking(30) };
        assert!(audit_turns(&world, &symmetry, &turns, &by("greedy")).holds);
        assert!(audit_by(&world, &by("greedy")).holds);
        let refused = audit_by(&world, &by("nobody")).elements.remove(0).counterexample.unwrap();
        assert!(refused.text.contains("nobody"), "{}", refused.text);
        // Choices do not turn.
        let report = audit_turns(&spread(&usual(), "D4"), &symmetry, &turns, &looking(10));
        let text = &report.elements[0].counterexample.as_ref().unwrap().text;
        assert!(!report.holds && text.contains("no permutation of them is a turn by every angle"), "{text}");
    }
}

#[test]
fn one_radius_is_one_world_however_it_is_written() {
    let registry = crate::builtin();
    let with = |radius: &str| registry.usual("spread").unwrap().with("radius", radius);
    let identity = |radius: &str| registry.identity(&registry.complete(&with(radius)).unwrap());
    assert_eq!(identity("1.0"), identity("1"));
    assert_eq!(identity("5e-1"), identity("0.50"));
    assert_ne!(identity("1"), identity("all"));
    assert!(registry.make(&with("0.0"), &"C1".parse().unwrap(), 1).is_err());
}

#[test]
fn episodes_start_in_a_part_of_the_arena() {
    let places = |part: &str, seed: u64| {
        let (world, _) = started(&usual().with("arena", "disc").with("start", part), seed);
        [world.bodies().places(), world.bodies().fixed()].concat()
    };
    for seed in 0..20 {
        let (left, right) = (places("left", seed), places("right", seed));
        assert!(left.iter().all(|at| at[0] < 0.0));
        assert_eq!(right, left.iter().map(|at| [-at[0], at[1]]).collect::<Vec<_>>());
        assert!(places("inner", seed).iter().all(|at| at[0].hypot(at[1]) <= 0.5));
        assert!(places("outer", seed).iter().all(|at| at[0].hypot(at[1]) > 0.5));
    }
    // A half of a disc has less symmetry than the rules; a ring has as much.
    let start = |part: &str| {
        let continuous = usual().with("actions", "continuous").with("arena", "disc").with("start", part);
        let report = audit(&spread(&continuous, "D8"), 60, 1);
        assert!(report.elements.iter().all(|e| e.counterexample.is_none()));
        report.elements.iter().filter(|e| e.start.as_ref().unwrap().holds).count()
    };
    assert_eq!(["inner", "outer", "everywhere"].map(start), [16; 3]);
    assert!(start("left") <= 2);
}

#[test]
fn too_many_edges_are_refused_and_not_tried() {
    let many = usual().with("agents", 100_000usize);
    let error = Spread::of(&many, &"C1".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("give a radius within which they hear"), "{error}");
    let near = many.with("radius", "0.5").with("size", 100.0);
    assert!(Spread::of(&near, &"C1".parse().unwrap()).is_ok());
}

#[test]
fn choices_that_there_are_not_are_refused() {
    use crate::{Envs, Outcome};
    let mut envs = EnvBatch::of(&spread(&usual(), "D4"), 1);
    let before = Envs::save(&envs);
    let error = envs.step_one(0, &[0, 5, 0]).unwrap_err().to_string();
    assert!(error.contains("agent 1 takes action 5; there are 0 to 4"), "{error}");
    let mut outcomes = [Outcome { reward: 0.0, end: crate::End::Running }];
    assert!(Envs::step(&mut envs, &[0, 0, 99], &mut outcomes).is_err());
    assert!(envs.step_one(0, &[0, 0]).is_err());
    assert_eq!(Envs::save(&envs), before);
    let mut vectors = EnvBatch::of(&spread(&usual().with("actions", "continuous"), "D4"), 1);
    assert!(vectors.step_one(0, &[0, 0, 0]).unwrap_err().to_string().contains("do not choose"));
}

#[test]
fn vectors_that_agents_may_not_do_are_refused() {
    use crate::Envs;
    for (arena, bad) in [
        ("disc", [0.9, 0.9]),
        ("disc", [f64::NAN, 0.0]),
        ("square", [1.1, 0.0]),
        ("square", [0.0, f64::INFINITY]),
        ("square", [0.0, f64::NAN]),
    ] {
        let settings = usual().with("actions", "continuous").with("arena", arena).with("agents", 1usize);
        let mut envs = EnvBatch::of(&spread(&settings, "D4"), 1);
        let before = Envs::save(&envs);
        let error = envs.step_one_vectors(0, &bad).unwrap_err().to_string();
        assert!(error.contains("vectors are finite and"), "{error}");
        assert_eq!(Envs::save(&envs), before);
        assert!(envs.step_one_vectors(0, &[0.5, 0.5]).is_ok());
        assert!(envs.step_one_vectors(0, &[0.5]).is_err());
    }
    let mut envs = EnvBatch::of(&spread(&usual(), "D4"), 1);
    assert!(envs.step_one_vectors(0, &[0.0; 6]).unwrap_err().to_string().contains("choose"));
}

#[test]
fn a_greedy_team_of_vectors_is_better_than_one_of_choices_and_turns_along() {
    let settings = usual().with("actions", "continuous").with("arena", "disc");
    let mean = |settings: &Settings, name: &str| {
        let mut envs = EnvBatch::of(&spread(settings, "D4"), 1);
        let mut controller = Named::new(name, &envs.worlds()[0]).unwrap();
        play(&mut envs, &mut controller, 200, 1).unwrap().total.mean
    };
    let (greedy, random) = (mean(&settings, "greedy"), mean(&settings, "random"));
    let choices = mean(&usual().with("arena", "disc"), "greedy");
    assert!(greedy > random + 5.0 && greedy > choices, "{greedy} {random} {choices}");
}
