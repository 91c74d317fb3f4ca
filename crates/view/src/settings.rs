//! The world that a request is about: a model's own, with options set as the page says, and not too large to be shown.

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
    let mut world = own.clone();
    for (key, value) in wanted {
        let value = match value {
            Json::Bool(flag) => Value::Flag(*flag),
            Json::Number(n) => match (n.as_u64(), n.as_f64()) {
                (Some(whole), _) => Value::Whole(whole),
                (None, x) => Value::Number(x.unwrap_or(f64::NAN)),
            },
            Json::String(text) if text.len() <= MAX_TEXT => Value::Text(text.clone()),
            Json::String(_) => {
                return Err(Refusal::bad(format!("the text of an option ends at {MAX_TEXT} bytes")));
            }
            _ => return Err(Refusal::bad("an option is a number, true, false or a text")),
        };
        world.settings.set(key, value);
    }
    let world = registry.complete(&world)?;
    for (key, value) in world.settings.iter() {
        if matches!(value, Value::Whole(n) if *n > MAX_WHOLE) {
            return Err(Refusal::impossible(format!(
                "`{key}` is {value}, and the page shows worlds with whole numbers up to {MAX_WHOLE}"
            )));
        }
    }
    Ok(world)
}

/// One environment of a world under the largest symmetry that it has, whatever a network knows of it.
pub(crate) fn make(registry: &Registry, world: &WorldConfig) -> Answer<Box<dyn Envs>> {
    let largest = registry.get(&world.name)?.symmetries(&world.settings).largest;
    let envs = registry.make(world, &largest.parse()?, 1)?;
    let (name, agents) = (&world.name, envs.spec().agents);
    if envs.exact().is_none() {
        return Err(Refusal::impossible(format!(
            "the world `{name}` cannot be shown step by step, because it does not save its state; `equimarl play` with \
             --watch or --gif shows it"
        )));
    }
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
    json!({ "key": option.key, "help": option.help, "kind": kind, "usual": option.usual })
}

/// Settings as the page has them.
pub(crate) fn as_json(settings: &Settings) -> Json {
    settings.iter().map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>().into()
}
