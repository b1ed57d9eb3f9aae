//! A run as the command that flew it answers: one `drive.run/1` document, one summary for people.

use crate::answer::{Answer, Outcome};
use drive_core::Problem;
use drive_core::run::{OutcomeStatus, Run};
use drive_engine::ports::DiffStats;
use serde_json::{Value, json};
use std::fmt::Write;

/// The schema of a run.
pub(crate) const RUN_SCHEMA: &str = "drive.run/1";

/// The answer of a command whose run has ended.
pub(crate) fn answer(run: &Run, changes: Option<DiffStats>) -> Outcome {
    let answer = Answer::new(RUN_SCHEMA, &document(run), text(run, changes))?;
    Ok(match failure(run) {
        None => answer,
        Some(problem) => answer.failed(problem),
    })
}

/// Why a run did not do what it was asked; every end but success has a reason.
fn failure(run: &Run) -> Option<Problem> {
    let outcome = run.outcome.as_ref()?;
    if outcome.status == OutcomeStatus::Succeeded {
        return None;
    }
    Some(outcome.failure.clone().unwrap_or_else(|| {
        Problem::work("runFailed", format!("run `{}` did not succeed", run.id))
            .hint(format!("see what happened: `drive runs show {}`", run.id))
    }))
}

/// The contract's fields of one run.
pub(crate) fn document(run: &Run) -> Value {
    let request = run.request.as_ref();
    let outcome = run.outcome.as_ref();
    let duration = match (run.started_at, outcome) {
        (Some(from), Some(outcome)) => {
            let span = outcome.ended_at.duration_since(from).as_millis();
            u64::try_from(span).unwrap_or(0)
        }
        _ => 0,
    };
    let kept: Vec<&str> = run
        .kept
        .iter()
        .map(|kept| kept.reference.as_str())
        .collect();
    json!({
        "runId": run.id,
        "kind": request.map(|r| r.kind.as_str()),
        "status": outcome.map(|o| o.status),
        "task": request.map(|r| r.task.as_str()),
        "branch": run.work.branch,
        "headSha": run.work.head_sha,
        "baseSha": request.map(|r| r.base_sha.as_str()),
        "commits": run.work.commits,
        "prNumber": run.work.pull_request.as_ref().map(|pr| pr.number),
        "prUrl": run.work.pull_request.as_ref().map(|pr| pr.url.as_str()),
        "rounds": run.decided.get("runAgent").copied().unwrap_or(0),
        "tokens": run.spent.usage.counted(),
        "costUsd": run.spent.cost.map(|cost| cost.usd()),
        "durationMs": duration,
        "kept": kept,
        "warnings": run.warnings,
        "log": run.work.log,
        "failure": outcome.and_then(|o| o.failure.as_ref()).map(|f| json!({
            "kind": f.kind, "message": f.message, "hint": f.hint,
        })),
    })
}

/// What a person wants to know at the end: what changed, where it is, what it cost.
fn text(run: &Run, changes: Option<DiffStats>) -> String {
    let mut text = String::new();
    if let (Some(branch), Some(head)) = (&run.work.branch, &run.work.head_sha) {
        let _ = writeln!(text, "branch   {branch} at {}", short(head));
    }
    for commit in &run.work.commits {
        let _ = writeln!(text, "commit   {} {}", short(&commit.sha), commit.subject);
    }
    if let Some(stats) = changes {
        let (files, plus, minus) = (stats.files, stats.insertions, stats.deletions);
        let _ = writeln!(text, "changes  {files} files, +{plus} -{minus}");
    }
    if let Some(pr) = &run.work.pull_request {
        let _ = writeln!(text, "pull     #{} {}", pr.number, pr.url);
    }
    for kept in &run.kept {
        let _ = writeln!(text, "kept     {}", kept.reference);
    }
    for warning in &run.warnings {
        let _ = writeln!(text, "note     {warning}");
    }
    if let (Some(from), Some(outcome)) = (run.started_at, &run.outcome) {
        let seconds = outcome.ended_at.duration_since(from).as_secs();
        let cost = run
            .spent
            .cost
            .map_or(String::new(), |cost| format!(", {cost}"));
        let tokens = run.spent.usage.counted();
        let _ = writeln!(text, "used     {seconds} s, {tokens} tokens{cost}");
    }
    let _ = writeln!(text, "log      drive runs logs {}", run.id);
    text
}

/// A hash as people say it.
pub(crate) fn short(sha: &str) -> &str {
    sha.get(..10).unwrap_or(sha)
}
