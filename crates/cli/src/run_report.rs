//! Report of a run: the `drive.run/1` document and a summary for people.

use crate::answer::{Answer, Outcome};
use crate::output::Printable;
use drive_adapters::agents::TRANSCRIPT;
use drive_core::agent::answer::Verdict;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Flow, OutcomeStatus, Phase, Record, Run};
use drive_engine::ports::{DiffStats, FileChange};
use serde_json::{Value, json};
use std::fmt::Write;

/// Most changed files listed by name.
const FILES_SHOWN: usize = 10;

/// Schema name of a run's document.
pub(crate) const RUN_SCHEMA: &str = "drive.run/1";

/// The answer of a command that executed a run.
pub(crate) fn answer(run: &Run, changes: Option<&DiffStats>) -> Outcome {
    let mut body = document(run);
    if let Value::Object(fields) = &mut body {
        fields.insert("changes".to_owned(), changes.map_or(Value::Null, counted));
    }
    let text = Printable(&text(run, changes)).to_string();
    let answer = Answer::new(RUN_SCHEMA, &body, text)?;
    Ok(match failure(run) {
        None => answer,
        Some(problem) => answer.failed(problem),
    })
}

/// Why a run did not succeed; `None` if it did or is not over.
fn failure(run: &Run) -> Option<Problem> {
    let outcome = run.outcome.as_ref()?;
    if outcome.status == OutcomeStatus::Succeeded {
        return None;
    }
    Some(outcome.failure.clone().unwrap_or_else(|| {
        Problem::new(Kind::RunFailed, format!("run `{}` did not succeed", run.id))
            .hint(format!("see what happened: `drive runs show {}`", run.id))
    }))
}

/// The changes as JSON.
fn counted(changes: &DiffStats) -> Value {
    let file = |file: &FileChange| {
        json!({
            "path": file.path.to_string_lossy(),
            "insertions": file.insertions,
            "deletions": file.deletions,
        })
    };
    json!({
        "files": changes.files,
        "insertions": changes.insertions,
        "deletions": changes.deletions,
        "listed": changes.listed.iter().map(file).collect::<Vec<_>>(),
    })
}

/// The `drive.run/1` fields of a run.
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
    let phase = phase(run);
    let verdict = phase.and_then(|phase| match run.is_watched() {
        true => phase.last_word(),
        false => phase.verdict,
    });
    let jobs = run.decided.get("runAgent").copied().unwrap_or(0);
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
        "verdict": verdict,
        "verification": phase.and_then(|phase| phase.judged.as_ref()),
        "mergedSha": phase.and_then(|phase| phase.merged.as_ref()),
        "record": run.flow.record(),
        "rounds": rounds(run).unwrap_or(jobs),
        "tokens": run.spent.usage.counted(),
        "costUsd": run.spent.cost.map(|cost| cost.usd()),
        "durationMs": duration,
        "kept": kept,
        "warnings": run.warnings,
        "log": run.work.log.as_ref().map(|folder| folder.join(TRANSCRIPT)),
        "sandbox": run.sandboxes.values().next().map(|sandbox| &sandbox.path),
        "failure": outcome.and_then(|o| o.failure.as_ref()).map(|f| json!({
            "kind": f.kind, "message": f.message, "hint": f.hint,
        })),
    })
}

fn phase(run: &Run) -> Option<&Phase> {
    match &run.flow {
        Flow::Phase { phase } => Some(phase),
        Flow::Awaiting | Flow::Spawn { .. } => None,
    }
}

/// A watched phase counts its fixer rounds, a team its reviews.
fn rounds(run: &Run) -> Option<u32> {
    let phase = phase(run)?;
    match run.is_watched() {
        true => Some(phase.rounds),
        false => u32::try_from(phase.record.reviews.len()).ok(),
    }
}

