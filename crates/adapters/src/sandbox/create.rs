//! Creates a sandbox: its refs in the user's repository, its folder, the repository in it, and its files.

use super::problems::{disk_full, root_problem};
use super::record::{Record, folder_id, fresh_token};
use super::repository::OwnRepository;
use super::sandboxes::GitSandboxes;
use super::steps::Step;
use super::{bring, refs, remove};
use crate::files;
use crate::git::{self, Location, Look, Touches};
use drive_core::ids::{BranchName, CommitSha};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{
    BringPattern, Sandbox, SandboxNote, SandboxSpec, Stage, check_folder_name,
};
use drive_engine::ports::{Repository, VersionControl};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For fewer files, starting workers costs more than it saves.
const WORKER_FILES: &str = "1000";
/// A folder id that no disk uses.
const NOT_OURS: &str = "not made by drive";
/// How much older than its index the files of a new sandbox are made.
const OLDER: Duration = Duration::from_secs(10);
/// The result of all checks, before anything is changed.
struct Plan {
    repository: Repository,
    look: Look,
    branch: Option<BranchName>,
    /// The branch, if it must be created.
    new_branch: Option<BranchName>,
    /// Whether the user's repository may lack objects.
    is_partial: bool,
    copy: Vec<BringPattern>,
    seed: Vec<BringPattern>,
}

pub(super) fn create(all: &GitSandboxes, spec: &SandboxSpec) -> Result<Sandbox, Problem> {
    check_folder_name(&spec.id)?;
    let plan = plan(all, spec)?;
    let _lock = all.lock_sandbox(&spec.id, "being created")?;
    if let Some(existing) = finish_earlier(all, spec, &plan)? {
        return Ok(existing);
    }
    git::try_signing(&all.git, &Location::bare(&plan.repository.common_dir))?;
    let checkout = plan.repository.git_dir.clone();
    let mut record = Record::new(sandbox(all, spec, &plan), checkout, fresh_token()?);
    require_no_folder(&record.sandbox.path)?;
    let checkout = Location::checkout(&spec.repo);
    match plan.branch.as_ref() {
        Some(branch) if spec.on_existing_branch => {
            refs::require_unused(&all.git, &checkout, branch)?;
        }
        Some(branch) if plan.look.has_branch => {
            refs::require_free(&all.git, &checkout, branch)?;
        }
        Some(_) | None => {}
    }
    // A moment ago the branch did not exist, so it is ours unless another process creates it first.
    // An undo does not delete a branch that existed before.
    record.owns_branch = plan.new_branch.is_some();
    all.records.save(&record)?;
    all.steps.done(Step::RecordWritten);
    match make(all, &plan, &mut record) {
        Ok(()) => Ok(record.sandbox),
        Err(problem) => {
            let full = has_no_room(all, &record);
            // The next sweep undoes what cannot be undone now: the record remains for it.
            let _ = remove::undo(all, &record);
            Err(if full { disk_full(&all.root) } else { problem })
        }
    }
}

/// Whether a full disk is the reason. Git removes the file that did not fit, so a full disk may
/// have room again: then the size of the whole tree is compared.
fn has_no_room(all: &GitSandboxes, record: &Record) -> bool {
    let common = Location::bare(&record.sandbox.git_dir);
    files::is_full(&all.root)
        || git::tree_bytes(&all.git, &common, &record.sandbox.base_sha)
            .is_ok_and(|needed| files::free_bytes(&all.root).is_some_and(|free| needed > free))
}

fn plan(all: &GitSandboxes, spec: &SandboxSpec) -> Result<Plan, Problem> {
    let branch = spec.branch.clone();
    let new_branch = branch.clone().filter(|_| !spec.on_existing_branch);
    let new_branch = new_branch.map(BranchName::for_new).transpose()?;
    let patterns = |setting: &str, texts: &[String]| {
        texts
            .iter()
            .map(|text| BringPattern::parse(setting, text))
            .collect::<Result<Vec<_>, _>>()
    };
    let (copy, seed) = (
        patterns("sandbox.copy", &spec.copy)?,
        patterns("sandbox.seed", &spec.seed)?,
    );
    let repository = all.git.discover(&spec.repo)?;
    let look = git::look_at(
        &all.git,
        &Location::checkout(&spec.repo),
        &spec.base,
        branch.as_ref(),
    )?;
    let is_partial = git::is_partial(&all.git, &Location::bare(&repository.common_dir))?;
    Ok(Plan {
        is_partial,
        repository,
        look,
        new_branch,
        branch,
        copy,
        seed,
    })
}

