//! Tests a reviewer's findings, and how they are handled.

use crate::common::{agent_ended, agent_said, comment_ref, kept, sandbox, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::{Failure, Role};
use drive_core::forge::Surface;
use drive_core::review::LastWord;
use drive_core::run::{
    AgentJob, Effect, EffectResult, FixerResult, ForgeAct, ForgeAnswer, Life, OutcomeStatus,
    RunKind,
};
use drive_core::settings::TeamMode;
use serde_json::json;

#[test]
fn a_finding_becomes_a_comment_a_commit_that_names_it_a_reply_and_a_resolved_thread() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let fix = &scene.commits[1];
    assert_eq!(
        scene.told[..3],
        [
            "[SECURITY REVIEW - NEEDS CHANGES] +1 lines".to_owned(),
            format!("to 200: Fixed in {}.", fix.sha.short()),
            "resolved 200".to_owned(),
        ]
    );
    assert_eq!(fix.subject, "Fix round 1: the name is not checked");
    let remark = &team(&run).record.remarks[0];
    assert_eq!(
        (remark.commit.as_ref(), remark.resolved),
        (Some(&fix.sha), true)
    );
}

#[test]
fn a_finding_outside_the_diff_stands_in_the_body_and_is_answered_there() {
    let outside = OBJECTS.replace("\"line\": 2", "\"line\": 99");
    let mut scene = Scene::reviews(&[&outside, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    assert_eq!(scene.told[0], "[SECURITY REVIEW - NEEDS CHANGES] +0 lines");
    assert!(
        scene.told[1].starts_with(
            "to 100: > gemini-cli: - src/login.rs line 99: major the name is not checked\n\nFixed in "
        ),
        "{:?}",
        scene.told
    );
}

#[test]
fn findings_that_share_a_comment_are_answered_one_by_one_in_one_reply() {
    let found = json!({"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 98, "issue": "the name is not checked"},
        {"file": "src/other.rs", "line": 99, "issue": "it may overflow"},
        {"issue": "no test"}]});
    let mut scene = Scene::reviews(&[&found.to_string(), APPROVED]);
    let said = json!({"comments": [
        {"id": "review-100.1", "action": "fixed"},
        {"id": "review-100.2", "action": "declined", "note": "It is 64 bits wide."}]});
    scene.agents.push_back(agent_said(&said.to_string()));
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let fix = &scene.commits[1];
    assert_eq!(fix.subject, "Fix round 1: 3 findings");
    let short = fix.sha.short();
    assert_eq!(
        scene.told[1],
        format!(
            "to 100: > gemini-cli: 3 findings\n\n\
             - `src/login.rs` line 98: the name is not checked\n  Fixed in {short}.\n\
             - `src/other.rs` line 99: it may overflow\n  \
             Left open; related changes are in {short}. It is 64 bits wide.\n\
             - no test\n  The fixer did not answer this comment. Its changes of \
             this round are in {short}."
        )
    );
    let remarks = &team(&run).record.remarks;
    let outcomes: Vec<_> = remarks
        .iter()
        .map(|one| (one.line, one.action, one.resolved))
        .collect();
    assert_eq!(
        outcomes,
        [
            (Some(98), Some(FixerResult::Fixed), true),
            (Some(99), Some(FixerResult::Declined), false),
            (None, Some(FixerResult::Unsaid), false),
        ]
    );
    let fixer = scene.jobs.iter().find(|job| job.role == Role::Fixer);
    let ids = fixer
        .unwrap()
        .input
        .comments
        .iter()
        .map(|one| one.id.as_str());
    let ids: Vec<&str> = ids.collect();
    assert_eq!(ids, ["review-100.1", "review-100.2", "review-100.3"]);
}

#[test]
fn two_hundred_findings_are_all_told_and_worked_in_within_bounds() {
    let suggestions: Vec<_> = (0..200)
        .map(|n| json!({"file": "src/login.rs", "line": n % 5 + 1, "issue": format!("issue {n}")}))
        .collect();
    let many = json!({"verdict": "needs_changes", "suggestions": suggestions}).to_string();
    let mut scene = Scene::reviews(&[&many, APPROVED]);
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(scene.told[0], "[SECURITY REVIEW - NEEDS CHANGES] +10 lines");
    let fixers: Vec<&AgentJob> = scene
        .jobs
        .iter()
        .filter(|job| job.role == Role::Fixer)
        .collect();
    assert_eq!(fixers.len(), 1);
    for n in 0..200 {
        let issue = format!("issue {n}");
        let told = |job: &&AgentJob| job.prompt.lines().any(|line| line.ends_with(&issue));
        assert_eq!(fixers.iter().filter(|job| told(job)).count(), 1, "{issue}");
    }
}

#[test]
fn findings_too_long_for_one_comment_are_cut_each_to_its_share() {
    let suggestions: Vec<_> = (0..200)
        .map(|n| json!({"file": "a.rs", "issue": format!("issue {n}. {}", "long ".repeat(200))}))
        .collect();
    let many = json!({"verdict": "needs_changes", "suggestions": suggestions}).to_string();
    let mut scene = Scene::reviews(&[&many, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let posted = scene
        .performed_as("postReview")
        .into_iter()
        .find_map(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::PostReview { body, .. },
                ..
            } => Some(body),
            _ => None,
        });
    let body = posted.unwrap();
    let told: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("- `a.rs`: ")?.split_once(". long "))
        .map(|(issue, _)| issue)
        .collect();
    let all: Vec<String> = (0..200).map(|n| format!("**major** issue {n}")).collect();
    assert_eq!(told, all);
    assert!(
        body.chars().count() < 65_536 - 1_024,
        "room for the hidden line"
    );
}

