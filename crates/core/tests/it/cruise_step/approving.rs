//! Tests that approvals count for the head for which they were given.

use crate::common::{agent_said, comment, conflicted, cruise::terms, integrated};
use crate::cruise_step::scene::{OBJECTS, Scene, head, short};
use drive_core::agent::Role;
use drive_core::ids::CommitSha;
use drive_core::run::{
    Approved, Ask, Effect, EffectResult, ForgeAct, Life, Makes, OutcomeStatus, PhaseTerms,
    PlanApproval, PollResult, Timer,
};

fn approval(head: String) -> Approved {
    Approved {
        by: "ann".into(),
        head: CommitSha::new(head),
    }
}

fn auto() -> PhaseTerms {
    PhaseTerms {
        makes: Makes::Plan {
            given: None,
            approval: PlanApproval {
                auto_approve: true,
                plan_only: false,
            },
        },
        ..terms()
    }
}

#[test]
fn an_approval_of_the_head_ends_the_cruise_well() {
    let mut scene = Scene::watching(terms());
    scene.sees(PollResult {
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    });
    assert_eq!(
        scene.told(),
        [(
            format!(
                "The plan is approved at {} by ann. Drive builds its tasks now.",
                short(1)
            ),
            Some(format!("approved/{}", head(1)))
        )]
    );
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn an_approval_is_void_once_a_fixer_moved_the_head() {
    let mut scene = Scene::watching(terms());
    scene.sees(PollResult {
        comments: vec![comment(5, "check the name")],
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    });
    assert_eq!(
        (scene.run.work.head_sha.clone(), scene.run.outcome.clone()),
        (Some(CommitSha::new(head(2))), None)
    );
    scene.ask(Ask::Approve {
        by: "ann".into(),
        head: CommitSha::new(head(1)),
    });
    assert_eq!(scene.run.outcome, None);
    scene.ask(Ask::Approve {
        by: "ann".into(),
        head: CommitSha::new(head(2)),
    });
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn whoever_spoke_before_an_approval_from_the_command_line_is_heard_first() {
    let mut scene = Scene::watching(terms());
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.ask(Ask::Approve {
        by: "bob".into(),
        head: CommitSha::new(head(1)),
    });
    assert_eq!(scene.run.outcome, None);
    assert_eq!(scene.bodies()[0], format!("Fixed in {}.", short(2)));
}

#[test]
fn a_plan_that_every_domain_approved_needs_no_person_with_auto_approve() {
    let mut scene = Scene::begin(auto());
    scene.settle();
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    assert!(scene.bodies()[0].contains("by --auto-approve"));
}

#[test]
fn auto_approve_waits_for_a_person_when_one_domain_had_no_verdict() {
    let mut scene = Scene::begin(auto());
    scene.agent(Role::Reviewer, agent_said("I like it."));
    scene.agent(Role::Reviewer, agent_said("I like it."));
    scene.settle();
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn auto_approve_waits_for_a_person_when_a_domain_objected_to_the_end() {
    let mut scene = Scene::begin(auto());
    // Its five domains review in parallel, twice.
    for _ in 0..2 {
        scene.agent(Role::Reviewer, agent_said(OBJECTS));
        for _ in 0..4 {
            scene.agent(Role::Reviewer, agent_said(r#"{"verdict": "approved"}"#));
        }
    }
    scene.settle();
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn what_a_fixer_declined_is_left_to_a_person_while_its_reviewer_insists() {
    let mut scene = Scene::begin(auto());
    for _ in 0..2 {
        scene.agent(Role::Reviewer, agent_said(OBJECTS));
        for _ in 0..4 {
            scene.agent(Role::Reviewer, agent_said(r#"{"verdict": "approved"}"#));
        }
    }
    let declines = r#"{"comments": [{"id": "inline-200", "action": "declined", "note": "No."}]}"#;
    scene.agent(Role::Fixer, agent_said(declines));
    scene.settle();
    assert_eq!(scene.run.outcome, None);
    let open = scene.cruise().ledger.open();
    let lives: Vec<&Life> = open.map(|entry| &entry.life).collect();
    assert_eq!(lives, [&Life::Left]);
}

/// One person approved and another objects, which a fixer declines: the approval waits.
fn with_an_approval_that_waits(after: Option<Vec<Approved>>) -> Scene {
    let mut scene = Scene::watching(terms());
    scene.agent(
        Role::Fixer,
        agent_said(r#"{"comments": [{"id": "inline-5", "action": "declined", "note": "No."}]}"#),
    );
    scene.answer(
        "commitWork",
        EffectResult::WorkCommitted {
            head_sha: CommitSha::new(head(1)),
            commits: scene.run.work.commits.clone(),
            warnings: Vec::new(),
            changed: Vec::new(),
        },
    );
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    });
    scene.looks.push_back(PollResult {
        approvals: after,
        ..PollResult::default()
    });
    scene.wake(Timer::Poll);
    scene
}

#[test]
fn an_approval_that_was_taken_back_before_it_counted_does_not_count() {
    let mut scene = with_an_approval_that_waits(Some(Vec::new()));
    assert_eq!(scene.run.outcome, None);
    let asked: Vec<bool> = scene
        .acts("poll")
        .into_iter()
        .filter_map(|act| match act {
            ForgeAct::Poll { approvals, .. } => Some(*approvals),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [true, true], "one that stands is asked for again");
    scene.sees(PollResult::default());
    assert_eq!(scene.run.outcome, None);
    scene.sees(PollResult {
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    });
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn an_approval_that_still_stands_once_nothing_is_open_counts() {
    let scene = with_an_approval_that_waits(Some(vec![approval(head(1))]));
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn an_approval_from_the_command_line_is_not_the_forges_to_take_back() {
    let mut scene = Scene::watching(terms());
    scene.looks.push_back(PollResult {
        approvals: Some(Vec::new()),
        ..PollResult::default()
    });
    scene.ask(Ask::Approve {
        by: "ann".into(),
        head: CommitSha::new(head(1)),
    });
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn auto_approve_approves_no_commit_that_a_domain_has_not_reviewed() {
    let mut scene = Scene::begin(auto());
    // A person comments while the five domains approve the first commit.
    scene.settle_until(|effect| matches!(effect, Effect::ReadDiff { .. }));
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.settle();
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    let approved = scene.bodies().pop().unwrap();
    let by_whom = format!("approved at {} by --auto-approve", short(2));
    assert!(approved.contains(&by_whom), "{approved}");
    let reviews = scene.cruise().record.reviews.iter();
    let reviewed = reviews.filter(|review| review.head == Some(CommitSha::new(head(2))));
    assert_eq!(reviewed.count(), 5);
}

#[test]
fn auto_approve_waits_where_no_review_of_the_head_is_left() {
    let mut once = auto();
    once.max_iterations = 1;
    let mut scene = Scene::begin(once);
    scene.settle_until(|effect| matches!(effect, Effect::ReadDiff { .. }));
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.settle();
    assert_eq!(scene.run.work.head_sha, Some(CommitSha::new(head(2))));
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn an_approval_that_a_later_fix_voids_is_said_once() {
    let mut scene = Scene::watching(terms());
    scene.sees(PollResult {
        comments: vec![comment(5, "check the name")],
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    });
    let void = format!(
        "ann approved {}. The branch is at {} now, so that approval does not count. Approve {} if \
         you agree with it.",
        short(1),
        short(2),
        short(2)
    );
    let key = format!("said/voided/{}/ann", head(1));
    assert_eq!(scene.told().last(), Some(&(void.clone(), Some(key))));
    scene.sees(PollResult {
        comments: vec![comment(6, "and the mail")],
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    });
    let said = scene.bodies();
    assert_eq!(
        said.iter().filter(|body| **body == void).count(),
        1,
        "{said:#?}"
    );
    assert_eq!(
        said.iter()
            .filter(|body| body.contains("does not count"))
            .count(),
        1
    );
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn an_approval_from_the_command_line_that_a_fix_voids_is_said() {
    let mut scene = Scene::watching(terms());
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.ask(Ask::Approve {
        by: "bob".into(),
        head: CommitSha::new(head(1)),
    });
    let said = scene.bodies().pop().unwrap();
    assert!(
        said.starts_with(&format!("bob approved {}. The branch", short(1))),
        "{said}"
    );
}

#[test]
fn a_base_that_conflicts_is_merged_before_an_approval_counts() {
    let mut scene = Scene::watching(terms());
    scene.answer("integrate", conflicted());
    scene.answer("concludeMerge", integrated('c'));
    let approved = |head: String| PollResult {
        approvals: Some(vec![approval(head)]),
        ..PollResult::default()
    };
    scene.looks.push_back(approved(head(1)));
    scene.looks.push_back(approved(head(1)));
    scene.sees(approved(head(1)));
    let merger = scene
        .jobs
        .iter()
        .find(|job| !job.input.conflicts.is_empty());
    let merger = merger.expect("an agent resolves the conflict");
    assert_eq!(
        (merger.role, merger.input.conflicts.as_slice()),
        (Role::Fixer, &["src/login.rs".to_owned()][..])
    );
    assert_eq!(
        scene.run.outcome, None,
        "what was approved is not the head any more"
    );
    let merged = "c".repeat(40);
    assert_eq!(
        scene.run.work.head_sha,
        Some(CommitSha::new(merged.as_str()))
    );
    scene.looks.clear();
    scene.looks.push_back(approved(merged.clone()));
    scene.sees(approved(merged));
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn a_comment_between_the_last_poll_and_the_closing_words_is_listed() {
    let mut scene = Scene::watching(terms());
    let approved = PollResult {
        approvals: Some(vec![approval(head(1))]),
        ..PollResult::default()
    };
    scene.looks.push_back(approved);
    // The first poll comes before the approval counts, the second after the closing posts.
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.wake(Timer::Poll);
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    let said = scene.bodies();
    assert_eq!(
        said.last().unwrap(),
        "These comments were written while this run ended, and no agent gets them:\n\n- inline-5 by \
         ann: check the name"
    );
    assert_eq!(said.len(), 2, "{said:#?}");
    let open = scene.cruise().ledger.open();
    assert_eq!(open.count(), 1);
}
