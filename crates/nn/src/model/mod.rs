//! Model files: a network's free coefficients, or its realised weights, with everything needed to build it again.
//!
//! What a file says is bounded, planned and compared before anything is built from it: sizes first, then names and
//! shapes of tensors, then numbers. The format is in docs/model-format.md.

mod container;
mod dense;
mod file;
#[cfg(test)]
mod tests;

pub use container::{Entries, Entry, MAX_FILE, MAX_HEADER, pack, unpack};
pub use equimarl_files::fnv1a;
pub use file::{read_file, write_file};

use crate::config::NetworkConfig;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::ranges::MessageRanges;
use container::{bad, one_line};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the format that this software writes, and the newest that it reads.
pub const FORMAT: u64 = 2;

/// Version 1 did not know its world.
const FIRST: u64 = 1;

/// What stands in a model file beside its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The version of the format.
    pub format: u64,
    /// What the tensors are.
    pub content: Content,
    /// What wrote the file.
    pub software: String,
    /// What makes the network.
    pub network: NetworkConfig,
    /// The world that it was made for, with all its settings; null where nobody said, as in files of format 1.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub world: Value,
    /// What each layer maps to what, in the order of the network.
    pub representations: Vec<LayerRecord>,
    /// The number of free coefficients.
    pub parameters: usize,
    /// What agents say to each other under these weights; files that were made before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageRanges>,
    /// Whatever the writer added: commit, seed, steps.
    pub extra: Value,
    /// Keys that a reader must know to use the file as it is meant. Other keys that it does not know, it may leave alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Keys that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The keys that this version knows.
const KEYS: [&str; 10] = [
    "content",
    "extra",
    "format",
    "messages",
    "network",
    "parameters",
    "representations",
    "requires",
    "software",
    "world",
];

/// What the tensors of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Free coefficients, from which training goes on.
    Coefficients,
    /// Realised weights, for other frameworks and small devices.
    Dense,
}

/// One layer in [`Metadata`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerRecord {
    /// Its name, which starts the names of its tensors.
    pub name: String,
    /// The input representation.
    pub input: String,
    /// The output representation.
    pub output: String,
    /// The filter size, for convolutions.
    pub kernel: Option<usize>,
    /// Free coefficients of the weight and of the bias.
    pub ranks: [usize; 2],
    /// The shape of the realised weight: \[out, in\], or \[out, in, k, k\].
    pub shape: Vec<usize>,
}

/// Shapes by name.
type Shapes = BTreeMap<String, Vec<usize>>;

impl Metadata {
    /// The metadata of a network, and the tensors that its file holds.
    fn of(
        network: &NetworkConfig,
        content: Content,
        world: &Value,
        extra: &Value,
    ) -> Result<(Metadata, Shapes)> {
        let plan = network.plan()?;
        let layers = plan.layers.iter().map(|layer| LayerRecord {
            name: layer.name.clone(),
            input: layer.input.to_string(),
            output: layer.output.to_string(),
            kernel: layer.kernel,
            ranks: layer.ranks(),
            shape: layer.shape(),
        });
        let metadata = Metadata {
            format: FORMAT,
            content,
            software: concat!("equimarl ", env!("CARGO_PKG_VERSION")).into(),
            network: network.clone(),
            world: world.clone(),
            representations: layers.collect(),
            parameters: plan.parameters(),
            messages: None,
            extra: extra.clone(),
            requires: vec![],
            more: Map::new(),
        };
        let shapes = match content {
            Content::Coefficients => plan.coefficients(),
            Content::Dense => plan.realised(),
        };
        Ok((metadata, shapes))
    }