/// Returns the sandbox if it exists already, and removes what a crash left of it.
fn finish_earlier(
    all: &GitSandboxes,
    spec: &SandboxSpec,
    plan: &Plan,
) -> Result<Option<Sandbox>, Problem> {
    let Some(record) = all.records.find(&spec.id)? else {
        return Ok(None);
    };
    match record.stage {
        Stage::Creating => remove::undo(all, &record).map(|()| None),
        Stage::Removing | Stage::Kept => remove::settle_locked(all, record).map(|_| None),
        Stage::Ready if !is_same(&record.sandbox, spec, plan) => Err(Problem::new(
            Kind::SandboxExists,
            format!("sandbox `{}` already exists for another purpose", spec.id),
        )
        .hint("use another name, or remove that one first")),
        Stage::Ready if !record.sandbox.path.is_dir() => Err(Problem::new(
            Kind::SandboxGone,
            format!("the folder of sandbox `{}` was deleted", spec.id),
        )
        .hint(format!(
            "end its cruise and save its commits: `drive cruise cleanup {}`",
            spec.run
        ))),
        Stage::Ready => Ok(Some(record.sandbox)),
    }
}

fn is_same(made: &Sandbox, spec: &SandboxSpec, plan: &Plan) -> bool {
    made.run == spec.run
        && made.lifetime == spec.lifetime
        && made.git_dir == plan.repository.common_dir
        && made.base_sha == plan.look.base_sha
        && made.branch == spec.branch
}

fn sandbox(all: &GitSandboxes, spec: &SandboxSpec, plan: &Plan) -> Sandbox {
    let mut notes = Vec::new();
    if plan.repository.shallow {
        notes.push(SandboxNote::ShallowHistory);
    }
    if plan.look.submodules {
        notes.push(SandboxNote::SubmodulesNotFetched);
    }
    if !plan.look.filters.is_empty() {
        let filters = plan.look.filters.clone();
        notes.push(SandboxNote::FiltersNotRun { filters });
    }
    Sandbox {
        id: spec.id.clone(),
        run: spec.run.clone(),
        lifetime: spec.lifetime,
        path: all.root.join(spec.id.as_str()),
        git_dir: plan.repository.common_dir.clone(),
        base_sha: plan.look.base_sha.clone(),
        branch: spec.branch.clone(),
        created_at: all.clock.now(),
        notes,
        held: spec.held,
        brought: Vec::new(),
    }
}

fn make(all: &GitSandboxes, plan: &Plan, record: &mut Record) -> Result<(), Problem> {
    let head = head(all, plan, record)?;
    make_refs(all, plan, &head, record)?;
    all.steps.done(Step::RefsMade);
    make_folder(all, record)?;
    let repository = OwnRepository {
        git: &all.git,
        sandbox: &record.sandbox,
        checkout: &record.checkout,
        head: &head,
    };
    repository.write()?;
    all.records.note_tips(&record.sandbox)?;
    all.steps.done(Step::RepositoryWritten);
    check_out(all, plan, &head, record)?;
    let layers = all.git.missing_layers();
    if !layers.is_empty() {
        record
            .sandbox
            .notes
            .push(SandboxNote::GitNotConfined { layers });
    }
    all.steps.done(Step::CheckedOut);
    if let Some(top) = &plan.repository.top {
        let to = all.inside(record);
        let brought = bring::bring(&all.git, top, &to, &plan.copy, &plan.seed)?;
        record.sandbox.brought = brought.things;
        record.sandbox.notes.extend(brought.notes);
    }
    all.steps.done(Step::Brought);
    record.stage = Stage::Ready;
    all.records.save(record)?;
    all.steps.done(Step::Ready);
    Ok(())
}

/// The commit at which a sandbox begins: that of its branch, if the branch exists already.
fn head(all: &GitSandboxes, plan: &Plan, record: &Record) -> Result<CommitSha, Problem> {
    match (&plan.branch, &plan.new_branch) {
        (Some(branch), None) => {
            let users = Location::bare(&record.sandbox.git_dir);
            git::resolve(&all.git, &users, &branch.full())
        }
        (_, _) => Ok(plan.look.base_sha.clone()),
    }
}

