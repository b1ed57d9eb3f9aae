//! Wires the adapters of a run: journal, sandboxes, git, agents, forge.

use crate::app::App;
use crate::notify::UserCommand;
use drive_adapters::agents::{self, AgentHost, AnyAgent};
use drive_adapters::clock::SystemClock;
use drive_adapters::entropy::random_u32;
use drive_adapters::environment::HOME;
use drive_adapters::forge::github::key_file;
use drive_adapters::forge::local::LocalForge;
use drive_adapters::forge::{self, ForgeHost, OpenForge};
use drive_adapters::git::Git;
use drive_adapters::process::{BoundedRunner, ThisProcess};
use drive_adapters::sandbox::GitSandboxes;
use drive_adapters::store::{Database, SqliteNudges, SqliteStore};
use drive_adapters::{Environment, StateDir};
use drive_core::agent::AgentConfig;
use drive_core::forge::trust::Trusted;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Effect, EffectResult, Run, require_resumable};
use drive_core::sandbox::OwnerState;
use drive_core::secrets::SecretPolicy;
use drive_core::settings::{IsolationMode, Settings};
use drive_engine::CancelToken;
use drive_engine::executor::{Performer, Task};
use drive_engine::forge::Conversation;
use drive_engine::journal::Journal;
use drive_engine::perform::{Observer, Unobserved, World};
use drive_engine::ports::{
    Agent, AgentSource, Clock, DiffStats, Notifier, Place, ProcessRunner, RunFilter, Sandboxes,
    Store, VersionControl, WhyLeft,
};
use drive_engine::recovery;
use drive_engine::stop;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many unfinished runs recovery checks.
const MOST_RUNS: u32 = 10_000;

/// Everything a command needs to execute runs.
pub(crate) struct Wiring {
    pub(crate) store: SqliteStore,
    pub(crate) clock: Arc<SystemClock>,
    pub(crate) whoami: ThisProcess,
    pub(crate) runner: Arc<BoundedRunner>,
    pub(crate) git: Git,
    pub(crate) sandboxes: GitSandboxes,
    pub(crate) agents: Roster,
    pub(crate) runs_dir: PathBuf,
    state_dir: PathBuf,
    database: Arc<Database>,
    environment: Environment,
    isolation: IsolationMode,
    secrets: SecretPolicy,
    notifier: Option<UserCommand>,
    cancel: CancelToken,
}

impl Wiring {
    /// Wires the adapters for the repository that contains `folder`.
    pub(crate) fn new(app: &App, settings: &Settings, folder: &Path) -> Result<Self, Problem> {
        let mut wiring = Self::in_state(app.state_dir()?, app.environment(), settings, folder)?;
        // A remote that does not answer must not delay a person who wants to stop.
        wiring.cancel = app.cancel()?.clone();
        wiring.git = wiring.git.with_cancel(wiring.cancel.clone());
        Ok(wiring)
    }

    /// Like `new`, with the given state directory and environment.
    pub(crate) fn in_state(
        state: &StateDir,
        environment: &Environment,
        settings: &Settings,
        folder: &Path,
    ) -> Result<Self, Problem> {
        let database = Arc::new(Database::open(&state.database())?);
        let runner = Arc::new(BoundedRunner::new());
        let clock = Arc::new(SystemClock);
        let git = Git::new(runner.clone(), environment).with_isolation(settings.sandbox.isolation);
        let root = sandbox_root(state, environment, settings, folder)?;
        let sandboxes = GitSandboxes::open(git.clone(), clock.clone(), &root, state.path())?;
        let credentials = git.credentials(folder);
        let host = AgentHost {
            runner: runner.clone(),
            environment: environment.clone(),
            base: folder.to_owned(),
            scratch: state.path().join("agents"),
            state: state.path().to_path_buf(),
            forge_token_env: settings.forge.token_env.clone(),
            secrets: credentials.clone(),
            hidden: key_file(&settings.forge, environment)?
                .into_iter()
                .collect(),
        };
        let mut values = credentials;
        for config in settings.agents.values() {
            values.extend(host.secret_values(config));
        }
        let secrets = SecretPolicy::new(&values, &settings.secrets.allow)?;
        let command = settings.notify.command.clone();
        let notifier = (!command.is_empty()).then(|| UserCommand {
            command,
            environment: environment.clone(),
            runner: runner.clone(),
        });
        Ok(Self {
            store: SqliteStore::new(database.clone()),
            clock,
            whoami: ThisProcess::load(),
            runner,
            git,
            sandboxes,
            agents: Roster {
                agents: settings.agents.clone(),
                host,
            },
            runs_dir: state.path().join("runs"),
            state_dir: state.path().to_owned(),
            database,
            environment: environment.clone(),
            cancel: CancelToken::new(),
            isolation: settings.sandbox.isolation,
            secrets,
            notifier,
        })
    }

