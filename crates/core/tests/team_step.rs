//! The flow of a team: what follows from what its reviewer, its people and its world say.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

mod common;

use common::{agent_ended, agent_said, at, comment, good, ignored, problem, run_id, team_request};
use drive_core::agent::answer::Verdict;
use drive_core::agent::{Failure, Role};
use drive_core::review::LastWord;
use drive_core::run::{
    AgentJob, CommitSummary, Effect, EffectResult, Event, Flow, ForgeAct, ForgeAnswer,
    OutcomeStatus, Publish, Request, Run, Team, fold, read_run, step, write_run,
};
use drive_core::settings::TeamMode;
use proptest::prelude::*;
use serde_json::json;
use std::collections::VecDeque;

const APPROVED: &str = r#"{"verdict": "approved"}"#;
const OBJECTS: &str = r#"{"verdict": "needs_changes", "suggestions": [
    {"file": "src/login.rs", "line": 2, "issue": "the name is not checked"}]}"#;

/// A world that answers what it is told to, and otherwise lets everything succeed. Every coder and
/// fixer adds a commit.
#[derive(Default)]
struct Scene {
    reviews: VecDeque<EffectResult>,
    /// What people say at each look.
    people: VecDeque<ForgeAnswer>,
    fixer: Option<EffectResult>,
    fails: Option<&'static str>,
    commits: Vec<CommitSummary>,
    told: Vec<String>,
    jobs: Vec<AgentJob>,
}

impl Scene {
    fn reviews(said: &[&str]) -> Self {
        Self {
            reviews: said.iter().map(|text| agent_said(text)).collect(),
            ..Self::default()
        }
    }

    fn fly(&mut self, request: Request) -> Run {
        let requested = Event::Requested {
            request: Box::new(request),
        };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        for second in 1..5_000 {
            let Some((key, effect)) = run.pending.first_key_value() else {
                return run;
            };
            let result = self.perform(effect);
            let ended = Event::EffectEnded {
                key: key.clone(),
                result,
            };
            run = step(run, ended, at(second)).unwrap().0;
        }
        panic!("no end: {:?}", self.told);
    }

    fn perform(&mut self, effect: &Effect) -> EffectResult {
        if self.fails == Some(effect.name()) {
            return EffectResult::Failed { problem: problem() };
        }
        match effect {
            Effect::RunAgent { job, .. } => self.run_agent(job),
            Effect::CommitWork { message, .. } => {
                let n = self.commits.len();
                self.commits.push(CommitSummary {
                    sha: format!("{:040}", n + 1),
                    subject: message.lines().next().unwrap().to_owned(),
                });
                EffectResult::WorkCommitted {
                    head_sha: self.commits[n].sha.clone(),
                    commits: self.commits.clone(),
                    warnings: Vec::new(),
                }
            }
            Effect::OnForge { act, .. } => {
                self.told.extend(telling(act));
                match (act, self.people.pop_front_if_listening(act)) {
                    (_, Some(answer)) => EffectResult::OnForge { answer },
                    (_, None) => good(effect),
                }
            }
            effect => good(effect),
        }
    }

