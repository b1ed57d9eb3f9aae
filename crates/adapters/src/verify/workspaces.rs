use super::liveness::{Alive, Liveness};
use super::seal::{Seal, TreeEntry, load_tree};
use super::{environment, inside, private, seed_times, surroundings};
use crate::environment::{HOME, PATH};
use crate::git::{Git, object_folders};
use crate::{Environment, caches, files, tool_paths};
use drive_core::ids::{CommitSha, RunId, SandboxId};
use drive_core::network::Reach;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{Lifetime, Sandbox, SandboxSpec};
use drive_core::verify::Rules;
use drive_engine::ports::{LayeredFolder, Sandboxes, VersionControl};
use drive_engine::verify::{Workspace, Workspaces};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often to try a removal, and the pause between attempts.
const REMOVALS: u32 = 3;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(200);

/// Workspaces in separate sandboxes, each with a private folder below `state`.
pub struct VerifyWorkspaces {
    git: Git,
    sandboxes: Arc<dyn Sandboxes>,
    environment: Environment,
    state: PathBuf,
    scratch: PathBuf,
    /// Files that no stage may read, i.e. the private key of a GitHub App.
    keys: Vec<PathBuf>,
    liveness: Liveness,
    open: Mutex<HashMap<String, Open>>,
}

/// The data of an open workspace.
struct Open {
    sandbox: Sandbox,
    seal: Seal,
    alive: Alive,
}

impl VerifyWorkspaces {
    /// Workspaces of this user. `state` is the state directory, `scratch` an existing folder in it.
    pub fn new(
        git: Git,
        sandboxes: Arc<dyn Sandboxes>,
        environment: Environment,
        state: &Path,
        scratch: &Path,
    ) -> Self {
        Self {
            git,
            sandboxes,
            environment,
            state: state.to_path_buf(),
            scratch: scratch.to_path_buf(),
            keys: Vec::new(),
            liveness: Liveness::new(scratch.to_path_buf()),
            open: Mutex::new(HashMap::new()),
        }
    }

    /// Hides these files from the stages as well.
    #[must_use]
    pub fn hiding(mut self, keys: impl IntoIterator<Item = PathBuf>) -> Self {
        self.keys.extend(keys);
        self
    }