    /// The journal.
    pub(crate) fn journal(&self) -> Journal<'_> {
        Journal {
            store: &self.store,
            clock: self.clock.as_ref(),
        }
    }

    /// A new id for a run.
    pub(crate) fn new_run(&self) -> Result<RunId, Problem> {
        Ok(RunId::compose(self.clock.now(), random_u32()?))
    }

    /// The forge of the repository that contains `folder`.
    pub(crate) fn forge(&self, settings: &Settings, folder: &Path) -> Result<OpenForge, Problem> {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let runner: Arc<dyn ProcessRunner> = self.runner.clone();
        let host = ForgeHost {
            environment: &self.environment,
            runner: &runner,
            secrets: Some(&self.secrets),
            git: &self.git,
            database: &self.database,
            clock: &clock,
            cancel: &self.cancel,
        };
        forge::open(&settings.forge, &host, folder)
    }

    /// The local forge of the repository that contains `folder`, whatever forge the settings choose.
    pub(crate) fn local_forge(&self, folder: &Path) -> Result<LocalForge, Problem> {
        let repository = self.git.discover(folder)?;
        LocalForge::open(
            self.database.clone(),
            self.git.clone(),
            self.clock.clone(),
            &repository.common_dir,
        )
    }

    /// The database in the state directory.
    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Nudges that webhooks delivered to a process of this machine.
    pub(crate) fn nudges(&self) -> SqliteNudges {
        SqliteNudges::new(self.database.clone(), self.clock.clone())
    }

    /// Checks before anything is created that the agents are installed and may receive this task.
    /// Prints their warnings, and the access that the repository's settings grant them.
    pub(crate) fn require_agents<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        task: &str,
        app: &App,
    ) -> Result<(), Problem> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        app.warn_of_repository(&names)?;
        for name in names {
            let agent = self.agents.find(name)?;
            agent.require_no_secret(task)?;
            let version = agent.check(self.isolation, app.cancel()?)?;
            if let Some(warning) = version.warning {
                app.output().warn(warning);
            }
        }
        Ok(())
    }

    /// The agents of the settings that are installed and logged in.
    pub(crate) fn usable_agents(&self, app: &App) -> Result<Vec<String>, Problem> {
        let cancel = app.cancel()?;
        let names = self.agents.agents.keys();
        let usable = names.filter(|name| {
            let agent = self.agents.find(name);
            agent.is_ok_and(|agent| agent.check(self.isolation, cancel).is_ok())
        });
        Ok(usable.cloned().collect())
    }

    /// The changes of a run's branch; `None` without commits.
    pub(crate) fn changes(&self, run: &Run, folder: &Path) -> Option<DiffStats> {
        let (head, request) = (run.work.head_sha.as_ref()?, run.request.as_ref()?);
        let place = Place::Checkout(folder);
        self.git.diff_stats(place, &request.base_sha, head).ok()
    }

    /// Access to a forge, for posting and polling.
    pub(crate) fn conversation(
        &self,
        open: &OpenForge,
        settings: &Settings,
    ) -> Result<Conversation, Problem> {
        Ok(Conversation::new(
            open.forge.clone(),
            forge::require_marker_key(&self.state_dir)?,
            Trusted::new(&settings.forge.trusted),
            self.clock.clone(),
        ))
    }

    /// The performer of the runs' effects.
    pub(crate) fn world<'a>(
        &'a self,
        forge: Option<&'a Conversation>,
        observer: &'a dyn Observer,
    ) -> World<'a> {
        World {
            sandboxes: &self.sandboxes,
            phase_files: &self.sandboxes,
            history: &self.git,
            agents: &self.agents,
            processes: self.runner.as_ref(),
            forge,
            gate: None,
            notifier: self.notifier.as_ref().map(|one| one as &dyn Notifier),
            runs_dir: self.runs_dir.clone(),
            isolation: self.isolation,
            secrets: self.secrets.clone(),
            observer,
        }
    }

    /// Stops what a killed drive process left running, saves its work, removes its sandboxes, and
    /// reports it.
    pub(crate) fn sweep(&self, app: &App) -> Result<(), Problem> {
        let performer = AfterDeath {
            wiring: self,
            settings: self.settings_of_runs(app)?,
        };
        let recovered = recovery::sweep(self.journal(), &self.whoami, &performer, app.cancel()?)?;
        for run in &recovered.ended {
            self.agents.tidy(&self.runs_dir.join(run.id.as_str()));
            app.output()
                .warn(format_args!("{}", describe_recovered(run)));
        }
        for (run, problem) in &recovered.failed {
            app.output().warn(format_args!(
                "could not clean up run `{}`: {problem}",
                run.id
            ));
        }
        let swept = self.sandboxes.sweep(&|run| self.owner_state(run))?;
        for left in &swept.left {
            if let WhyLeft::Failed(problem) = &left.why {
                let hint = problem.hint.as_ref();
                let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
                app.output().warn(format_args!(
                    "could not remove the left-over sandbox `{}`: {problem}{hint}",
                    left.id
                ));
            }
        }
        for gone in swept.removed {
            let kept = match &gone.kept {
                Some(kept) => format!(
                    "; its work is saved: `drive kept restore {}`",
                    kept.reference
                ),
                // It was reported above with its run.
                None if recovered.ended.iter().any(|run| run.id == gone.run) => continue,
                None => String::new(),
            };
            app.output().warn(format_args!(
                "removed the left-over sandbox of run `{}`{kept}",
                gone.run
            ));
        }
        Ok(())
    }

    /// Stops a run, in its owner's process or in this one, and waits for its end.
    pub(crate) fn stop(&self, app: &App, run: &RunId) -> Result<Run, Problem> {
        let performer = AfterDeath {
            wiring: self,
            settings: self.settings_of_runs(app)?,
        };
        let name = format!("{:08x}{:08x}", random_u32()?, random_u32()?);
        let (journal, cancel) = (self.journal(), app.cancel()?);
        let patience = stop::PATIENCE;
        stop::stop(
            run,
            &name,
            patience,
            journal,
            &self.whoami,
            &performer,
            cancel,
        )
    }

    /// The settings of every repository with an unfinished run that has a pull request, to comment
    /// there that the run stopped. If settings are invalid, only that comment is missing.
    fn settings_of_runs(&self, app: &App) -> Result<BTreeMap<PathBuf, Settings>, Problem> {
        let mut all = BTreeMap::new();
        for run in self.store.list(RunFilter::Active, MOST_RUNS)? {
            let (Some(request), Some(_)) = (&run.request, &run.work.pull_request) else {
                continue;
            };
            if !all.contains_key(&request.repo)
                && let Ok(effective) = app.settings_at(&request.repo)
            {
                all.insert(request.repo.clone(), effective.settings);
            }
        }
        Ok(all)
    }

    /// The state of a run at this moment. A run is journaled before its sandbox is created, so a
    /// sandbox of an unknown run belongs to another state directory.
    fn owner_state(&self, run: &RunId) -> OwnerState {
        match self.store.load(run) {
            Ok(Some(run)) if run.is_active() => OwnerState::Alive,
            Ok(Some(_)) => OwnerState::Dead,
            Ok(None) | Err(_) => OwnerState::Unknown,
        }
    }
}

