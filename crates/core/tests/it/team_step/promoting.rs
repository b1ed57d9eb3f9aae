//! Tests that what is merged was verified, both alone and merged with its base.

use crate::common::verification::{base, failed, passed, tree, verified};
use crate::common::{at, problem, run_id, sandbox, team_request};
use crate::team_step::ending::merging;
use crate::team_step::scene::{APPROVED, Scene, end, team};
use drive_core::ids::{BranchName, CommitSha, PrNumber, RemoteName, TreeSha};
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{
    BranchAt, Effect, EffectResult, Event, ForgeAct, ForgeAnswer, Judged, LandedAs, OutcomeStatus,
    Run, VerifiedAgainst, fold, step,
};
use drive_core::settings::TeamMode;
use drive_core::verify::{FailureCategory, Overall, RulesFrom, Verification, render};

const MODES: [TeamMode; 3] = [TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github];

fn origin_main() -> BranchAt {
    BranchAt {
        remote: Some(RemoteName::parse("origin").unwrap()),
        branch: BranchName::parse("main").unwrap(),
    }
}

fn on_forge(answer: ForgeAnswer) -> EffectResult {
    EffectResult::OnForge { answer }
}

fn is_unmerged(run: &Run, scene: &Scene) -> bool {
    scene.performed_as("merge").is_empty()
        && team(run).merged.is_none()
        && end(run)
            == (
                OutcomeStatus::NeedsHuman,
                Some(Kind::NotMerged),
                Some(LastWord::Approved),
            )
}

/// The last commit of a team with one coder and an approving reviewer.
fn head() -> String {
    format!("{:040}", 1)
}

#[test]
fn what_is_merged_was_verified_first_in_every_mode() {
    for mode in MODES {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = scene.fly(merging(mode));
        let of_interest = ["verify", "merge", "checkLanded", "removeSandbox"];
        let last: Vec<Effect> = scene
            .performed
            .iter()
            .filter(|effect| of_interest.contains(&effect.name()))
            .cloned()
            .collect();
        let verify = Effect::Verify {
            head: CommitSha::new(head()),
            base: origin_main(),
            rules: None,
        };
        let merge = Effect::OnForge {
            pr: PrNumber::new(7),
            act: ForgeAct::Merge {
                head: CommitSha::new(head()),
                verified: Some(VerifiedAgainst {
                    base: origin_main(),
                    sha: CommitSha::new(base()),
                    protected: Vec::new(),
                }),
            },
            idempotency_key: None,
        };
        let check = Effect::CheckLanded {
            landed: Some(CommitSha::new("9".repeat(40))),
            base: origin_main(),
            base_sha: CommitSha::new(base()),
            tree: TreeSha::parse(&tree()).unwrap(),
        };
        let remove = Effect::RemoveSandbox {
            sandbox: sandbox().id,
        };
        assert_eq!(last, [verify, merge, check, remove], "{mode:?}");
        let judged = Judged {
            run_id: run_id(),
            overall: Overall::Pass,
            head_sha: CommitSha::new(head()),
            base_sha: CommitSha::new(base()),
            tree_sha: TreeSha::parse(&tree()),
            why: None,
        };
        assert_eq!(team(&run).judged, Some(judged));
        assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    }
}

#[test]
fn nothing_is_verified_where_nothing_is_to_be_merged() {
    for mode in MODES {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.fly(team_request(mode));
        assert_eq!(scene.performed_as("verify"), Vec::<&Effect>::new());
    }
}

#[test]
fn what_does_not_pass_is_not_merged_and_the_pull_request_says_why() {
    for mode in MODES {
        let mut scene = Scene::reviews(&[APPROVED]);
        let report = failed(&head(), &base());
        scene.answers("verify", [verified(report.clone())]);
        let run = scene.fly(merging(mode));
        assert!(is_unmerged(&run, &scene), "{mode:?} {:?}", end(&run));
        let comment = Effect::OnForge {
            pr: PrNumber::new(7),
            act: ForgeAct::PostComment {
                body: render::markdown(&report),
            },
            idempotency_key: None,
        };
        assert_eq!(
            scene.performed.iter().filter(|e| **e == comment).count(),
            1,
            "{:?}",
            scene.told
        );
        let (head, base) = (head(), base());
        let why = "test: targeted tests (all): exit code 1";
        let acts = || {
            scene.performed.iter().filter_map(|effect| match effect {
                Effect::OnForge { act, .. } => Some(act),
                _ => None,
            })
        };
        let mut statuses = acts().filter_map(|act| match act {
            ForgeAct::SetStatus {
                passed,
                description,
                ..
            } => Some((*passed, description)),
            _ => None,
        });
        let red = format!("verification failed: {why}");
        let expected = (mode == TeamMode::Github).then_some((false, &red));
        assert_eq!(statuses.next_back(), expected, "{mode:?}");
        let mut bodies = acts().filter_map(|act| match act {
            ForgeAct::UpdateBody { body } => Some(body),
            _ => None,
        });
        let (head, base) = (&head[..10], &base[..10]);
        let named =
            format!("**Failed verification** at `{head}` against `{base}`: {why}. Reproduce");
        assert!(bodies.next_back().unwrap().contains(&named), "{mode:?}");
        let failure = run.outcome.unwrap().failure.unwrap();
        assert_eq!(
            (failure.message, failure.hint),
            (
                format!("the pull request was not merged: verification failed: {why}"),
                Some(format!(
                    "fix the candidate; reproduce it with `drive verify {head} --base {base}`"
                ))
            )
        );
        assert_eq!(
            run.warnings.last(),
            Some(&format!(
                "verification of {head} against {base} failed: {why}"
            ))
        );
    }
}

