//! Tests merging on GitHub with various settings of the repository and rules of the base.

use crate::github_support::{Hub, REPO};
use drive_core::forge::{Permission, PrState, PullRequest};
use drive_core::ids::{BranchName, CommitSha};
use drive_engine::ports::{Forge, MergeOutcome, NewPullRequest, Since};
use drive_testkit::forge_contract::ForgeFixture;
use drive_testkit::github::{Fault, FaultKind, SimCheckRun};

fn open(hub: &Hub) -> PullRequest {
    hub.push("feat/x", "a.txt", "a\n");
    let new = NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        branch: BranchName::parse("feat/x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: false,
    };
    hub.forge.open(&new).unwrap()
}

fn merge(hub: &Hub, pr: &PullRequest) -> MergeOutcome {
    hub.forge.merge(pr.number, &pr.head_sha, None).unwrap()
}

fn merge_requests(hub: &Hub) -> usize {
    let requests = hub.simulator.requests();
    let merges = requests.iter().filter(|request| request.method == "PUT");
    merges.count()
}

#[test]
fn the_first_request_to_merge_uses_a_method_that_is_switched_on() {
    for methods in [&["merge", "squash"][..], &["squash", "rebase"], &["rebase"]] {
        let hub = Hub::start();
        let pr = open(&hub);
        hub.simulator.allow_merge_methods(REPO, methods);
        let outcome = merge(&hub, &pr);
        assert!(
            matches!(outcome, MergeOutcome::Merged { .. }),
            "{methods:?} {outcome:?}"
        );
        assert_eq!(merge_requests(&hub), 1, "{methods:?}");
    }
}

#[test]
fn a_linear_history_gets_no_merge_commit() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.require_linear_history(REPO);
    assert!(matches!(merge(&hub, &pr), MergeOutcome::Merged { .. }));
    assert_eq!(merge_requests(&hub), 1);
}

#[test]
fn without_a_method_that_the_rules_leave_over_nothing_is_tried() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.require_linear_history(REPO);
    hub.simulator.allow_merge_methods(REPO, &["merge"]);
    let outcome = merge(&hub, &pr);
    let reason =
        "the rules of `main` and the settings of `acme/widgets` allow no common merge method"
            .to_owned();
    assert_eq!(outcome, MergeOutcome::Refused { reason });
    assert_eq!(merge_requests(&hub), 0);
}

#[test]
fn a_required_check_that_is_missing_refuses_the_merge_by_its_name() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.rule_checks(REPO, &["build"]);
    let MergeOutcome::Refused { reason } = merge(&hub, &pr) else {
        panic!("merged without its check");
    };
    assert_eq!(reason, "Required status check \"build\" is expected.");
    let run = SimCheckRun::ended("build", "success");
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    assert!(matches!(merge(&hub, &pr), MergeOutcome::Merged { .. }));
}

#[test]
fn a_base_with_a_merge_queue_gets_the_pull_request_into_it_once() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.require_merge_queue(REPO);
    assert_eq!(merge(&hub, &pr), MergeOutcome::Queued);
    assert_eq!(merge(&hub, &pr), MergeOutcome::Queued);
    assert_eq!(hub.simulator.merge_queue(REPO), [1]);
    assert_eq!(merge_requests(&hub), 0);
    let state = || hub.forge.fetch(pr.number).unwrap().state;
    assert_eq!(state(), PrState::Open);
    hub.simulator.run_merge_queue(REPO);
    assert_eq!(state(), PrState::Merged);
    assert!(matches!(merge(&hub, &pr), MergeOutcome::Merged { .. }));
}

#[test]
fn a_head_that_moved_is_not_put_into_the_queue() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.require_merge_queue(REPO);
    hub.push("feat/x", "b.txt", "b\n");
    assert_eq!(merge(&hub, &pr), MergeOutcome::HeadMoved);
    assert_eq!(hub.simulator.merge_queue(REPO), Vec::<u64>::new());
}