/// Creates the pins and the branch, all or none.
fn make_refs(
    all: &GitSandboxes,
    plan: &Plan,
    head: &CommitSha,
    record: &mut Record,
) -> Result<(), Problem> {
    let users = Location::bare(&record.sandbox.git_dir);
    let id = &record.sandbox.id;
    let pins = [
        (git::pin_of(id), &plan.look.base_sha),
        (git::head_of(id), head),
    ];
    let branch = plan.new_branch.as_ref().map(BranchName::full);
    let new = branch.as_deref().map(|name| (name, head));
    let answer = refs::pin_and_create(&all.git, &users, &pins, new)?;
    if answer.code == 0 {
        return Ok(());
    }
    // Another process created it first, so an undo must not delete it.
    record.owns_branch = false;
    all.records.save(record)?;
    if let Some(branch) = &plan.new_branch {
        refs::require_free(&all.git, &users, branch)?;
    }
    let names: Vec<&str> = pins.iter().map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().chain(branch.as_deref()).collect();
    Err(git::ref_problem(&answer, &users, &names))
}

fn make_folder(all: &GitSandboxes, record: &mut Record) -> Result<(), Problem> {
    let path = &record.sandbox.path;
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            // Another process created it first, so an undo must not delete it.
            record.folder = Some(NOT_OURS.to_owned());
            all.records.save(record)?;
            return require_no_folder(&record.sandbox.path);
        }
        made => made.map_err(|error| root_problem(&all.root, &error))?,
    }
    all.steps.done(Step::FolderMade);
    record.folder = folder_id(path).found();
    all.records.save(record)?;
    all.steps.done(Step::FolderRecorded);
    Ok(())
}

fn check_out(
    all: &GitSandboxes,
    plan: &Plan,
    head: &CommitSha,
    record: &mut Record,
) -> Result<(), Problem> {
    let inside = all.inside(record);
    let call = if plan.is_partial {
        // Missing objects come from the remote, which only the user's own git can reach.
        let mut users = Location::bare(&record.sandbox.git_dir);
        if let Some(pinned) = &mut users.pinned {
            pinned.work_tree = Some(record.sandbox.path.clone());
        }
        all.git
            .call_at(users, Touches::Files)
            .env("GIT_INDEX_FILE", record.sandbox.path.join(".git/index"))
            .args(["read-tree", "-m", "-u", head.as_str()])
    } else {
        all.git.call_at(inside.clone(), Touches::Files).args([
            "reset",
            "--hard",
            "--quiet",
            "--no-recurse-submodules",
        ])
    };
    let call = call
        .config("checkout.workers", checkout_workers())
        .config("checkout.thresholdForParallelism", WORKER_FILES);
    let answer = call.run_recorded(&mut |identity| {
        record.process = Some(identity.clone());
        all.records.save(record)
    })?;
    record.process = None;
    answer.require()?;
    backdate(&record.sandbox.path).map_err(|error| root_problem(&all.root, &error))?;
    all.git
        .call_at(inside, Touches::Files)
        .args(["update-index", "--refresh", "-q"])
        .run()
        .map(drop)
}

/// Makes the files older than the index. Git reads a file that is as recent as its index, and would
/// copy its content into the sandbox's own objects.
fn backdate(folder: &Path) -> std::io::Result<()> {
    let then = SystemTime::now() - OLDER;
    let then = then.duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = Timespec {
        tv_sec: i64::try_from(then.as_secs()).unwrap_or_default(),
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: then,
        last_modification: then,
    };
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)?.flatten() {
            if entry.file_name() == ".git" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                utimensat(CWD, entry.path(), &times, AtFlags::SYMLINK_NOFOLLOW)?;
            }
        }
    }
    Ok(())
}

/// The number of workers. One worker per core saves a quarter of the time on an idle machine, and
/// costs a third more if the cores are busy.
fn checkout_workers() -> &'static str {
    const FIXED_POINT: u64 = 1 << 16;
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let load = rustix::system::sysinfo().loads[0] as u64 / FIXED_POINT;
    if load < cores { "0" } else { "1" }
}

fn require_no_folder(path: &Path) -> Result<(), Problem> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Problem::new(
        Kind::SandboxFolderTaken,
        format!(
            "`{}` is in the way and was not made by drive",
            path.display()
        ),
    )
    .hint("check it, then move it away"))
}
