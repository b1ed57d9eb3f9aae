//! Tests a team whose branch or base moves.

use crate::common::{agent_ended, at, conflicted, integrated, team_request};
use crate::team_step::scene::{APPROVED, Scene, end};
use drive_core::agent::{Failure, Role};
use drive_core::ids::{BranchName, CommitSha, RemoteName};
use drive_core::problem::{Kind, Problem};
use drive_core::process::TimeBound;
use drive_core::review::LastWord;
use drive_core::run::{
    AgentJob, BranchAt, Effect, EffectResult, Flow, MergeWhen, OutcomeStatus, Run,
};
use drive_core::settings::TeamMode;

const MOVED: EffectResult = EffectResult::BranchMoved { remote_head: None };

fn origin(branch: &str) -> BranchAt {
    BranchAt {
        remote: Some(RemoteName::parse("origin").unwrap()),
        branch: BranchName::parse(branch).unwrap(),
    }
}

/// The team's effects on its branch, in order.
fn branch_work(scene: &Scene) -> Vec<&'static str> {
    let about = ["push", "integrate", "concludeMerge", "rollBack"];
    let names = scene.performed.iter().map(Effect::name);
    names.filter(|name| about.contains(name)).collect()
}

fn mergers(scene: &Scene) -> Vec<&AgentJob> {
    let all = scene.jobs.iter();
    all.filter(|job| !job.input.conflicts.is_empty()).collect()
}

fn fly(scene: &mut Scene) -> Run {
    scene.fly(team_request(TeamMode::Pingpong))
}

#[test]
fn commits_that_others_pushed_are_merged_and_the_push_is_tried_again() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [MOVED]);
    scene.answers("integrate", [integrated('f')]);
    let run = fly(&mut scene);
    assert_eq!(
        branch_work(&scene),
        ["push", "integrate", "push", "integrate"]
    );
    let integrates: Vec<&Effect> = scene.performed_as("integrate");
    let merged = |from, when| Effect::Integrate {
        sandbox: crate::common::sandbox().id,
        from,
        when,
        base: Some(origin("main")),
        published: None,
    };
    assert_eq!(
        integrates,
        [
            &merged(origin("drive/fix-the-login"), MergeWhen::Always),
            &merged(origin("main"), MergeWhen::Conflicting),
        ]
    );
    let pushed = scene.performed_as("push");
    assert!(
        matches!(pushed[1], Effect::Push { head_sha, .. } if *head_sha == CommitSha::new("f".repeat(40)))
    );
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(run.work.base_sha, Some(CommitSha::new("e".repeat(40))));
}

#[test]
fn a_branch_that_moves_at_every_push_ends_with_a_person_asked_and_the_work_kept() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [MOVED; 10]);
    scene.answers("integrate", ['1', '2', '3', '4'].map(integrated));
    let run = fly(&mut scene);
    assert_eq!(
        end(&run),
        (OutcomeStatus::NeedsHuman, Some(Kind::BranchMoved), None)
    );
    assert_eq!(scene.performed_as("push").len(), 4);
    assert_eq!(run.work.head_sha, Some(CommitSha::new("3".repeat(40))));
}

fn moved_in_review() -> EffectResult {
    let problem = Problem::new(Kind::BranchMoved, "somebody committed during the review");
    EffectResult::Failed { problem }
}

#[test]
fn a_branch_that_moves_during_a_review_is_taken_as_it_is_and_its_new_head_is_reviewed() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.reviews.push_front(moved_in_review());
    let run = fly(&mut scene);
    // The coder's commit, then the person's, with those of the remote.
    assert_eq!(
        branch_work(&scene),
        ["push", "integrate", "push", "integrate"]
    );
    let diffs = scene.performed_as("readDiff");
    let heads = [format!("{:040}", 1), format!("{:040}", 2)].map(CommitSha::new);
    let [first, second] = diffs[..] else {
        panic!("two reviews: {diffs:?}")
    };
    for (diff, expected) in [first, second].into_iter().zip(&heads) {
        assert!(matches!(diff, Effect::ReadDiff { head, .. } if head == expected));
    }
    // The reviews of the earlier commit do not count.
    let Flow::Phase { phase } = &run.flow else {
        panic!("a team")
    };
    let reviews = &phase.record.reviews;
    assert_eq!(
        (reviews.len(), &reviews[0].head),
        (1, &Some(heads[1].clone()))
    );
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::Approved))
    );
}

#[test]
fn a_branch_that_moves_during_every_review_ends_without_a_verdict() {
    let mut scene = Scene {
        reviews: [moved_in_review()].into(),
        ..Scene::default()
    };
    let run = fly(&mut scene);
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some(Kind::ReviewInconclusive),
            Some(LastWord::Inconclusive)
        )
    );
}

