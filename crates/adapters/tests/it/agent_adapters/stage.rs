use crate::process_runner::escape::lacking;
use drive_adapters::Environment;
use drive_adapters::agents::{AgentHost, AnyAgent, agent};
use drive_adapters::process::BoundedRunner;
use drive_core::Problem;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::{AgentConfig, AgentEvent, AgentKind, AgentOutcome, Budget, Role};
use drive_core::ids::RunId;
use drive_core::process::{LayerName, LayerState, Limits};
use drive_engine::CancelToken;
use drive_engine::ports::{Agent, AgentRequest, IsolationMode, ProcessRunner};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A user's home that contains secrets, a sandbox, and a folder for programs.
pub(crate) struct Stage {
    pub(crate) root: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    _guard: tempfile::TempDir,
}

pub(crate) struct Played {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) result: Result<AgentOutcome, Problem>,
}

impl Played {
    pub(crate) fn outcome(&self) -> &AgentOutcome {
        self.result.as_ref().unwrap()
    }
}

pub(crate) fn runner() -> BoundedRunner {
    BoundedRunner::with_helper(env!("CARGO_BIN_EXE_drive-supervise"))
}

impl Stage {
    pub(crate) fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap();
        for folder in ["bin", "home/.ssh", "sandbox", "state", "run"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("home/.ssh/id"), "private key").unwrap();
        let variables = vec![
            (
                "PATH".to_owned(),
                format!("{}:/usr/bin:/bin", root.join("bin").display()),
            ),
            ("HOME".to_owned(), root.join("home").display().to_string()),
        ];
        Self {
            root,
            variables,
            _guard: guard,
        }
    }

    pub(crate) fn sandbox(&self) -> PathBuf {
        self.root.join("sandbox")
    }

    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.root.join("bin").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn host(&self) -> AgentHost {
        AgentHost {
            runner: Arc::new(runner()),
            environment: Environment::from_pairs(self.variables.clone()),
            base: self.root.clone(),
            scratch: self.root.join("state"),
            state: self.root.join("state"),
            forge_token_env: "GITHUB_TOKEN".to_owned(),
            hidden: Vec::new(),
            secrets: Vec::new(),
        }
    }

    pub(crate) fn agent(&self, config: &AgentConfig) -> AnyAgent {
        agent("mine", config, &self.host()).unwrap()
    }

    pub(crate) fn request(&self, role: Role) -> AgentRequest {
        AgentRequest {
            run: RunId::new("r1"),
            role,
            round: 2,
            domain: None,
            prompt: "please do it".to_owned(),
            input: None,
            answer: AnswerForm::Free,
            sandbox: self.sandbox(),
            git_dir: None,
            scratch: self.root.join("run"),
            model: None,
            resume: None,
            instructions: Vec::new(),
            limits: Limits {
                wall: Duration::from_secs(60),
                grace: Duration::from_secs(1),
                drain: Duration::from_secs(1),
                ..Limits::default()
            },
            budget: Budget::default(),
            held: Vec::new(),
            max_escalations: 5,
            isolation: IsolationMode::Auto,
        }
    }

    pub(crate) fn play(&self, config: &AgentConfig, request: &AgentRequest) -> Played {
        self.play_until(config, request, &CancelToken::new())
    }

    pub(crate) fn play_until(
        &self,
        config: &AgentConfig,
        request: &AgentRequest,
        cancel: &CancelToken,
    ) -> Played {
        let mut events = Vec::new();
        let result = self
            .agent(config)
            .run(request, cancel, &mut |_| Ok(()), &mut |event| {
                events.push(event)
            });
        Played { events, result }
    }

    pub(crate) fn log(&self) -> String {
        let path = self
            .root
            .join("run")
            .join(drive_adapters::agents::TRANSCRIPT);
        std::fs::read_to_string(path).unwrap()
    }

    pub(crate) fn files(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn command(program: &str) -> AgentConfig {
    AgentConfig {
        command: vec![program.to_owned()],
        ..AgentConfig::of_kind(AgentKind::Command)
    }
}

pub(crate) fn of_kind(kind: AgentKind, program: &str) -> AgentConfig {
    // The kind's own program is named by its path, so that it may have its own key.
    let is_own = kind.default_command() == Some(program);
    let folder = if is_own { "bin/" } else { "" };
    AgentConfig {
        command: vec![format!("{folder}{program}")],
        ..AgentConfig::of_kind(kind)
    }
}

/// Whether the kernel of this machine can confine an agent to its folders; prints a message if it cannot.
pub(crate) fn holds(layer: LayerName) -> bool {
    let layers = runner().probe();
    let state = layers.iter().find(|l| l.name == layer).map(|l| &l.state);
    match state {
        Some(LayerState::Active) => true,
        Some(LayerState::Missing(why)) => {
            lacking(layer, why);
            false
        }
        None => {
            lacking(layer, "it is not known here");
            false
        }
    }
}
