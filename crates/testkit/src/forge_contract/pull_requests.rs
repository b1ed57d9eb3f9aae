//! Contract of pull requests: opening, finding, changing and closing them.

use super::ForgeFixture;
use super::fixture::{new_pull_request, open};
use drive_core::forge::text::{self, BODY_CHARS};
use drive_core::forge::{Permission, PrState};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::Kind;
use drive_engine::ports::{CommitStatus, NewPullRequest, StatusState};

/// Opening again returns the existing pull request.
pub fn opening_twice_returns_the_same_pull_request(fixture: &dyn ForgeFixture) {
    let head = fixture.push("feat/login", "a.txt", "a\n");
    let new = new_pull_request("feat/login");
    let first = fixture.forge().open(&new).unwrap();
    let second = fixture.forge().open(&new).unwrap();
    assert_eq!(first.number, second.number);
    assert_eq!(
        (first.title, first.body, first.state, first.draft),
        (new.title, new.body, PrState::Open, false)
    );
    assert_eq!(
        (first.branch, first.base, first.head_sha),
        (new.branch, new.base, CommitSha::new(head))
    );
}

/// A branch for which no pull request was opened.
pub fn a_branch_without_pull_request_is_not_found(fixture: &dyn ForgeFixture) {
    fixture.push("feat/none", "a.txt", "a\n");
    assert_eq!(
        fixture
            .forge()
            .find(&BranchName::parse("feat/none").unwrap())
            .unwrap(),
        None
    );
    assert_eq!(
        fixture
            .forge()
            .find(&BranchName::parse("never/pushed").unwrap())
            .unwrap(),
        None
    );
}

/// A closed pull request is found until there is a newer one.
pub fn a_branch_is_found_in_its_newest_pull_request(fixture: &dyn ForgeFixture) {
    let first = open(fixture, "feat/again");
    fixture.forge().close(first.number).unwrap();
    let found = fixture
        .forge()
        .find(&BranchName::parse("feat/again").unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((found.number, found.state), (first.number, PrState::Closed));

    fixture.pass_time();
    let second = fixture
        .forge()
        .open(&new_pull_request("feat/again"))
        .unwrap();
    let found = fixture
        .forge()
        .find(&BranchName::parse("feat/again").unwrap())
        .unwrap()
        .unwrap();
    assert_ne!(first.number, second.number);
    assert_eq!((found.number, found.state), (second.number, PrState::Open));
}

/// A draft remains one until it is marked ready.
pub fn a_draft_becomes_ready_and_stays_ready(fixture: &dyn ForgeFixture) {
    fixture.push("feat/draft", "a.txt", "a\n");
    let new = NewPullRequest {
        draft: true,
        ..new_pull_request("feat/draft")
    };
    let pr = fixture.forge().open(&new).unwrap();
    assert!(pr.draft);
    fixture.forge().mark_ready(pr.number).unwrap();
    fixture.forge().mark_ready(pr.number).unwrap();
    assert!(!fixture.forge().fetch(pr.number).unwrap().draft);
}

/// The head is always the tip of the branch.
pub fn the_head_follows_a_push(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/push");
    let head = fixture.push("feat/push", "b.txt", "b\n");
    assert_ne!(pr.head_sha.as_str(), head);
    assert_eq!(
        fixture.forge().fetch(pr.number).unwrap().head_sha,
        CommitSha::new(head)
    );
}

/// The description is the one that was written last.
pub fn the_description_is_replaced(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/body");
    fixture
        .forge()
        .update_body(pr.number, "Something else.")
        .unwrap();
    let now = fixture.forge().fetch(pr.number).unwrap();
    assert_eq!(
        (now.title, now.body),
        (pr.title, "Something else.".to_owned())
    );
}

/// A forge limits the length of a description.
pub fn a_description_too_long_is_cut_with_a_note(fixture: &dyn ForgeFixture) {
    let head = fixture.push("feat/verbose", "a.txt", "a\n");
    let long = "ü".repeat(BODY_CHARS + 1);
    let new = NewPullRequest {
        body: long.clone(),
        ..new_pull_request("feat/verbose")
    };
    let pr = fixture.forge().open(&new).unwrap();
    assert_eq!(pr.head_sha, CommitSha::new(head));
    let cut = text::fit(&long, BODY_CHARS);
    assert_eq!(cut.chars().count(), BODY_CHARS);
    assert_eq!(fixture.forge().fetch(pr.number).unwrap().body, cut);
    let exact = "x".repeat(BODY_CHARS);
    fixture.forge().update_body(pr.number, &exact).unwrap();
    assert_eq!(fixture.forge().fetch(pr.number).unwrap().body, exact);
    fixture.forge().update_body(pr.number, &long).unwrap();
    assert_eq!(fixture.forge().fetch(pr.number).unwrap().body, cut);
}

/// Closing is final and can be repeated.
pub fn closing_twice_is_closing_once(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/close");
    fixture.forge().close(pr.number).unwrap();
    fixture.forge().close(pr.number).unwrap();
    assert_eq!(
        fixture.forge().fetch(pr.number).unwrap().state,
        PrState::Closed
    );
}

/// The problem names the missing pull request.
pub fn an_unknown_pull_request_is_a_typed_problem(fixture: &dyn ForgeFixture) {
    let problem = fixture.forge().fetch(PrNumber::new(4711)).unwrap_err();
    // A forge that hides what a token must not see cannot distinguish the two.
    let kinds = [Kind::PullRequestNotFound, Kind::ForgeNotFound];
    assert!(kinds.contains(&problem.kind), "{}", problem.kind);
    assert!(problem.message.contains("4711"), "{}", problem.message);
}

/// Permissions are those of the forge; an unknown person has none.
pub fn permissions_are_told_and_strangers_have_none(fixture: &dyn ForgeFixture) {
    let people = [
        ("ada", Permission::Admin),
        ("wim", Permission::Write),
        ("rita", Permission::Read),
    ];
    for (login, permission) in people {
        fixture.add_person(login, permission);
    }
    for (login, permission) in people {
        assert_eq!(fixture.forge().permission(login).unwrap(), permission);
    }
    assert_eq!(
        fixture.forge().permission("stranger").unwrap(),
        Permission::None
    );
}

/// A status replaces only one of the same context.
pub fn the_newest_status_of_a_context_counts(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/status");
    let say = |context, state| {
        let status = CommitStatus {
            context,
            state,
            description: "said by the suite",
            url: None,
        };
        fixture.forge().set_status(&pr.head_sha, &status).unwrap();
    };
    say("drive/review", StatusState::Pending);
    say("drive/verify", StatusState::Failure);
    say("drive/review", StatusState::Success);
    assert_eq!(
        fixture.statuses(&pr.head_sha),
        [
            ("drive/review".to_owned(), StatusState::Success),
            ("drive/verify".to_owned(), StatusState::Failure),
        ]
    );
}