/// Performs the effects of recovery for runs of dead owners. A forge is only opened for a run that
/// must post on its pull request.
struct AfterDeath<'a> {
    wiring: &'a Wiring,
    settings: BTreeMap<PathBuf, Settings>,
}

impl Performer for AfterDeath<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        if !matches!(task.claimed.effect, Effect::OnForge { .. }) {
            return self.wiring.world(None, &Unobserved).perform(task);
        }
        let request = task.run.request.as_ref();
        let found = request.and_then(|request| {
            let settings = self.settings.get(&request.repo)?;
            Some((request.repo.as_path(), settings))
        });
        let (repo, settings) = found.ok_or_else(|| {
            Problem::new(
                Kind::NoForge,
                "the settings of its repository cannot be read",
            )
        })?;
        let open = self.wiring.forge(settings, repo)?;
        let conversation = self.wiring.conversation(&open, settings)?;
        let world = self.wiring.world(Some(&conversation), &Unobserved);
        world.perform(task)
    }
}

/// The folder in which sandboxes are created. The setting is absolute, below `~/`, or relative to
/// the repository.
pub(crate) fn sandbox_root(
    state: &StateDir,
    environment: &Environment,
    settings: &Settings,
    folder: &Path,
) -> Result<PathBuf, Problem> {
    let Some(root) = &settings.sandbox.root else {
        return Ok(state.sandboxes());
    };
    let Some(below) = root.strip_prefix("~/") else {
        return Ok(folder.join(root));
    };
    let home = environment.absolute_path(HOME).ok_or_else(|| {
        Problem::new(
            Kind::NoHome,
            "`sandbox.root` starts with `~/`, but `HOME` is not set",
        )
        .hint("set `HOME`, or use an absolute path")
    })?;
    Ok(home.join(below))
}

