//! Tests what is checked on the forge before an agent starts, and what is reported about it.

use crate::github_support::{Hub, REPO, SimPause};
use drive_adapters::forge::github::{
    App, Bounds, Credential, Endpoint, GitHub, MemoryBudgets, MemoryCache, Route, Surroundings,
    Token,
};
use drive_core::forge::Permission;
use drive_core::forge::readiness::{BranchRule, Finding, Intent, NamePlace, Readiness};
use drive_core::ids::BranchName;
use drive_core::problem::{Kind, Problem};
use drive_engine::CancelToken;
use drive_engine::ports::Forge;
use drive_testkit::github::{Fault, FaultKind, Simulator};
use serde_json::json;
use std::sync::Arc;

fn intent(signs: bool) -> Intent {
    Intent {
        branch: BranchName::parse("drive/work").unwrap(),
        signs,
    }
}

fn by(simulator: &Simulator, credential: impl Into<Credential>) -> GitHub {
    at(simulator, &simulator.api_url(), REPO, credential)
}

fn at(
    simulator: &Simulator,
    api_url: &str,
    repo: &str,
    credential: impl Into<Credential>,
) -> GitHub {
    let clock = simulator.clock().clone();
    GitHub::new(
        Endpoint::new(api_url, repo).unwrap(),
        credential,
        Bounds::default(),
        Route::Direct,
        Surroundings {
            cache: Arc::new(MemoryCache::default()),
            budgets: Arc::new(MemoryBudgets::default()),
            clock: Arc::new(clock.clone()),
            pause: Arc::new(SimPause(clock)),
            cancel: CancelToken::new(),
        },
    )
}

/// A person's own token, to which GitHub reports the person's role.
fn personal(simulator: &Simulator, login: &str, permission: Permission) -> GitHub {
    simulator.add_person(REPO, login, permission);
    let token = format!("ghp_{login}");
    simulator.add_token(&token, login);
    by(simulator, Token::new(&token).unwrap())
}

fn asked(forge: &GitHub) -> Result<Readiness, Problem> {
    forge.preflight(Some(&intent(false)))
}

fn found(forge: &GitHub) -> Vec<Finding> {
    asked(forge).unwrap().findings
}

#[test]
fn a_repository_that_takes_the_push_is_ready_after_two_requests() {
    let hub = Hub::start();
    assert_eq!(found(&hub.forge), []);
    let writer = personal(&hub.simulator, "ann", Permission::Write);
    hub.simulator.forget_requests();
    assert_eq!(found(&writer), []);
    let targets: Vec<String> = hub
        .simulator
        .requests()
        .into_iter()
        .map(|one| one.target)
        .collect();
    assert_eq!(
        targets,
        [
            "/repos/acme/widgets",
            "/repos/acme/widgets/rules/branches/drive%2Fwork?per_page=100"
        ]
    );
}

#[test]
fn an_archived_repository_is_told() {
    let hub = Hub::start();
    hub.simulator.archive(REPO);
    let readiness = asked(&hub.forge).unwrap();
    assert_eq!(readiness.findings, [Finding::ReadOnly { disabled: false }]);
    assert_eq!(readiness.problem().unwrap().kind, Kind::ForgeReadOnly);
}

#[test]
fn an_account_that_may_not_push_is_told() {
    let hub = Hub::start();
    let reader = personal(&hub.simulator, "ann", Permission::Read);
    let readiness = asked(&reader).unwrap();
    assert_eq!(readiness.findings, [Finding::NoPush]);
    assert_eq!(readiness.problem().unwrap().kind, Kind::ForgeForbidden);
}

#[test]
fn an_app_is_judged_by_what_it_was_granted() {
    let hub = Hub::start();
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("app.pem");
    std::fs::write(&key, Simulator::app_key()).unwrap();
    let app = |id: u64, granted: &[(&str, &str)]| {
        hub.simulator.add_app(id, id, "app[bot]", granted);
        let api = hub.simulator.api_url();
        let app = App::new(id, id, &key, &api, Bounds::default(), Route::Direct);
        let identity = app.identity();
        by(
            &hub.simulator,
            Credential::renewable(identity, None, Box::new(app)),
        )
    };
    let writes = [
        ("contents", "write"),
        ("pull_requests", "write"),
        ("statuses", "write"),
        ("checks", "read"),
        ("metadata", "read"),
    ];
    assert_eq!(found(&app(1, &writes)), []);
    let reads = [("contents", "read"), ("pull_requests", "write")];
    assert_eq!(
        found(&app(2, &reads)),
        [
            Finding::NotGranted(vec!["contents", "statuses"]),
            Finding::NotReadable(vec!["checks", "metadata"]),
        ]
    );
}

