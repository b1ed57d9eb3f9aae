//! Tests that a merge creates a real merge commit, and that a checkout is updated only when that is safe.

use crate::local_forge::world::World;
use drive_core::forge::{PrState, PullRequest};
use drive_core::ids::{BranchName, CommitSha};
use drive_engine::ports::{Forge, MergeOutcome, NewPullRequest};

fn merge(world: &World, pr: &PullRequest) -> MergeOutcome {
    world.forge.merge(pr.number, &pr.head_sha, None).unwrap()
}

fn refusal(world: &World, pr: &PullRequest) -> String {
    let before = world.git(["rev-parse", "main"]);
    let MergeOutcome::Refused { reason } = merge(world, pr) else {
        panic!("it was merged");
    };
    assert_eq!(world.git(["rev-parse", "main"]), before);
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Open);
    reason
}

#[test]
fn a_merge_has_both_parents_and_names_the_pull_request() {
    let world = World::bare();
    let pr = world.open("feat/merge");
    let base = world.push("main", "other.txt", "other\n");
    let outcome = merge(&world, &pr);
    let told = world.git(["log", "-1", "--format=%H|%P|%an|%s|%b", "main"]);
    let sha = world.git(["rev-parse", "main"]);
    assert_eq!(
        told,
        format!(
            "{sha}|{base} {}|Ann|Merge pull request 1 from feat/merge|Work on feat/merge",
            pr.head_sha
        )
    );
    assert_eq!(
        outcome,
        MergeOutcome::Merged {
            sha: Some(CommitSha::new(sha))
        }
    );
    let files = world.git(["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files, "README.md\nother.txt\nsrc/lib.rs");
}

#[test]
fn a_clean_checkout_of_the_base_follows() {
    let world = World::checked_out();
    let pr = world.open("feat/follow");
    world.write("notes.txt", "untracked\n");
    assert!(matches!(merge(&world, &pr), MergeOutcome::Merged { .. }));
    assert_eq!(world.git(["status", "--porcelain"]), "?? notes.txt");
    assert_eq!(
        world.file("src/lib.rs").as_deref(),
        Some("one\ntwo\nthree\nfour\nfive\n")
    );
}

#[test]
fn a_list_of_work_trees_that_fails_beside_an_add_is_asked_for_again() {
    let world = World::checked_out();
    let pr = world.open("feat/merge");
    let flag = world.repo.join(".git/asked-once");
    let forge = world.with_git(&format!(
        "case \"$*\" in *'worktree list'*) [ -e {flag:?} ] || {{ touch {flag:?}; echo 'fatal: failed to read .git/worktrees/x/commondir: Success' >&2; exit 128; }};; esac"
    ));
    let outcome = forge.merge(pr.number, &pr.head_sha, None).unwrap();
    let sha = world.git(["rev-parse", "main"]);
    assert_eq!(
        outcome,
        MergeOutcome::Merged {
            sha: Some(CommitSha::new(sha))
        }
    );
    assert!(flag.exists());
    assert!(world.file("src/lib.rs").is_some(), "the checkout follows");
}

#[test]
fn a_dirty_checkout_of_the_base_refuses() {
    let world = World::checked_out();
    let pr = world.open("feat/dirty");
    world.write("README.md", "my own words\n");
    let reason = refusal(&world, &pr);
    let at = world.repo.display();
    assert_eq!(
        reason,
        format!("its base `main` is checked out at `{at}` with uncommitted changes")
    );
    world.git(["add", "README.md"]);
    assert_eq!(refusal(&world, &pr), reason);
    assert_eq!(world.file("README.md").as_deref(), Some("my own words\n"));
}

#[test]
fn an_untracked_file_in_the_way_refuses_and_stays() {
    let world = World::checked_out();
    let pr = world.open("feat/untracked");
    std::fs::create_dir(world.repo.join("src")).unwrap();
    world.write("src/lib.rs", "mine\n");
    let reason = refusal(&world, &pr);
    assert!(reason.contains("cannot update the checkout"), "{reason}");
    assert_eq!(world.file("src/lib.rs").as_deref(), Some("mine\n"));
}

#[test]
fn a_checkout_in_another_worktree_follows_too() {
    let world = World::checked_out();
    world.git(["switch", "-q", "-c", "elsewhere"]);
    world.git(["worktree", "add", "-q", "../second", "main"]);
    let pr = world.open("feat/second");
    assert!(matches!(merge(&world, &pr), MergeOutcome::Merged { .. }));
    assert_eq!(world.git(["-C", "../second", "status", "--porcelain"]), "");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(world.file("../second/src/lib.rs").is_some());
    assert!(world.file("src/lib.rs").is_none());
}

#[test]
fn a_merge_half_done_by_hand_refuses() {
    let world = World::checked_out();
    let pr = world.open("feat/half");
    world.git(["merge", "-q", "--no-ff", "--no-commit", "feat/half"]);
    let reason = refusal(&world, &pr);
    assert!(reason.ends_with("with a merge in progress"), "{reason}");
}

#[test]
fn files_that_go_through_a_filter_are_left_to_their_owner() {
    let world = World::checked_out();
    world.push("main", ".gitattributes", "*.bin filter=lfs\n");
    world.git(["reset", "-q", "--hard", "main"]);
    let pr = world.open("feat/filter");
    let reason = refusal(&world, &pr);
    assert!(reason.contains("`lfs`"), "{reason}");
}

#[test]
fn a_conflict_names_its_files() {
    let world = World::bare();
    let pr = world.open("feat/conflict");
    world.push("main", "src/lib.rs", "different\n");
    assert_eq!(
        refusal(&world, &pr),
        "it conflicts with `main` in `src/lib.rs`"
    );
}

#[test]
fn a_draft_is_not_merged() {
    let world = World::bare();
    world.push("feat/draft", "a.txt", "a\n");
    let new = NewPullRequest {
        title: "Draft".to_owned(),
        body: String::new(),
        branch: BranchName::parse("feat/draft").unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: true,
    };
    let pr = world.forge.open(&new).unwrap();
    assert_eq!(refusal(&world, &pr), "pull request 1 is a draft");
}

#[test]
fn hooks_of_the_repository_do_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::checked_out();
    let pr = world.open("feat/hooks");
    for hook in ["post-merge", "reference-transaction", "post-checkout"] {
        let path = world.repo.join(".git/hooks").join(hook);
        std::fs::write(&path, "#!/bin/sh\ntouch \"$HOME/ran\"\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    assert!(matches!(merge(&world, &pr), MergeOutcome::Merged { .. }));
    assert_eq!(world.file("../home/ran"), None);
}

#[test]
fn a_merge_whose_record_was_lost_is_found_again() {
    let world = World::bare();
    let pr = world.open("feat/crash");
    let MergeOutcome::Merged { sha } = merge(&world, &pr) else {
        panic!("it was not merged");
    };
    // As if the process had died between moving the base and recording that.
    let database = world.database();
    database
        .execute(
            "UPDATE local_pull_requests SET state = 'open', merge_sha = NULL",
            [],
        )
        .unwrap();
    assert_eq!(merge(&world, &pr), MergeOutcome::Merged { sha });
    let merges = world.git(["rev-list", "--merges", "--count", "main"]);
    assert_eq!(merges, "1");
}

#[test]
fn a_merge_that_is_stopped_in_the_last_moment_changes_nothing() {
    let world = World::bare();
    let pr = world.open("feat/x");
    let outcome = world
        .forge
        .merge_if(pr.number, &pr.head_sha, None, &mut || Ok(false));
    assert_eq!(outcome.unwrap(), MergeOutcome::Stopped);
    assert_eq!(world.forge.fetch(pr.number).unwrap().state, PrState::Open);
    assert!(matches!(merge(&world, &pr), MergeOutcome::Merged { .. }));
}
