//! Ownership records: what drive knows of its sandboxes, outside of their reach.

use crate::files;
use drive_core::Problem;
use drive_core::ids::SandboxId;
use drive_core::process::ProcessIdentity;
use drive_core::sandbox::{KeptWork, Probe, RecordFact, Sandbox, Stage};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the format written.
const VERSION: u32 = 1;
/// The file with the token in the worktree's own git folder.
pub(super) const TOKEN_FILE: &str = "drive-owner";

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) version: u32,
    pub(super) token: String,
    pub(super) stage: Stage,
    pub(super) sandbox: Sandbox,
    /// Whether the branch was made by us, and not found.
    pub(super) owns_branch: bool,
    /// The git that is filling it, so that a sweep can end one that outlived its drive.
    #[serde(default)]
    pub(super) process: Option<ProcessIdentity>,
    /// What was saved before removal.
    #[serde(default)]
    pub(super) kept: Option<KeptWork>,
}

impl Record {
    pub(super) fn new(sandbox: Sandbox, token: String) -> Self {
        Self {
            version: VERSION,
            token,
            stage: Stage::Creating,
            sandbox,
            owns_branch: false,
            process: None,
            kept: None,
        }
    }

    /// What the decision about a removal needs of it.
    pub(super) fn fact(&self, root: &Path) -> RecordFact {
        RecordFact {
            token: self.token.clone(),
            lifetime: self.sandbox.lifetime,
            stage: self.stage,
            inside_root: self.sandbox.path == root.join(self.sandbox.id.as_str()),
        }
    }
}

/// The folder of all records.
#[derive(Clone, Debug)]
pub(super) struct Records {
    dir: PathBuf,
}

impl Records {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn load(&self, id: &SandboxId) -> Probe<Record> {
        match std::fs::read(self.path(id)) {
            Ok(bytes) => match parse(&bytes) {
                Ok(record) => Probe::Found(record),
                Err(why) => Probe::Failed(why),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Probe::Absent,
            Err(error) => Probe::Failed(error.to_string()),
        }
    }

    /// The record, or a problem when it could not be told whether there is one.
    pub(super) fn find(&self, id: &SandboxId) -> Result<Option<Record>, Problem> {
        match self.load(id) {
            Probe::Found(record) => Ok(Some(record)),
            Probe::Absent => Ok(None),
            Probe::Failed(why) => Err(Problem::environment(
                "sandboxRecordUnreadable",
                format!("the record of sandbox `{id}` cannot be read"),
            )
            .cause(why)
            .hint(format!("look at `{}`", self.path(id).display()))),
        }
    }

    pub(super) fn save(&self, record: &Record) -> Result<(), Problem> {
        let path = self.path(&record.sandbox.id);
        let json = serde_json::to_vec_pretty(record).map_err(|error| {
            Problem::environment(
                "sandboxRecordUnwritable",
                "a sandbox record cannot be written",
            )
            .because(error)
        })?;
        files::replace(&path, &json).map_err(|error| super::storage_problem(&path, &error))
    }

    pub(super) fn delete(&self, id: &SandboxId) -> Result<(), Problem> {
        let path = self.path(id);
        files::remove_file(&path).map_err(|error| super::storage_problem(&path, &error))
    }

    /// All recorded names, sorted.
    pub(super) fn ids(&self) -> Result<Vec<SandboxId>, Problem> {
        let entries = std::fs::read_dir(&self.dir)
            .map_err(|error| super::storage_problem(&self.dir, &error))?;
        let mut ids: Vec<SandboxId> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some(SandboxId::new(name.strip_suffix(".json")?))
            })
            .collect();
        ids.sort();
        Ok(ids)
    }

    fn path(&self, id: &SandboxId) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }
}

fn parse(bytes: &[u8]) -> Result<Record, String> {
    let record: Record = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if record.version > VERSION {
        return Err(format!(
            "written by a newer drive (version {}, this one reads {VERSION})",
            record.version
        ));
    }
    Ok(record)
}

/// Reads the token of a worktree's git folder.
pub(super) fn load_token(admin_dir: &Path) -> Probe<String> {
    match std::fs::read_to_string(admin_dir.join(TOKEN_FILE)) {
        Ok(token) => Probe::Found(token),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Probe::Absent,
        Err(error) => Probe::Failed(error.to_string()),
    }
}

/// A token nobody can guess.
pub(super) fn fresh_token() -> Result<String, Problem> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::environment("noRandomness", "the machine gives no random numbers").because(error)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
