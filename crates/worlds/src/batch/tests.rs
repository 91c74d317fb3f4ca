//! A batch is its worlds, one by one.

use super::*;
use crate::scene::Scene;
use crate::wildlife::Wildlife;
use crate::world::{Edges, World};
use equimarl_group::Element;

const RUNNING: Outcome = Outcome { reward: 0.0, end: End::Running };

fn random_actions(stream: &mut Stream, count: usize) -> Vec<usize> {
    (0..count).map(|_| stream.below(5) as usize).collect()
}

#[test]
fn a_batch_steps_like_its_worlds_alone() {
    let world = Wildlife::new(3, 5).unwrap();
    let mut batch = EnvBatch::new(&world, 4, 9, Purpose::World).unwrap();
    let mut alone: Vec<(Wildlife, Stream)> = (0..4)
        .map(|index| {
            let mut stream = Stream::new(9, Purpose::World, index);
            let mut world = world.clone();
            world.reset(&mut stream).unwrap();
            (world, stream)
        })
        .collect();
    let mut choice = Stream::new(9, Purpose::Action, 0);
    let mut outcomes = [RUNNING; 4];
    let mut ends = 0;
    for _ in 0..500 {
        let actions = random_actions(&mut choice, 12);
        let mut last = Vec::new();
        batch.step(&actions, &mut outcomes, |index, world| last.push((index, world.save()))).unwrap();
        let mut expected_last = Vec::new();
        for (index, (world, stream)) in alone.iter_mut().enumerate() {
            let draw = world.draw(stream);
            let outcome = world.apply(&actions[3 * index..][..3], &draw);
            assert_eq!(outcome, outcomes[index]);
            if outcome.end != End::Running {
                expected_last.push((index, world.save()));
                world.reset(stream).unwrap();
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
    let mut batch = EnvBatch::new(&Wildlife::new(2, 5).unwrap(), 3, 2, Purpose::World).unwrap();
    let mut choice = Stream::new(2, Purpose::Action, 0);
    let mut outcomes = [RUNNING; 3];
    for _ in 0..57 {
        batch.step(&random_actions(&mut choice, 6), &mut outcomes, |_, _| {}).unwrap();
    }
    let text = batch.save().to_string();
    let mut other = EnvBatch::new(&Wildlife::new(2, 5).unwrap(), 3, 77, Purpose::World).unwrap();
    other.load(&serde_json::from_str(&text).unwrap()).unwrap();
    for _ in 0..300 {
        let actions = random_actions(&mut choice, 6);
        batch.step(&actions, &mut outcomes, |_, _| {}).unwrap();
        let mut others = [RUNNING; 3];
        other.step(&actions, &mut others, |_, _| {}).unwrap();
        assert_eq!(outcomes, others);
    }
    assert_eq!(batch.save(), other.save());
}

#[test]
fn another_batch_is_refused_and_changes_nothing() {
    let mut batch = EnvBatch::new(&Wildlife::new(2, 5).unwrap(), 3, 2, Purpose::World).unwrap();
    let before = batch.save();
    let fewer = EnvBatch::new(&Wildlife::new(2, 5).unwrap(), 2, 2, Purpose::World).unwrap().save();
    let larger = EnvBatch::new(&Wildlife::new(2, 7).unwrap(), 3, 2, Purpose::World).unwrap().save();
    let mut lost = before.clone();
    lost["streams"][1]["position"] = "nowhere".into();
    for state in [fewer, larger, lost, Value::Null, json!({ "worlds": 3 })] {
        assert!(matches!(batch.load(&state), Err(Error::BadState(_))));
        assert_eq!(batch.save(), before);
    }
}

/// Drones that lose the ids of what they see every third step.
#[derive(Clone)]
struct Forgetful(Wildlife);

impl World for Forgetful {
    fn spec(&self) -> &Arc<Spec> {
        self.0.spec()
    }
    fn reset(&mut self, stream: &mut Stream) -> Result<()> {
        self.0.reset(stream)
    }
    fn step(&mut self, actions: &[usize], stream: &mut Stream) -> Result<Outcome> {
        self.0.step(actions, stream)
    }
    fn observe(&self, who: usize, out: &mut [f32]) {
        self.0.observe(who, out);
    }
    fn id(&self, agent: usize) -> Option<u64> {
        self.0.id(agent).filter(|_| self.0.steps() % 3 != 1)
    }
    fn neighbours(&self, agent: usize, edges: &mut Edges) {
        self.0.neighbours(agent, edges);
    }
    fn scene(&self) -> Result<Scene> {
        World::scene(&self.0)
    }
}

impl Exact for Forgetful {
    type Chance = usize;

    fn draw(&self, stream: &mut Stream) -> usize {
        self.0.draw(stream)
    }
    fn apply(&mut self, actions: &[usize], chance: &usize) -> Outcome {
        self.0.apply(actions, chance)
    }
    fn paint(&self, id: u64, out: &mut [f32]) {
        self.0.paint(id, out);
    }
    fn repaint(&self, old: u64, new: u64, out: &mut [f32]) {
        self.0.repaint(old, new, out);
    }
    fn transformed(&self, g: Element) -> Result<Forgetful> {
        self.0.transformed(g).map(Forgetful)
    }
    fn transform_chance(&self, g: Element, chance: &usize) -> usize {
        self.0.transform_chance(g, chance)
    }
    fn save(&self) -> Value {
        self.0.save()
    }
    fn load(&mut self, state: &Value) -> Result<()> {
        self.0.load(state)
    }
}

#[test]
fn a_canvas_stays_complete_where_ids_come_and_go() {
    let world = Forgetful(Wildlife::new(3, 3).unwrap());
    let mut batch = EnvBatch::new(&world, 4, 5, Purpose::World).unwrap();
    let mut images = vec![0.0; Canvas::len_for(batch.worlds())];
    let mut canvas = Canvas::paint(batch.worlds(), &mut images);
    let mut choice = Stream::new(5, Purpose::Action, 0);
    let (mut outcomes, mut fresh) = ([RUNNING; 4], vec![0.0; 81]);
    for _ in 0..300 {
        batch.step(&random_actions(&mut choice, 12), &mut outcomes, |_, _| {}).unwrap();
        canvas.update(batch.worlds(), &mut images);
        for (k, image) in images.chunks(81).enumerate() {
            let (world, agent) = (&batch.worlds()[k / 3], k % 3);
            world.observe(agent, &mut fresh);
            assert_eq!(image, fresh);
            assert_eq!(canvas.ids()[k], world.id(agent));
        }
    }
}
