//! Finds settings files and reads them with a size limit.
//!
//! Only paths that are passed in are read. They are in the caller's own checkout, never in a
//! sandbox; a verification reads the repository's file at the base. So an agent cannot change the
//! rules by which it is judged.

mod at_commit;
mod file;
mod paths;
mod prompts;

pub use at_commit::{SettingsAt, load_at};
pub use paths::{SettingsPaths, checkout_root};
pub use prompts::{PROMPTS_FOLDER, load_prompts};

use drive_core::Problem;
use drive_core::settings::{Effective, Findings, Layer, resolve};
use std::path::Path;

/// Why settings could not be loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadError {
    /// A file could not be read.
    Unreadable(Problem),
    /// The files or flags contain mistakes.
    Mistakes(Findings),
}

impl From<LoadError> for Problem {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unreadable(problem) => problem,
            LoadError::Mistakes(findings) => findings.into_problem(),
        }
    }
}

/// Reads the files, applies the flags on top, and checks the result.
pub fn load(paths: &SettingsPaths, flags: &[Layer]) -> Result<Effective, LoadError> {
    load_layers(paths, None, flags)
}

/// Like `load`; `instead`, if given, replaces the repository's file.
fn load_layers(
    paths: &SettingsPaths,
    instead: Option<Option<Layer>>,
    flags: &[Layer],
) -> Result<Effective, LoadError> {
    let is_read = |path: &Path| instead.is_none() || !paths.is_of_repository(path);
    let mut layers = Vec::new();
    let mut add = |path: &Path, layer: Layer| {
        layers.push(if paths.is_of_repository(path) {
            layer.of_repository()
        } else {
            layer
        });
    };
    for path in paths.optional.iter().filter(|path| is_read(path)) {
        let layer = file::load(path, paths.label(path)).map_err(LoadError::Unreadable)?;
        if let Some(layer) = layer {
            add(path, layer);
        }
    }
    if let Some(path) = paths.required.as_ref().filter(|path| is_read(path)) {
        let layer = file::require(path, paths.label(path)).map_err(LoadError::Unreadable)?;
        add(path, layer);
    }
    layers.extend(instead.flatten());
    layers.extend_from_slice(flags);
    resolve(&layers).map_err(LoadError::Mistakes)
}