    fn run_agent(&mut self, job: &AgentJob) -> EffectResult {
        self.jobs.push(job.clone());
        match job.role {
            Role::Reviewer => match self.reviews.len() {
                0 | 1 => self.reviews.front().unwrap().clone(),
                _ => self.reviews.pop_front().unwrap(),
            },
            Role::Namer => {
                agent_said(r#"{"pr_title": "Check names", "branch_name": "check-names"}"#)
            }
            Role::Fixer => self.fixer.clone().unwrap_or_else(|| agent_ended(None)),
            Role::Coder | Role::Planner | Role::Validator => agent_ended(None),
        }
    }

    fn roles(&self) -> Vec<String> {
        let name = |job: &AgentJob| match &job.domain {
            Some(domain) => format!("{} {domain}", job.role),
            None => job.role.to_string(),
        };
        self.jobs.iter().map(name).collect()
    }
}

trait PopFrontIf {
    fn pop_front_if_listening(&mut self, act: &ForgeAct) -> Option<ForgeAnswer>;
}

impl PopFrontIf for VecDeque<ForgeAnswer> {
    fn pop_front_if_listening(&mut self, act: &ForgeAct) -> Option<ForgeAnswer> {
        matches!(act, ForgeAct::Listen { .. }).then(|| self.pop_front())?
    }
}

/// What somebody on the pull request sees of an act.
fn telling(act: &ForgeAct) -> Option<String> {
    match act {
        ForgeAct::Listen { .. }
        | ForgeAct::Look { .. }
        | ForgeAct::React { .. }
        | ForgeAct::UpdateBody { .. } => None,
        ForgeAct::PostReview { body, lines, .. } => Some(format!(
            "{} +{} lines",
            body.lines().next().unwrap(),
            lines.len()
        )),
        ForgeAct::PostComment { body } => Some(body.lines().next().unwrap().to_owned()),
        ForgeAct::Reply { to, body } => Some(format!("to {}: {body}", to.id)),
        ForgeAct::ResolveThread { comment } => Some(format!("resolved {}", comment.id)),
        ForgeAct::SetStatus { passed, .. } => Some(format!("status {passed}")),
    }
}

fn team(run: &Run) -> &Team {
    match &run.flow {
        Flow::Team { team } => team,
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => panic!("no team"),
    }
}

fn end(run: &Run) -> (OutcomeStatus, Option<&str>, Option<LastWord>) {
    let outcome = run.outcome.as_ref().unwrap();
    let kind = outcome
        .failure
        .as_ref()
        .map(|problem| problem.kind.as_str());
    (outcome.status, kind, team(run).verdict)
}

fn heard(comments: Vec<drive_core::forge::Comment>) -> ForgeAnswer {
    ForgeAnswer::Heard {
        comments,
        ignored: vec![ignored()],
        next: Some(at(6)),
    }
}

const NOBODY: ForgeAnswer = ForgeAnswer::Heard {
    comments: Vec::new(),
    ignored: Vec::new(),
    next: None,
};

#[test]
fn approval_at_once_ends_each_mode_with_success() {
    for (mode, reviews) in [
        (TeamMode::Sequential, 1),
        (TeamMode::Pingpong, 1),
        (TeamMode::Github, 5),
    ] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = scene.fly(team_request(mode));
        assert_eq!(
            end(&run),
            (OutcomeStatus::Succeeded, None, Some(LastWord::Approved)),
            "{mode:?}"
        );
        assert_eq!(scene.commits.len(), 1);
        assert_eq!(team(&run).record.reviews.len(), reviews);
    }
}

#[test]
fn the_names_come_first_and_everything_is_called_by_them() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = scene.fly(team_request(TeamMode::Sequential));
    assert_eq!(scene.roles(), ["namer", "coder", "reviewer"]);
    assert_eq!(scene.jobs[0].model.as_deref(), Some("small"));
    assert_eq!(team(&run).title, "Check names");
    assert_eq!(scene.commits[0].subject, "Check names");
}

#[test]
fn a_namer_that_fails_never_blocks() {
    let requested = Event::Requested {
        request: Box::new(team_request(TeamMode::Pingpong)),
    };
    for result in [
        EffectResult::Failed { problem: problem() },
        agent_ended(Some(Failure::Garbage)),
        agent_said("no idea"),
    ] {
        let run = fold(run_id(), [(requested.clone(), at(0))]).unwrap();
        let key = run.pending.keys().next().unwrap().clone();
        let run = step(run, Event::EffectEnded { key, result }, at(1))
            .unwrap()
            .0;
        let chosen = Effect::ChooseBranch {
            wanted: "fix-the-login-it-fails-for-names-with-a-dot".into(),
            remote: Some("origin".into()),
        };
        assert_eq!(run.pending.values().collect::<Vec<_>>(), [&chosen]);
        assert_eq!(team(&run).title, "Fix the login");
    }
}

#[test]
fn approval_on_round_two_is_approval() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::Approved))
    );
    assert_eq!(
        scene.roles(),
        ["namer", "coder", "reviewer", "fixer", "reviewer"]
    );
    assert_eq!(scene.jobs[4].round, 2);
}

