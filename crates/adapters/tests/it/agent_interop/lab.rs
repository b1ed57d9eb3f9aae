use drive_adapters::Environment;
use drive_adapters::agents::{AgentHost, AnyAgent, agent};
use drive_adapters::process::BoundedRunner;
use drive_core::Problem;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::{
    AgentConfig, AgentEvent, AgentKind, AgentOutcome, Budget, PermissionRules, Role,
};
use drive_core::ids::RunId;
use drive_core::process::{LeakPolicy, Limits};
use drive_engine::CancelToken;
use drive_engine::ports::{
    Agent, AgentRequest, Collect, CommandSpec, IsolationMode, ProcessRunner, Stdin,
};
use drive_testkit::interop::{AgentClis, AgentHome, Cli};
use drive_testkit::model_server::{ModelServer, Script};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One real CLI, a scripted model, and a worktree.
pub(crate) struct Lab {
    pub(crate) cli: Cli,
    pub(crate) clis: AgentClis,
    pub(crate) home: AgentHome,
    pub(crate) server: ModelServer,
    pub(crate) permissions: PermissionRules,
    variables: Vec<(String, String)>,
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

impl Lab {
    /// `None` if the CLIs are not available; a message about that was printed.
    pub(crate) fn new(cli: Cli, script: impl FnOnce(&AgentHome) -> Script) -> Option<Self> {
        let clis = AgentClis::installed_or_skip()?;
        let home = AgentHome::new().unwrap();
        let server = ModelServer::start(script(&home)).unwrap();
        let variables = home.environment(cli, &clis, &server).unwrap();
        Some(Self {
            cli,
            clis,
            home,
            server,
            permissions: PermissionRules::default(),
            variables,
        })
    }

    pub(crate) fn config(&self) -> AgentConfig {
        let (kind, program) = match self.cli {
            Cli::Claude => (AgentKind::ClaudeCode, &self.clis.claude),
            Cli::Gemini => (AgentKind::GeminiCli, &self.clis.gemini),
            Cli::Codex => (AgentKind::Codex, &self.clis.codex),
        };
        let mut command = vec![program.display().to_string()];
        if self.cli == Cli::Gemini {
            command.insert(0, self.clis.node.display().to_string());
        }
        AgentConfig {
            command,
            model: Some(self.cli.model().to_owned()),
            env: self
                .variables
                .iter()
                .map(|(name, _)| name.clone())
                .filter(|name| !matches!(name.as_str(), "HOME" | "TMPDIR" | "CLAUDE_CODE_TMPDIR"))
                .collect(),
            // codex names its model's server in its own settings.
            allow_hosts: vec![self.server.address().to_string()],
            permissions: self.permissions.clone(),
            ..AgentConfig::of_kind(kind)
        }
    }

    pub(crate) fn agent(&self, config: &AgentConfig) -> AnyAgent {
        let host = AgentHost {
            runner: Arc::new(BoundedRunner::with_helper(env!(
                "CARGO_BIN_EXE_drive-supervise"
            ))),
            environment: Environment::from_pairs(self.variables.clone()),
            base: self.home.work(),
            scratch: self.scratch(),
            state: self.scratch(),
            forge_token_env: "GITHUB_TOKEN".to_owned(),
            hidden: Vec::new(),
            secrets: Vec::new(),
        };
        agent(self.cli.name(), config, &host).unwrap()
    }

    pub(crate) fn request(&self, role: Role) -> AgentRequest {
        AgentRequest {
            run: RunId::new("r1"),
            role,
            round: 1,
            domain: None,
            prompt: "please do it".to_owned(),
            input: None,
            answer: AnswerForm::Free,
            sandbox: self.home.work(),
            git_dir: None,
            scratch: self.scratch(),
            model: None,
            resume: None,
            instructions: Vec::new(),
            limits: Limits {
                wall: Duration::from_secs(120),
                grace: Duration::from_secs(2),
                drain: Duration::from_secs(1),
                ..Limits::default()
            },
            budget: Budget::default(),
            held: Vec::new(),
            max_escalations: 5,
            isolation: IsolationMode::Auto,
        }
    }

    pub(crate) fn play(&self, role: Role) -> Played {
        self.play_request(&self.request(role))
    }

    pub(crate) fn play_request(&self, request: &AgentRequest) -> Played {
        self.play_as(&self.config(), request)
    }

    pub(crate) fn play_as(&self, config: &AgentConfig, request: &AgentRequest) -> Played {
        let mut events = Vec::new();
        let result = self.agent(config).run(
            request,
            &CancelToken::new(),
            &mut |_| Ok(()),
            &mut |event| events.push(event),
        );
        assert_eq!(
            self.survivors(),
            Vec::<String>::new(),
            "a process was left behind"
        );
        Played { events, result }
    }

    /// Changes a variable of the caller.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Removes a variable of the caller.
    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// Starts the CLI as a person would in the folder, which they trust, with all of their own settings.
    pub(crate) fn by_hand(&self) {
        let mut command = self.config().command;
        let work = self.home.work().display().to_string();
        let trusted = format!("projects={{{work:?}={{trust_level=\"trusted\"}}}}");
        let own: &[&str] = match self.cli {
            Cli::Claude => &["-p", "--output-format", "json", "--allowedTools", "Bash"],
            Cli::Gemini => &["--approval-mode", "yolo"],
            Cli::Codex => &[
                "exec",
                "-s",
                "danger-full-access",
                "--skip-git-repo-check",
                "-c",
                &trusted,
                "-",
            ],
        };
        command.extend(own.iter().map(|arg| (*arg).to_owned()));
        if self.cli == Cli::Gemini {
            let file = self.home.home().join(".gemini/trustedFolders.json");
            std::fs::write(file, format!("{{{work:?}: \"TRUST_FOLDER\"}}")).unwrap();
        }
        let spec = CommandSpec {
            args: command[1..].iter().map(Into::into).collect(),
            env: self
                .variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            stdin: Stdin::Bytes(b"please do it".to_vec()),
            limits: self.request(Role::Coder).limits,
            leaks: LeakPolicy::Kill,
            ..CommandSpec::new(&command[0], self.home.work())
        };
        let runner = BoundedRunner::with_helper(env!("CARGO_BIN_EXE_drive-supervise"));
        // Some end with an error after what they should run has run.
        let mut output = Collect::new(64 * 1024);
        let report = runner.run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut output);
        report.unwrap();
    }

    /// The output of the CLI, for the message of a failed test.
    pub(crate) fn log(&self) -> String {
        let path = self.scratch().join(drive_adapters::agents::TRANSCRIPT);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    pub(crate) fn work_files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.home.work())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn in_work(&self, name: &str) -> String {
        self.home.work().join(name).display().to_string()
    }

    fn scratch(&self) -> PathBuf {
        self.home.work().parent().unwrap().join("run")
    }

    /// Processes with our folders in their environment.
    fn survivors(&self) -> Vec<String> {
        let mark = self.scratch().display().to_string();
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let environ = std::fs::read(path.join("environ")).ok()?;
                let line = std::fs::read(path.join("cmdline")).ok()?;
                String::from_utf8_lossy(&environ)
                    .contains(&mark)
                    .then(|| String::from_utf8_lossy(&line).replace('\0', " "))
            })
            .collect()
    }
}
