//! The forge contract, unchanged, on the GitHub adapter in front of the simulator.
#![allow(
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "tests fail by panicking, and share a support module"
)]

mod github_support;

drive_testkit::forge_contract!(crate::github_support::Hub::start);

#[test]
fn a_dismissed_approval_no_longer_stands() {
    use drive_core::forge::{Permission, ReviewState};
    use drive_engine::ports::{Forge, NewPullRequest};
    use drive_testkit::forge_contract::ForgeFixture;

    let hub = github_support::Hub::start();
    hub.add_person("wim", Permission::Write);
    hub.push("feat/x", "a.txt", "a\n");
    let new = NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        branch: "feat/x".to_owned(),
        base: "main".to_owned(),
        draft: false,
    };
    let pr = hub.forge.open(&new).unwrap().number;
    let review = hub.review("wim", pr, ReviewState::Approved, "");
    assert_eq!(hub.forge.approvals(pr).unwrap().len(), 1);
    hub.simulator.dismiss(github_support::REPO, review);
    assert_eq!(hub.forge.approvals(pr).unwrap(), []);
}
