//! Environments behind a pointer do what the worlds do that they hold.

use super::*;
use crate::registry::builtin;
use crate::wildlife::Wildlife;
use crate::world::End;

const NOTHING: Outcome = Outcome { reward: 0.0, end: End::Running };

/// Steps all environments with random actions, and starts over where an episode ended.
fn run(envs: &mut dyn Envs, steps: usize, stream: &mut Stream) -> Vec<Outcome> {
    let (count, spec) = (envs.len(), envs.spec().clone());
    let mut all = Vec::new();
    let (mut actions, mut outcomes) = (vec![0; count * spec.agents], vec![NOTHING; count]);
    for _ in 0..steps {
        actions.fill_with(|| stream.below(spec.actions.count() as u32) as usize);
        envs.step(&actions, &mut outcomes).unwrap();
        for (e, _) in outcomes.iter().enumerate().filter(|(_, o)| o.end != End::Running) {
            envs.restart(e).unwrap();
        }
        all.extend_from_slice(&outcomes);
    }
    all
}

fn choices() -> Stream {
    Stream::new(4, Purpose::Action, 0)
}

fn builtins() -> Vec<Box<dyn Envs>> {
    let registry = builtin();
    let make = |name: &str| {
        let world = registry.usual(name).unwrap();
        registry.make(&world, &registry.usual_group(&world).unwrap().parse().unwrap(), 3).unwrap()
    };
    registry.names().into_iter().map(make).collect()
}

#[test]
fn exact_environments_go_on_from_the_very_state() {
    for (mut envs, mut other) in builtins().into_iter().zip(builtins()) {
        envs.start_all(7, Purpose::World).unwrap();
        let mut stream = choices();
        run(&mut *envs, 40, &mut stream);
        let text = envs.save().to_string();
        assert_eq!(other.load(&serde_json::from_str(&text).unwrap()).unwrap(), Resumed::State);
        let mut later = stream.clone();
        assert_eq!(run(&mut *envs, 120, &mut stream), run(&mut *other, 120, &mut later));
        assert_eq!(envs.save(), other.save());
        assert!(other.load(&json!({ "streams": [] })).is_err());
    }
}

#[test]
fn exact_environments_are_audited_painted_transformed_and_edited() {
    for mut envs in builtins() {
        envs.start_all(7, Purpose::World).unwrap();
        run(&mut *envs, 10, &mut choices());
        let exact = envs.exact().unwrap();
        assert!(exact.audit(200, 1).holds);
        let acts = crate::GroupAction::new(envs.spec()).unwrap();
        let painter = exact.painter();
        let pixels = envs.spec().image.map_or(0, |shape| shape.iter().product());
        let (mut seen, mut painted) = (vec![f32::NAN; pixels], vec![f32::NAN; pixels]);
        // Worlds of vectors have no ids.
        for g in acts.group.elements().filter(|_| pixels > 0) {
            let other = exact.transformed(g).unwrap();
            for (e, agent) in (0..envs.len()).flat_map(|e| (0..envs.spec().agents).map(move |i| (e, i))) {
                let image = acts.agent(g, agent);
                let id = painter.transform_id(g, envs.world(e).id(agent).unwrap());
                assert_eq!(other.world(e).id(image), Some(id));
                other.world(e).observe(image, &mut seen);
                painter.paint(id, &mut painted);
                assert_eq!(seen, painted);
            }
        }
        let state = exact.state(2);
        envs.exact_mut().unwrap().set_state(0, &state).unwrap();
        assert_eq!(envs.exact().unwrap().state(0), state);
        assert!(envs.exact_mut().unwrap().set_state(0, &Value::Null).is_err());
        assert_eq!(envs.exact().unwrap().state(0), state);
    }
}

#[test]
fn other_environments_go_on_with_new_episodes() {
    let drones = || Loose::new(vec![Wildlife::new(3, 5).unwrap(); 2]).unwrap();
    let (mut envs, mut other): (Box<dyn Envs>, Box<dyn Envs>) = (Box::new(drones()), Box::new(drones()));
    envs.start_all(7, Purpose::World).unwrap();
    // Until they are saved, exact environments and others do the same.
    let mut exact: Box<dyn Envs> = Box::new(EnvBatch::of(&Wildlife::new(3, 5).unwrap(), 2));
    exact.start_all(7, Purpose::World).unwrap();
    assert_eq!(run(&mut *envs, 50, &mut choices()), run(&mut *exact, 50, &mut choices()));
    assert!(envs.exact().is_none() && envs.exact_mut().is_none());
    let saved = envs.save();
    assert_eq!(other.load(&saved).unwrap(), Resumed::Episode);
    // Both go on with the next episode that the streams hold.
    (0..2).for_each(|e| envs.restart(e).unwrap());
    assert_eq!(run(&mut *envs, 50, &mut choices()), run(&mut *other, 50, &mut choices()));
    for bad in [json!({}), json!({ "streams": [saved["streams"][0]] })] {
        assert!(matches!(other.load(&bad), Err(Error::BadState(_))));
    }
    assert!(Loose::<Wildlife>::new(vec![]).is_err());
}

#[test]
fn lists_of_a_wrong_length_are_refused() {
    let drones = Wildlife::new(3, 5).unwrap();
    let all: [Box<dyn Envs>; 2] =
        [Box::new(EnvBatch::of(&drones, 2)), Box::new(Loose::new(vec![drones; 2]).unwrap())];
    for mut envs in all {
        for (actions, outcomes) in [(5, 2), (6, 1), (7, 2), (0, 0)] {
            let error = envs.step(&vec![0; actions], &mut vec![NOTHING; outcomes]).unwrap_err().to_string();
            assert!(error.contains("2 environments of 3 agents"), "{error}");
        }
        assert!(!envs.is_empty());
    }
}
