//! What all environments of one city share: settings, declaration, and the net once it was needed.

use crate::city::City;
use crate::folder::Folder;
use crate::install::Install;
use crate::options::Options;
use crate::spec::Declared;
use equimarl_worlds::Result;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What all environments of one city share.
#[derive(Debug)]
pub struct Shared {
    /// The settings.
    pub options: Options,
    /// The declaration, and how the group acts.
    pub declared: Declared,
    /// The net, once it was needed.
    built: Mutex<Option<Arc<Built>>>,
}

/// A net that is there.
#[derive(Debug)]
pub struct Built {
    /// SUMO.
    pub install: Install,
    /// The net's file.
    pub net: PathBuf,
    /// The net.
    pub city: City,
    /// Holds the file of a grid.
    _folder: Folder,
}

impl Shared {
    /// For these settings.
    pub fn new(options: Options, declared: Declared) -> Shared {
        Shared { options, declared, built: Mutex::new(None) }
    }

    /// The net, made when it is first asked for.
    ///
    /// # Errors
    /// If SUMO is not there, or the net is not as it was declared.
    pub fn built(&self) -> Result<Arc<Built>> {
        let mut built = self.built.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(built) = &*built {
            return Ok(built.clone());
        }
        let folder = Folder::new()?;
        let install = Install::find()?;
        let (net, city) = self.options.build(|| Ok(install.clone()), folder.path())?;
        self.declared.check(&city)?;
        let made = Arc::new(Built { install, net, city, _folder: folder });
        *built = Some(made.clone());
        Ok(made)
    }
}
