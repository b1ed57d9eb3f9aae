//! The forge and the agents of a test case.

use crate::stage::{LOCAL, Stage};
use crate::team::arena::{Arena, REPO};
use crate::team::play::{Play, is_review};
use drive_testkit::github::Simulator;
use drive_testkit::interop::{AgentClis, AgentHome, Cli};
use drive_testkit::model_server::ModelServer;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An agent that hangs is ended long before the test's own limit.
const LIMITS: &str = "[spawn]\nidle_timeout = \"1m\"\ntotal_timeout = \"2m\"\n";

/// The forge of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hub {
    Local,
    Simulated,
}

/// The forge and the agents of a case.
pub(crate) struct Opening {
    hub: Hub,
    /// The reviewer beside claude, and the paths of the CLIs; `None` for scripts.
    real: Option<(Cli, AgentClis)>,
}

/// The real CLIs, their model, and the home with their logins.
pub(crate) struct Real {
    pub(crate) reviewer: Cli,
    server: ModelServer,
    home: AgentHome,
}

impl Opening {
    pub(crate) fn scripted(hub: Hub) -> Self {
        Self { hub, real: None }
    }

    /// Real claude, and this CLI as its reviewer. `None` if they are not available; a message about
    /// that was printed.
    pub(crate) fn real(hub: Hub, reviewer: Cli) -> Option<Self> {
        let clis = AgentClis::installed_or_skip()?;
        Some(Self {
            hub,
            real: Some((reviewer, clis)),
        })
    }

    /// Assigns the agents. Files named like logs are ignored by git.
    pub(crate) fn plays(self, play: impl Into<Play>) -> Arena {
        let play = play.into();
        let (simulator, forge) = simulator_of(self.hub);
        let origin = simulator.as_ref().map(|simulator| simulator.git_url(REPO));
        let (stage, real) = match self.real {
            None => (play_scripts(&play, &forge, origin.as_deref()), None),
            Some((reviewer, clis)) => {
                let real = Real::start(&play, reviewer);
                // In the other cases another agent chooses the names.
                let namer = match (self.hub, reviewer) {
                    (Hub::Local, Cli::Codex) => Cli::Claude.name(),
                    (Hub::Local | Hub::Simulated, _) => "namer",
                };
                let stage = real.stage(&play, &clis, namer, &forge, origin.as_deref());
                (stage, Some(real))
            }
        };
        fs::write(stage.path("repo/.git/info/exclude"), "*.log\ndrive.toml\n").unwrap();
        if play.refutes.is_some() {
            let path = stage.path("repo/drive.toml");
            let settings = fs::read_to_string(&path).unwrap();
            fs::write(path, settings.replace("refute = false", "refute = true")).unwrap();
        }
        let arena = Arena {
            stage,
            simulator,
            real,
        };
        arena.admits_people();
        arena
    }
}

fn play_scripts(play: &Play, forge: &str, origin: Option<&str>) -> Stage {
    let stage = Stage::of_scripts(forge, origin);
    let (says, go) = (stage.path("agents/says"), stage.path("agents/go"));
    let (reviewer, said) = play.reviewer_script(&says, &go);
    stage.script("says", &said);
    stage.script("primary", &play.primary_script());
    stage.script("reviewer", &reviewer);
    stage
}

/// The forge for a case, with its settings.
pub(crate) fn simulator_of(hub: Hub) -> (Option<Simulator>, String) {
    match hub {
        Hub::Local => (None, LOCAL.to_owned()),
        Hub::Simulated => {
            let simulator = Simulator::start();
            simulator.add_repo("acme", "widgets");
            let settings = format!(
                "[forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
                simulator.api_url()
            );
            (Some(simulator), settings)
        }
    }
}

/// The settings of one real agent.
fn agent(cli: Cli, clis: &AgentClis, variables: &[(String, String)], model: SocketAddr) -> String {
    let kind = match cli {
        Cli::Claude => "claude-code",
        Cli::Gemini => "gemini-cli",
        Cli::Codex => "codex",
    };
    let program = clis.program(cli).display().to_string();
    let command = match cli {
        Cli::Gemini => vec![clis.node.display().to_string(), program],
        Cli::Claude | Cli::Codex => vec![program],
    };
    let own = ["HOME", "TMPDIR", "CLAUDE_CODE_TMPDIR", "PATH"];
    let names = variables.iter().map(|(name, _)| name);
    let env: Vec<&String> = names.filter(|name| !own.contains(&name.as_str())).collect();
    format!(
        "[agents.{}]\nkind = \"{kind}\"\ncommand = {command:?}\nmodel = \"{}\"\nenv = {env:?}\nallow_hosts = [\"{model}\"]\n",
        cli.name(),
        cli.model()
    )
}

impl Real {
    fn start(play: &Play, reviewer: Cli) -> Self {
        let home = AgentHome::new().unwrap();
        let script = play.model(reviewer, &home.root().join("go"));
        Self {
            reviewer,
            server: ModelServer::start(script).unwrap(),
            home,
        }
    }

    /// Claude, the reviewer, and this namer, with an environment that contains nothing else.
    fn stage(
        &self,
        play: &Play,
        clis: &AgentClis,
        namer: &str,
        forge: &str,
        origin: Option<&str>,
    ) -> Stage {
        let (mut settings, mut variables) = (String::new(), Vec::new());
        let both = [Cli::Claude, self.reviewer];
        let is_one = self.reviewer == Cli::Claude;
        for cli in both.into_iter().skip(usize::from(is_one)) {
            let own = self.home.environment(cli, clis, &self.server).unwrap();
            settings += &agent(cli, clis, &own, self.server.address());
            variables.extend(own);
        }
        let stage = Stage::of_agents(variables, origin);
        stage.script("namer", &play.primary_script());
        stage.settle(&format!(
            "[spawn-team]\nprimary_llm = {:?}\nreviewer_llm = {:?}\nnamer_llm = {namer:?}\n\
             {LIMITS}{forge}{settings}{}",
            Cli::Claude.name(),
            self.reviewer.name(),
            stage.scripted("namer")
        ));
        stage
    }

    /// The file for which a delayed reviewer waits.
    pub(crate) fn go(&self) -> PathBuf {
        self.home.root().join("go")
    }

    /// The prompts of reviewers, oldest first.
    pub(crate) fn reviewer_prompts(&self) -> Vec<String> {
        let protocol = Some(self.reviewer.protocol());
        let turns = self.server.turns().into_iter();
        let asked = turns.filter(|turn| turn.protocol == protocol);
        let prompts = asked.map(|turn| turn.prompt);
        prompts.filter(|prompt| is_review(prompt)).collect()
    }

    /// The results of the reviewer's tools, as its model got them.
    pub(crate) fn reviewer_saw(&self) -> String {
        let protocol = Some(self.reviewer.protocol());
        let turns = self.server.turns();
        let asked = turns.iter().filter(|turn| turn.protocol == protocol);
        let results = asked.flat_map(|turn| turn.tool_results.iter());
        let texts: Vec<&str> = results.map(|result| result.text.as_str()).collect();
        texts.join("\n")
    }
}
