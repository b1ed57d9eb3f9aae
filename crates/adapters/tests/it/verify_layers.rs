//! Tests a verification on a machine that lacks a containment layer: it is reported if that is
//! allowed, and refused if every layer is required.

use crate::support::World;
use drive_adapters::Environment;
use drive_adapters::SystemClock;
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::sandbox::GitSandboxes;
use drive_adapters::verify::{
    FileReports, FileSlots, GitCandidates, ProjectReader, VerifyWorkspaces,
};
use drive_core::ids::RunId;
use drive_core::process::LayerName;
use drive_core::settings::{IsolationMode, StageNetwork};
use drive_core::verify::{
    FailureCategory, Overall, Route, Rule, Rules, RulesFrom, StageCommand, StageEnd, StageName,
    promotable,
};
use drive_engine::CancelToken;
use drive_engine::ports::ProcessRunner;
use drive_engine::verify::{Helpers, Verified, Verifier, VerifyRequest};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn rules(isolation: IsolationMode, network: StageNetwork, script: &str) -> Rules {
    let command = StageCommand {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        timeout: Duration::from_secs(60),
        network: Some(network),
        ..StageCommand::default()
    };
    Rules {
        isolation,
        routes: vec![Route {
            name: "all".to_owned(),
            paths: vec!["**".to_owned()],
            rule: Rule::Run(vec![(StageName::Compile, command)]),
        }],
        ..Rules::default()
    }
}

/// Verifies with layers disabled.
fn verify(without: &[LayerName], isolation: IsolationMode) -> Verified {
    let runner = runner().without(without);
    verify_with(runner, rules(isolation, StageNetwork::Open, "cat a.txt"))
}

fn runner() -> BoundedRunner {
    BoundedRunner::with_helper(env!("CARGO_BIN_EXE_drive-supervise"))
}

/// Verifies the second commit of a new repository against the first.
pub(crate) fn verify_with(runner: BoundedRunner, rules: Rules) -> Verified {
    let world = World::new();
    world.write("a.txt", "changed\n");
    world.commit("second");
    let runner: Arc<dyn ProcessRunner> = Arc::new(runner);
    let environment = Environment::from_pairs([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
    let git = Git::new(Arc::clone(&runner), &environment);
    let clock = Arc::new(SystemClock);
    let sandboxes =
        GitSandboxes::open(git.clone(), clock.clone(), &world.root, &world.state).unwrap();
    let scratch = world.state.join("verify");
    std::fs::create_dir_all(&scratch).unwrap();
    let workspaces = VerifyWorkspaces::new(
        git.clone(),
        Arc::new(sandboxes),
        environment,
        &world.state,
        &scratch,
    );
    let verifier = Verifier {
        clock: &SystemClock,
        runner: &*runner,
        candidates: &GitCandidates::new(git, &scratch),
        workspaces: &workspaces,
        projects: &ProjectReader::new(Arc::clone(&runner)),
        slots: &FileSlots::new(&scratch, clock),
        reports: &FileReports::new(&scratch),
    };
    let request = VerifyRequest {
        run: RunId::new("r1"),
        repo: world.repo.clone(),
        revision: "HEAD".to_owned(),
        base: Some("HEAD~1".to_owned()),
        head_only: false,
        rules,
        rules_from: RulesFrom::OwnSettings,
        notes: Vec::new(),
        helpers: Helpers::default(),
        fresh: true,
    };
    verifier.verify(&request, &CancelToken::new(), &mut |_| {})
}

#[test]
fn a_missing_layer_is_named_with_what_was_not_enforced() {
    let missing = [LayerName::WriteScope, LayerName::CgroupMemory];
    let report = verify(&missing, IsolationMode::Auto).report;
    assert_eq!(report.overall, Overall::Pass, "{report:#?}");
    assert!(!report.workspace.isolated);
    for (name, consequence) in [
        (
            "writeScope",
            "writes outside the allowed folders are not prevented",
        ),
        ("cgroupMemory", "memfd and tmpfs not counted"),
    ] {
        let named = report
            .workspace
            .missing
            .iter()
            .find(|layer| layer.name == name)
            .unwrap();
        assert!(named.consequence.contains(consequence), "{named:?}");
        assert!(!report.workspace.layers.iter().any(|layer| layer == name));
    }
}

#[test]
fn where_every_layer_is_required_a_missing_one_refuses_to_run() {
    let verified = verify(&[LayerName::WriteScope], IsolationMode::Require);
    let report = verified.report;
    let failure = report.failure.clone().unwrap();
    assert_eq!(
        (report.overall, failure.category),
        (Overall::Error, FailureCategory::Infra)
    );
    assert_eq!(report.stages[0].ended, Some(StageEnd::Infra));
    assert_eq!(report.stages[0].stdout_tail, "", "nothing ran");
    let (head, base) = (
        report.candidate.head_sha.clone(),
        report.candidate.base_sha.clone(),
    );
    assert_eq!(promotable(&report, &head.unwrap(), &base.unwrap()), None);
}

/// A stage that contacts a registry and another host.
const ASKING: &str = r#"python3 -c '
import socket
for host in ("registry.npmjs.org", "x.example"):
    try:
        stream = socket.create_connection((host, 443), 20)
        print(stream.recv(99).decode())
    except OSError as error:
        print(type(error).__name__)
'"#;

/// A server that sends its name to every client.
fn registry() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"registry");
        }
    });
    address
}

#[test]
fn a_stage_reaches_registries_only_where_its_route_says_so_and_refused_hosts_are_named() {
    let verified = |network| {
        let runner = runner().with_host("registry.npmjs.org", registry());
        let report = verify_with(runner, rules(IsolationMode::Auto, network, ASKING)).report;
        assert_eq!(report.overall, Overall::Pass, "{report:#?}");
        (report.stages[0].stdout_tail.clone(), report.notes)
    };
    let note = |host: &str, wider: &str| {
        format!("compile of route `all` wanted `{host}`: set `network = \"{wider}\"` in its route")
    };
    assert_eq!(
        verified(StageNetwork::Registries),
        (
            "registry\ngaierror\n".to_owned(),
            vec![note("x.example", "open")]
        )
    );
    assert_eq!(
        verified(StageNetwork::Off),
        (
            "gaierror\ngaierror\n".to_owned(),
            vec![
                note("registry.npmjs.org", "registries"),
                note("x.example", "open")
            ]
        )
    );
}

#[test]
fn registries_without_a_network_of_its_own_are_named_or_refused() {
    let verified = |isolation| {
        let runner = runner().without(&[LayerName::Network]);
        let rules = rules(isolation, StageNetwork::Registries, "cat a.txt");
        verify_with(runner, rules).report
    };
    let report = verified(IsolationMode::Auto);
    assert_eq!(report.overall, Overall::Pass, "{report:#?}");
    let missing = &report.workspace.missing;
    let network = missing.iter().find(|layer| layer.name == "network");
    let consequence = &network.unwrap().consequence;
    assert!(consequence.contains("every host"), "{consequence}");
    assert_eq!(verified(IsolationMode::Require).overall, Overall::Error);
}
