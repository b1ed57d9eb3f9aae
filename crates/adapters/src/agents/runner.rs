use super::acp::Acp;
use super::claude::Claude;
use super::codex::Codex;
use super::command::Command;
use super::event_log::{AgentHead, EventLog};
use super::files::{make_private, unusable, write_private};
use super::gemini::Gemini;
use super::home::{AgentFolders, Wanted, prepare};
use super::host::AgentHost;
use super::instructions::combined;
use super::keys::Keys;
use super::login::Login;
use super::projection::Projection;
use super::recipe::{Input, Job, Launch, Recipe, argv};
use super::session::Session;
use super::transcript::Transcript;
use super::version::{find_version, warning};
use crate::broker::Renew;
use crate::caches;
use crate::files::replace;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::stream::StreamSetup;
use drive_core::agent::{
    AgentConfig, AgentEvent, AgentKind, AgentNetwork, AgentOutcome, Secrets, allowed_env,
    config_dir_variable, reach, secret_held_by,
};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Layer, LayerName, LayerState, LeakPolicy, Limits, ProcessReport};
use drive_core::time::{Timestamp, after};
use drive_engine::cancel::Urgency;
use drive_engine::ports::{
    Agent, AgentRequest, AgentVersion, CommandSpec, IsolationMode, OrphanPolicy, Started, Stdin,
};
use drive_engine::{CancelToken, stdin_channel};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Creates the agent `name` with these settings. Refuses settings that cannot work.
pub fn agent(name: &str, config: &AgentConfig, host: &AgentHost) -> Result<AnyAgent, Problem> {
    config.check(name, &host.forge_token_env)?;
    let recipe: Box<dyn Recipe> = match config.kind {
        AgentKind::ClaudeCode => Box::new(Claude),
        AgentKind::GeminiCli => Box::new(Gemini),
        AgentKind::Codex => Box::new(Codex),
        AgentKind::Acp => Box::new(Acp),
        AgentKind::Command => Box::new(Command),
    };
    Ok(AnyAgent {
        name: name.to_owned(),
        config: config.clone(),
        host: host.clone(),
        recipe,
        projection: host.projection(name, config)?,
    })
}

/// An agent of any kind.
pub struct AnyAgent {
    pub(super) name: String,
    pub(super) config: AgentConfig,
    pub(super) host: AgentHost,
    pub(super) recipe: Box<dyn Recipe>,
    projection: Projection,
}

/// The file that `DRIVE_INPUT` names.
const INPUT: &str = "input.json";

impl Agent for AnyAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, mode: IsolationMode, cancel: &CancelToken) -> Result<AgentVersion, Problem> {
        let env = self.allowed();
        let (program, mut args) = self.program(&env)?;
        let keys = Keys::placed(self.config.kind, env.clone(), &self.projection, 0)?;
        if let Some(expired) = self.login(&keys).expired(Timestamp::now())
            && let Some(problem) = expired.problem(&self.name)
        {
            return Err(problem);
        }
        let version = match self.recipe.version_args() {
            Some(asking) => {
                args.extend(asking.iter().map(OsString::from));
                Some(self.ask_version(&program, args, env, mode, cancel)?)
            }
            None => None,
        };
        let version = version.as_deref().and_then(find_version);
        Ok(AgentVersion {
            kind: self.recipe.kind(),
            warning: warning(&self.name, version.as_deref(), self.recipe.verified()),
            program: program.path,
            version,
        })
    }

    fn takes_instructions(&self) -> bool {
        self.recipe.instructions().is_some()
    }

    fn run(
        &self,
        request: &AgentRequest,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        on_event: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentOutcome, Problem> {
        // A run may last for days, so the user's current login is read.
        let fresh = agent(&self.name, &self.config, &self.host).ok();
        let now = fresh.as_ref().unwrap_or(self);
        let keys = Keys::of(now.config.kind, now.allowed(), &now.projection)?;
        let dummies = keys.grants.iter().map(|grant| &grant.dummy);
        let own = now.known_secrets();
        let secrets = Secrets::new(own.iter().chain(dummies));
        now.run_unredacted(request, keys, &secrets, cancel, started, on_event)
            .map_err(|problem| secrets.redact_problem(problem))
    }
}

