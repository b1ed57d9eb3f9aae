//! Tests that several processes share one forge, and that nothing is lost between a write and a poll.

use crate::local_forge::world::World;
use drive_adapters::forge::local::{CommentTarget, PersonalComment};
use drive_core::ids::CommitSha;
use drive_core::time::Timestamp;
use drive_engine::ports::{Forge, MergeOutcome, Post, Since};
use std::collections::BTreeSet;

#[test]
fn a_poller_that_only_follows_its_cursor_sees_every_comment_once() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 15;
    let world = World::bare();
    let pr = world.open("feat/busy").number;
    let said = PersonalComment {
        author: Some("wim"),
        body: "hello",
        target: CommentTarget::Conversation,
    };
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (forge, said) = (world.another(), said.clone());
                scope.spawn(move || {
                    for _ in 0..EACH {
                        forge.comment(pr, &said).unwrap();
                    }
                })
            })
            .collect();
        let mut since = Since(None);
        loop {
            let ended = writers.iter().all(|writer| writer.is_finished());
            let polled = world.forge.poll(&[pr], since).unwrap();
            seen.extend(polled.comments.iter().map(|comment| comment.key.id.get()));
            since = polled.next;
            if ended {
                break;
            }
        }
    });
    let distinct: BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!(distinct, (1..=WRITERS * EACH).collect());
    assert_eq!(seen.len(), distinct.len());
}

#[test]
fn the_same_marker_from_two_processes_posts_once() {
    let world = World::bare();
    let pr = world.open("feat/twins").number;
    let post = Post {
        body: "done",
        marker: "<!-- drive:test -->",
    };
    let posted: Vec<_> = std::thread::scope(|scope| {
        let twins: Vec<_> = (0..4)
            .map(|_| {
                let forge = world.another();
                scope.spawn(move || forge.post(pr, post).unwrap().comment)
            })
            .collect();
        twins.into_iter().map(|twin| twin.join().unwrap()).collect()
    });
    assert_eq!(posted.iter().collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(world.forge.comments(pr).unwrap().len(), 1);
}

#[test]
fn a_clock_that_is_set_back_does_not_hide_a_comment() {
    let world = World::bare();
    let pr = world.open("feat/clock").number;
    world.say(pr, "before", CommentTarget::Conversation);
    let first = world.forge.poll(&[pr], Since(None)).unwrap();
    world.clock.set(Timestamp::UNIX_EPOCH);
    let late = world.say(pr, "after", CommentTarget::Conversation);
    let second = world.forge.poll(&[pr], first.next).unwrap();
    let seen: Vec<_> = second.comments.iter().map(|c| c.key.comment()).collect();
    assert_eq!(seen, [late]);
    assert!(second.next.0 > first.next.0);
}

#[test]
fn two_processes_that_merge_together_merge_once() {
    let world = World::bare();
    let pr = world.open("feat/both");
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let twins: Vec<_> = (0..3)
            .map(|_| {
                let forge = world.another();
                let head = pr.head_sha.clone();
                scope.spawn(move || forge.merge(pr.number, &head, None).unwrap())
            })
            .collect();
        twins.into_iter().map(|twin| twin.join().unwrap()).collect()
    });
    let merges = world.git(["rev-list", "--merges", "--count", "main"]);
    assert_eq!(merges, "1", "{outcomes:?}");
}

#[test]
fn pull_requests_merged_at_once_wait_for_each_other_and_leave_the_checkout_clean() {
    const MERGES: usize = 4;
    let world = World::checked_out();
    let opened: Vec<_> = (0..MERGES)
        .map(|n| {
            let branch = format!("feat/{n}");
            world.push(&branch, &format!("file-{n}.txt"), "new\n");
            world.open_as_is(&branch)
        })
        .collect();
    let outcomes: Vec<MergeOutcome> = std::thread::scope(|scope| {
        let mergers: Vec<_> = opened
            .iter()
            .map(|pr| {
                let forge = world.another();
                scope.spawn(move || forge.merge(pr.number, &pr.head_sha, None).unwrap())
            })
            .collect();
        let outcomes = mergers.into_iter().map(|merger| merger.join().unwrap());
        outcomes.collect()
    });
    for outcome in &outcomes {
        assert!(
            matches!(outcome, MergeOutcome::Merged { .. }),
            "{outcome:?}"
        );
    }
    let merges = world.git(["rev-list", "--count", "--merges", "main"]);
    assert_eq!(merges, MERGES.to_string());
    assert_eq!(world.git(["status", "--porcelain"]), "");
    for n in 0..MERGES {
        assert_eq!(
            world.file(&format!("file-{n}.txt")).as_deref(),
            Some("new\n")
        );
    }
}

#[test]
fn of_merges_that_expect_the_same_base_one_merges_and_the_others_say_that_it_moved() {
    const MERGES: usize = 4;
    let world = World::checked_out();
    let opened: Vec<_> = (0..MERGES)
        .map(|n| {
            let branch = format!("feat/{n}");
            world.push(&branch, &format!("file-{n}.txt"), "new\n");
            world.open_as_is(&branch)
        })
        .collect();
    let base = CommitSha::new(world.git(["rev-parse", "main"]));
    let outcomes: Vec<MergeOutcome> = std::thread::scope(|scope| {
        let mergers: Vec<_> = opened
            .iter()
            .map(|pr| {
                let (forge, base) = (world.another(), Some(&base));
                scope.spawn(move || forge.merge(pr.number, &pr.head_sha, base).unwrap())
            })
            .collect();
        let outcomes = mergers.into_iter().map(|merger| merger.join().unwrap());
        outcomes.collect()
    });
    let moved = outcomes
        .iter()
        .filter(|one| **one == MergeOutcome::BaseMoved);
    assert_eq!(moved.count(), MERGES - 1, "{outcomes:?}");
    let (first, tip) = (
        world.git(["rev-parse", "main^1"]),
        world.git(["rev-parse", "main"]),
    );
    assert_eq!(CommitSha::new(first), base);
    // The merged one reports the merge again, whatever base is expected.
    let merged = outcomes
        .iter()
        .position(|one| *one != MergeOutcome::BaseMoved);
    let pr = &opened[merged.unwrap()];
    let again = world
        .forge
        .merge(pr.number, &pr.head_sha, Some(&base))
        .unwrap();
    let sha = Some(CommitSha::new(tip));
    assert_eq!(again, MergeOutcome::Merged { sha });
}
