//! Whole teams of the real CLIs: claude writes, gemini or codex reviews, each talking to a scripted
//! model on loopback with an empty environment, a private home and dummy keys.

use crate::stage::{Ended, Stage, gist, said};
use drive_testkit::github::Simulator;
use drive_testkit::interop::{AgentClis, AgentHome, Cli};
use drive_testkit::model_server::{Call, ModelServer, Script, Turn};
use serde_json::{Value, json};

const NAME: &str =
    "```json\n{\"pr_title\": \"Greet by name\", \"branch_name\": \"greet-by-name\"}\n```";
const APPROVED: &str = "```json\n{\"verdict\": \"approved\"}\n```";
const OBJECTS: &str = "```json\n{\"verdict\": \"needs_changes\", \"suggestions\": [{\"file\": \"greet.txt\", \"line\": 1, \"issue\": \"too short\"}]}\n```";
const LOCAL: &str = "[forge]\nkind = \"local\"\n";
const REPO: &str = "acme/widgets";
/// An agent that hangs is ended long before the test is.
const LIMITS: &str = "[spawn]\nidle_timeout = \"1m\"\ntotal_timeout = \"2m\"\n";
/// What a reviewer tries that may not change a thing.
const HACK: &str = "echo hacked > greet.txt; echo hacked > evil.txt; git branch evil";
/// What is in the folder but not in git, so that no other checkout could show it.
const IGNORED: &str = "only in this folder";

/// A team, the model behind it, and the home its agents' logins come from.
struct Real {
    stage: Stage,
    server: ModelServer,
    reviewer: Cli,
    _home: AgentHome,
}

impl Real {
    /// Claude and this reviewer, which first looks around with these calls, then objects, and
    /// approves once the change was fixed. `None` where the CLIs cannot be had, after saying so.
    fn new(reviewer: Cli, looks: Vec<Turn>, forge: &str, origin: Option<&str>) -> Option<Self> {
        let clis = AgentClis::installed_or_skip()?;
        let home = AgentHome::new().unwrap();
        let server = ModelServer::start(script(looks)).unwrap();
        // Git's own settings come from the agents' home as well, which drive is started with.
        std::fs::write(
            home.home().join(".gitconfig"),
            "[user]\nname = Ann\nemail = ann@example.org\n",
        )
        .unwrap();
        let mut settings = format!("{LIMITS}{forge}");
        let mut variables = Vec::new();
        for cli in [Cli::Claude, reviewer] {
            let own = home.environment(cli, &clis, &server).unwrap();
            settings += &agent(cli, &clis, &own);
            variables.extend(own);
        }
        let team = (Cli::Claude.name(), reviewer.name());
        let stage = Stage::of_agents(team, &settings, variables, origin);
        std::fs::write(stage.path("repo/.git/info/exclude"), "*.log\ndrive.toml\n").unwrap();
        Some(Self {
            stage,
            server,
            reviewer,
            _home: home,
        })
    }

    /// What the reviewer's tools answered to its model.
    fn seen(&self) -> String {
        let protocol = Some(self.reviewer.protocol());
        let turns = self.server.turns();
        let asked = turns.iter().filter(|turn| turn.protocol == protocol);
        let results = asked.flat_map(|turn| turn.tool_results.iter());
        let texts: Vec<&str> = results.map(|result| result.text.as_str()).collect();
        texts.join("\n")
    }

    /// The coder's two commits are all there is, and the reviewer saw the first before the second.
    fn holds(&self, ended: &Ended, fix: &str, verdict: &str, rounds: u32) {
        assert_eq!(
            gist(&ended.document),
            json!({
                "kind": "spawn-team",
                "status": "succeeded",
                "verdict": verdict,
                "branch": "greet-by-name",
                "prNumber": 1,
                "rounds": rounds,
                "commits": ["Greet by name", fix],
                "failure": null,
            }),
            "{ended:?}"
        );
        let head = ended.document["headSha"].as_str().unwrap();
        let text = self.stage.git(&["show", &format!("{head}:greet.txt")]);
        assert_eq!(text, "Hello, Zaphod\nfixed");
        let files = self.stage.git(&["ls-tree", "--name-only", "-r", head]);
        assert_eq!(files, "README.md\ngreet.txt");
        assert_eq!(self.stage.git(&["branch", "--list", "evil"]), "");
        let seen = self.seen();
        assert!(seen.contains("Hello, Zaphod"), "{seen}");
        let reviewer = self.reviewer.name();
        let jobs = ended.document["record"]["jobs"].as_array().unwrap();
        let told: Vec<Value> = jobs.iter().take(4).map(job).collect();
        assert_eq!(
            told,
            [
                json!(["namer", "claude", null, true]),
                json!(["coder", "claude", null, true]),
                json!(["reviewer", reviewer, null, true]),
                json!(["fixer", "claude", null, true]),
            ]
        );
    }
}

