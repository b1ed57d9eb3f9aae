//! Simulated agents: good ones, and ones that hang, die, lie, change nothing or cost too much.

use crate::cruise_simulation::clock::{Clock, HOUR, MINUTE, SECOND};
use crate::cruise_simulation::git::{Git, PlanText};
use crate::cruise_simulation::rng::Rng;
use crate::cruise_simulation::world::UnderWay;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::stream::{Phase, StreamSetup, program_stream};
use drive_core::agent::{
    AgentOutcome, Budget, Cost, Ending, Failure, Ignored, PermissionRules, Role, Secrets, Usage,
};
use drive_core::problem::{Kind, Problem};
use drive_core::process::Stream;
use drive_core::process::{End, TimeBound};
use drive_core::run::{AgentJob, EffectResult, JobComment};
use drive_core::time::Timestamp;

/// An agent notes fewer tokens than this before it ends.
pub const MOST_NOTED: u64 = 1_500;
/// An agent uses fewer tokens than this after its note.
const MOST_AFTER: u64 = 2_000;
/// An agent uses fewer tokens than this in all, with its output.
pub const MOST_USED: u64 = MOST_NOTED + MOST_AFTER + 10;

/// How many percent of the writing agents leave the branch.
const STRAYS: u64 = 10;

/// The behaviour of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    Good,
    /// Claims that everything is fixed, and changes nothing.
    Liar,
    Declines,
    Asks,
    Garbage,
    StrangeIds,
    Dies,
    Hangs,
    UsageLimit,
    /// Leaves an invalid plan.
    Breaks,
    /// Cannot be started.
    Missing,
    /// Reports that its review is complete, and does not exit.
    Complete,
    /// Is cancelled.
    Cancelled,
}

pub fn temper(role: Role, wildness: u64, rng: &mut Rng) -> Temper {
    if !rng.percent(wildness) {
        return Temper::Good;
    }
    match role {
        Role::Planner | Role::Coder => rng.weighed(&[
            (6, Temper::Breaks),
            (1, Temper::Dies),
            (1, Temper::Hangs),
            (1, Temper::Liar),
            (4, Temper::Garbage),
        ]),
        Role::Reviewer if rng.percent(30) => Temper::Complete,
        _ => rng.weighed(&[
            (3, Temper::Liar),
            (3, Temper::Declines),
            (2, Temper::Asks),
            (3, Temper::Garbage),
            (2, Temper::StrangeIds),
            (4, Temper::Dies),
            (2, Temper::Hangs),
            (2, Temper::UsageLimit),
            (2, Temper::Breaks),
            (1, Temper::Missing),
        ]),
    }
}

/// How long it works, in milliseconds.
pub fn duration(temper: Temper, job: &AgentJob, rng: &mut Rng) -> i64 {
    match temper {
        Temper::Hangs => i64::try_from(job.idle.as_millis()).unwrap_or(HOUR),
        Temper::Missing => SECOND,
        _ => rng.between(2 * SECOND, 10 * MINUTE),
    }
}

/// Leaves changes in the sandbox, committed or not.
pub fn scribble(git: &mut Git, plan: PlanText, rng: &mut Rng) {
    if rng.percent(STRAYS) {
        git.stray(rng.percent(30));
    }
    for _ in 0..rng.between(1, 3) {
        if let Some(tree) = &mut git.tree {
            tree.plan = plan;
            tree.dirty = true;
        }
        if rng.percent(40) {
            git.commit();
        }
    }
}

/// Does the job, and returns how it ended.
pub fn work(
    one: &UnderWay,
    job: &AgentJob,
    git: &mut Git,
    clock: &Clock,
    rng: &mut Rng,
) -> EffectResult {
    let temper = one.temper;
    let plan_now = git
        .tree
        .as_ref()
        .map_or(PlanText::Missing, |tree| tree.plan);
    let is_writer = matches!(job.role, Role::Planner | Role::Coder | Role::Fixer);
    let mut ending = Ending::Succeeded;
    match temper {
        Temper::Missing => {
            return EffectResult::Failed {
                problem: Problem::new(Kind::AgentNotInstalled, "no such program"),
            };
        }
        Temper::Dies => {
            ending = failed(Failure::NoVerdict {
                exit_code: None,
                signal: Some(9),
            });
        }
        Temper::Hangs => {
            ending = failed(Failure::TimedOut {
                bound: TimeBound::Idle,
            });
        }
        Temper::Cancelled => ending = failed(Failure::Cancelled),
        Temper::UsageLimit => {
            let reset = clock.now().as_millisecond() + rng.between(MINUTE, 30 * HOUR);
            let known = rng.percent(70);
            ending = failed(Failure::UsageLimit {
                resets_at: Timestamp::from_millisecond(reset).ok().filter(|_| known),
            });
        }
        _ => {}
    }
    if git.is_merging() {
        resolve(temper, git, rng);
    } else if is_writer {
        match temper {
            Temper::Liar | Temper::Declines | Temper::Asks => {}
            Temper::Breaks => scribble(git, PlanText::Broken, rng),
            Temper::Dies | Temper::Hangs | Temper::UsageLimit | Temper::Cancelled => {
                if rng.percent(50) {
                    scribble(git, plan_now, rng);
                    if let Some(tree) = &mut git.tree {
                        tree.half_done = true;
                    }
                }
            }
            _ => scribble(git, PlanText::Sound, rng),
        }
    }
    if job.role == Role::Reviewer && git.tree.is_some() && rng.percent(STRAYS) {
        scribble(git, plan_now, rng);
    }
    let input = one.noted + rng.below(MOST_AFTER);
    let mut text = answer(temper, job, rng);
    if temper == Temper::Complete {
        (ending, text) = complete(&text);
    }
    let outcome = AgentOutcome {
        ending,
        text,
        summary: "Done.".to_owned(),
        document: None,
        usage: Usage {
            input,
            cached: 0,
            output: 10,
        },
        cost: rng.percent(50).then(|| Cost::from_micro_usd(input * 1_000)),
        session: None,
        escalations: 0,
        ignored: Ignored::default(),
    };
    EffectResult::AgentEnded {
        outcome: Box::new(outcome),
        log: None,
    }
}