#[test]
fn conflicts_with_what_others_pushed_become_a_round_of_the_coder() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [MOVED]);
    scene.answers("integrate", [conflicted()]);
    scene.answers("concludeMerge", [integrated('f')]);
    let run = fly(&mut scene);
    assert_eq!(
        branch_work(&scene)[..4],
        ["push", "integrate", "concludeMerge", "push"]
    );
    let [job] = mergers(&scene)[..] else {
        panic!("one round")
    };
    assert_eq!((job.role, job.round), (Role::Fixer, 1));
    assert_eq!(job.input.conflicts, ["src/login.rs"]);
    assert!(
        job.prompt.contains("origin/drive/fix-the-login"),
        "{}",
        job.prompt
    );
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn conflicts_nobody_can_resolve_are_tried_twice_rolled_back_and_shown_to_a_person() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [MOVED]);
    scene.answers("integrate", [conflicted()]);
    scene.answers("concludeMerge", [conflicted(), conflicted()]);
    let run = fly(&mut scene);
    assert_eq!(
        branch_work(&scene),
        [
            "push",
            "integrate",
            "concludeMerge",
            "concludeMerge",
            "rollBack"
        ]
    );
    let rounds: Vec<u32> = mergers(&scene).iter().map(|job| job.round).collect();
    assert_eq!(rounds, [1, 2]);
    assert_eq!(
        scene.performed_as("rollBack"),
        [&Effect::RollBack {
            sandbox: crate::common::sandbox().id,
            to: CommitSha::new("b".repeat(40)),
        }]
    );
    let outcome = run.outcome.as_ref().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::NeedsHuman);
    assert_eq!(
        outcome.failure.as_ref().unwrap().message,
        "no agent resolved the conflict with `origin/drive/fix-the-login` in `src/login.rs`"
    );
    // The agent's attempt, and the contents of the sandbox when it was removed.
    assert_eq!(run.kept.len(), 2);
}

#[test]
fn a_model_that_is_away_while_conflicts_are_resolved_costs_time_and_no_try() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [MOVED]);
    scene.answers("integrate", std::iter::repeat_n(conflicted(), 5));
    scene.answers("concludeMerge", [conflicted(), integrated('f')]);
    let away = || agent_ended(Some(Failure::Model { status: Some(529) }));
    scene.agents = [away(), away(), agent_ended(None), away(), away()].into();
    let run = fly(&mut scene);
    let held = ["rollBack", "integrate"];
    let expected = [
        &["push", "integrate"][..],
        &held,
        &held,
        &["concludeMerge"],
        &held,
        &held,
        &["concludeMerge", "push", "integrate"],
    ];
    assert_eq!(branch_work(&scene), expected.concat());
    let rounds: Vec<u32> = mergers(&scene).iter().map(|job| job.round).collect();
    assert_eq!(rounds, [1, 1, 1, 2, 2, 2]);
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::Approved))
    );
}

#[test]
fn files_of_an_agent_that_was_cut_short_are_no_resolution_of_conflicts() {
    let bound = TimeBound::Idle;
    for failure in [Failure::TimedOut { bound }, Failure::OutputLimit] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.answers("push", [MOVED]);
        scene.answers("integrate", [conflicted(), conflicted()]);
        scene.answers("concludeMerge", [integrated('f')]);
        scene.agents = [agent_ended(Some(failure)), agent_ended(None)].into();
        let run = fly(&mut scene);
        let restarted = ["push", "integrate", "rollBack", "integrate"];
        let expected = [&restarted[..], &["concludeMerge", "push", "integrate"]];
        assert_eq!(branch_work(&scene), expected.concat());
        let rounds: Vec<u32> = mergers(&scene).iter().map(|job| job.round).collect();
        assert_eq!(rounds, [1, 2]);
        assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    }
}

#[test]
fn a_usage_limit_that_ends_too_late_ends_the_resolution_of_conflicts_and_is_told() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [MOVED]);
    scene.answers("integrate", [conflicted()]);
    let resets_at = Some(at(7 * 3600));
    scene.agents = [agent_ended(Some(Failure::UsageLimit { resets_at }))].into();
    let run = fly(&mut scene);
    assert_eq!(branch_work(&scene), ["push", "integrate", "rollBack"]);
    assert_eq!(
        end(&run),
        (OutcomeStatus::NeedsHuman, Some(Kind::AgentUsageLimit), None)
    );
}

#[test]
fn a_base_that_can_still_be_merged_is_left_alone() {
    for mode in [TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = scene.fly(team_request(mode));
        assert_eq!(branch_work(&scene), ["push", "integrate"], "{mode:?}");
        assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    }
}

#[test]
fn a_conflict_with_the_base_becomes_a_round_of_the_coder_before_the_end() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("integrate", [conflicted()]);
    scene.answers("concludeMerge", [integrated('f')]);
    let run = fly(&mut scene);
    assert_eq!(
        branch_work(&scene),
        ["push", "integrate", "concludeMerge", "push", "integrate"]
    );
    assert_eq!(mergers(&scene).len(), 1);
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    assert_eq!(run.work.head_sha, Some(CommitSha::new("f".repeat(40))));
}

#[test]
fn a_conflict_with_the_base_that_stays_leaves_the_approval_and_asks_a_person() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("integrate", [conflicted()]);
    scene.answers("concludeMerge", [conflicted(), conflicted()]);
    let run = fly(&mut scene);
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some(Kind::MergeConflict),
            Some(LastWord::Approved)
        )
    );
}

#[test]
fn a_conflict_after_the_last_review_leaves_no_approval_of_a_commit_nobody_saw() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("push", [EffectResult::Pushed, MOVED]);
    scene.answers("integrate", [conflicted(), conflicted()]);
    let resolved = [integrated('f'), conflicted(), conflicted()];
    scene.answers("concludeMerge", resolved);
    let run = fly(&mut scene);
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some(Kind::MergeConflict),
            Some(LastWord::NeedsChanges)
        )
    );
}

#[test]
fn a_base_that_moves_for_ever_does_not_keep_the_team_for_ever() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("integrate", ['1', '2', '3', '4', '5'].map(integrated));
    let run = fly(&mut scene);
    // Each domain is reviewed at most twice, so the third commit is not reviewed.
    assert_eq!(scene.performed_as("integrate").len(), 2);
    assert_eq!(end(&run).2, Some(LastWord::NeedsChanges));
}
