//! A verification on a machine that lacks a containment layer: said where it is allowed, refused
//! where every layer is required.

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
use drive_core::settings::{IsolationMode, NetworkAccess};
use drive_core::verify::{
    FailureCategory, Overall, Route, Rule, Rules, StageCommand, StageEnd, StageName, promotable,
};
use drive_engine::CancelToken;
use drive_engine::ports::ProcessRunner;
use drive_engine::verify::{Verified, Verifier, VerifyRequest};
use std::sync::Arc;
use std::time::Duration;

fn rules(isolation: IsolationMode) -> Rules {
    let command = StageCommand {
        argv: ["sh", "-c", "cat a.txt"].map(str::to_owned).to_vec(),
        dir: String::new(),
        env: Vec::new(),
        timeout: Duration::from_secs(60),
        network: Some(NetworkAccess::Open),
        ready: None,
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

/// Verifies the second commit of a fresh repository against the first.
fn verify(without: &[LayerName], isolation: IsolationMode) -> Verified {
    let world = World::new();
    world.write("a.txt", "changed\n");
    world.commit("second");
    let helper = env!("CARGO_BIN_EXE_drive-supervise");
    let runner: Arc<dyn ProcessRunner> =
        Arc::new(BoundedRunner::with_helper(helper).without(without));
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
        rules: rules(isolation),
        startup_helper: Vec::new(),
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
        ("cgroupMemory", "memfd not counted"),
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
    assert!(!promotable(&report, &head.unwrap(), &base.unwrap()));
}
