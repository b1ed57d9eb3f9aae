//! The report of a run: the answer of the command that executed it, with a summary for people.

use crate::answer::{Answer, Outcome};
use crate::documents::{Failure, RunDocument};
use crate::output::Printable;
use drive_core::agent::answer::Verdict;
use drive_core::problem::{Kind, Problem};
use drive_core::process::missing_essentials;
use drive_core::review::Domain;
use drive_core::run::{
    Flow, OutcomeStatus, Phase, Record, Run, is_fix_unreviewed, open_findings, waits_for_person,
};
use drive_engine::ports::DiffStats;
use std::fmt::Write;

/// How many changed files the summary lists.
const FILES_SHOWN: usize = 10;

/// The answer of a command that executed a run. `problem` is used if the run itself has no failure.
pub(crate) fn answer(run: &Run, changes: Option<&DiffStats>, problem: Option<Problem>) -> Outcome {
    let problem = failure(run).or(problem);
    let mut document = RunDocument::new(run, changes);
    document.run.failure = problem.as_ref().map(Failure::from);
    let text = Printable(&text(run, changes)).to_string();
    Ok(Answer::new(&document, text)?.failed_if(problem))
}

/// Why a run did not succeed; `None` if it succeeded or is active.
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

fn phase(run: &Run) -> Option<&Phase> {
    match &run.flow {
        Flow::Phase { phase } => Some(phase),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}

/// The summary for people: changes, branch, pull request, cost.
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
        if is_fix_unreviewed(run) {
            text.push_str("review   the fix was not reviewed\n");
        }
        tell_open(run, &mut text);
        if !run.is_watched() {
            tell_state(run, phase, &mut text);
        }
    }
    for kept in &run.kept {
        let _ = writeln!(
            text,
            "saved    {} (`drive kept restore {}`)",
            kept.reference, run.id
        );
    }
    for sandbox in run.sandboxes.values() {
        let _ = writeln!(text, "sandbox  {}", sandbox.path.display());
    }
    // The JSON and the pull request list every missing layer; this shows the essential ones.
    for layer in missing_essentials(&run.layers, true) {
        let _ = writeln!(text, "missing  layer `{}`", layer.name.as_str());
    }
    for warning in &run.warnings {
        let _ = writeln!(text, "note     {}", warning.replace('\n', "\n           "));
    }
    if let (Some(from), Some(outcome)) = (run.started_at, &run.outcome) {
        let seconds = outcome.ended_at.duration_since(from).as_secs();
        let spent = run.spent_in_all();
        let cost = spent.cost.map_or(String::new(), |cost| format!(", {cost}"));
        let tokens = spent.usage.describe();
        let _ = writeln!(text, "used     {seconds} s, {tokens}{cost}");
    }
    let _ = writeln!(text, "log      drive runs logs {}", run.id);
    text
}

/// One line for all changes, and one for each of the first files.
fn by_file(changes: &DiffStats) -> String {
    let (files, plus, minus) = (changes.files, changes.insertions, changes.deletions);
    let noun = if files == 1 { "file" } else { "files" };
    let mut text = format!("changes  {files} {noun}, +{plus} -{minus}\n");
    for file in changes.listed.iter().take(FILES_SHOWN) {
        let lines = match (file.insertions, file.deletions) {
            (Some(plus), Some(minus)) => format!("+{plus} -{minus}"),
            (None, _) | (_, None) => "binary".to_owned(),
        };
        // A file name with a line break must not look like another line.
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

/// The state of the pull request.
fn tell_state(run: &Run, phase: &Phase, text: &mut String) {
    if run.work.pull_request.is_none() {
        return;
    }
    if let Some(judged) = &phase.judged {
        let (head, base) = (short(&judged.head_sha), short(&judged.base_sha));
        let verdict = judged.overall.as_str();
        let _ = writeln!(text, "verified {head} against {base}: {verdict}");
    }
    let end = run
        .outcome
        .as_ref()
        .filter(|_| waits_for_person(run).is_none());
    match (&phase.merged, end.map(|end| end.status)) {
        (Some(sha), _) => {
            let _ = writeln!(text, "merged   as {}", short(sha));
        }
        (None, Some(OutcomeStatus::Succeeded | OutcomeStatus::NeedsHuman)) => {
            let _ = writeln!(text, "ready    for human review");
        }
        (None, _) => {}
    }
}

/// How many open findings are listed.
const FINDINGS_SHOWN: usize = 20;

/// Adds the findings that block a merge.
fn tell_open(run: &Run, text: &mut String) {
    let open = open_findings(run);
    for (domain, finding) in open.iter().take(FINDINGS_SHOWN) {
        let of = domain.map_or(String::new(), |domain| format!("{domain}, "));
        let place = match (&finding.file, finding.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, _) => String::new(),
        };
        let said = format!("{place}{}", finding.issue).replace('\n', " ");
        let severity = finding.severity.name();
        let _ = writeln!(text, "open     {of}{severity}: {said}");
    }
    if open.len() > FINDINGS_SHOWN {
        let _ = writeln!(text, "open     and {} more", open.len() - FINDINGS_SHOWN);
    }
}

fn tell_reviews(record: &Record, text: &mut String) {
    for review in &record.reviews {
        let what = review.domain.as_ref();
        let what = what.map_or("whole change", Domain::name);
        let verdict = match review.verdict {
            Some(Verdict::Approved) => "approved",
            Some(Verdict::NeedsChanges) => "needs changes",
            Some(Verdict::NotApplicable) => "not applicable",
            None => "no verdict",
        };
        let (round, count) = (review.round, review.findings.len());
        let findings = if count == 1 { "finding" } else { "findings" };
        let _ = writeln!(
            text,
            "review   {what}, round {round}: {verdict}, {count} {findings}"
        );
    }
    for one in &record.ignored {
        let author = one.author.as_deref().unwrap_or("unknown");
        let _ = writeln!(
            text,
            "ignored  comment {} by {author}: {}",
            one.comment.id, one.reason
        );
    }
}

/// The first ten digits of a hash.
pub(crate) fn short(sha: &str) -> &str {
    sha.get(..10).unwrap_or(sha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_engine::ports::FileChange;

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