    /// Whether a verification with a private folder in `scratch` died.
    #[must_use]
    pub fn is_any_dead(scratch: &Path) -> bool {
        !Liveness::new(scratch.to_path_buf()).dead().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tmp(&self, run: &RunId) -> PathBuf {
        self.scratch.join(format!("{run}.tmp"))
    }

    fn layers(&self, run: &RunId) -> PathBuf {
        self.scratch.join(format!("{run}.layers"))
    }

    /// Fills the sandbox with caches, and seals it.
    fn furnish(
        &self,
        run: &RunId,
        repo: &Path,
        head: &str,
        sandbox: &Sandbox,
        rules: &Rules,
        alive: &Alive,
    ) -> Result<(Workspace, Seal), Problem> {
        let tmp = self.tmp(run);
        let unusable = |error: std::io::Error| {
            Problem::new(
                Kind::ScratchUnusable,
                format!("cannot use `{}`", tmp.display()),
            )
            .because(error)
        };
        std::fs::create_dir_all(tmp.join("home")).map_err(unusable)?;
        // Packages such as npm's `pre-commit` 1.2.2 create the folder when they are installed, and
        // fail if they cannot; a hook that they cannot write is only a warning.
        let _ = std::fs::create_dir(sandbox.path.join(".git/hooks"));
        let tree = load_tree(&self.git, repo, head)?;
        self.align_times(repo, sandbox, &tree, rules);
        let seal = Seal::take(&sandbox.path, repo, &tree, alive.file()).map_err(|error| {
            Problem::new(
                Kind::CheckoutIncomplete,
                "the new workspace does not contain the commit's files",
            )
            .because(error)
        })?;
        let home = self.environment.absolute_path(HOME);
        let mut env = environment::stage(&self.environment, &tmp);
        let toolchains = environment::toolchains(&env);
        let certificates = environment::certificates(&env);
        let lock_files: Vec<PathBuf> = tree
            .iter()
            .filter(|file| {
                file.path
                    .file_name()
                    .is_some_and(|name| name == "Cargo.lock")
            })
            .map(|file| sandbox.path.join(&file.path))
            .collect();
        environment::settle_cargo(&mut env, &lock_files, &tmp);
        let layered = self.caches(run, home.as_deref(), &env, &tmp.join("home"));
        env.extend(caches::variables(&layered, &tmp.join("home")));
        let (registries, unusable_proxy) =
            Reach::registries(|name| self.environment.get(name)?.to_str());
        let notes = sandbox.notes.iter().filter(|note| is_telling(note));
        let notes = notes.map(ToString::to_string);
        let proxy = unusable_proxy.filter(|_| rules.reaches_registries());
        let proxy = proxy.map(|name| {
            format!(
                "`{name}` is not an `http://` proxy: stages are connected to registries without it"
            )
        });
        let passed = environment::passed(&self.environment, rules);
        let unset = rules.passed_variables().into_iter();
        let unset = unset.filter(|name| self.environment.get(name).is_none());
        let unset =
            unset.map(|name| format!("`{name}` (in `pass_env`) is not set in your environment"));
        let is_tracked = |seed: &String| tree.iter().any(|file| file.path.starts_with(seed));
        let seeded = rules.seed.iter();
        let seeded = seeded.filter(|seed| !is_tracked(seed) && sandbox.path.join(seed).exists());
        let seeded = seeded.map(|seed| {
            format!("started with `{seed}` of your checkout; `sandbox.seed = []` starts without")
        });
        let workspace = Workspace {
            id: run.to_string(),
            repo: repo.to_path_buf(),
            path: sandbox.path.clone(),
            tmp,
            env,
            passed,
            protected: vec![sandbox.path.join(".git")],
            hidden: [
                private::hidden(home.as_deref(), &self.state, &toolchains),
                self.keys.clone(),
            ]
            .concat(),
            shown: self.shown(
                repo,
                home.as_deref(),
                toolchains.into_iter().chain(certificates),
            ),
            layered,
            registries,
            files: tree
                .iter()
                .map(|file| file.path.to_string_lossy().into_owned())
                .collect(),
            notes: notes.chain(proxy).chain(unset).chain(seeded).collect(),
        };
        Ok((workspace, seal))
    }

    /// The visible folders: the repository from which the sandbox borrows, and the tools.
    fn shown(
        &self,
        repo: &Path,
        home: Option<&Path>,
        more: impl Iterator<Item = PathBuf>,
    ) -> Vec<PathBuf> {
        let found = self.git.discover(repo).ok();
        let repository = found.map(|found| object_folders(&found.common_dir));
        let search = self.environment.get(PATH).unwrap_or_default();
        let tools = tool_paths::of_search_path(search, home);
        let all = repository.into_iter().flatten().chain(more);
        all.chain(tools).collect()
    }

    /// The caches of package managers, at the paths that the variables of a stage name.
    fn caches(
        &self,
        run: &RunId,
        real_home: Option<&Path>,
        env: &[(OsString, OsString)],
        home: &Path,
    ) -> Vec<LayeredFolder> {
        let Some(real_home) = real_home else {
            return Vec::new();
        };
        let own = |name: &str| {
            let (_, value) = env.iter().find(|(known, _)| known == name)?;
            Some(PathBuf::from(value)).filter(|path| path.is_absolute())
        };
        caches::find(&caches::Wanted {
            real_home,
            users: &|name| self.environment.absolute_path(name),
            home,
            own: &own,
            shared: &[],
            state: &self.state,
            layers: &self.layers(run),
        })
    }

    fn align_times(&self, repo: &Path, sandbox: &Sandbox, tree: &[TreeEntry], rules: &Rules) {
        let is_seeded = rules
            .seed
            .iter()
            .any(|name| sandbox.path.join(name).exists());
        let top = self.git.discover(repo).ok().and_then(|found| found.top);
        if let Some(top) = top.filter(|_| is_seeded) {
            // Without it the caches are only less useful.
            let _ = seed_times::align(&self.git, &top, &sandbox.path, tree);
        }
    }

    fn remove_tmp(&self, run: &RunId) -> Result<(), Problem> {
        for folder in [self.tmp(run), self.layers(run)] {
            files::remove_tree(&folder).map_err(|error| {
                Problem::new(
                    Kind::ScratchStays,
                    format!("cannot remove `{}`", folder.display()),
                )
                .because(error)
            })?;
        }
        Ok(())
    }

    /// Removes what was created so far. The original problem is the one to report; a sweep finishes
    /// what fails now.
    fn undo(&self, alive: Alive, run: &RunId, sandbox: Option<&Sandbox>) {
        let removed = sandbox.map_or(Ok(()), |one| self.sandboxes.remove(one).map(drop));
        if removed.and(self.remove_tmp(run)).is_err() {
            alive.leave_rest();
        }
    }
}

impl Workspaces for VerifyWorkspaces {
    fn open(
        &self,
        run: &RunId,
        repo: &Path,
        head: &CommitSha,
        rules: &Rules,
    ) -> Result<Workspace, Problem> {
        let alive = self.liveness.hold(run)?;
        let spec = SandboxSpec {
            on_existing_branch: false,
            held: false,
            id: SandboxId::new(format!("verify-{run}")),
            run: run.clone(),
            lifetime: Lifetime::Disposable,
            repo: repo.to_path_buf(),
            base: head.to_owned(),
            branch: None,
            copy: rules.copy.clone(),
            seed: rules.seed.clone(),
        };
        let sandbox = match self.sandboxes.create(&spec) {
            Ok(sandbox) => sandbox,
            Err(problem) => {
                self.undo(alive, run, None);
                return Err(problem);
            }
        };
        let (workspace, seal) = match self.furnish(run, repo, head, &sandbox, rules, &alive) {
            Ok(furnished) => furnished,
            Err(problem) => {
                self.undo(alive, run, Some(&sandbox));
                return Err(problem);
            }
        };
        self.lock().insert(
            run.to_string(),
            Open {
                sandbox,
                seal,
                alive,
            },
        );
        Ok(workspace)
    }