    /// What a model file of either content says, checked like [`Network::from_bytes`] but without building the network.
    ///
    /// # Errors
    /// [`Error::BadModel`] with the reason, whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Metadata> {
        Ok(from_bytes(bytes, None)?.0)
    }

    /// The same for a file.
    ///
    /// # Errors
    /// As [`Metadata::from_bytes`], or if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Metadata> {
        let path = path.as_ref();
        in_file(path, Metadata::from_bytes(&read_file(path)?))
    }

    /// Reads a file's metadata and says which tensors it must hold.
    fn parse(value: Value, content: Option<Content>) -> Result<(Metadata, Shapes)> {
        let Some(format) = value.get("format").and_then(Value::as_u64) else {
            return bad("its metadata has no format version".into());
        };
        if format > FORMAT {
            return bad(format!(
                "it has format version {format}, and this equimarl reads up to {FORMAT}; use a newer one"
            ));
        }
        if format < FIRST {
            return bad(format!("it claims format {format}, and the first one is {FIRST}"));
        }
        let found: Metadata = serde_json::from_value(value).map_err(|e| {
            Error::BadModel(format!("its metadata does not fit: {}", one_line(&e.to_string())))
        })?;
        if let Some(key) = found.requires.iter().find(|key| !KEYS.contains(&key.as_str())) {
            return bad(format!(
                "it needs `{}`, which this equimarl does not know; use a newer one",
                one_line(key)
            ));
        }
        if let Some(key) = found.more.keys().next().filter(|_| format == FIRST) {
            return bad(format!("its metadata does not fit: format 1 has no `{}`", one_line(key)));
        }
        if content.is_some_and(|wanted| wanted != found.content) {
            return bad(match found.content {
                Content::Dense => {
                    "it holds realised weights (a dense export), not a network's coefficients".into()
                }
                Content::Coefficients => {
                    "it holds a network's coefficients; export it as dense weights first".into()
                }
            });
        }
        let (wanted, shapes) = Metadata::of(&found.network, found.content, &found.world, &found.extra)
            .map_err(|e| Error::BadModel(format!("its network cannot be built: {e}")))?;
        if found.representations != wanted.representations {
            let pairs = found.representations.iter().zip(&wanted.representations);
            let name = pairs.into_iter().find(|(a, b)| a != b).map_or("the last layer", |(_, b)| &b.name);
            return bad(format!("its representations are not those of its network; {name} differs"));
        }
        if found.parameters != wanted.parameters {
            return bad(format!(
                "it claims {} parameters, and its network has {}",
                found.parameters, wanted.parameters
            ));
        }
        Ok((found, shapes))
    }
}

/// The bytes of a file that holds these numbers.
fn to_bytes(
    metadata: &Metadata,
    shapes: &Shapes,
    mut tensors: BTreeMap<String, Vec<f32>>,
) -> Result<Vec<u8>> {
    let mut entries = Entries::new();
    for (name, shape) in shapes {
        let values = tensors.remove(name).unwrap_or_default();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::BadNetwork(format!(
                "{name} has a number that is not finite; it is not saved"
            )));
        }
        entries.insert(name.clone(), Entry::numbers(shape, &values)?);
    }
    if let Some(name) = tensors.keys().next() {
        return Err(Error::BadNetwork(format!("the network has no tensor `{}`", one_line(name))));
    }
    let metadata = serde_json::to_value(metadata)
        .map_err(|e| Error::BadNetwork(format!("cannot describe the model: {e}")))?;
    pack(&metadata, &entries)
}

/// The metadata and all numbers of a file, which are what its network needs and nothing else.
fn from_bytes(bytes: &[u8], content: Option<Content>) -> Result<(Metadata, BTreeMap<String, Vec<f32>>)> {
    let (value, entries) = unpack(bytes)?;
    let (metadata, shapes) = Metadata::parse(value, content)?;
    if let Some(name) = entries.keys().find(|name| !shapes.contains_key(*name)) {
        return bad(format!("its network has no tensor `{}`", one_line(name)));
    }
    let mut tensors = BTreeMap::new();
    for (name, shape) in shapes {
        let Some(entry) = entries.get(&name) else {
            return bad(format!("the tensor `{name}` is missing"));
        };
        if entry.shape() != shape {
            return bad(format!("the tensor `{name}` has shape {:?} instead of {shape:?}", entry.shape()));
        }
        let Some(values) = entry.as_numbers() else {
            return bad(format!("the tensor `{name}` does not hold 32-bit floating point numbers"));
        };
        if values.iter().any(|v| !v.is_finite()) {
            return bad(format!("the tensor `{name}` has a number that is not finite"));
        }
        tensors.insert(name, values);
    }
    Ok((metadata, tensors))
}