/// The result of the real reader for a reviewer that had to be ended.
fn complete(text: &str) -> (Ending, String) {
    let mut stream = program_stream(StreamSetup {
        role: Role::Reviewer,
        permissions: PermissionRules::default(),
        max_escalations: 0,
        budget: Budget::default(),
        resume: None,
        answer: AnswerForm::Free,
        secrets: Secrets::default(),
    });
    stream.push(
        Stream::Stdout,
        format!("{text}\n[REVIEW COMPLETE]\n").as_bytes(),
    );
    assert_eq!(stream.phase(), Phase::Done);
    let (_, outcome) = stream.finish(&End::Aborted);
    (outcome.ending, outcome.text)
}

/// Good agents usually resolve conflicts.
pub fn resolve(temper: Temper, git: &mut Git, rng: &mut Rng) {
    if let (Temper::Good, Some(tree)) = (temper, &mut git.tree) {
        tree.resolved |= rng.percent(80);
    }
}

fn failed(reason: Failure) -> Ending {
    Ending::Failed {
        reason,
        message: String::new(),
    }
}

fn answer(temper: Temper, job: &AgentJob, rng: &mut Rng) -> String {
    match (temper, job.role) {
        (Temper::Garbage, _) => "I am done, I think. {".to_owned(),
        (_, Role::Reviewer) if job.prompt.contains("Try to refute") => {
            let holds = rng.percent(50);
            format!(r#"{{"findings": [{{"id": "finding-1", "holds": {holds}, "why": "w"}}]}}"#)
        }
        (_, Role::Reviewer) => review(temper, rng),
        (_, Role::Fixer) => fixes(temper, &job.input.comments),
        _ => r#"{"branch_name": "x", "pr_title": "X"}"#.to_owned(),
    }
}

/// Contradictory answers, which must not count as an approval.
const CONTRADICTIONS: [&str; 5] = [
    "[{\"issue\": \"c\", \"severity\": \"blocker\"}]\n{\"verdict\": \"approved\"}",
    r#"{"verdict": "approved", "suggestions": [{"issue": "c", "severity": "minor"}], "blockers": [{"issue": "d"}]}"#,
    "{'verdict': 'needs_changes'}\n{\"verdict\": \"approved\"}",
    r#"{"verdict": "approved", "suggestions": [{"issue": "c", "severity": "blocker"}]}"#,
    r#"{"verdict": "not_applicable", "suggestions": [{"issue": "c"}]}"#,
];

/// Approvals in unusual forms.
const ODD: [&str; 3] = [
    r#"{"verdict": "not_applicable"}"#,
    r#"{"verdict": "needs_changes", "suggestions": [{"issue": "c", "severity": "major", "confidence": 20}]}"#,
    r#"{"verdict": "approved", "suggestions": [{"file": "other.rs", "line": 1, "issue": "c", "severity": "blocker", "preExisting": true}]}"#,
];

/// Whether a reviewer contradicted itself.
pub fn contradicts(result: &EffectResult) -> bool {
    let EffectResult::AgentEnded { outcome, .. } = result else {
        return false;
    };
    CONTRADICTIONS
        .iter()
        .any(|said| outcome.text.starts_with(said))
}

fn review(temper: Temper, rng: &mut Rng) -> String {
    // Drawn from a copy, so that old seeds give the same numbers.
    let mut aside = rng.clone();
    let odd = aside.below(40);
    let place = usize::try_from(odd).expect("small");
    if let Some(said) = CONTRADICTIONS.iter().chain(&ODD).nth(place) {
        return (*said).to_owned();
    }
    let asks = temper != Temper::Good || rng.percent(15);
    if !asks {
        return r#"{"verdict": "approved", "suggestions": []}"#.to_owned();
    }
    let line = r#"{"file": "src/login.rs", "line": 2, "issue": "a"}"#;
    let loose = r#"{"issue": "b"}"#;
    let suggestions = match rng.below(4) {
        0 => String::new(),
        1 => line.to_owned(),
        2 => loose.to_owned(),
        _ => format!("{line}, {loose}"),
    };
    format!(r#"{{"verdict": "needs_changes", "suggestions": [{suggestions}]}}"#)
}

fn fixes(temper: Temper, comments: &[JobComment]) -> String {
    let action = match temper {
        Temper::Declines => "declined",
        Temper::Asks => "question",
        _ => "fixed",
    };
    let strange = match temper {
        Temper::StrangeIds => "x",
        _ => "",
    };
    let entries: Vec<String> = comments
        .iter()
        .map(|one| {
            format!(
                r#"{{"id": "{}{strange}", "action": "{action}", "note": "n"}}"#,
                one.id
            )
        })
        .collect();
    format!(r#"{{"comments": [{}]}}"#, entries.join(", "))
}
