//! Dense exports: realised weights under fixed names.

use super::{Content, Metadata, from_bytes, to_bytes, write_file};
use crate::error::{Error, Result};
use crate::network::{DenseModel, DenseTensor};
use serde_json::Value;
use std::path::Path;

impl DenseModel {
    /// The bytes of the export. Equal models with equal notes give equal bytes.
    ///
    /// # Errors
    /// If tensors do not fit the config or are not finite, or the file would be too large.
    pub fn to_bytes(&self, world: &Value, extra: &Value) -> Result<Vec<u8>> {
        let (metadata, shapes) = Metadata::of(&self.config, Content::Dense, world, extra)?;
        if let Some((name, _)) =
            shapes.iter().find(|(n, shape)| self.tensors.get(*n).map(|t| &t.shape) != Some(shape))
        {
            return Err(Error::BadNetwork(format!("{name} does not have the shape of its layer")));
        }
        let tensors = self.tensors.iter().map(|(name, tensor)| (name.clone(), tensor.values.clone()));
        to_bytes(&metadata, &shapes, tensors.collect())
    }

    /// The realised weights in the bytes of an export. That they obey the symmetry is not checked.
    ///
    /// # Errors
    /// [`Error::BadModel`] with the reason, whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<(DenseModel, Metadata)> {
        let (metadata, tensors) = from_bytes(bytes, Some(Content::Dense))?;
        let shapes = metadata.network.plan()?.realised();
        let tensors = tensors.into_iter().map(|(name, values)| {
            let shape = shapes.get(&name).cloned().unwrap_or_default();
            (name, DenseTensor { shape, values })
        });
        Ok((DenseModel { config: metadata.network.clone(), tensors: tensors.collect() }, metadata))
    }

    /// Writes the export in one step.
    ///
    /// # Errors
    /// As [`DenseModel::to_bytes`], or if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, world: &Value, extra: &Value) -> Result<()> {
        write_file(path, &self.to_bytes(world, extra)?)
    }
}
