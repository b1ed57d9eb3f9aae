//! Creates a sandbox: registers it under the repository's lock and checks it out without the lock.

use super::record::{self, Record, fresh_token};
use super::steps::Step;
use super::{Worktrees, bring, disk_full, refs, remove, root_problem, storage_problem};
use crate::files;
use crate::git::{self, Location, Look, Touches};
use drive_core::ids::BranchName;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{
    BringPattern, Lifetime, Sandbox, SandboxNote, SandboxSpec, Stage, check_folder_name,
};
use drive_engine::ports::{Repository, VersionControl};
use std::path::{Path, PathBuf};

/// How often registering is tried again when something else disturbs it, such as a prune.
const TRIES: u32 = 5;
/// Starting workers costs more than it saves for fewer files.
const WORKER_FILES: &str = "1000";
/// What no commit of ours may contain, be it a folder or what somebody put in its place.
const EXCLUDED: &str = "/.cruise";

/// Everything that can be checked before anything is touched.
struct Plan {
    repository: Repository,
    look: Look,
    branch: Option<BranchName>,
    /// The branch, where it is to be made.
    new_branch: Option<BranchName>,
    copy: Vec<BringPattern>,
    seed: Vec<BringPattern>,
}

pub(super) fn create(all: &Worktrees, spec: &SandboxSpec) -> Result<Sandbox, Problem> {
    check_folder_name(&spec.id)?;
    let plan = plan(all, spec)?;
    let _lock = all.lock_sandbox(&spec.id, "being created")?;
    if let Some(existing) = finish_earlier(all, spec, &plan)? {
        return Ok(existing);
    }
    let mut record = Record::new(sandbox(all, spec, &plan), fresh_token()?);
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
    // Nobody had the branch a moment ago: it will be ours, unless somebody is faster. One that was
    // there before is not taken away by an undo.
    record.owns_branch = plan.new_branch.is_some();
    all.records.save(&record)?;
    all.steps.done(Step::RecordWritten);
    match make(all, &plan, &mut record) {
        Ok(()) => Ok(record.sandbox),
        Err(problem) => {
            let full = has_no_room(all, &record);
            // What cannot be undone now is undone by the next sweep: the record stays for it.
            let _ = remove::undo(all, &record);
            Err(if full { disk_full(&all.root) } else { problem })
        }
    }
}

/// Whether the disk is the reason. Git removes the file that did not fit, so a full disk may have
/// room again: then the size of the whole tree tells.
fn has_no_room(all: &Worktrees, record: &Record) -> bool {
    let common = Location::bare(&record.sandbox.git_dir);
    files::is_full(&all.root)
        || git::tree_bytes(&all.git, &common, &record.sandbox.base_sha)
            .is_ok_and(|needed| files::free_bytes(&all.root).is_some_and(|free| needed > free))
}

fn plan(all: &Worktrees, spec: &SandboxSpec) -> Result<Plan, Problem> {
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
    Ok(Plan {
        repository,
        look,
        new_branch,
        branch,
        copy,
        seed,
    })
}

/// Returns the sandbox when it is there already, and clears away what a crash left of it.
fn finish_earlier(
    all: &Worktrees,
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

fn sandbox(all: &Worktrees, spec: &SandboxSpec, plan: &Plan) -> Sandbox {
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
        // Git may choose another name; the real one is recorded once it is known.
        admin_dir: plan
            .repository
            .common_dir
            .join("worktrees")
            .join(spec.id.as_str()),
        base_sha: plan.look.base_sha.clone(),
        branch: spec.branch.clone(),
        created_at: all.clock.now(),
        notes,
        brought: Vec::new(),
    }
}

