//! Tests the same attacks by a coder, a reviewer and a stage as `drive` starts them. `escape` contains the
//! control of each. All attacks of one kind run in one Python process, each in its own child.

use crate::process_runner::attacks::{Attack, FILES, KERNEL, MEMORY, NETWORK, SERVERS};
use crate::process_runner::escape::{PRELUDE, World, is_complete};
use crate::process_runner::support::helper;
use crate::verify_layers;
use drive_adapters::Environment;
use drive_adapters::agents::{AgentHost, agent};
use drive_adapters::process::BoundedRunner;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::{AgentConfig, AgentKind, AgentNetwork, Budget, Role};
use drive_core::ids::RunId;
use drive_core::process::{LayerName, Limits};
use drive_core::settings::{IsolationMode, StageNetwork};
use drive_core::verify::Overall;
use drive_engine::CancelToken;
use drive_engine::ports::{Agent, AgentRequest, ProcessRunner};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The exit codes of a child.
const HELD: i32 = 11;

/// Tries each attack in a child, and prints how each child ended.
const TRY_EACH: &str = r#"
import json, traceback
ended = {}
for name, code in ATTACKS:
    child = os.fork()
    if child == 0:
        try: os._exit(10 if eval(code) else 11)
        except OSError: os._exit(11)
        except BaseException:
            traceback.print_exc()
            os._exit(12)
    ended[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"#;

fn program<'a>(attacks: impl Iterator<Item = &'a Attack>) -> String {
    let attacks: Vec<(&str, &str)> = attacks.map(|one| (one.name, one.code)).collect();
    let attacks = serde_json::to_string(&attacks).unwrap();
    // A JSON string is a Python literal as well.
    format!("{PRELUDE}\nATTACKS = {attacks}\n{TRY_EACH}")
}

/// Attacks that do not use the network by name.
fn offline() -> impl Iterator<Item = &'static Attack> {
    let kernel = KERNEL.iter().chain(&FILES);
    SERVERS.iter().chain(&MEMORY).chain(kernel)
}

/// Asserts that every attack was tried, and none succeeded.
fn assert_held(who: &str, said: &str, count: usize) {
    let line = said.lines().find(|line| line.starts_with('{'));
    let ended: BTreeMap<String, i32> =
        serde_json::from_str(line.unwrap_or_else(|| panic!("{who} said {said}"))).unwrap();
    assert_eq!(ended.len(), count, "{who}: {said}");
    let through: Vec<_> = ended.iter().filter(|(_, code)| **code != HELD).collect();
    assert!(through.is_empty(), "{who}: {through:?}\n{said}");
}

/// The output of an agent with this role, started with every layer of the machine.
fn played(world: &World, role: Role, network: AgentNetwork, code: String) -> String {
    let runner: Arc<dyn ProcessRunner> = Arc::new(BoundedRunner::with_helper(helper()));
    let mut variables = world.variables();
    variables.push(("HOME", world.target.join("home").display().to_string()));
    variables.push(("CONFINED", "1".to_owned()));
    let mut config = AgentConfig::of_kind(AgentKind::Command);
    config.command = ["/usr/bin/python3", "-c", &code]
        .map(str::to_owned)
        .to_vec();
    config.env = variables
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    config.env.retain(|name| name != "HOME" && name != "PATH");
    config.network = network;
    if network == AgentNetwork::Allow {
        config.allow_hosts = vec!["*.allowed.example".to_owned()];
    }
    // An ordinary user may lack control groups; everything else is required of the machine.
    let counts = [LayerName::CgroupMemory, LayerName::CgroupProcesses];
    let lacks =
        |layer: &drive_core::process::Layer| counts.contains(&layer.name) && !layer.is_active();
    let isolation = if runner.probe().iter().any(lacks) {
        IsolationMode::Auto
    } else {
        IsolationMode::Require
    };
    let host = AgentHost {
        runner,
        environment: Environment::from_pairs(variables),
        base: world.target.clone(),
        scratch: world.target.join("state"),
        state: world.target.join("state"),
        forge_token_env: "GITHUB_TOKEN".to_owned(),
        hidden: Vec::new(),
        secrets: Vec::new(),
    };
    let request = AgentRequest {
        run: RunId::new("r1"),
        role,
        round: 1,
        domain: None,
        prompt: "get out".to_owned(),
        input: None,
        answer: AnswerForm::Free,
        sandbox: world.target.join("box"),
        git_dir: None,
        scratch: world.target.join("state/runs/this"),
        model: None,
        resume: None,
        instructions: Vec::new(),
        limits: Limits {
            wall: Duration::from_secs(300),
            ..Limits::default()
        },
        budget: Budget::default(),
        held: Vec::new(),
        max_escalations: 5,
        isolation,
    };
    let agent = agent("mine", &config, &host).unwrap();
    let mut events = Vec::new();
    let outcome = agent
        .run(
            &request,
            &CancelToken::new(),
            &mut |_| Ok(()),
            &mut |event| {
                events.push(event);
            },
        )
        .unwrap();
    assert!(
        !Path::new("/tmp").join(&world.secret).exists(),
        "it planted a file"
    );
    format!("{}\n{:?}\n{events:?}", outcome.text, outcome.ending)
}

fn try_as(role: Role) {
    let world = World::new();
    if !is_complete(&world) {
        return;
    }
    let said = played(&world, role, AgentNetwork::Off, program(offline()));
    assert_held(role.name(), &said, names(offline()));
    let named = program(NETWORK.iter());
    let said = played(&world, role, AgentNetwork::Allow, named);
    assert_held(role.name(), &said, names(NETWORK.iter()));
}

fn names<'a>(attacks: impl Iterator<Item = &'a Attack>) -> usize {
    let mut all: Vec<&str> = attacks.map(|one| one.name).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

everyone! {
    fn no_coder_gets_out() {
        try_as(Role::Coder);
    }

    fn no_reviewer_gets_out() {
        try_as(Role::Reviewer);
    }
}

#[test]
fn no_stage_gets_out() {
    let world = World::new();
    if !is_complete(&world) {
        return;
    }
    for (network, code, count) in [
        (StageNetwork::Off, program(offline()), names(offline())),
        (
            StageNetwork::Registries,
            program(NETWORK.iter()),
            names(NETWORK.iter()),
        ),
    ] {
        let variables = world.variables().into_iter();
        let variables = variables.map(|(name, value)| format!("export {name}='{value}'\n"));
        let script = format!(
            "{}export CONFINED=1\nexec /usr/bin/python3 - <<'END'\n{code}\nEND\n",
            variables.collect::<String>()
        );
        let rules = verify_layers::rules(IsolationMode::Auto, network, &script);
        let runner = BoundedRunner::with_helper(helper());
        let report = verify_layers::verify_with(runner, rules).report;
        assert_eq!(report.overall, Overall::Pass, "{report:#?}");
        assert_held("a stage", &report.stages[0].stdout_tail, count);
        assert!(
            !Path::new("/tmp").join(&world.secret).exists(),
            "it planted a file"
        );
    }
}
