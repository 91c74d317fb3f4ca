//! A model and the world that it was made for.

use crate::error::{Error, Result};
use equimarl_nn::model::Metadata;
use equimarl_worlds::{FirstFormat, Registry, Settings, WorldConfig};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What a model file says of its world: its name, its version and all its settings.
///
/// # Errors
/// If there is no such world.
pub fn world_note(registry: &Registry, world: &WorldConfig) -> Result<Value> {
    let version = registry.get(&world.name)?.version();
    let settings: Map<String, Value> =
        world.settings.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
    Ok(json!({ "name": world.name, "version": version, "settings": settings }))
}

/// The world of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The world, with all its settings.
    pub world: WorldConfig,
    /// What had to be assumed because the file does not say it, for people.
    pub assumed: Option<String>,
}

/// The world that a model was made for.
///
/// # Errors
/// If this program does not have it, or has another version of it.
pub fn world_of(registry: &Registry, model: &Metadata) -> Result<Known> {
    let name = &model.network.interface.world;
    let definition = registry.get(name).map_err(|_| {
        Error::Mismatch(format!(
            "the model was made for the world `{name}`, which this program does not have; it has {}",
            registry.names().join(", ")
        ))
    })?;
    if model.world.is_null() {
        let setting = &model.network.interface;
        let sizes =
            FirstFormat { agents: setting.agents, image: setting.image, team_image: setting.team_image };
        let settings = definition.of_first_format(&sizes).unwrap_or(Settings::usual(&definition.options()));
        let world = WorldConfig { name: name.clone(), settings };
        let list: Vec<String> =
            world.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let assumed = format!(
            "the model file does not say what its world was like (format {}), so this is assumed: {name} with {}",
            model.format,
            list.join(", ")
        );
        return Ok(Known { world, assumed: Some(assumed) });
    }
    #[derive(Deserialize)]
    struct Note {
        name: String,
        version: u32,
        settings: Value,
    }
    let bad =
        |why: String| Error::Mismatch(format!("what the model says of its world cannot be used: {why}"));
    let note = Note::deserialize(&model.world).map_err(|e| bad(e.to_string()))?;
    if note.name != *name {
        return Err(bad(format!("it names both `{name}` and `{}`", note.name)));
    }
    if note.version != definition.version() {
        return Err(Error::Mismatch(format!(
            "the model was made for version {} of the world `{name}`, and this program has version {}",
            note.version,
            definition.version()
        )));
    }
    let mut settings = note.settings;
    if let Some(map) = settings.as_object_mut() {
        map.insert("name".into(), json!(name));
    }
    let world: WorldConfig = serde_json::from_value(settings).map_err(|e| bad(e.to_string()))?;
    Ok(Known { world: registry.complete(&world)?, assumed: None })
}