#[test]
fn a_lost_answer_of_the_queue_is_found_out() {
    for kind in [
        FaultKind::BadGateway,
        FaultKind::BadGatewayAfterApplying,
        FaultKind::CutShort,
    ] {
        let hub = Hub::start();
        let pr = open(&hub);
        hub.simulator.require_merge_queue(REPO);
        hub.simulator.inject(Fault {
            skip: 1,
            ..Fault::next("POST", "/graphql", kind)
        });
        assert_eq!(merge(&hub, &pr), MergeOutcome::Queued, "{kind:?}");
        assert_eq!(hub.simulator.pending_faults(), 0);
        assert_eq!(hub.simulator.merge_queue(REPO), [1]);
    }
}

#[test]
fn a_draft_in_front_of_a_queue_is_refused_with_the_reason() {
    let hub = Hub::start();
    hub.push("feat/x", "a.txt", "a\n");
    let new = NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        branch: BranchName::parse("feat/x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: true,
    };
    let pr = hub.forge.open(&new).unwrap();
    hub.simulator.require_merge_queue(REPO);
    let MergeOutcome::Refused { reason } = merge(&hub, &pr) else {
        panic!("a draft was queued");
    };
    assert!(reason.contains("not in a state"), "{reason}");
}

/// Merges unless ann has written by then. Also returns how often that was checked.
fn merge_unless_ann_wrote(hub: &Hub, pr: &PullRequest) -> (MergeOutcome, usize) {
    let mut asked = 0;
    let mut go_ahead = || {
        asked += 1;
        let polled = hub.forge.poll(&[pr.number], Since(None))?;
        Ok(polled.comments.is_empty())
    };
    let outcome = hub
        .forge
        .merge_if(pr.number, &pr.head_sha, None, &mut go_ahead);
    (outcome.unwrap(), asked)
}

fn ann_writes_before(hub: &Hub, request: (&'static str, &str)) {
    hub.add_person("ann", Permission::Write);
    hub.simulator
        .comment_before(request, (REPO, "ann", 1), "STOP");
}

#[test]
fn a_word_after_the_settings_were_read_stops_the_merge() {
    for with_queue in [false, true] {
        let hub = Hub::start();
        let pr = open(&hub);
        if with_queue {
            hub.simulator.require_merge_queue(REPO);
            ann_writes_before(&hub, ("GET", "/rules/branches/main"));
        } else {
            ann_writes_before(&hub, ("GET", "/repos/acme/widgets"));
        }
        assert_eq!(
            merge_unless_ann_wrote(&hub, &pr),
            (MergeOutcome::Stopped, 1),
            "queue: {with_queue}"
        );
        assert_eq!(merge_requests(&hub), 0);
        assert_eq!(hub.simulator.merge_queue(REPO), Vec::<u64>::new());
    }
}

#[test]
fn a_word_during_a_secondary_limit_stops_the_merge() {
    let hub = Hub::start();
    let pr = open(&hub);
    ann_writes_before(&hub, ("PUT", "/pulls/1/merge"));
    let limit = Fault::next("PUT", "/merge", FaultKind::SecondaryLimit(60));
    hub.simulator.inject(limit);
    assert_eq!(
        merge_unless_ann_wrote(&hub, &pr),
        (MergeOutcome::Stopped, 2)
    );
    assert_eq!(merge_requests(&hub), 1, "the one that the limit refused");
    let state = hub.forge.fetch(pr.number).unwrap().state;
    assert_eq!(state, PrState::Open);
}

#[test]
fn a_pull_request_that_the_queue_took_out_is_not_queued() {
    let hub = Hub::start();
    let pr = open(&hub);
    let other = CommitSha::new("a".repeat(40));
    let is_queued = |head| hub.forge.is_queued(pr.number, head).unwrap();
    assert!(!is_queued(&pr.head_sha));
    hub.simulator.require_merge_queue(REPO);
    assert_eq!(merge(&hub, &pr), MergeOutcome::Queued);
    assert!(is_queued(&pr.head_sha));
    assert!(!is_queued(&other), "another head");
    hub.simulator.fail_merge_queue(REPO);
    assert!(!is_queued(&pr.head_sha));
    let state = hub.forge.fetch(pr.number).unwrap().state;
    assert_eq!(state, PrState::Open);
}
