//! A journal in a temporary folder, and minimal values to store in it.

use drive_adapters::store::{Database, SqliteStore};
use drive_core::Problem;
use drive_core::agent::Budget;
use drive_core::ids::{BranchName, CommitSha, DedupeKey, EffectKey, RemoteName, RunId, SandboxId};
use drive_core::process::ProcessMark;
use drive_core::run::{AfterEnd, EffectResult, Event, Publish, Request, RunKind, step};
use drive_core::sandbox::{Lifetime, Sandbox};
use drive_core::time::Timestamp;
use drive_engine::ports::{Append, Appended, LeaseToken, Owner, Store};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub const RUN: &str = "r1";

pub struct Fixture {
    pub store: SqliteStore,
    pub path: PathBuf,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// The same journal, opened like in another process.
    pub fn open_again(&self) -> SqliteStore {
        SqliteStore::new(Arc::new(Database::open(&self.path).unwrap()))
    }
}

pub fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.db");
    let store = SqliteStore::new(Arc::new(Database::open(&path).unwrap()));
    Fixture {
        store,
        path,
        _dir: dir,
    }
}

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + seconds).unwrap()
}

pub fn owner(pid: i32) -> Owner {
    Owner {
        machine: "here".into(),
        boot: "boot-1".into(),
        process: ProcessMark {
            pid,
            start_ticks: 7,
        },
    }
}

pub fn request() -> Request {
    Request {
        kind: RunKind::Spawn,
        task: "do it".into(),
        repo: "/repo".into(),
        base_sha: CommitSha::new("a".repeat(40)),
        base_branch: Some(BranchName::parse("main").unwrap()),
        branch: BranchName::parse("drive/do-it").unwrap(),
        agent: "scripted".into(),
        model: None,
        idle_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(10),
        budget: Budget::default(),
        max_escalations: 5,
        publish: Publish::PullRequest {
            remote: Some(RemoteName::parse("origin").unwrap()),
        },
        after_end: AfterEnd::Remove,
        copy: Vec::new(),
        seed: Vec::new(),
        notify: false,
        prompts: None,
        parent: None,
        git_dir: None,
    }
}

pub fn sandbox() -> Sandbox {
    Sandbox {
        id: SandboxId::new(RUN),
        run: RunId::new(RUN),
        lifetime: Lifetime::Transient,
        path: "/sandboxes/r1".into(),
        git_dir: "/repo/.git".into(),
        base_sha: CommitSha::new("a".repeat(40)),
        branch: Some(BranchName::parse("drive/do-it").unwrap()),
        created_at: at(1),
        notes: Vec::new(),
        held: false,
        brought: Vec::new(),
    }
}

pub fn sandbox_created() -> Event {
    Event::EffectEnded {
        key: EffectKey::new("createSandbox/1"),
        result: EffectResult::SandboxCreated {
            sandbox: Box::new(sandbox()),
        },
    }
}

pub fn append(
    store: &dyn Store,
    event: &Event,
    dedupe: &str,
    fence: Option<LeaseToken>,
) -> Result<Appended, Problem> {
    let dedupe = DedupeKey::new(dedupe);
    store.append(
        &Append {
            run: &RunId::new(RUN),
            event,
            dedupe: &dedupe,
            at: at(0),
            fence,
        },
        step,
    )
}
