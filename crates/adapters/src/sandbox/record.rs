//! Ownership records of sandboxes, stored where agents cannot write.

use crate::files;
use drive_core::ids::{CommitSha, SandboxId};
use drive_core::problem::{Kind, Problem};
use drive_core::process::ProcessIdentity;
use drive_core::sandbox::{KeptWork, Probe, RecordFact, Sandbox, Stage};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the trash below the sandbox root.
pub(super) const TRASH: &str = ".trash";

/// The version of the format.
const VERSION: u32 = 2;
/// The record of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) version: u32,
    /// A part of its name in the trash.
    pub(super) token: String,
    /// The identity of the folder on the disk, once it was created. No process that works in the
    /// folder can change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<String>,
    pub(super) stage: Stage,
    pub(super) sandbox: Sandbox,
    /// The git folder of the checkout from which it was created: a linked worktree has its own settings.
    #[serde(with = "drive_core::serde_path")]
    pub(super) checkout: PathBuf,
    /// Whether drive created the branch.
    pub(super) owns_branch: bool,
    /// The git process that fills it, so that a sweep can end it if drive died.
    #[serde(default)]
    pub(super) process: Option<ProcessIdentity>,
    /// The work that was saved before the removal.
    #[serde(default)]
    pub(super) kept: Option<KeptWork>,
}

impl Record {
    pub(super) fn new(sandbox: Sandbox, checkout: PathBuf, token: String) -> Self {
        Self {
            version: VERSION,
            token,
            folder: None,
            stage: Stage::Creating,
            sandbox,
            checkout,
            owns_branch: false,
            process: None,
            kept: None,
        }
    }

