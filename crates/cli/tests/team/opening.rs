//! Where a case is played, and by whom.

use crate::arena::{Arena, REPO};
use crate::play::Play;
use crate::stage::{LOCAL, Stage};
use drive_testkit::github::Simulator;
use drive_testkit::interop::{AgentClis, AgentHome, Cli};
use drive_testkit::model_server::ModelServer;
use std::fs;
use std::path::PathBuf;

/// An agent that hangs is ended long before the test is.
const LIMITS: &str = "[spawn]\nidle_timeout = \"1m\"\ntotal_timeout = \"2m\"\n";

/// Where a case is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hub {
    Local,
    Simulated,
}

/// Where a case is played, and by whom.
pub(crate) struct Opening {
    hub: Hub,
    /// The reviewer beside claude, and where they are; `None` for scripts.
    real: Option<(Cli, AgentClis)>,
}

/// The real CLIs, the model behind them, and the home their logins come from.
pub(crate) struct Real {
    pub(crate) reviewer: Cli,
    server: ModelServer,
    home: AgentHome,
}

impl Opening {
    pub(crate) fn scripted(hub: Hub) -> Self {
        Self { hub, real: None }
    }

    /// Real claude, and this one as its reviewer. `None` where they cannot be had, after saying so.
    pub(crate) fn real(hub: Hub, reviewer: Cli) -> Option<Self> {
        let clis = AgentClis::installed_or_skip()?;
        Some(Self {
            hub,
            real: Some((reviewer, clis)),
        })
    }

    /// Casts the agents. What is called a log is not for git.
    pub(crate) fn plays(self, play: impl Into<Play>) -> Arena {
        let play = play.into();
        let (simulator, forge) = simulator_of(self.hub);
        let origin = simulator.as_ref().map(|simulator| simulator.git_url(REPO));
        let arena = match self.real {
            None => {
                let stage = Stage::of_scripts(&forge, origin.as_deref());
                let (reviewer, says) =
                    play.reviewer_script(&stage.path("agents/says"), &stage.path("agents/go"));
                stage.script("says", &says);
                stage.script("primary", &Play::primary_script());
                stage.script("reviewer", &reviewer);
                Arena {
                    stage,
                    simulator,
                    real: None,
                }
            }
            Some((reviewer, clis)) => {
                let home = AgentHome::new().unwrap();
                let script = play.model(reviewer, &home.root().join("go"));
                let server = ModelServer::start(script).unwrap();
                let mut settings = String::new();
                let mut variables = Vec::new();
                for cli in [Cli::Claude, reviewer] {
                    let own = home.environment(cli, &clis, &server).unwrap();
                    settings += &agent(cli, &clis, &own);
                    variables.extend(own);
                }
                let stage = Stage::of_agents(variables, origin.as_deref());
                stage.script("namer", &Play::primary_script());
                // Elsewhere another agent finds the names.
                let namer = match (self.hub, reviewer) {
                    (Hub::Local, Cli::Codex) => Cli::Claude.name(),
                    (Hub::Local | Hub::Simulated, _) => "namer",
                };
                stage.settle(&format!(
                    "[spawn-team]\nprimary_llm = {:?}\nreviewer_llm = {:?}\nnamer_llm = {namer:?}\n\
                     {LIMITS}{forge}{settings}{}",
                    Cli::Claude.name(),
                    reviewer.name(),
                    stage.scripted("namer")
                ));
                Arena {
                    stage,
                    simulator,
                    real: Some(Real {
                        reviewer,
                        server,
                        home,
                    }),
                }
            }
        };
        let exclude = arena.stage.path("repo/.git/info/exclude");
        fs::write(exclude, "*.log\ndrive.toml\n").unwrap();
        arena.admits_people();
        arena
    }
}

/// A forge to play on, with its settings.
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
fn agent(cli: Cli, clis: &AgentClis, variables: &[(String, String)]) -> String {
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
        "[agents.{}]\nkind = \"{kind}\"\ncommand = {command:?}\nmodel = \"{}\"\nenv = {env:?}\n",
        cli.name(),
        cli.model()
    )
}

impl Real {
    /// What a held reviewer waits for.
    pub(crate) fn go(&self) -> PathBuf {
        self.home.root().join("go")
    }

    /// What the reviewer's tools answered to its model.
    pub(crate) fn reviewer_saw(&self) -> String {
        let protocol = Some(self.reviewer.protocol());
        let turns = self.server.turns();
        let asked = turns.iter().filter(|turn| turn.protocol == protocol);
        let results = asked.flat_map(|turn| turn.tool_results.iter());
        let texts: Vec<&str> = results.map(|result| result.text.as_str()).collect();
        texts.join("\n")
    }
}
