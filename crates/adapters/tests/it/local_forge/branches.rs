//! Tests that pull requests follow their branches, whoever moved them.

use crate::local_forge::world::World;
use drive_core::forge::PrState;
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::Kind;
use drive_engine::ports::{Forge, MergeOutcome, NewPullRequest, Since};

#[test]
fn a_commit_made_by_hand_is_seen_by_the_next_poll() {
    let world = World::bare();
    let pr = world.open("feat/push");
    let before = world.forge.poll(&[pr.number], Since(None)).unwrap();
    let head = world.push("feat/push", "b.txt", "b\n");
    let after = world.forge.poll(&[pr.number], before.next).unwrap();
    let seen: Vec<_> = after
        .pull_requests
        .into_iter()
        .map(|pr| pr.head_sha)
        .collect();
    assert_eq!(seen, [CommitSha::new(head)]);
    let quiet = world.forge.poll(&[pr.number], after.next).unwrap();
    assert_eq!((quiet.pull_requests, quiet.next), (vec![], after.next));
}

#[test]
fn among_many_pull_requests_each_follows_its_own_branch() {
    let world = World::bare();
    let first = world.open("feat/0");
    for number in 1..60 {
        world.git(["branch", &format!("feat/{number}"), &first.head_sha]);
        world.open_as_is(&format!("feat/{number}"));
    }
    world.git(["branch", "nobodys", &first.head_sha]);
    let watched: Vec<PrNumber> = (1..=60).map(PrNumber::new).collect();
    let before = world.forge.poll(&watched, Since(None)).unwrap();
    assert_eq!(before.pull_requests.len(), 60);
    let head = world.push("feat/42", "b.txt", "b\n");
    let after = world.forge.poll(&watched, before.next).unwrap();
    let moved: Vec<_> = after
        .pull_requests
        .into_iter()
        .map(|pr| (pr.branch, pr.head_sha))
        .collect();
    assert_eq!(
        moved,
        [(BranchName::parse("feat/42").unwrap(), CommitSha::new(head))]
    );
}

#[test]
fn a_merge_made_by_hand_is_a_merge() {
    let world = World::checked_out();
    let pr = world.open("feat/byhand");
    world.git(["merge", "-q", "--no-ff", "-m", "by hand", "feat/byhand"]);
    let merge = world.git(["rev-parse", "main"]);
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Merged);
    let again = world.forge.merge(pr.number, &pr.head_sha, None).unwrap();
    assert_eq!(
        again,
        drive_engine::ports::MergeOutcome::Merged {
            sha: Some(CommitSha::new(merge))
        }
    );
}

#[test]
fn a_fast_forward_made_by_hand_is_a_merge() {
    let world = World::checked_out();
    let pr = world.open("feat/ff");
    let later = world.push("feat/ff", "c.txt", "c\n");
    world.git(["merge", "-q", "--ff-only", "feat/ff"]);
    let now = world.forge.fetch(pr.number).unwrap();
    assert_eq!(
        (now.state, now.head_sha),
        (PrState::Merged, CommitSha::new(later))
    );
}

#[test]
fn a_squash_made_by_hand_is_a_merge_even_after_the_branch_was_deleted() {
    let world = World::checked_out();
    let pr = world.open("feat/squash");
    let head = world.push("feat/squash", "second.txt", "second\n");
    world.push("main", "other.txt", "other\n");
    world.git(["reset", "-q", "--hard", "main"]);
    world.git(["merge", "-q", "--squash", "feat/squash"]);
    world.git(["commit", "-q", "-m", "all at once"]);
    let squashed = world.git(["rev-parse", "main"]);
    world.push("main", "later.txt", "later\n");
    assert_eq!(
        seen(&world, pr.number),
        (PrState::Merged, head, Some(squashed))
    );

    let pr = {
        world.push("feat/deleted", "gone.txt", "gone\n");
        world.open_as_is("feat/deleted")
    };
    world.git(["reset", "-q", "--hard", "main"]);
    world.git(["merge", "-q", "--squash", "feat/deleted"]);
    world.git(["commit", "-q", "-m", "and gone"]);
    world.git(["branch", "-q", "-D", "feat/deleted"]);
    let squashed = world.git(["rev-parse", "main"]);
    assert_eq!(
        seen(&world, pr.number),
        (PrState::Merged, pr.head_sha.to_string(), Some(squashed))
    );
}

#[test]
fn commits_picked_one_by_one_are_a_merge_with_the_last_of_them() {
    let world = World::checked_out();
    let pr = world.open("feat/picked");
    world.push("feat/picked", "second.txt", "second\n");
    world.push("main", "other.txt", "other\n");
    world.git(["reset", "-q", "--hard", "main"]);
    world.git(["cherry-pick", "feat/picked~1"]);
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Open);
    world.git(["cherry-pick", "feat/picked"]);
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Merged);
}

#[test]
fn a_squash_that_changed_something_on_the_way_proves_nothing() {
    let world = World::checked_out();
    let pr = world.open("feat/amended");
    world.git(["merge", "-q", "--squash", "feat/amended"]);
    world.write("src/lib.rs", "one\ntwo\nthree\n");
    world.git(["commit", "-q", "-a", "-m", "most of it"]);
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Open);
}

