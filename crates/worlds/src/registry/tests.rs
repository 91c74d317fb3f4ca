use super::*;
use crate::batch::EnvBatch;
use crate::settings::Value;
use crate::wildlife::Wildlife;
use crate::world::World;

struct River(&'static str, Vec<Opt>, usize);

/// Its definition says another version than its declaration.
struct OldRiver;

impl Definition for OldRiver {
    fn name(&self) -> &'static str {
        "river"
    }

    fn about(&self) -> &'static str {
        "Boats."
    }

    fn version(&self) -> u32 {
        2
    }

    fn options(&self) -> Vec<Opt> {
        vec![]
    }

    fn symmetries(&self, settings: &Settings) -> Symmetries {
        River("river", vec![], 2).symmetries(settings)
    }

    fn make(&self, settings: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        River("river", vec![], 2).make(settings, group, count)
    }
}

impl Definition for River {
    fn name(&self) -> &'static str {
        self.0
    }

    fn about(&self) -> &'static str {
        "Boats."
    }

    fn options(&self) -> Vec<Opt> {
        self.1.clone()
    }

    fn symmetries(&self, _: &Settings) -> Symmetries {
        Symmetries { largest: "C2".into(), usual: "C2".into() }
    }

    fn make(&self, _: &Settings, group: &Group, count: usize) -> Result<Box<dyn Envs>> {
        let mut spec = Wildlife::new(2, 5)?.under(group)?.spec().as_ref().clone();
        spec.world = "river".into();
        spec.agents = self.2;
        Ok(Box::new(EnvBatch::of(&Wildlife::new(2, 5)?.under(group)?.declared(spec), count)))
    }
}

fn boats() -> Opt {
    Opt::new("boats", 3usize, "N", "How many boats.")
}

#[test]
fn a_world_from_elsewhere_is_one_of_the_list() {
    let registry = builtin().with(River("river", vec![boats()], 2)).unwrap();
    assert_eq!(registry.names(), ["wildlife", "traffic", "spread", "tag", "river"]);
    let world = registry.usual("river").unwrap();
    assert_eq!((registry.label(&world), registry.title(&world)), ("river".into(), "river".into()));
    let world = world.with("boats", 4usize);
    assert_eq!(registry.label(&world), "river-boats4");
    assert_eq!(registry.title(&world), "river, boats 4");
    let error = registry.usual("chess").unwrap_err().to_string();
    assert_eq!(error, "no world is called `chess`; there are wildlife, traffic, spread, tag, river");
}

#[test]
fn the_same_world_is_the_same_however_it_is_written() {
    let wind = Opt::new("wind", 0.3, "V", "How strong the wind is.").added_later(0.0);
    let current = Opt::new("current", 0.5, "V", "How fast the water runs.");
    let registry = builtin().with(River("river", vec![boats(), current, wind], 2)).unwrap();
    let read = |text: &str| registry.identity(&serde_json::from_str::<WorldConfig>(text).unwrap());
    let before = read(r#"{"name":"river","boats":3,"current":1.0}"#);
    assert_eq!(read(r#"{"name":"river","current":1,"boats":3.0,"wind":0}"#), before);
    assert_ne!(read(r#"{"name":"river","current":1,"boats":3,"wind":0.3}"#), before);
}

#[test]
fn declarations_that_contradict_themselves_are_refused() {
    for (world, part) in [
        (River("traffic", vec![], 2), "`traffic` cannot be registered: there is one of this name already"),
        (River("My World", vec![], 2), "a name has lower-case letters"),
        (River("river", vec![boats(), boats()], 2), "the option `boats` is there twice"),
        (River("river", vec![Opt { key: "name", ..boats() }], 2), "`name` needs another key"),
        (River("river", vec![Opt { key: "Big-Boats", ..boats() }], 2), "`Big-Boats` needs another key"),
        (River("river", vec![], 3), "under C2, the declaration of `river`: `agent_moves`"),
        (River("lake", vec![], 2), "`world` of its declaration is `river` and not `lake`"),
        (
            River("river", vec![Opt { absent: Some(Value::from("none")), ..boats() }], 2),
            "the option `boats` is usually a whole number from 0 on",
        ),
    ] {
        let error = builtin().with(world).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    let error = builtin().with(OldRiver).err().unwrap().to_string();
    assert!(error.contains("`version` of its declaration is `1` and not `2`"), "{error}");
}

#[test]
fn worlds_that_are_not_here_can_still_be_named() {
    let world = WorldConfig { name: "sea".into(), settings: Settings::default().with("ships", 2usize) };
    assert_eq!(builtin().label(&world), "sea-2");
    assert_eq!(builtin().title(&world), "sea, ships 2");
    assert_eq!(builtin().identity(&world), world);
    assert_eq!(builtin().usual_group(&world), None);
}