#[test]
fn a_fixer_may_decline_and_its_thread_stays_open() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fixer = Some(agent_said(
        r#"{"comments": [{"id": 200, "action": "declined", "note": "It is checked above."}]}"#,
    ));
    let run = scene.fly(team_request(TeamMode::Github));
    assert!(!scene.told.contains(&"resolved 200".to_owned()));
    assert!(!team(&run).record.remarks[0].resolved);
}

#[test]
fn a_comment_that_cannot_be_resolved_is_noted_and_the_next_one_is_taken() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fixer = Some(agent_ended(Some(Failure::Reported)));
    let run = scene.fly(team_request(TeamMode::Github));
    assert!(scene.told[1].starts_with("to 200: Not resolved"));
    assert!(!scene.told.contains(&"resolved 200".to_owned()));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn half_work_of_a_fixer_that_failed_is_kept_aside_and_neither_committed_nor_pushed() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fixer = Some(agent_ended(Some(Failure::Reported)));
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(scene.commits.len(), 1);
    assert_eq!(scene.performed_as("push").len(), 1);
    assert_eq!(
        scene.performed_as("rollBack"),
        [&Effect::RollBack {
            sandbox: sandbox().id,
            to: scene.commits[0].sha.clone(),
        }]
    );
    let kept = kept().reference;
    assert!(
        scene.told[1].ends_with(&format!("The unfinished work is saved as `{kept}`.")),
        "{}",
        scene.told[1]
    );
    assert_eq!(team(&run).record.remarks[0].commit, None);
}

#[test]
fn half_work_that_cannot_be_taken_away_ends_the_team_before_it_is_mixed_into_more() {
    let mut scene = Scene {
        fails: Some("rollBack"),
        ..Scene::reviews(&[OBJECTS, APPROVED])
    };
    scene.fixer = Some(agent_ended(Some(Failure::Reported)));
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::NeedsHuman);
    assert_eq!(scene.commits.len(), 1);
}

#[test]
fn a_finding_in_no_comment_that_the_fixer_declines_is_not_recorded_as_resolved() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fixer = Some(agent_said(
        r#"{"comments": [{"id": "review", "action": "declined", "note": "It is checked above."}]}"#,
    ));
    let run = scene.fly(team_request(TeamMode::Pingpong));
    let remark = &team(&run).record.remarks[0];
    assert_eq!(
        (remark.resolved, remark.note.as_str()),
        (false, "It is checked above.")
    );
}

#[test]
fn a_finding_in_no_comment_that_the_fixer_does_not_mention_is_not_recorded_as_resolved() {
    for mode in [TeamMode::Pingpong, TeamMode::Sequential] {
        let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
        scene.fixer = Some(agent_said("All done."));
        let run = scene.fly(team_request(mode));
        let remark = &team(&run).record.remarks[0];
        assert!(remark.commit.is_some(), "{mode:?}");
        assert!(!remark.resolved, "{mode:?}");
    }
}

