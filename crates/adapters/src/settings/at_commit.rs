use super::file::MAX_BYTES;
use super::{LoadError, SettingsPaths, load_layers};
use crate::git::Git;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::settings::{Effective, Layer};
use drive_engine::ports::{Place, VersionControl};
use std::path::Path;

/// The settings with the repository's file from a commit, not from a checkout.
#[derive(Clone, Debug)]
pub struct SettingsAt {
    /// The settings.
    pub effective: Effective,
    /// Whether the commit has the repository's file.
    pub has_file: bool,
    /// The repository's file in the checkout, if it differs from that of the commit.
    pub differs: Option<String>,
}

/// Reads the user's own files and the repository's file at `commit`; without a commit, only the user's.
pub fn load_at(
    git: &Git,
    repo: &Path,
    paths: &SettingsPaths,
    commit: Option<&CommitSha>,
) -> Result<SettingsAt, LoadError> {
    let file = paths.repository_file();
    let found = match (&file, commit) {
        (Some(file), Some(commit)) => {
            text_at(git, repo, commit, file, paths).map_err(LoadError::Unreadable)?
        }
        (_, _) => None,
    };
    let in_checkout = file.as_ref().and_then(|file| {
        let root = paths.checkout.as_deref()?;
        std::fs::read(root.join(file)).ok()
    });
    let is_same = in_checkout.as_deref() == found.as_deref().map(str::as_bytes);
    let differs = file.filter(|_| in_checkout.is_some() && !is_same);
    let layer = found.map(|text| {
        let label = commit.map_or_else(String::new, |commit| label(paths, commit));
        Layer::file(label, text).of_repository()
    });
    Ok(SettingsAt {
        has_file: layer.is_some(),
        effective: load_layers(paths, Some(layer), &[])?,
        differs,
    })
}

fn label(paths: &SettingsPaths, commit: &CommitSha) -> String {
    let file = paths.repository_file().unwrap_or_default();
    format!("{}:{file}", commit.short())
}

/// The text of the repository's file; `None` if the commit has no such file and nobody named it.
fn text_at(
    git: &Git,
    repo: &Path,
    commit: &CommitSha,
    file: &str,
    paths: &SettingsPaths,
) -> Result<Option<String>, Problem> {
    let place = Place::Checkout(repo);
    let unreadable = |cause: &str| {
        let label = label(paths, commit);
        Problem::new(
            Kind::SettingsUnreadable,
            format!("cannot read the settings file `{label}`"),
        )
        .cause(cause)
        .hint("correct the file on the base, or pass another one with `--config`")
    };
    let exists = git.read_file(place, commit, file, MAX_BYTES)?.is_some();
    let found = git.plain_files(place, commit, &[file], MAX_BYTES)?.pop();
    match found {
        Some((_, text)) if text.contains(char::REPLACEMENT_CHARACTER) => {
            Err(unreadable("it is not UTF-8"))
        }
        Some((_, text)) => Ok(Some(text)),
        None if exists => Err(unreadable("it is not a regular file")),
        None if paths.required.is_some() => Err(Problem::new(
            Kind::SettingsMissing,
            format!("settings file `{}` does not exist", label(paths, commit)),
        )
        .hint("commit it on the base, or name a file outside the repository with `--config`")),
        None => Ok(None),
    }
}