    /// The facts that the decision about a removal needs.
    pub(super) fn fact(&self) -> RecordFact {
        RecordFact {
            folder: self.folder.clone(),
            lifetime: self.sandbox.lifetime,
            stage: self.stage,
            inside_root: root_of(&self.sandbox).is_some(),
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

    /// The record, if there is one; a problem if that could not be determined.
    pub(super) fn find(&self, id: &SandboxId) -> Result<Option<Record>, Problem> {
        match self.load(id) {
            Probe::Found(record) => Ok(Some(record)),
            Probe::Absent => Ok(None),
            Probe::Failed(why) => Err(Problem::new(
                Kind::SandboxRecordUnreadable,
                format!("cannot read the record of sandbox `{id}`"),
            )
            .cause(why)
            .hint(format!("look at `{}`", self.path(id).display()))),
        }
    }

    pub(super) fn save(&self, record: &Record) -> Result<(), Problem> {
        let path = self.path(&record.sandbox.id);
        let json = serde_json::to_vec_pretty(record).map_err(|error| {
            Problem::new(
                Kind::SandboxRecordUnwritable,
                "cannot write a sandbox record",
            )
            .because(error)
        })?;
        files::replace(&path, &json)
            .map_err(|error| super::problems::storage_problem(&path, &error))
    }

    pub(super) fn delete(&self, id: &SandboxId) -> Result<(), Problem> {
        for path in [self.tips_path(id), self.path(id)] {
            files::remove_file(&path)
                .map_err(|error| super::problems::storage_problem(&path, &error))?;
        }
        Ok(())
    }

    /// Records the targets of the branches and tags that drive just wrote into a sandbox: these
    /// commits are not the agent's, even if the user's own branches move later.
    pub(super) fn note_tips(&self, sandbox: &Sandbox) -> Result<(), Problem> {
        let path = self.tips_path(&sandbox.id);
        let note = || {
            let written = std::fs::read(sandbox.path.join(".git/packed-refs"))?;
            let mut notes = OpenOptions::new().create(true).append(true).open(&path)?;
            notes.write_all(&written)
        };
        note().map_err(|error| super::problems::storage_problem(&path, &error))
    }

    /// All commits that were recorded for a sandbox.
    pub(super) fn tips(&self, id: &SandboxId) -> HashSet<CommitSha> {
        let notes = std::fs::read(self.tips_path(id)).unwrap_or_default();
        let text = String::from_utf8_lossy(&notes);
        let words = text.lines().filter_map(|line| line.split(' ').next());
        words.filter_map(CommitSha::parse).collect()
    }

    fn tips_path(&self, id: &SandboxId) -> PathBuf {
        self.dir.join(format!("{id}.tips"))
    }

    /// All recorded sandbox ids, sorted.
    pub(super) fn ids(&self) -> Result<Vec<SandboxId>, Problem> {
        let entries = std::fs::read_dir(&self.dir)
            .map_err(|error| super::problems::storage_problem(&self.dir, &error))?;
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
    /// The field that records of all versions have.
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let told = |error: serde_json::Error| error.to_string();
    let found = serde_json::from_slice::<Versioned>(bytes).map_err(told)?;
    if found.version != VERSION {
        let whose = if found.version > VERSION {
            "a newer"
        } else {
            "an older"
        };
        return Err(format!(
            "written by {whose} drive (version {}; this one supports {VERSION}): remove the \
             sandbox with that one",
            found.version
        ));
    }
    serde_json::from_slice(bytes).map_err(told)
}

/// The identity of a folder on the disk: its inode number and, if the file system stores it, its
/// creation time. A folder that replaces it has a different identity.
pub(super) fn folder_id(path: &Path) -> Probe<String> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    match statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted) {
        Ok(found) => {
            let born = found.stx_btime;
            let (inode, seconds, nanos) = (found.stx_ino, born.tv_sec, born.tv_nsec);
            Probe::Found(format!("{inode}-{seconds}.{nanos}"))
        }
        Err(Errno::NOENT) => Probe::Absent,
        Err(error) => Probe::Failed(error.to_string()),
    }
}

/// A token that cannot be guessed.
pub(super) fn fresh_token() -> Result<String, Problem> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(Kind::NoRandomness, "the system provides no random numbers").because(error)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The sandbox root in which a sandbox was created: a folder with its own trash that contains the
/// sandbox under its own name. `None` if the recorded folder is not in such a root.
pub(super) fn root_of(sandbox: &Sandbox) -> Option<&Path> {
    let root = sandbox.path.parent()?;
    let is_root = root.join(TRASH).is_dir() && sandbox.path == root.join(sandbox.id.as_str());
    is_root.then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::ids::{BranchName, CommitSha, RunId};
    use drive_core::process::ProcessMark;
    use drive_core::sandbox::{Brought, KeptAbout, Lifetime, SandboxNote};

    const GOLDEN: &str = include_str!("../../tests/golden/sandbox-record-2.json");

    /// A record in which every field has a value.
    fn full() -> Record {
        let run = RunId::new("r20261115-0942-k3f9a");
        Record {
            version: 2,
            token: "00112233445566778899aabbccddeeff".to_owned(),
            folder: Some("42-1790000000.5".to_owned()),
            stage: Stage::Kept,
            sandbox: Sandbox {
                id: SandboxId::new("x"),
                run: run.clone(),
                lifetime: Lifetime::Persistent,
                path: "/state/sandboxes/x".into(),
                git_dir: "/repo/.git".into(),
                base_sha: CommitSha::new("a".repeat(40)),
                branch: Some(BranchName::parse("drive/x").unwrap()),
                created_at: "2026-11-15T09:42:00Z".parse().unwrap(),
                notes: vec![SandboxNote::FiltersNotRun {
                    filters: vec!["lfs".to_owned()],
                }],
                held: false,
                brought: vec![Brought {
                    path: ".env".into(),
                    stamp: Some((12, 1_790_000_000_000_000_000)),
                }],
            },
            checkout: "/repo/.git/worktrees/y".into(),
            owns_branch: true,
            process: Some(ProcessIdentity {
                child: ProcessMark {
                    pid: 42,
                    start_ticks: 4711,
                },
                supervisor: None,
                init: None,
                pid_namespace: false,
                cgroups: Vec::new(),
                boot_id: "2f1c".to_owned(),
                log_dir: None,
            }),
            kept: Some(KeptWork {
                reference: "refs/drive/kept/x/1".to_owned(),
                sha: CommitSha::new("c".repeat(40)),
                about: KeptAbout {
                    run,
                    kept_at: "2026-11-15T09:43:00Z".parse().unwrap(),
                    branch: Some(BranchName::parse("drive/x").unwrap()),
                    dirty_files: 2,
                    unpushed_commits: 1,
                    in_progress: None,
                },
            }),
        }
    }

    #[test]
    fn a_record_is_written_and_read_as_the_golden_file_says() {
        assert_eq!(
            serde_json::to_string_pretty(&full()).unwrap(),
            GOLDEN.trim_end()
        );
        assert_eq!(parse(GOLDEN.as_bytes()), Ok(full()));
    }

    #[test]
    fn a_record_of_another_drive_is_refused_and_stays() {
        for (version, whose) in [(VERSION + 1, "a newer"), (VERSION - 1, "an older")] {
            let dir = tempfile::tempdir().unwrap();
            let records = Records::new(dir.path().to_owned());
            let other = Record { version, ..full() };
            records.save(&other).unwrap();
            let problem = records.find(&other.sandbox.id).unwrap_err();
            assert_eq!(problem.kind, Kind::SandboxRecordUnreadable);
            assert_eq!(
                problem.causes,
                [format!(
                    "written by {whose} drive (version {version}; this one supports 2): remove \
                     the sandbox with that one"
                )]
            );
            assert_eq!(records.ids().unwrap(), [other.sandbox.id]);
        }
    }
}