#[test]
fn sixty_identical_findings_make_one_comment_and_one_round() {
    let suggestions: Vec<_> = (0..60)
        .map(|n| json!({"file": "src/login.rs", "line": n % 5 + 1, "issue": "It panics."}))
        .collect();
    let many = json!({"verdict": "needs_changes", "suggestions": suggestions}).to_string();
    let mut scene = Scene::reviews(&[&many, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    assert_eq!(scene.told[0], "[SECURITY REVIEW - NEEDS CHANGES] +1 lines");
    let fixers = scene.jobs.iter().filter(|job| job.role == Role::Fixer);
    assert_eq!(fixers.count(), 1);
    assert_eq!(scene.commits.len(), 2);
}

#[test]
fn a_reviewer_is_reminded_of_its_findings_and_of_their_answers() {
    for mode in [TeamMode::Github, TeamMode::Pingpong] {
        let panel = if mode == TeamMode::Github { 5 } else { 1 };
        let mut said = vec![APPROVED; panel];
        said[0] = OBJECTS;
        let mut scene = Scene::reviews(&[&said[..], &[APPROVED]].concat());
        let id = if mode == TeamMode::Github {
            "inline-200"
        } else {
            "review-1"
        };
        let said = json!({"comments": [{"id": id, "action": "fixed", "note": "It is now."}]});
        scene.fixer = Some(agent_said(&said.to_string()));
        scene.fly(team_request(mode));
        let reviewers = scene.jobs.iter().filter(|job| job.role == Role::Reviewer);
        let prompts: Vec<&str> = reviewers.map(|job| job.prompt.as_str()).collect();
        let fix = scene.commits[1].sha.short();
        let answer = format!("Answer:\n\n```\nChanged in {fix}. It is now.\n```");
        assert!(!prompts[0].contains("\nAnswer:\n"), "{mode:?}");
        let second = prompts[panel];
        assert!(second.contains("the name is not checked"), "{mode:?}");
        assert!(second.contains(&answer), "{mode:?} {second}");
        let since = scene
            .performed_as("readDiff")
            .into_iter()
            .map(|effect| match effect {
                Effect::ReadDiff { since, .. } => since.clone(),
                _ => None,
            });
        let since: Vec<_> = since.take(2).collect();
        assert_eq!(
            since,
            [None, Some(scene.commits[0].sha.clone())],
            "{mode:?}"
        );
    }
}

#[test]
fn what_a_fixer_declined_with_a_reason_it_is_not_asked_again() {
    for (mode, note, fixers) in [
        (TeamMode::Github, "It is checked above.", 1),
        (TeamMode::Pingpong, "It is checked above.", 1),
        (TeamMode::Pingpong, "", 2),
    ] {
        let mut request = team_request(mode);
        if let RunKind::Team(terms) = &mut request.kind {
            terms.max_iterations = 3;
        }
        let mut said_by_reviewers = vec![OBJECTS, OBJECTS];
        if mode == TeamMode::Github {
            // The others have approved this same head, which did not change.
            said_by_reviewers = vec![OBJECTS, APPROVED, APPROVED, APPROVED, APPROVED, OBJECTS];
        }
        if fixers == 2 {
            said_by_reviewers.push(OBJECTS);
        }
        said_by_reviewers.push(APPROVED);
        let mut scene = Scene::reviews(&said_by_reviewers);
        let said = |id| json!({"id": id, "action": "declined", "note": note});
        let said = json!({"comments": [said("inline-200"), said("review-1"), said("inline-201")]});
        scene.fixer = Some(agent_said(&said.to_string()));
        let run = scene.fly(request);
        let all = scene.jobs.iter().filter(|job| job.role == Role::Fixer);
        assert_eq!(all.count(), fixers, "{mode:?} {note:?}");
        assert_eq!(end(&run).2, Some(LastWord::NeedsChanges), "{mode:?}");
        let open = drive_core::run::open_findings(&run);
        assert_eq!(open.len(), 1, "{mode:?}");
    }
}

#[test]
fn what_a_fixer_declined_is_open_in_the_ledger_while_its_reviewer_insists() {
    let declines = r#"{"comments": [{"id": "inline-200", "action": "declined",
        "note": "It is checked above."}]}"#;
    let other = OBJECTS.replace("the name is not checked", "it may overflow");
    let insists = json!({"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 2, "issue": "the name is not checked"},
        {"file": "src/login.rs", "line": 4, "issue": "it may overflow"}]});
    let insists = insists.to_string();
    // The reviewer insists to the end, or gives in after another finding was fixed.
    for (later, verdict) in [
        (vec![OBJECTS], LastWord::NeedsChanges),
        (vec![&insists, OBJECTS], LastWord::NeedsChanges),
        (vec![&insists, APPROVED], LastWord::Approved),
        (vec![&other, APPROVED], LastWord::Approved),
    ] {
        let mut request = team_request(TeamMode::Github);
        if let RunKind::Team(terms) = &mut request.kind {
            terms.max_iterations = 3;
        }
        let mut said = Vec::new();
        for first in [&[OBJECTS], &later[..]].concat() {
            said.extend([first, APPROVED, APPROVED, APPROVED, APPROVED]);
        }
        let mut scene = Scene::reviews(&said);
        let posted = |id| EffectResult::OnForge {
            answer: ForgeAnswer::ReviewPosted {
                review: comment_ref(Surface::Review, id),
                lines: vec![comment_ref(Surface::Inline, id + 100)],
            },
        };
        scene.answers("postReview", [posted(100), posted(101)]);
        scene.agents.push_back(agent_said(declines));
        let run = scene.fly(request);
        assert_eq!(end(&run).2, Some(verdict), "{later:?}");
        let ledger = &team(&run).ledger;
        let first = comment_ref(Surface::Inline, 200);
        let mut entries = ledger.entries();
        let declined = entries.find(|entry| entry.key.comment() == first);
        let life = &declined.unwrap().life;
        let is_left = *life == Life::Left;
        assert_eq!(
            is_left,
            verdict == LastWord::NeedsChanges,
            "{later:?} {life:?}"
        );
    }
}