#[test]
fn rules_that_would_refuse_the_push_are_told_unless_they_can_be_bypassed() {
    let rule = |kind: &str, parameters| {
        let hub = Hub::start();
        hub.simulator.add_rule(REPO, "drive/", kind, parameters);
        found(&hub.forge)
    };
    assert_eq!(
        rule("creation", None),
        [Finding::Rule(BranchRule::Creation)]
    );
    assert_eq!(rule("update", None), [Finding::Rule(BranchRule::Update)]);
    assert_eq!(
        rule("required_signatures", None),
        [Finding::Rule(BranchRule::Signatures)]
    );
    for kind in ["required_status_checks", "workflows"] {
        assert_eq!(
            rule(kind, None),
            [Finding::Rule(BranchRule::Checks)],
            "{kind}"
        );
    }
    for kind in ["pull_request", "merge_queue"] {
        assert_eq!(
            rule(kind, None),
            [Finding::Rule(BranchRule::PullRequest)],
            "{kind}"
        );
    }
    assert_eq!(rule("non_fast_forward", None), []);
    assert_eq!(rule("deletion", None), []);
    let pattern = |text: &str| json!({"operator": "starts_with", "pattern": text});
    assert_eq!(rule("branch_name_pattern", Some(pattern("drive/"))), []);
    assert_eq!(
        rule("branch_name_pattern", Some(pattern("feat/"))),
        [Finding::Rule(BranchRule::Name {
            place: NamePlace::Start,
            text: "feat/".to_owned(),
            negate: false
        })]
    );
    let regex = json!({"operator": "regex", "pattern": "^feat"});
    assert_eq!(rule("branch_name_pattern", Some(regex)), []);

    let hub = Hub::start();
    hub.simulator.add_rule(REPO, "main", "update", None);
    hub.simulator.add_bypassed_rule(REPO, "drive/", "creation");
    assert_eq!(found(&hub.forge), []);
    let signed = Hub::start();
    let kind = "required_signatures";
    signed.simulator.add_rule(REPO, "", kind, None);
    let readiness = signed.forge.preflight(Some(&intent(true))).unwrap();
    assert_eq!(readiness.findings, []);
}

#[test]
fn a_new_name_of_the_repository_is_a_warning() {
    let hub = Hub::start();
    hub.simulator.rename_repo(REPO, "gadgets");
    let readiness = asked(&hub.forge).unwrap();
    assert_eq!(
        readiness.findings,
        [Finding::Renamed("acme/gadgets".to_owned())]
    );
    assert_eq!(readiness.problem(), None);
    assert_eq!(readiness.warnings().count(), 1);
}

#[test]
fn an_exhausted_rate_limit_is_told_with_its_end_and_not_waited_for() {
    let hub = Hub::start();
    hub.simulator
        .inject(Fault::next("GET", "", FaultKind::PrimaryLimit));
    let before = drive_engine::ports::Clock::now(hub.simulator.clock());
    let problem = asked(&hub.forge).unwrap_err();
    assert_eq!(problem.kind, Kind::RateLimited);
    assert!(problem.message.contains("resets at"), "{problem}");
    let after = drive_engine::ports::Clock::now(hub.simulator.clock());
    assert_eq!(before, after);
}

#[test]
fn a_wrong_token_an_unknown_repository_and_a_dead_server_are_told_apart() {
    let hub = Hub::start();
    let token = |text: &str| Token::new(text).unwrap();
    let stranger = by(&hub.simulator, token("ghp_unknown"));
    assert_eq!(asked(&stranger).unwrap_err().kind, Kind::ForgeToken);
    let api = hub.simulator.api_url();
    let nowhere = at(
        &hub.simulator,
        &api,
        "acme/nothing",
        token(Simulator::TOKEN),
    );
    assert_eq!(asked(&nowhere).unwrap_err().kind, Kind::ForgeNotFound);
    let api = "http://127.0.0.1:9";
    let dead = at(&hub.simulator, api, REPO, token(Simulator::TOKEN));
    let problem = asked(&dead).unwrap_err();
    assert_eq!(problem.kind, Kind::ForgeUnreachable);
    assert_eq!(
        problem.hint.as_deref(),
        Some("check the network and `forge.api_url`; `--no-pr` works without the forge")
    );
}

#[test]
fn one_bad_gateway_is_no_reason_to_give_up() {
    let hub = Hub::start();
    hub.simulator
        .inject(Fault::next("GET", "", FaultKind::BadGateway));
    assert_eq!(found(&hub.forge), []);
}