/// Says which file was refused.
fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        Error::BadModel(why) => Error::BadModel(format!("{}: {why}", path.display())),
        other => other,
    })
}

impl Network {
    /// The bytes of this network's model file. `world` is what it was made for, with all settings (null if
    /// nobody knows), and `extra` is free: commit, seed. Equal networks with equal notes give equal bytes.
    ///
    /// ```
    /// use equimarl_nn::{NetworkKind, Network, NetworkConfig, Interface};
    /// use serde_json::json;
    /// let group = "C4".parse()?;
    /// let interface = Interface {
    ///     world: "pond".into(),
    ///     agents: 3,
    ///     image: [1, 21, 21],
    ///     actions: "perm[0 4 1 2 3]".into(), // stay, down, right, up, left
    ///     ..Interface::default()
    /// };
    /// let config = NetworkConfig::usual(interface, NetworkKind::Equivariant, &group);
    /// let network = Network::init(&config, &mut || 0.1)?;
    /// let world = json!({ "name": "pond", "ducks": 3 });
    /// let bytes = network.to_bytes(&world, &json!({ "seed": 7 }))?;
    /// let (same, metadata) = Network::from_bytes(&bytes)?;
    /// assert_eq!(same.parameters(), network.parameters());
    /// assert_eq!(metadata.world, world);
    /// assert_eq!(metadata.extra["seed"], 7);
    /// # Ok::<(), equimarl_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a coefficient is not finite, or the file would be too large.
    pub fn to_bytes(&self, world: &Value, extra: &Value) -> Result<Vec<u8>> {
        self.to_bytes_with(world, extra, None)
    }

    /// As [`Network::to_bytes`], with the ranges of what agents say to each other.
    ///
    /// # Errors
    /// As [`Network::to_bytes`].
    pub fn to_bytes_with(
        &self,
        world: &Value,
        extra: &Value,
        messages: Option<&MessageRanges>,
    ) -> Result<Vec<u8>> {
        let (mut metadata, shapes) = Metadata::of(self.config(), Content::Coefficients, world, extra)?;
        metadata.messages = messages.cloned();
        to_bytes(&metadata, &shapes, self.parameters().into_iter().collect())
    }

    /// The network of a model file.
    ///
    /// # Errors
    /// [`Error::BadModel`] with the reason, whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Network, Metadata)> {
        let (metadata, mut tensors) = from_bytes(bytes, Some(Content::Coefficients))?;
        let built = Network::init(&metadata.network, &mut || 0.0).and_then(|mut network| {
            let names: Vec<String> = network.named().into_iter().map(|(name, _)| name).collect();
            network.set_parameters(names.iter().map(|name| tensors.remove(name).unwrap_or_default()))?;
            Ok(network)
        });
        match built {
            Ok(network) => Ok((network, metadata)),
            Err(Error::BadModel(why)) => bad(why),
            Err(error) => bad(format!("its network cannot be built: {error}")),
        }
    }

    /// What this network's model file would say of it.
    ///
    /// # Errors
    /// If its config does not make a network.
    pub fn metadata(&self, world: &Value, extra: &Value) -> Result<Metadata> {
        Ok(Metadata::of(self.config(), Content::Coefficients, world, extra)?.0)
    }

    /// Writes the model file in one step: a crash leaves the old file or the new one.
    ///
    /// # Errors
    /// As [`Network::to_bytes`], or if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, world: &Value, extra: &Value) -> Result<()> {
        write_file(path, &self.to_bytes(world, extra)?)
    }

    /// Reads a model file, checking everything that it says.
    ///
    /// # Errors
    /// As [`Network::from_bytes`], or if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<(Network, Metadata)> {
        let path = path.as_ref();
        in_file(path, Network::from_bytes(&read_file(path)?))
    }
}