/// Who did it as what, how it failed, and whether its tokens were counted.
fn job(job: &Value) -> Value {
    let counted = job["usage"]["output"].as_u64() > Some(0);
    json!([job["role"], job["agent"], job["failure"], counted])
}

/// The model of both: it tells its agents apart by what they are asked.
fn script(looks: Vec<Turn>) -> Script {
    let fixes = [
        Turn::run("echo fixed >> greet.txt"),
        Turn::text("Appended."),
    ];
    let objects = || looks.iter().cloned().chain([Turn::text(OBJECTS)]);
    Script::new([
        Turn::run(format!(
            "echo 'Hello, Zaphod' > greet.txt; echo '{IGNORED}' > notes.log"
        )),
        Turn::text("A greeting."),
    ])
    .when("Find a title and a branch name", [Turn::text(NAME)])
    .when("Resolve one comment on the change", fixes.clone())
    .when("A reviewer looked at the change", fixes)
    .when("+fixed", [Turn::text(APPROVED)])
    .when("of it only one thing", objects())
    .when("Review a change that another agent made", objects())
}

/// The settings of one agent.
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

/// Claude and gemini, which reads the file and then tries to change it by each of its tools.
fn with_gemini(forge: &str, origin: Option<&str>) -> Option<Real> {
    let write = json!({"file_path": "evil.txt", "content": "hacked"});
    let looks = vec![
        Turn::call(Call::tool("read_file", json!({"file_path": "greet.txt"}))),
        Turn::call(Call::tool("write_file", write)),
        Turn::run(HACK),
    ];
    Real::new(Cli::Gemini, looks, forge, origin)
}

const FIXED: &str = "Resolve the review's remarks: - greet.txt line 1: too short";

#[test]
fn sequential_with_real_claude_and_gemini() {
    let Some(real) = with_gemini(LOCAL, None) else {
        return;
    };
    let ended = real.stage.team("sequential");
    real.holds(&ended, FIXED, "needsChanges", 1);
}

#[test]
fn pingpong_with_real_claude_and_gemini() {
    let Some(real) = with_gemini(LOCAL, None) else {
        return;
    };
    let ended = real.stage.team("pingpong");
    real.holds(&ended, FIXED, "approved", 2);
}

#[test]
fn github_with_real_claude_and_gemini() {
    let Some(real) = with_gemini(LOCAL, None) else {
        return;
    };
    let ended = real.stage.team("github");
    real.holds(&ended, "Resolve comment 2: too short", "approved", 6);
    let head = ended.document["headSha"].as_str().unwrap();
    assert_eq!(
        said(&real.stage.pull_request()),
        [
            "[SECURITY REVIEW - NEEDS CHANGES]\n\n1 remarks stand on lines of the diff.".to_owned(),
            "too short".to_owned(),
            format!("Fixed in {head}."),
            "[SECURITY REVIEW - APPROVED]".to_owned(),
            "[TECHNICAL FEASIBILITY REVIEW - APPROVED]".to_owned(),
            "[TASK GRANULARITY REVIEW - APPROVED]".to_owned(),
            "[DEPENDENCY COMPLETENESS REVIEW - APPROVED]".to_owned(),
            "[GENERAL POLISH REVIEW - APPROVED]".to_owned(),
        ]
    );
}

#[test]
fn github_on_the_simulator_with_real_claude_and_gemini() {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    let forge = format!(
        "[forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    let Some(real) = with_gemini(&forge, Some(&simulator.git_url(REPO))) else {
        return;
    };
    let ended = real.stage.team("github");
    let comment = &ended.document["record"]["remarks"][0]["comment"]["id"];
    let fix = format!("Resolve comment {comment}: too short");
    real.holds(&ended, &fix, "approved", 6);
}

/// Reviewers once judged another checkout than the coder's, and approved what they had not seen.
#[test]
fn real_codex_sees_the_very_folder_of_real_claude_and_cannot_change_it() {
    let looks = vec![Turn::run("cat greet.txt notes.log"), Turn::run(HACK)];
    let Some(real) = Real::new(Cli::Codex, looks, LOCAL, None) else {
        return;
    };
    let ended = real.stage.team("sequential");
    real.holds(&ended, FIXED, "needsChanges", 1);
    let seen = real.seen();
    assert!(seen.contains(IGNORED), "{seen}");
    assert!(seen.contains("evil.txt: "), "it never tried: {seen}");
}