impl AnyAgent {
    /// Refuses a text that will become public and contains the value of a secret.
    pub fn require_no_secret(&self, text: &str) -> Result<(), Problem> {
        let (caller, forge) = (self.caller(), &self.host.forge_token_env);
        match secret_held_by(text, &self.config, &caller, forge) {
            None => Ok(()),
            Some(name) => Err(Problem::new(
                Kind::TaskHoldsSecret,
                format!("the task contains the value of `{name}`"),
            )
            .hint("name the variable instead: tasks appear in commits and pull requests")),
        }
    }
}

impl AnyAgent {
    fn run_unredacted(
        &self,
        request: &AgentRequest,
        mut keys: Keys,
        secrets: &Secrets,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        on_event: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentOutcome, Problem> {
        let (program, first_args) = self.program(&keys.env)?;
        let login = self.login(&keys);
        let now = Timestamp::now();
        if let Some(expired) = login.expired(now) {
            return Ok(expired);
        }
        self.name_real_login(&keys, request.isolation, on_event)?;
        let warnings = [
            login.warning(&self.name, after(now, request.limits.wall)),
            self.recipe.warning(&self.name, &request.sandbox),
        ];
        for message in warnings.into_iter().flatten() {
            on_event(AgentEvent::Warning { message });
        }
        let real_home = self.real_home();
        let folders = prepare(
            &request.scratch,
            &Wanted {
                real_home: real_home.as_deref(),
                entries: &self.config.home,
                program: Some(&program.path),
                keep: request.resume.is_some(),
            },
        )?;
        self.furnish(&folders, &keys.files, request)?;
        make_workplace(request)?;
        let data = write_input(request)?;
        let answer = self.usable_form(&program, &first_args, &keys.env, request, cancel);
        let launch = self.recipe.launch(&Job {
            name: &self.name,
            request,
            input: data.as_deref(),
            answer,
            model: request
                .model
                .as_deref()
                .or_else(|| self.config.model_for(request.role)),
            folders: &folders,
            setup: self.setup(request, answer, secrets),
            runner: &*self.host.runner,
        })?;
        let transcript = Transcript::open(&request.scratch, secrets, request.limits.log_bytes)?;
        let events = EventLog::open(
            &request.scratch,
            &AgentHead::of(request, &self.name, &self.config, now),
            request.limits.log_bytes,
        )?;
        let events = RefCell::new(events);
        let mut logged = |event: AgentEvent| {
            events.borrow_mut().event(&event);
            on_event(event);
        };
        let on_event: &mut dyn FnMut(AgentEvent) = &mut logged;
        let Launch {
            args,
            env: own_env,
            input,
            mut readable,
            relies_on,
            stream,
        } = launch;
        readable.extend(data);
        readable.extend(self.tools(&program, &first_args, &keys.env, real_home.as_deref()));
        let (stdin, writer) = match input {
            Input::Once(bytes) => (Stdin::Bytes(bytes), None),
            Input::Dialogue(first) => {
                let (writer, source) = stdin_channel();
                // Nobody reads yet, and the queue accepts one frame of any size.
                let _ = writer.send(first);
                (Stdin::Channel(source), Some(writer))
            }
        };
        let (reach, unusable_proxy) = reach(&self.config, &keys.env, keys.port());
        if let Some(name) = unusable_proxy.filter(|_| self.config.network == AgentNetwork::Allow) {
            on_event(AgentEvent::Warning {
                message: format!(
                    "`{name}` is not an `http://` proxy: agent `{}` is connected to its hosts \
                     without it",
                    self.name
                ),
            });
        }
        let caches = self.caches(request, &folders, &keys.env);
        let own_env = own_env.into_iter();
        let own_env = own_env.chain(caches::variables(&caches, &folders.home));
        let stop = CancelToken::new();
        let (budget, over) = (request.budget, stop.clone());
        let on_usage = Box::new(move |usage| match budget.overrun(usage, None) {
            Some(_) => {
                over.cancel(Urgency::Graceful);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        });
        let of_keys = keys.layer();
        let broker = keys.start(self.config.kind, self.renew(), on_usage)?;
        let spec = CommandSpec {
            args: first_args.into_iter().chain(args).collect(),
            env: environment(keys.env, identity(&self.name).chain(own_env), &folders),
            stdin,
            limits: Limits {
                // Raw output is not redacted, so it stays out of reports and log files.
                log_bytes: 0,
                tail_bytes: 0,
                ..self.config.limits.on(&request.limits)
            },
            isolation: self.isolation(request, &folders, readable, caches, reach),
            // All of these agents leave shell children behind, each in its own session.
            leaks: LeakPolicy::Kill,
            orphans: OrphanPolicy::End,
            ..CommandSpec::new(program.path, &request.sandbox)
        };
        on_event(AgentEvent::Launched {
            argv: argv(&spec, secrets),
        });
        let inner = stop.clone();
        let _guard = cancel.on_cancel(move |urgency| inner.cancel(urgency));
        let mut session = Session::new(
            &self.name,
            stream,
            secrets.clone(),
            transcript,
            writer,
            stop.clone(),
            on_event,
        )
        .counted_by(broker.as_ref());
        let report = self.host.runner.run(&spec, &stop, started, &mut session)?;
        session.lacked_network(&report.layers);
        session.lacked_caches(&report.layers);
        session.held_by(&report.layers, of_keys);
        let outcome = login.named(session.finish(&report.end));
        events.borrow_mut().ended(&self.name, &outcome);
        match relies_on {
            Some(layer) if !is_active(&report, layer) => Err(not_held(&self.name)),
            Some(_) | None => Ok(outcome),
        }
    }

    /// Names a login that the agent gets unchanged, or refuses it if isolation is required. A login that the
    /// user passes by name is not refused: no broker can replace it, and the agent could never run.
    fn name_real_login(
        &self,
        keys: &Keys,
        isolation: IsolationMode,
        on_event: &mut dyn FnMut(AgentEvent),
    ) -> Result<(), Problem> {
        let Some(LayerState::Missing(why)) = keys.layer().map(|layer| layer.state) else {
            return Ok(());
        };
        match isolation {
            IsolationMode::Require if !keys.is_named => Err(Problem::new(
                Kind::IsolationMissing,
                "required isolation layer `keys` is missing",
            )
            .cause(format!("agent `{}`: {why}", self.name))
            .hint("give it an API key, or set `sandbox.isolation` to `auto`")),
            IsolationMode::Require | IsolationMode::Auto | IsolationMode::Off => {
                let message = format!(
                    "isolation layer `keys` is missing for agent `{}`: {why}",
                    self.name
                );
                on_event(AgentEvent::Warning { message });
                Ok(())
            }
        }
    }

    fn setup(&self, request: &AgentRequest, answer: AnswerForm, secrets: &Secrets) -> StreamSetup {
        StreamSetup {
            role: request.role,
            permissions: self.config.permissions.clone(),
            max_escalations: request.max_escalations,
            budget: request.budget,
            resume: request.resume.clone(),
            answer,
            secrets: secrets.clone(),
        }
    }

    fn login(&self, keys: &Keys) -> Login {
        Login {
            ends: self.projection.login_ends.filter(|_| keys.by_login),
            is_missing: keys.lacks_login && self.config.is_kinds_own(),
            command: self.recipe.login_command(),
        }
    }

    /// Writes the program's projected settings and the instructions into the private home.
    fn furnish(
        &self,
        folders: &AgentFolders,
        files: &[(&str, String)],
        request: &AgentRequest,
    ) -> Result<(), Problem> {
        let write = |name: &str, text: &str| {
            let path = folders.home.join(name);
            if let Some(folder) = path.parent() {
                make_private(folder)?;
                // In a reused home, an agent may have put a link in its place.
                if folder.is_symlink() {
                    return Err(unusable(folder).cause("it is a link"));
                }
            }
            let _ = std::fs::remove_file(&path);
            write_private(&path, text.as_bytes())
        };
        for (name, text) in files {
            write(name, text)?;
        }
        // An unused login may have been copied with a folder in `home`.
        let is_used = |name: &str| files.iter().any(|(used, _)| *used == name);
        for (name, _) in &self.projection.files {
            if !is_used(name) {
                let _ = std::fs::remove_file(folders.home.join(name));
            }
        }
        let Some(place) = self.recipe.instructions() else {
            return Ok(());
        };
        let own = place.rsplit('/').next().unwrap_or(place);
        let user = self.projection.instructions.as_deref();
        match combined(own, request.role, user, &request.instructions) {
            Some(text) => write(place, &text),
            None => Ok(()),
        }
    }

    /// The variables that it gets. Its settings directory is always in the private home.
    fn allowed(&self) -> BTreeMap<OsString, OsString> {
        allowed(&self.host, &self.config, &self.projection)
    }

    /// A function that reads the logins of the user's own program again.
    fn renew(&self) -> Renew {
        let (name, config, host) = (self.name.clone(), self.config.clone(), self.host.clone());
        Box::new(move || {
            let read = || {
                let projection = host.projection(&name, &config)?;
                let env = allowed(&host, &config, &projection);
                Keys::placed(config.kind, env, &projection, 0)
            };
            read().map(|keys| keys.grants).unwrap_or_default()
        })
    }

    fn caller(&self) -> BTreeMap<OsString, OsString> {
        self.host.caller(&self.projection)
    }

    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.known_secrets())
    }