#[test]
fn sequential_ends_after_one_fix_whatever_the_reviewer_would_say() {
    let mut scene = Scene::reviews(&[OBJECTS]);
    let run = scene.fly(team_request(TeamMode::Sequential));
    assert_eq!(scene.roles(), ["namer", "coder", "reviewer", "fixer"]);
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::NeedsChanges))
    );
}

#[test]
fn never_approved_is_a_failure_that_names_what_is_open() {
    let mut scene = Scene::reviews(&[OBJECTS]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::Failed,
            Some("notApproved"),
            Some(LastWord::NeedsChanges)
        )
    );
    let mut answers = vec![OBJECTS, OBJECTS];
    answers.extend([APPROVED; 4]);
    let run = Scene::reviews(&answers).fly(team_request(TeamMode::Github));
    let failure = run.outcome.unwrap().failure.unwrap();
    assert_eq!(
        failure.message,
        "the reviewer `gemini-cli` still asks for changes (Security)"
    );
}

#[test]
fn a_garbage_verdict_is_asked_for_once_more_and_then_a_person_is_asked() {
    let mut scene = Scene::reviews(&["looks fine to me"]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(scene.roles(), ["namer", "coder", "reviewer", "reviewer"]);
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some("reviewInconclusive"),
            Some(LastWord::Inconclusive)
        )
    );
}

#[test]
fn a_reviewer_that_crashes_is_noted_on_the_pull_request_and_the_others_go_on() {
    for crash in [
        agent_ended(Some(Failure::Infra)),
        EffectResult::Failed { problem: problem() },
    ] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.reviews.push_front(crash);
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(
            scene.told,
            [
                "[SECURITY REVIEW - INCONCLUSIVE]",
                "[TECHNICAL FEASIBILITY REVIEW - APPROVED] +0 lines",
                "[TASK GRANULARITY REVIEW - APPROVED] +0 lines",
                "[DEPENDENCY COMPLETENESS REVIEW - APPROVED] +0 lines",
                "[GENERAL POLISH REVIEW - APPROVED] +0 lines",
                "status false"
            ]
        );
        assert_eq!(end(&run).2, Some(LastWord::Inconclusive));
    }
}

#[test]
fn a_finding_becomes_a_comment_a_commit_that_names_it_a_reply_and_a_resolved_thread() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let fix = &scene.commits[1];
    assert_eq!(
        scene.told[..4],
        [
            "[SECURITY REVIEW - NEEDS CHANGES] +1 lines".to_owned(),
            format!("to 200: Fixed in {}.", fix.sha),
            "resolved 200".to_owned(),
            "[SECURITY REVIEW - APPROVED] +0 lines".to_owned(),
        ]
    );
    assert_eq!(fix.subject, "Resolve comment 200: the name is not checked");
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
        scene.told[1].starts_with("to 100: Fixed in "),
        "{:?}",
        scene.told
    );
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
    assert_eq!(scene.told[0], "[SECURITY REVIEW - NEEDS CHANGES] +50 lines");
    let fixers: Vec<&AgentJob> = scene
        .jobs
        .iter()
        .filter(|job| job.role == Role::Fixer)
        .collect();
    assert_eq!(fixers.len(), 51);
    for n in 0..200 {
        let issue = format!("issue {n}");
        let told = |job: &&AgentJob| job.prompt.lines().any(|line| line.ends_with(&issue));
        assert_eq!(fixers.iter().filter(|job| told(job)).count(), 1, "{issue}");
    }
}

#[test]
fn a_person_in_the_middle_is_heard_once_and_a_stranger_is_only_shown() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let said = comment(5, "please rename it");
    scene.people = [NOBODY, heard(vec![said.clone()]), heard(vec![said])].into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(
        scene.roles()[2..5],
        [
            "reviewer Security",
            "fixer",
            "reviewer TechnicalFeasibility"
        ]
    );
    assert_eq!(scene.commits.len(), 2);
    let sha = &scene.commits[1].sha;
    assert!(scene.told.contains(&format!("to 5: Fixed in {sha}.")));
    assert!(scene.told.contains(&"resolved 5".to_owned()));
    assert_eq!(team(&run).record.ignored, [ignored()]);
    let asked = |job: &AgentJob| job.prompt.contains("mallory");
    assert!(!scene.jobs.iter().any(asked));
}