/// One line about a recovered run.
fn describe_recovered(run: &Run) -> String {
    let work = match (run.kept.last(), &run.work.branch) {
        (Some(kept), _) => format!("its work is saved: `drive kept restore {}`", kept.reference),
        (None, Some(branch)) => format!("its work is on branch `{branch}`"),
        (None, None) if !run.sandboxes.is_empty() => "its sandbox was not removed".to_owned(),
        (None, None) => "it had no changes".to_owned(),
    };
    let way_on = match require_resumable(run, None) {
        Ok(()) => format!("; continue it with `drive runs resume {}`", run.id),
        Err(_) => String::new(),
    };
    format!(
        "cleaned up run `{}` after its process was killed; {work}{way_on}",
        run.id
    )
}

/// The agents in the settings.
pub(crate) struct Roster {
    agents: BTreeMap<String, AgentConfig>,
    host: AgentHost,
}

impl Roster {
    fn find(&self, name: &str) -> Result<AnyAgent, Problem> {
        let Some(config) = self.agents.get(name) else {
            let names: Vec<String> = self.agents.keys().map(|name| format!("`{name}`")).collect();
            return Err(
                Problem::new(Kind::UnknownAgent, format!("unknown agent `{name}`")).hint(format!(
                    "use one of {}, or add `[agents.{name}]` to `drive.toml`",
                    names.join(", ")
                )),
            );
        };
        agents::agent(name, config, &self.host)
    }
}

impl AgentSource for Roster {
    fn agent(&self, name: &str) -> Result<Box<dyn Agent>, Problem> {
        Ok(Box::new(self.find(name)?))
    }

    fn tidy(&self, folder: &Path) {
        agents::discard_homes(folder);
    }
}