#[test]
fn a_sequential_team_whose_fixer_changed_nothing_does_not_succeed() {
    let mut scene = Scene::reviews(&[OBJECTS]);
    scene.fixer = Some(agent_ended(Some(Failure::Reported)));
    let run = scene.fly(team_request(TeamMode::Sequential));
    assert_eq!(end(&run).0, OutcomeStatus::Failed);
    assert_eq!(end(&run).2, Some(LastWord::NeedsChanges));
}

#[test]
fn a_review_that_came_to_nothing_takes_no_objection_back() {
    let mut scene = Scene::reviews(&[OBJECTS, "I do not know.", "Still not."]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(end(&run).2, Some(LastWord::Inconclusive));
    assert_eq!(drive_core::run::open_findings(&run).len(), 1);
}

#[test]
fn a_reviewer_that_is_asked_again_is_told_what_it_had_found() {
    let unclear = OBJECTS.replace("needs_changes", "approved");
    let mut scene = Scene::reviews(&[&unclear, OBJECTS, APPROVED]);
    scene.fly(team_request(TeamMode::Pingpong));
    let mut reviewers = scene.jobs.iter().filter(|job| job.role == Role::Reviewer);
    let again = reviewers.nth(1).unwrap();
    let told =
        "These were your findings. Report again those that hold:\n\n```\n**major** the name is not";
    assert!(again.prompt.contains(told), "{}", again.prompt);
}

#[test]
fn findings_of_a_review_without_a_verdict_are_told_in_its_comment() {
    let unclear = OBJECTS.replace("needs_changes", "approved");
    let mut scene = Scene::reviews(&[&unclear, &unclear, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let told = scene.performed.iter().find_map(|effect| match effect {
        Effect::OnForge {
            act: ForgeAct::PostComment { body },
            ..
        } => Some(body),
        _ => None,
    });
    let told = told.unwrap();
    assert!(
        told.starts_with("[SECURITY REVIEW - INCONCLUSIVE]"),
        "{told}"
    );
    assert!(told.contains("the name is not checked"), "{told}");
    assert!(!told.contains("inline comment"), "{told}");
}