/// What a person wants to know at the end: what changed, where it is, what it cost.
fn text(run: &Run, changes: Option<&DiffStats>) -> String {
    let mut text = String::new();
    if let (Some(branch), Some(head)) = (&run.work.branch, &run.work.head_sha) {
        let _ = writeln!(text, "branch   {branch} at {}", short(head));
    }
    for commit in &run.work.commits {
        let _ = writeln!(text, "commit   {} {}", short(&commit.sha), commit.subject);
    }
    if let Some(stats) = changes {
        text.push_str(&by_file(stats));
    }
    if let Some(pr) = &run.work.pull_request {
        let _ = writeln!(text, "pull     #{} {}", pr.number, pr.url);
    }
    if let Some(phase) = phase(run) {
        tell_reviews(&phase.record, &mut text);
        if !run.is_watched() {
            tell_state(run, phase, &mut text);
        }
    }
    for kept in &run.kept {
        let _ = writeln!(
            text,
            "kept     {} (`drive kept restore {}`)",
            kept.reference, run.id
        );
    }
    for sandbox in run.sandboxes.values() {
        let _ = writeln!(text, "sandbox  {}", sandbox.path.display());
    }
    for warning in &run.warnings {
        let _ = writeln!(text, "note     {}", warning.replace('\n', "\n           "));
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

/// One line for all changes and one for each of the first files.
fn by_file(changes: &DiffStats) -> String {
    let (files, plus, minus) = (changes.files, changes.insertions, changes.deletions);
    let noun = if files == 1 { "file" } else { "files" };
    let mut text = format!("changes  {files} {noun}, +{plus} -{minus}\n");
    for file in changes.listed.iter().take(FILES_SHOWN) {
        let lines = match (file.insertions, file.deletions) {
            (Some(plus), Some(minus)) => format!("+{plus} -{minus}"),
            (None, _) | (_, None) => "binary".to_owned(),
        };
        // A name with a line's end must not look like a line of ours.
        let name = file.path.display().to_string().replace('\n', "\\n");
        let _ = writeln!(text, "           {name} {lines}");
    }
    let shown = changes.listed.len().min(FILES_SHOWN);
    let more = files as usize - shown;
    if more > 0 {
        let _ = writeln!(text, "           and {more} more");
    }
    text
}

/// Whose turn it is with the pull request.
fn tell_state(run: &Run, phase: &Phase, text: &mut String) {
    if run.work.pull_request.is_none() {
        return;
    }
    if let Some(judged) = &phase.judged {
        let (head, base) = (short(&judged.head_sha), short(&judged.base_sha));
        let verdict = judged.overall.as_str();
        let _ = writeln!(text, "verified {head} against {base}: {verdict}");
    }
    match (&phase.merged, run.outcome.as_ref().map(|end| end.status)) {
        (Some(sha), _) => {
            let _ = writeln!(text, "merged   as {}", short(sha));
        }
        (None, Some(OutcomeStatus::Succeeded | OutcomeStatus::NeedsHuman)) => {
            let _ = writeln!(text, "ready    for human review");
        }
        (None, _) => {}
    }
}

fn tell_reviews(record: &Record, text: &mut String) {
    for review in &record.reviews {
        let what = review.domain.map_or("everything", |domain| domain.name());
        let verdict = match review.verdict {
            Some(Verdict::Approved) => "approved",
            Some(Verdict::NeedsChanges) => "needs changes",
            None => "no verdict",
        };
        let (round, count) = (review.round, review.suggestions.len());
        let _ = writeln!(
            text,
            "review   {what}, round {round}: {verdict}, {count} remarks"
        );
    }
    for one in &record.ignored {
        let author = one.author.as_deref().unwrap_or("nobody");
        let _ = writeln!(
            text,
            "ignored  comment {} by {author}: {}",
            one.comment.id, one.reason
        );
    }
}

/// A hash as people say it.
pub(crate) fn short(sha: &str) -> &str {
    sha.get(..10).unwrap_or(sha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_by_file_up_to_ten_of_them() {
        let file = |number: u32| FileChange {
            path: format!("f{number}").into(),
            insertions: (number > 0).then_some(2),
            deletions: (number > 0).then_some(1),
        };
        let changes = |files: u32| DiffStats {
            files,
            insertions: 4,
            deletions: 2,
            listed: (0..files).map(file).collect(),
        };
        assert_eq!(
            by_file(&changes(2)),
            "changes  2 files, +4 -2\n           f0 binary\n           f1 +2 -1\n"
        );
        assert!(by_file(&changes(1)).starts_with("changes  1 file, "));
        let many = by_file(&changes(12));
        assert_eq!(many.lines().count(), 12);
        assert!(many.ends_with("f9 +2 -1\n           and 2 more\n"));
    }
}