#[test]
fn a_verdict_on_anything_else_merges_nothing() {
    let other = "e".repeat(40);
    let mut without_base = passed(&head(), &base());
    without_base.candidate.base_sha = None;
    let mut unrun = passed(&head(), &base());
    unrun.stages.clear();
    let mut unmerged = passed(&head(), &base());
    unmerged.candidate.merged_tree_sha = None;
    let mut by_own_rules = passed(&head(), &base());
    by_own_rules.candidate.rules_from = Some(RulesFrom::WorkingCopy);
    let reports = [
        passed(&other, &base()),
        passed(&head(), &other),
        without_base,
        unrun,
        unmerged,
        by_own_rules,
    ];
    for report in reports {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.answers("verify", [verified(report)]);
        let run = scene.fly(merging(TeamMode::Pingpong));
        assert!(is_unmerged(&run, &scene), "{:?}", end(&run));
    }
}

#[test]
fn a_verifier_that_cannot_answer_merges_nothing() {
    let mut scene = Scene {
        fails: Some("verify"),
        ..Scene::reviews(&[APPROVED])
    };
    let run = scene.fly(merging(TeamMode::Github));
    assert!(is_unmerged(&run, &scene), "{:?}", end(&run));
    let message = run.outcome.unwrap().failure.unwrap().message;
    assert!(
        message.ends_with(&format!("could not verify it: {}", problem())),
        "{message}"
    );
}

#[test]
fn a_report_that_cannot_be_told_ends_the_run_all_the_same() {
    let mut scene = Scene {
        fails: Some("postComment"),
        ..Scene::reviews(&[APPROVED])
    };
    scene.answers("verify", [verified(failed(&head(), &base()))]);
    let run = scene.fly(merging(TeamMode::Sequential));
    assert!(is_unmerged(&run, &scene), "{:?}", end(&run));
    let told = run.warnings.last().unwrap();
    assert!(
        told.starts_with("could not update the pull request"),
        "{told}"
    );
}

#[test]
fn a_base_that_moved_is_verified_against_anew() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", [on_forge(ForgeAnswer::BaseMoved)]);
    let run = scene.fly(merging(TeamMode::Pingpong));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    assert_eq!(
        (
            scene.performed_as("verify").len(),
            scene.performed_as("merge").len()
        ),
        (2, 2)
    );
}

#[test]
fn a_base_that_moves_each_time_is_left_to_a_person() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", vec![on_forge(ForgeAnswer::BaseMoved); 9]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(scene.performed_as("verify").len(), 3);
    assert_eq!(team(&run).merged, None);
    assert_eq!(
        run.outcome.unwrap().failure.unwrap().message,
        "the pull request was not merged: its base moved during all 3 verifications"
    );
}

#[test]
fn a_base_that_moved_is_not_merged_into_when_the_second_verdict_is_bad() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", [on_forge(ForgeAnswer::BaseMoved)]);
    let (good, bad) = (passed(&head(), &base()), failed(&head(), &base()));
    scene.answers("verify", [verified(good), verified(bad)]);
    let run = scene.fly(merging(TeamMode::Sequential));
    assert_eq!(scene.performed_as("merge").len(), 1);
    assert_eq!(team(&run).merged, None);
    assert_eq!(end(&run).1, Some(Kind::NotMerged));
}

fn landed(report: Option<Verification>) -> EffectResult {
    EffectResult::Landed {
        unread: Vec::new(),
        objections: Vec::new(),
        missing: None,
        sha: CommitSha::new(LANDED),
        made: LandedAs::Merge,
        report: report.map(Box::new),
    }
}

/// The merge commit of a forge, on top of a commit that was merged a moment before.
const LANDED: &str = "9999999999999999999999999999999999999999";

#[test]
fn another_tree_that_landed_and_passes_is_told_and_is_a_success() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("checkLanded", [landed(Some(passed(LANDED, &base())))]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    assert_eq!(team(&run).merged, Some(CommitSha::new(LANDED)));
    let told = run.warnings.last().unwrap();
    assert!(told.contains("differs from the verified tree"), "{told}");
}