fn make(all: &Worktrees, plan: &Plan, record: &mut Record) -> Result<(), Problem> {
    register(all, plan, record)?;
    check_out(all, record)?;
    all.steps.done(Step::CheckedOut);
    if let Some(top) = &plan.repository.top {
        let to = all.location_of(record);
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

/// Everything that touches what all worktrees share.
fn register(all: &Worktrees, plan: &Plan, record: &mut Record) -> Result<(), Problem> {
    let common = Location::bare(&record.sandbox.git_dir);
    let what = format!("creating sandbox `{}`", record.sandbox.id);
    let _lock = all.lock_repository(&record.sandbox.git_dir, &what)?;
    if record.sandbox.lifetime != Lifetime::Disposable {
        exclude(&record.sandbox.git_dir)?;
    }
    all.steps.done(Step::Excluded);
    make_refs(all, &common, plan, record)?;
    all.steps.done(Step::RefsMade);
    add(all, &common, plan, record)?;
    all.steps.done(Step::Added);
    record.sandbox.admin_dir = load_admin_dir(&record.sandbox.path)?;
    let token = record.sandbox.admin_dir.join(record::TOKEN_FILE);
    files::replace(&token, record.token.as_bytes())
        .map_err(|error| storage_problem(&token, &error))?;
    all.steps.done(Step::TokenWritten);
    Ok(())
}

/// The pin and the branch, both or none.
fn make_refs(
    all: &Worktrees,
    common: &Location,
    plan: &Plan,
    record: &mut Record,
) -> Result<(), Problem> {
    let pin = refs::pin_of(&record.sandbox.id);
    let branch = plan.new_branch.as_ref().map(BranchName::full);
    let answer = refs::pin_and_create(
        &all.git,
        common,
        &pin,
        branch.as_deref(),
        &plan.look.base_sha,
    )?;
    if answer.code == 0 {
        return Ok(());
    }
    // Somebody was faster: it is theirs, and an undo must not take it.
    record.owns_branch = false;
    all.records.save(record)?;
    if let Some(branch) = &plan.new_branch {
        refs::require_free(&all.git, common, branch)?;
    }
    let names: Vec<&str> = [Some(pin.as_str()), branch.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    Err(git::ref_problem(&answer, common, &names))
}

fn add(all: &Worktrees, common: &Location, plan: &Plan, record: &Record) -> Result<(), Problem> {
    let start = match &plan.branch {
        Some(branch) => branch.as_str(),
        None => &plan.look.base_sha,
    };
    for attempt in 1.. {
        let mut call = all
            .git
            .call_at(common.clone(), Touches::Objects)
            .config("worktree.useRelativePaths", "false")
            .config("worktree.guessRemote", "false")
            .args(["worktree", "add", "--quiet", "--no-checkout"])
            // Locked, so that no prune by anyone takes its git folder.
            .args(["--lock", "--reason", "a sandbox of drive"]);
        if plan.branch.is_none() {
            call = call.arg("--detach");
        }
        let answer = call.arg(&record.sandbox.path).arg(start).run()?;
        if answer.code == 0 {
            return Ok(());
        }
        if attempt >= TRIES || files::is_full(&all.root) || !is_writable(&all.root) {
            return Err(if is_writable(&all.root) {
                answer.problem()
            } else {
                root_problem(&all.root, &std::io::ErrorKind::PermissionDenied.into())
            });
        }
        remove::deregister(record)?;
        files::remove_tree(&record.sandbox.path)
            .map_err(|error| storage_problem(&record.sandbox.path, &error))?;
    }
    Ok(())
}

fn check_out(all: &Worktrees, record: &mut Record) -> Result<(), Problem> {
    let call = all
        .git
        .call_at(all.location_of(record), Touches::Files)
        .config("checkout.workers", checkout_workers())
        .config("checkout.thresholdForParallelism", WORKER_FILES)
        .args(["reset", "--hard", "--quiet", "--no-recurse-submodules"]);
    let answer = call.run_recorded(&mut |identity| {
        record.process = Some(identity.clone());
        all.records.save(record)
    })?;
    record.process = None;
    match answer.code {
        0 => Ok(()),
        _ => Err(answer.problem()),
    }
}

/// One worker for each core saves a quarter of the time on an idle machine, and costs a third more
/// where others already use the cores.
fn checkout_workers() -> &'static str {
    const FIXED_POINT: u64 = 1 << 16;
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let load = rustix::system::sysinfo().loads[0] as u64 / FIXED_POINT;
    if load < cores { "0" } else { "1" }
}

/// The git folder of a worktree that was just made: nobody has worked in it yet, so its own file is
/// believed this once.
fn load_admin_dir(path: &Path) -> Result<PathBuf, Problem> {
    let file = path.join(".git");
    let bytes = std::fs::read(&file).map_err(|error| storage_problem(&file, &error))?;
    let line = bytes.trim_ascii_end();
    let line = line.strip_prefix(b"gitdir: ").unwrap_or(line);
    Ok(git::path_from(line))
}

/// Adds our folder to the exclude file all worktrees share.
fn exclude(common_dir: &Path) -> Result<(), Problem> {
    let path = common_dir.join("info/exclude");
    let mut content = match std::fs::read(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(storage_problem(&path, &error)),
    };
    if content
        .split(|byte| *byte == b'\n')
        .any(|line| line == EXCLUDED.as_bytes())
    {
        return Ok(());
    }
    if !content.is_empty() && !content.ends_with(b"\n") {
        content.push(b'\n');
    }
    content.extend_from_slice(EXCLUDED.as_bytes());
    content.push(b'\n');
    std::fs::create_dir_all(common_dir.join("info"))
        .and_then(|()| files::replace(&path, &content))
        .map_err(|error| storage_problem(&path, &error))
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

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}