#[test]
fn what_is_said_after_the_last_review_is_still_worked_in() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.people = [NOBODY, NOBODY, NOBODY, NOBODY, NOBODY]
        .into_iter()
        .chain([heard(vec![comment(5, "one more thing")])])
        .collect();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(scene.commits.len(), 2);
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
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
    assert!(scene.told[1].starts_with("to 200: This could not be resolved"));
    assert!(!scene.told.contains(&"resolved 200".to_owned()));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn what_must_work_out_ends_the_run_when_it_does_not() {
    for (fails, kind) in [
        ("chooseBranch", "diskFull"),
        ("createSandbox", "diskFull"),
        ("commitWork", "diskFull"),
        ("push", "diskFull"),
        ("openPullRequest", "diskFull"),
    ] {
        let mut scene = Scene {
            fails: Some(fails),
            ..Scene::reviews(&[APPROVED])
        };
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(
            end(&run),
            (OutcomeStatus::Failed, Some(kind), None),
            "{fails}"
        );
    }
}

#[test]
fn what_need_not_work_out_does_not_stop_a_team() {
    for fails in [
        "listen",
        "readDiff",
        "postReview",
        "reply",
        "resolveThread",
        "setStatus",
        "updateBody",
        "removeSandbox",
    ] {
        let mut scene = Scene {
            fails: Some(fails),
            ..Scene::reviews(&[OBJECTS, APPROVED])
        };
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(end(&run).2, Some(LastWord::Approved), "{fails}");
        assert!(
            run.warnings
                .iter()
                .any(|text| text.contains("no space left")),
            "{fails}"
        );
    }
}

#[test]
fn a_primary_that_fails_is_a_failure_at_once() {
    let requested = Event::Requested {
        request: Box::new(team_request(TeamMode::Github)),
    };
    let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
    while let Some((key, effect)) = run.pending.first_key_value() {
        let result = match effect {
            Effect::RunAgent { job, .. } if job.role == Role::Coder => {
                agent_ended(Some(Failure::Reported))
            }
            effect => good(effect),
        };
        let ended = Event::EffectEnded {
            key: key.clone(),
            result,
        };
        run = step(run, ended, at(1)).unwrap().0;
    }
    assert_eq!(
        end(&run),
        (OutcomeStatus::Failed, Some("agentFailed"), None)
    );
    assert!(!run.decided.contains_key("openPullRequest"));
}

#[test]
fn out_of_budget_stops_and_says_what_is_open() {
    let mut request = team_request(TeamMode::Github);
    // The namer, the coder and the first reviewer use 1200 tokens each.
    request.budget.tokens = Some(3_000);
    let mut scene = Scene::reviews(&[OBJECTS]);
    let run = scene.fly(request);
    assert_eq!(end(&run).1, Some("outOfBudget"));
    assert_eq!(scene.roles().last().unwrap(), "reviewer Security");
    assert!(scene.told.contains(&"status false".to_owned()));
}

#[test]
fn without_a_pull_request_the_loop_is_the_same() {
    let request = Request {
        publish: Publish::BranchOnly,
        ..team_request(TeamMode::Pingpong)
    };
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let run = scene.fly(request);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert!(scene.told.is_empty() && !run.decided.contains_key("push"));
}

#[test]
fn the_description_carries_the_task_the_feedback_and_the_record_within_its_limit() {
    let long = json!({"verdict": "needs_changes", "suggestions": [{"issue": "x".repeat(70_000)}]});
    for (said, has_record) in [
        (OBJECTS.to_owned(), true),
        (format!("```json\n{long}\n```"), false),
    ] {
        let mut scene = Scene::reviews(&[&said, APPROVED]);
        let mut bodies = Vec::new();
        let requested = Event::Requested {
            request: Box::new(team_request(TeamMode::Pingpong)),
        };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        while let Some((key, effect)) = run.pending.first_key_value() {
            if let Effect::OnForge {
                act: ForgeAct::UpdateBody { body },
                ..
            } = effect
            {
                bodies.push(body.clone());
            }
            let ended = Event::EffectEnded {
                key: key.clone(),
                result: scene.perform(effect),
            };
            run = step(run, ended, at(1)).unwrap().0;
        }
        let last = bodies.last().unwrap();
        assert_eq!(bodies.len(), 3);
        assert!(last.contains("<summary>The task</summary>"), "{last}");
        assert!(last.contains("[REVIEW - NEEDS CHANGES]"));
        assert_eq!(
            last.contains("<summary>What happened</summary>"),
            has_record
        );
        assert!(bodies.iter().all(|body| body.chars().count() <= 65_536));
    }
}