#[test]
fn another_tree_that_landed_and_fails_is_said_with_the_command_that_takes_it_back() {
    {
        let report = failed(LANDED, &base());
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.answers("checkLanded", [landed(Some(report))]);
        let run = scene.fly(merging(TeamMode::Github));
        assert_eq!(
            (end(&run).0, end(&run).1),
            (OutcomeStatus::NeedsHuman, Some(Kind::LandedBroken))
        );
        assert_eq!(team(&run).merged, Some(CommitSha::new(LANDED)));
        let hint = run.outcome.unwrap().failure.unwrap().hint.unwrap();
        let revert = format!("`git revert -m 1 {LANDED}`");
        assert!(hint.contains(&revert), "{hint}");
        let is_told = scene.performed.iter().any(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::PostComment { body },
                ..
            } => body.contains(&revert) && body.contains("### Verification"),
            _ => false,
        });
        assert!(is_told);
    }
}

#[test]
fn the_command_that_takes_a_merge_back_names_all_that_landed() {
    for (made, expected) in [
        (LandedAs::Merge, format!("`git revert -m 1 {LANDED}`")),
        (LandedAs::Commits(1), format!("`git revert {LANDED}`")),
        (
            LandedAs::Commits(3),
            format!("`git revert {LANDED}~3..{LANDED}`"),
        ),
    ] {
        let mut result = landed(Some(failed(LANDED, &base())));
        if let EffectResult::Landed { made: there, .. } = &mut result {
            *there = made;
        }
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.answers("checkLanded", [result]);
        let run = scene.fly(merging(TeamMode::Github));
        let hint = run.outcome.unwrap().failure.unwrap().hint.unwrap();
        assert!(hint.contains(&expected), "{hint}");
    }
}

/// A failure that proves nothing about what landed, or existed before, does not lead to a request
/// to revert it.
#[test]
fn another_tree_that_landed_and_cannot_be_judged_is_no_success_and_no_reason_to_revert() {
    let mut baseline = failed(LANDED, &base());
    baseline.failure.as_mut().unwrap().category = FailureCategory::Baseline;
    let mut unjudged = failed(LANDED, &base());
    unjudged.overall = Overall::Error;
    // A report about another commit than the landed one proves nothing about it.
    let other = passed(&head(), &base());
    for report in [baseline, unjudged, other] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.answers("checkLanded", [landed(Some(report))]);
        let run = scene.fly(merging(TeamMode::Github));
        assert_eq!(
            (end(&run).0, end(&run).1),
            (OutcomeStatus::NeedsHuman, Some(Kind::LandedUnchecked))
        );
        let failure = run.outcome.unwrap().failure.unwrap();
        assert!(!format!("{failure:?}").contains("revert"), "{failure:?}");
    }
}

#[test]
fn a_merge_whose_result_cannot_be_read_is_no_success() {
    let mut scene = Scene {
        fails: Some("checkLanded"),
        ..Scene::reviews(&[APPROVED])
    };
    let run = scene.fly(merging(TeamMode::Sequential));
    assert_eq!(
        (end(&run).0, end(&run).1),
        (OutcomeStatus::NeedsHuman, Some(Kind::LandedUnchecked))
    );
    assert_eq!(team(&run).merged, Some(CommitSha::new(LANDED)));
}

/// If the owner dies or a person stops the run at any time before the merge, nothing is merged afterwards.
#[test]
fn a_team_that_is_killed_or_stopped_before_the_merge_merges_nothing() {
    for interruption in [Event::OwnerLost, Event::CancelAsked] {
        let mut was_verifying = false;
        for steps in 0..40 {
            let requested = Event::Requested {
                request: Box::new(merging(TeamMode::Pingpong)),
            };
            let mut scene = Scene::reviews(&[APPROVED]);
            let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
            for _ in 0..steps {
                run = next(run, &mut scene);
            }
            let names: Vec<&str> = run.pending.values().map(Effect::name).collect();
            if names.contains(&"merge") || run.outcome.is_some() {
                break;
            }
            if interruption == Event::CancelAsked && names.contains(&"runAgent") {
                // It ends by the agent's own decision.
                continue;
            }
            was_verifying |= names == ["verify"];
            run = step(run, interruption.clone(), at(1)).unwrap().0;
            while !run.pending.is_empty() {
                run = next(run, &mut scene);
            }
            assert_eq!(scene.performed_as("merge"), Vec::<&Effect>::new());
            assert!(run.outcome.is_some());
        }
        assert!(was_verifying);
    }
}

fn next(run: Run, scene: &mut Scene) -> Run {
    let Some((key, effect)) = run.pending.first_key_value() else {
        return run;
    };
    let ended = Event::EffectEnded {
        key: key.clone(),
        result: scene.perform(effect),
    };
    step(run, ended, at(1)).unwrap().0
}
