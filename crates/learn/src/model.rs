//! A model and the world that it was made for.

use crate::error::{Error, Result};
use equimarl_nn::model::Metadata;
use equimarl_worlds::{FirstFormat, Home, Registry, Settings, WorldConfig};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What a model file says of its world: its name, its version and all its settings; of one that lives elsewhere
/// ([`equimarl_worlds::Definition::home`]) its whole declaration, too.
///
/// # Errors
/// If there is no such world.
pub fn world_note(registry: &Registry, world: &WorldConfig) -> Result<Value> {
    let version = registry.get(&world.name)?.version();
    let settings: Map<String, Value> =
        world.settings.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
    let mut note = json!({ "name": world.name, "version": version, "settings": settings });
    if registry.get(&world.name)?.home().is_some() {
        note["spec"] = json!(registry.describe(world)?);
    }
    Ok(note)
}

/// What is said of a world that this program does not have, and where it may be found.
pub(crate) fn elsewhere(registry: &Registry, what: &str, name: &str, home: Option<&Home>) -> Error {
    let own = registry.names().join(", ");
    Error::Mismatch(match home {
        Some(home) => format!(
            "{what} the world `{name}`, which lives in {program}: train and play there. Here are {own}; `report` and `view` \
             show the curves of any run",
            program = home.program
        ),
        None => format!("{what} the world `{name}`, which this program does not have; it has {own}"),
    })
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
        let home = Home::deserialize(&model.world["spec"]["home"]).ok();
        elsewhere(registry, "the model was made for", name, home.as_ref())
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

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_nn::{Interface, Network, NetworkConfig, NetworkKind};
    use equimarl_worlds::builtin;

    #[test]
    fn a_world_that_is_not_here_is_named_with_its_home() {
        let interface = Interface {
            world: "pond".into(),
            agents: 2,
            actions: "perm[0 4 1 2 3]".into(),
            features: "rotation".into(),
            edge: "trivial".into(),
            ..Interface::default()
        };
        let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &"C4".parse().unwrap());
        let network = Network::init(&config, &mut || 0.1).unwrap();
        let said = |world: Value| {
            let metadata = network.metadata(&world, &Value::Null).unwrap();
            world_of(&builtin(), &metadata).unwrap_err().to_string()
        };
        let note = json!({ "name": "pond", "version": 1, "settings": {} });
        assert!(said(note.clone()).contains("`pond`, which this program does not have; it has wildlife"));
        let mut known = note;
        known["spec"] = json!({ "home": { "program": "Python" } });
        let text = said(known);
        assert!(text.contains("`pond`, which lives in Python: train and play there"), "{text}");
        // Worlds of this program carry no declaration: everybody has it.
        let own = world_note(&builtin(), &builtin().usual("wildlife").unwrap()).unwrap();
        assert!(own.get("spec").is_none());
    }
}