#[test]
fn an_unrelated_or_empty_commit_on_the_base_is_not_a_merge() {
    let world = World::checked_out();
    let pr = world.open("feat/open");
    world.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
    world.push("main", "other.txt", "other\n");
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Open);

    // A branch whose work cancels out merges to nothing, and so does an empty commit.
    let nothing = world.open("feat/nothing");
    world.push("feat/nothing", "src/lib.rs", "");
    let tree = world.git(["rev-parse", "main^{tree}"]);
    let zero = world.git(["commit-tree", "-p", "main", "-m", "zero", &tree]);
    world.git(["update-ref", "refs/heads/feat/nothing", &zero]);
    world.forge.fetch(nothing.number).unwrap();
    world.git(["reset", "-q", "--hard", "main"]);
    world.git(["commit", "-q", "--allow-empty", "-m", "nothing again"]);
    assert_eq!(
        world.forge.fetch(nothing.number).unwrap().state,
        PrState::Open
    );
}

#[test]
fn a_head_that_git_no_longer_has_stays_open() {
    let world = World::checked_out();
    let pr = world.open("feat/collected");
    world.git(["update-ref", "-d", "refs/heads/feat/collected"]);
    world.git(["reflog", "expire", "--expire=now", "--all"]);
    world.git(["gc", "-q", "--prune=now"]);
    world.push("main", "other.txt", "other\n");
    assert_eq!(world.forge.list().unwrap()[0].state, PrState::Open);
    assert_eq!(world.forge.list().unwrap()[0].head_sha, pr.head_sha);
}

/// State, head, and the commit on the base.
fn seen(world: &World, pr: PrNumber) -> (PrState, String, Option<String>) {
    let now = world.forge.fetch(pr).unwrap();
    let merged = world.forge.merge(pr, &now.head_sha, None).unwrap();
    let drive_engine::ports::MergeOutcome::Merged { sha } = merged else {
        return (now.state, now.head_sha.to_string(), None);
    };
    (
        now.state,
        now.head_sha.to_string(),
        sha.as_deref().map(str::to_owned),
    )
}

#[test]
fn a_branch_reset_to_its_base_is_not_a_merge() {
    let world = World::bare();
    let pr = world.open("feat/reset");
    let base = world.push("main", "other.txt", "other\n");
    world.git(["update-ref", "refs/heads/feat/reset", &base]);
    let now = world.forge.fetch(pr.number).unwrap();
    assert_eq!(
        (now.state, now.head_sha),
        (PrState::Open, CommitSha::new(base))
    );
}

#[test]
fn a_branch_that_is_gone_keeps_its_last_head() {
    let world = World::bare();
    let pr = world.open("feat/gone");
    world.git(["update-ref", "-d", "refs/heads/feat/gone"]);
    let now = world.forge.fetch(pr.number).unwrap();
    assert_eq!((now.state, now.head_sha), (PrState::Open, pr.head_sha));
}

#[test]
fn a_pull_request_needs_a_branch_a_base_and_a_commit_between_them() {
    let world = World::bare();
    world.git(["branch", "feat/same", "main"]);
    world.push("feat/work", "a.txt", "a\n");
    let open = |branch: &str, base: &str| {
        let new = NewPullRequest {
            title: "Work".to_owned(),
            body: String::new(),
            branch: BranchName::parse(branch).unwrap(),
            base: BranchName::parse(base).unwrap(),
            draft: false,
        };
        world
            .forge
            .open(&new)
            .map(|pr| pr.number)
            .map_err(|problem| problem.kind)
    };
    assert_eq!(open("feat/never", "main"), Err(Kind::BranchNotFound));
    assert_eq!(open("feat/work", "develop"), Err(Kind::BranchNotFound));
    assert_eq!(open("feat/same", "main"), Err(Kind::NoCommits));
    let unrelated = world.git(["commit-tree", "main^{tree}", "-m", "Another beginning"]);
    world.git(["branch", "feat/unrelated", &unrelated]);
    assert_eq!(open("feat/unrelated", "main"), Err(Kind::HistoryUnrelated));
    assert_eq!(open("feat/work", "main"), Ok(PrNumber::new(1)));
}

#[test]
fn a_head_that_was_replaced_by_an_unrelated_history_is_not_merged() {
    let world = World::bare();
    let pr = world.open("feat/work").number;
    let unrelated = world.git(["commit-tree", "feat/work^{tree}", "-m", "Another beginning"]);
    world.git(["update-ref", "refs/heads/feat/work", &unrelated]);
    assert_eq!(world.forge.fetch(pr).unwrap().mergeable, Some(false));
    assert_eq!(
        world
            .forge
            .merge(pr, &CommitSha::new(&unrelated), None)
            .unwrap(),
        MergeOutcome::Refused {
            reason: "it shares no commit with `main`".to_owned()
        }
    );
}

#[test]
fn two_repositories_of_one_database_do_not_mix() {
    let (one, other) = (World::bare(), World::bare());
    one.open("feat/one");
    assert_eq!(one.forge.list().unwrap().len(), 1);
    assert_eq!(other.forge.list().unwrap().len(), 0);
}