    fn known_secrets(&self) -> Vec<String> {
        let mut all = self.host.known_secrets(&self.config, &self.projection);
        all.extend(self.host.secrets.iter().cloned());
        all
    }

    pub(super) fn real_home(&self) -> Option<PathBuf> {
        self.host.real_home()
    }
}

fn allowed(
    host: &AgentHost,
    config: &AgentConfig,
    projection: &Projection,
) -> BTreeMap<OsString, OsString> {
    let mut env = allowed_env(config, &host.caller(projection), &host.forge_token_env);
    if let Some(name) = config_dir_variable(config.kind) {
        env.remove(OsStr::new(name));
    }
    env
}

fn make_workplace(request: &AgentRequest) -> Result<(), Problem> {
    if !request.sandbox.starts_with(&request.scratch) {
        return Ok(());
    }
    std::fs::create_dir_all(&request.sandbox).map_err(|error| {
        let path = request.sandbox.display();
        Problem::new(Kind::AgentFolder, format!("cannot make `{path}`")).because(error)
    })
}

/// Writes the job's data next to the agent's private folders, where it can read but not change it.
fn write_input(request: &AgentRequest) -> Result<Option<PathBuf>, Problem> {
    let Some(input) = &request.input else {
        return Ok(None);
    };
    let path = request.scratch.join(INPUT);
    replace(&path, input.as_bytes()).map_err(|error| {
        Problem::new(
            Kind::AgentInput,
            format!("cannot write `{}`", path.display()),
        )
        .because(error)
    })?;
    Ok(Some(path))
}