    fn surroundings(&self, repo: &Path, rules: &Rules) -> Option<String> {
        let found = self.git.discover(repo).ok()?;
        let top = found.top.as_deref().unwrap_or(repo);
        surroundings::of(&self.environment, top, &found.common_dir, rules)
    }

    fn altered(&self, workspace: &Workspace) -> Result<Vec<String>, Problem> {
        let mut open = self.lock();
        let known = open.get_mut(&workspace.id).ok_or_else(|| gone(workspace))?;
        known.seal.broken(&self.git, known.alive.file())
    }

    fn folder(&self, workspace: &Workspace, dir: &str) -> Result<PathBuf, Problem> {
        inside::folder(&workspace.path, dir)
    }

    fn program(&self, workspace: &Workspace, dir: &Path, program: &str) -> Result<String, Problem> {
        let path = environment::search_path(&self.environment);
        inside::program(&workspace.path, dir, &path, program)
    }

    fn close(&self, workspace: &Workspace) -> Result<(), Problem> {
        let Some(open) = self.lock().remove(&workspace.id) else {
            return Ok(());
        };
        let run = &open.sandbox.run;
        let mut result = Ok(());
        for round in 0..REMOVALS {
            if round > 0 {
                std::thread::sleep(BETWEEN_REMOVALS);
            }
            result = self
                .sandboxes
                .remove(&open.sandbox)
                .map(drop)
                .and_then(|()| self.remove_tmp(run));
            if result.is_ok() {
                return result;
            }
        }
        open.alive.leave_rest();
        result
    }

    fn sweep(&self) -> Result<Vec<String>, Problem> {
        let dead = self.liveness.dead();
        if dead.is_empty() {
            return Ok(Vec::new());
        }
        let swept = self.sandboxes.sweep(&|run| self.liveness.owner(run))?;
        let left: Vec<&SandboxId> = swept.left.iter().map(|left| &left.id).collect();
        for run in &dead {
            let id = SandboxId::new(format!("verify-{run}"));
            if left.contains(&&id) {
                continue;
            }
            self.remove_tmp(run)?;
            self.liveness.forget(run);
        }
        Ok(swept
            .removed
            .iter()
            .map(|one| format!("removed `{}`, left by an earlier verification", one.id))
            .collect())
    }
}

/// Whether a note is worth showing. A repository usually lacks some seeds and copies.
fn is_telling(note: &drive_core::sandbox::SandboxNote) -> bool {
    use drive_core::sandbox::SandboxNote as Note;
    match note {
        Note::ShallowHistory | Note::NothingMatched { .. } => false,
        Note::SubmodulesNotFetched
        | Note::FiltersNotRun { .. }
        | Note::GitNotConfined { .. }
        | Note::NotBrought { .. } => true,
    }
}

fn gone(workspace: &Workspace) -> Problem {
    Problem::new(
        Kind::WorkspaceGone,
        format!("workspace `{}` no longer exists", workspace.path.display()),
    )
}