fn any_result() -> impl Strategy<Value = EffectResult> {
    prop_oneof![
        Just(agent_said(APPROVED)),
        Just(agent_said(OBJECTS)),
        Just(agent_said("nothing")),
        Just(agent_ended(Some(Failure::Infra))),
        Just(EffectResult::Failed { problem: problem() }),
    ]
}

proptest! {
    /// Whatever agents say and whatever fails: the run ends, within bounds, with nothing pending;
    /// it is approved only if every last review approved; and every state reads as it was written.
    #[test]
    fn a_team_always_ends(
        results in proptest::collection::vec(any_result(), 1..40),
        fails in proptest::option::of(proptest::sample::select(vec![
            "listen", "readDiff", "postReview", "reply", "updateBody", "push", "commitWork",
        ])),
        mode in proptest::sample::select(vec![
            TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github,
        ]),
    ) {
        let mut scene = Scene { fails, ..Scene::default() };
        let mut answers = results.iter().cycle();
        let requested = Event::Requested { request: Box::new(team_request(mode)) };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        let mut steps = 0;
        while let Some((key, effect)) = run.pending.first_key_value() {
            steps += 1;
            prop_assert!(steps < 500, "no end");
            let result = match effect {
                Effect::RunAgent { job, .. } if job.role != Role::Coder => {
                    answers.next().unwrap().clone()
                }
                effect => scene.perform(effect),
            };
            let ended = Event::EffectEnded { key: key.clone(), result };
            run = step(run, ended, at(steps)).unwrap().0;
            prop_assert_eq!(&read_run(1, &write_run(&run).unwrap()).unwrap(), &run);
        }
        prop_assert!(run.outcome.is_some());
        let reviews = &team(&run).record.reviews;
        if team(&run).verdict == Some(LastWord::Approved) {
            let last = |domain| reviews.iter().rfind(|one| one.domain == domain).unwrap();
            for one in reviews {
                prop_assert_eq!(last(one.domain).verdict, Some(Verdict::Approved));
            }
        }
    }

    /// Whenever its owner dies: what it left running is ended, its sandbox goes, and it ends.
    #[test]
    fn a_team_whose_owner_dies_is_brought_to_its_end(steps in 0_usize..40, agents in any::<bool>()) {
        let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
        let requested = Event::Requested { request: Box::new(team_request(TeamMode::Github)) };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        for _ in 0..steps {
            let Some((key, effect)) = run.pending.first_key_value() else { break };
            let ended = Event::EffectEnded { key: key.clone(), result: scene.perform(effect) };
            run = step(run, ended, at(1)).unwrap().0;
        }
        prop_assume!(run.outcome.is_none());
        if let (true, Some(key)) = (agents, run.pending.keys().next().cloned()) {
            let started = Event::ProcessStarted { key, identity: common::identity(42) };
            run = step(run, started, at(2)).unwrap().0;
        }
        let had_process = !run.processes.is_empty();
        run = step(run, Event::OwnerLost, at(3)).unwrap().0;
        let mut order = Vec::new();
        while let Some((key, effect)) = run.pending.first_key_value() {
            order.push(effect.name());
            let ended = Event::EffectEnded { key: key.clone(), result: good(effect) };
            run = step(run, ended, at(4)).unwrap().0;
        }
        let expected: &[&str] = match had_process {
            true => &["endProcess", "removeSandbox"],
            false => &["removeSandbox"],
        };
        prop_assert_eq!(order.as_slice(), expected);
        let kind = run.outcome.unwrap().failure.map(|problem| problem.kind);
        prop_assert!(run.leaving.unwrap().status == OutcomeStatus::Succeeded || kind.as_deref() == Some("ownerLost"));
    }
}