fn is_active(report: &ProcessReport, name: LayerName) -> bool {
    let active = |layer: &Layer| layer.name == name && layer.state == LayerState::Active;
    report.layers.iter().any(active)
}

fn not_held(agent: &str) -> Problem {
    Problem::new(
        Kind::AgentNotHeld,
        format!("agent `{agent}` ran without the required isolation"),
    )
    .hint("check what it changed; `drive doctor` shows which isolation this machine supports")
}

/// The author of commits that the agent makes itself: the private home contains no git identity.
fn identity(agent: &str) -> impl Iterator<Item = (OsString, OsString)> {
    let name = OsString::from(agent);
    let email = OsString::from(format!("{agent}@localhost"));
    [
        ("GIT_AUTHOR_NAME", name.clone()),
        ("GIT_AUTHOR_EMAIL", email.clone()),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_COMMITTER_EMAIL", email),
    ]
    .into_iter()
    .map(|(variable, value)| (OsString::from(variable), value))
}

/// The complete environment of an agent: allowed variables, its private folders, and what its kind
/// needs, which takes precedence.
pub(super) fn environment(
    allowed: BTreeMap<OsString, OsString>,
    own: impl IntoIterator<Item = (OsString, OsString)>,
    folders: &AgentFolders,
) -> Vec<(OsString, OsString)> {
    let path = |path: &Path| path.as_os_str().to_owned();
    let mut all = allowed;
    all.insert("HOME".into(), path(&folders.home));
    all.insert("TMPDIR".into(), path(&folders.tmp));
    all.extend(own);
    all.into_iter().collect()
}
