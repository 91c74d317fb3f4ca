//! The world that a request is about: a model's own, with options set as the page says, and not too large to be shown.

use crate::asked::{cut, must_be, whole};
use crate::error::{Answer, Refusal};
use equimarl_worlds::{Definition, Envs, Opt, Registry, Settings, Value, WorldConfig};
use serde_json::{Map, Value as Json, json};

/// The most agents in a world on the page.
const MAX_AGENTS: usize = 400;
/// Whole numbers above are no sizes or times that anybody waits for.
const MAX_WHOLE: u64 = 100_000;
/// The longest text of an option.
const MAX_TEXT: usize = 200;

/// A model's world with some options set to something else.
pub(crate) fn asked(
    registry: &Registry,
    own: &WorldConfig,
    wanted: &Map<String, Json>,
) -> Answer<WorldConfig> {
    let options = registry.get(&own.name)?.options();
    let mut world = own.clone();
    for (key, said) in wanted {
        let Some(option) = options.iter().find(|o| o.key == key) else {
            let keys: Vec<&str> = options.iter().map(|o| o.key).collect();
            let (name, all) = (&own.name, keys.join(", "));
            return Err(Refusal::impossible(format!("{name} has no option `{}`; it has {all}", cut(key))));
        };
        world.settings.set(key, value(option, said)?);
    }
    let world = registry.complete(&world)?;
    for (key, value) in world.settings.iter() {
        if matches!(value, Value::Whole(n) if *n > MAX_WHOLE) {
            return Err(Refusal::impossible(must_be(key, &whole_numbers(), &json!(value))));
        }
    }
    Ok(world)
}

fn whole_numbers() -> String {
    format!("a whole number from 0 to {MAX_WHOLE}")
}

/// What an option is to be set to, of the kind that its world declares.
fn value(option: &Opt, said: &Json) -> Answer<Value> {
    let (found, wanted) = match option.usual {
        Value::Flag(_) => (said.as_bool().map(Value::Flag), option.usual.kind().into()),
        Value::Whole(_) => (whole(said, MAX_WHOLE).map(Value::Whole), whole_numbers()),
        Value::Number(_) => (said.as_f64().map(Value::Number), option.usual.kind().into()),
        Value::Text(_) => {
            let short = said.as_str().filter(|text| text.len() <= MAX_TEXT);
            (short.map(Value::from), format!("a name of at most {MAX_TEXT} bytes"))
        }
    };
    found.ok_or_else(|| Refusal::impossible(must_be(option.key, &wanted, said)))
}

/// One environment of a world under the largest symmetry that it has, whatever a network knows of it.
pub(crate) fn make(registry: &Registry, world: &WorldConfig) -> Answer<Box<dyn Envs>> {
    let largest = registry.get(&world.name)?.symmetries(&world.settings).largest;
    let envs = registry.make(world, &largest.parse()?, 1)?;
    let agents = envs.spec().agents;
    if agents > MAX_AGENTS {
        return Err(Refusal::impossible(format!(
            "this world has {agents} agents, and the page shows at most {MAX_AGENTS}"
        )));
    }
    Ok(envs)
}

/// What the page needs to know of a world to ask for it.
pub(crate) fn describe(world: &dyn Definition) -> Json {
    let options: Vec<Json> = world.options().iter().map(option).collect();
    json!({ "name": world.name(), "about": world.about(), "options": options })
}

fn option(option: &Opt) -> Json {
    let kind = match option.usual {
        Value::Flag(_) => "flag",
        Value::Whole(_) => "whole",
        Value::Number(_) => "number",
        Value::Text(_) => "text",
    };
    let most = matches!(option.usual, Value::Whole(_)).then_some(MAX_WHOLE);
    json!({ "key": option.key, "help": option.help, "kind": kind, "usual": option.usual, "most": most })
}

/// Settings as the page has them.
pub(crate) fn as_json(settings: &Settings) -> Json {
    settings.iter().map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>().into()
}
