//! A batch is its worlds, one by one.

use super::*;
use crate::wildlife::Wildlife;

const RUNNING: Outcome = Outcome { reward: 0.0, end: End::Running };

fn random_actions(stream: &mut Stream, count: usize) -> Vec<usize> {
    (0..count).map(|_| stream.below(5) as usize).collect()
}

#[test]
fn a_batch_steps_like_its_worlds_alone() {
    let world = Wildlife::new(3, 5).unwrap();
    let mut batch = Batch::new(&world, 4, 9, Purpose::World);
    let mut alone: Vec<(Wildlife, Stream)> = (0..4)
        .map(|index| {
            let mut stream = Stream::new(9, Purpose::World, index);
            let mut world = world.clone();
            world.reset(&mut stream);
            (world, stream)
        })
        .collect();
    let mut choice = Stream::new(9, Purpose::Action, 0);
    let mut outcomes = [RUNNING; 4];
    let mut ends = 0;
    for _ in 0..500 {
        let actions = random_actions(&mut choice, 12);
        let mut last = Vec::new();
        batch.step(&actions, &mut outcomes, |index, world| last.push((index, world.save())));
        let mut expected_last = Vec::new();
        for (index, (world, stream)) in alone.iter_mut().enumerate() {
            let draw = world.draw(stream);
            let outcome = world.step(&actions[3 * index..][..3], &draw);
            assert_eq!(outcome, outcomes[index]);
            if outcome.end != End::Running {
                expected_last.push((index, world.save()));
                world.reset(stream);
            }
            assert!(world.same_state(&batch.worlds()[index]));
        }
        assert_eq!(last, expected_last);
        ends += last.len();
    }
    assert!(ends > 10);
}

#[test]
fn a_saved_batch_continues() {
    let mut batch = Batch::new(&Wildlife::new(2, 5).unwrap(), 3, 2, Purpose::World);
    let mut choice = Stream::new(2, Purpose::Action, 0);
    let mut outcomes = [RUNNING; 3];
    for _ in 0..57 {
        batch.step(&random_actions(&mut choice, 6), &mut outcomes, |_, _| {});
    }
    let text = batch.save().to_string();
    let mut other = Batch::new(&Wildlife::new(2, 5).unwrap(), 3, 77, Purpose::World);
    other.load(&serde_json::from_str(&text).unwrap()).unwrap();
    for _ in 0..300 {
        let actions = random_actions(&mut choice, 6);
        batch.step(&actions, &mut outcomes, |_, _| {});
        let mut others = [RUNNING; 3];
        other.step(&actions, &mut others, |_, _| {});
        assert_eq!(outcomes, others);
    }
    assert_eq!(batch.save(), other.save());
}

#[test]
fn another_batch_is_refused_and_changes_nothing() {
    let mut batch = Batch::new(&Wildlife::new(2, 5).unwrap(), 3, 2, Purpose::World);
    let before = batch.save();
    let fewer = Batch::new(&Wildlife::new(2, 5).unwrap(), 2, 2, Purpose::World).save();
    let larger = Batch::new(&Wildlife::new(2, 7).unwrap(), 3, 2, Purpose::World).save();
    let mut lost = before.clone();
    lost["streams"][1]["position"] = "nowhere".into();
    for state in [fewer, larger, lost, Value::Null, json!({ "worlds": 3 })] {
        assert!(matches!(batch.load(&state), Err(Error::BadState(_))));
        assert_eq!(batch.save(), before);
    }
}
