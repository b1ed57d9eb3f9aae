//! The record of a phase as Markdown, for the end of the description.

use super::super::super::model::{JobRecord, Record, ReviewRecord, Run, SeverityTotals};
use super::super::isolation_text::isolation_text;
use super::findings_text::counted;
use crate::agent::answer::Verdict;
use crate::agent::{Cost, Role, Usage};
use crate::private_paths::without_private_paths;
use crate::review::{Domain, Resolution};
use crate::settings::RecordDetail;
use std::fmt::Write;

/// The longest line of other people's text in a table.
const CELL_CHARS: usize = 120;

/// The longest argument of a command line that is shown in full.
const ARGUMENT_CHARS: usize = 80;

/// The record as Markdown; `None` if it is not published.
pub(super) fn record_text(record: &Record, run: &Run, detail: RecordDetail) -> Option<String> {
    match detail {
        RecordDetail::None => None,
        RecordDetail::Full => Some(whole_record(record, run, |argument| argument.to_owned())),
        RecordDetail::Redacted => {
            let text = whole_record(record, run, without_prompt);
            let sandbox = record
                .sandbox
                .as_deref()
                .map(|path| (path, run.id.as_str()));
            Some(without_private_paths(&text, sandbox))
        }
    }
}

/// Replaces an argument that is or contains a prompt by its length. Arguments with line breaks, and
/// long ones with spaces, count as prompts.
fn without_prompt(argument: &str) -> String {
    let count = argument.chars().count();
    let is_text = argument.contains('\n')
        || (count > ARGUMENT_CHARS && argument.contains(char::is_whitespace));
    if is_text {
        format!("[{count} characters]")
    } else {
        argument.to_owned()
    }
}

fn whole_record(record: &Record, run: &Run, shown: impl Fn(&str) -> String) -> String {
    let mut text = format!("Run `{}`", run.id);
    if let Some(sandbox) = &record.sandbox {
        let _ = write!(text, " in `{}`", cell(sandbox));
    }
    if let Some(pr) = &run.work.pull_request {
        let _ = write!(text, ", pull request {}", cell(&pr.url));
    }
    text.push_str(
        "\n\n| agent | role | time | tokens | cost | result \
                   |\n|---|---|---|---|---|---|\n",
    );
    for job in &record.jobs {
        text.push_str(&job_row(job));
    }
    tell_roles(record, &mut text);
    text.push_str("\nCommits:\n\n");
    for commit in &run.work.commits {
        let _ = writeln!(text, "- {} {}", commit.sha.short(), cell(&commit.subject));
    }
    if let Some(isolation) = isolation_text(&run.layers) {
        let _ = write!(text, "\n{isolation}\n");
    }
    tell_reviews(record, &mut text);
    tell_remarks(record, &mut text);
    tell_notes(record, shown, &mut text);
    text
}

/// Adds the time, tokens and cost of each role.
fn tell_roles(record: &Record, text: &mut String) {
    let mut roles: Vec<Role> = record.jobs.iter().map(|job| job.role).collect();
    roles.sort_unstable_by_key(|role| role.to_string());
    roles.dedup();
    for role in roles {
        let (mut count, mut seconds) = (0, 0);
        let (mut usage, mut cost) = (Usage::default(), None::<Cost>);
        for job in record.jobs.iter().filter(|job| job.role == role) {
            count += 1;
            seconds += job.ended_at.map_or(0, |ended| {
                ended.duration_since(job.started_at).as_secs().max(0)
            });
            usage = usage.plus(job.usage);
            cost = match (cost, job.cost) {
                (Some(before), Some(more)) => Some(before.plus(more)),
                (before, more) => before.or(more),
            };
        }
        let cost = cost.map_or("-".to_owned(), |cost| cost.to_string());
        let _ = writeln!(
            text,
            "| total | {role} | {seconds} s | {} | {cost} | {count} job{} |",
            tokens(usage),
            if count == 1 { "" } else { "s" }
        );
    }
}

fn tell_reviews(record: &Record, text: &mut String) {
    if record.reviews.is_empty() {
        return;
    }
    text.push_str("\nReviews:\n\n");
    for review in &record.reviews {
        let verdict = match (review.verdict, &review.failure) {
            (Some(Verdict::Approved), _) => "approved".to_owned(),
            (Some(Verdict::NeedsChanges), _) => "needs changes".to_owned(),
            (Some(Verdict::NotApplicable), _) => "not applicable".to_owned(),
            (None, Some(why)) => format!("no verdict: {}", cell(why)),
            (None, None) => "no verdict".to_owned(),
        };
        let at = review.head.as_ref();
        let at = at.map_or(String::new(), |sha| format!(" at {}", sha.short()));
        let _ = writeln!(
            text,
            "- {}, round {}{at}: {verdict}{}",
            review.domain.as_ref().map_or("whole change", Domain::name),
            review.round,
            resolved(review)
        );
        for one in &review.findings {
            let place = one.file.as_deref().map_or(String::new(), |file| {
                let line = one.line.map_or(String::new(), |line| format!(":{line}"));
                format!("`{}{line}` ", cell(file))
            });
            let refuted = one.refuted.as_ref().map_or("", |_| " (refuted)");
            let older = if one.pre_existing {
                " (existed before the change)"
            } else {
                ""
            };
            let issue = cell(&one.issue);
            let _ = writeln!(text, "  - {place}{issue}{refuted}{older}");
        }
    }
    let is_security = |one: &ReviewRecord| one.domain == Some(Domain::Security);
    if record.reviews.iter().any(is_security) {
        let SeverityTotals {
            blocker,
            major,
            minor,
        } = record.security_findings();
        let _ = writeln!(
            text,
            "\nSecurity findings: blocker {blocker}, major {major}, minor {minor}"
        );
    }
}

/// How many findings of a review were resolved, as text.
fn resolved(review: &ReviewRecord) -> String {
    match review.resolution {
        Some(Resolution { findings, resolved }) if findings > 0 => {
            format!(
                ", {resolved} of {} resolved",
                counted(findings as usize, "finding")
            )
        }
        Some(_) | None => String::new(),
    }
}

fn tell_remarks(record: &Record, text: &mut String) {
    if !record.remarks.is_empty() {
        text.push_str("\nComments:\n\n");
    }
    for remark in &record.remarks {
        let name = remark
            .comment
            .map_or("findings without a comment".to_owned(), |comment| {
                format!("comment {}", comment.id)
            });
        let became = match (&remark.commit, remark.resolved) {
            (Some(commit), true) => format!("resolved in {}", commit.short()),
            (Some(commit), false) => format!("open, with changes in {}", commit.short()),
            (None, _) => "open".to_owned(),
        };
        let _ = writeln!(text, "- {name}: {became} {}", cell(&remark.note));
    }
    if record.rounds.iter().any(|round| !round.outside.is_empty()) {
        text.push_str("\nChanged outside of what the findings name:\n\n");
    }
    for line in outside_lines(record) {
        let _ = writeln!(text, "{line}");
    }
    if !record.ignored.is_empty() {
        text.push_str("\nIgnored comments:\n\n");
    }
    for one in &record.ignored {
        let author = one.author.as_deref().unwrap_or("unknown");
        let _ = writeln!(
            text,
            "- {} by {}: {}",
            one.comment.id,
            cell(author),
            one.reason
        );
    }
}

/// The changed places beyond the fixers' findings, one line for each.
pub(super) fn outside_lines(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    for round in &record.rounds {
        let number = round.number;
        for place in &round.outside {
            let line = place.line.map_or(String::new(), |line| format!(":{line}"));
            let count = match place.lines {
                0 => String::new(),
                count => format!(", {}", counted(count as usize, "line")),
            };
            let file = cell(&place.file);
            lines.push(format!("- round {number}: `{file}{line}`{count}"));
        }
        if round.more > 0 {
            let more = counted(round.more as usize, "more place");
            lines.push(format!("- round {number}: {more}"));
        }
    }
    lines
}

fn tell_notes(record: &Record, shown: impl Fn(&str) -> String, text: &mut String) {
    let line = |job: &JobRecord| {
        let arguments = job.argv.iter().map(|argument| shown(argument));
        arguments.collect::<Vec<_>>().join(" ")
    };
    let mut started: Vec<String> = record.jobs.iter().map(line).collect();
    started.retain(|line| !line.is_empty());
    started.sort_unstable();
    started.dedup();
    for (number, line) in started.iter().enumerate() {
        if number == 0 {
            text.push_str("\nAgent commands:\n\n");
        }
        let _ = writeln!(text, "- `{}`", cell(line));
    }
    let permissions = record.jobs.iter().flat_map(|job| &job.permissions);
    for (number, one) in permissions.enumerate() {
        if number == 0 {
            text.push_str("\nPermission requests:\n\n");
        }
        let answer = if one.granted { "granted" } else { "refused" };
        let _ = writeln!(text, "- {answer}: `{}`", cell(&one.tool));
    }
    let commands = record.jobs.iter().flat_map(|job| &job.commands);
    for (number, line) in commands.enumerate() {
        if number == 0 {
            text.push_str("\nCommands:\n\n");
        }
        let _ = writeln!(text, "- `{}`", cell(line));
    }
}

fn job_row(job: &JobRecord) -> String {
    let role = match &job.domain {
        Some(domain) => format!("{} ({domain})", job.role),
        None => job.role.to_string(),
    };
    let time = job.ended_at.map_or("-".to_owned(), |ended| {
        format!("{} s", ended.duration_since(job.started_at).as_secs())
    });
    let cost = job.cost.map_or("-".to_owned(), |cost| cost.to_string());
    let end = match (&job.failure, job.ended_at) {
        (Some(why), _) => cell(why),
        (None, Some(_)) => "done".to_owned(),
        (None, None) => "running".to_owned(),
    };
    format!(
        "| {} | {role} | {time} | {} | {cost} | {end} |\n",
        cell(&job.agent),
        tokens(job.usage)
    )
}

fn tokens(usage: Usage) -> String {
    usage
        .reported()
        .map_or("unknown".to_owned(), |tokens| tokens.to_string())
}

/// Foreign text as one short line that breaks no table, code span or block.
pub(super) fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String = line
        .chars()
        .map(|c| match c {
            '|' => '/',
            '`' => '\'',
            '<' => '(',
            '>' => ')',
            other => other,
        })
        .take(CELL_CHARS)
        .collect();
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CommitSha, RunId};
    use crate::run::CommitSummary;
    use crate::time::Timestamp;

    const SANDBOX: &str = "/data/ann/.local/state/drive/sandboxes/r-1";

    fn told(detail: RecordDetail) -> Option<String> {
        let arguments = [
            "/home/ann/bin/agent",
            "--print",
            "Do this:\nask",
            "--add-dir",
            SANDBOX,
        ];
        let job = JobRecord {
            agent: "coder".into(),
            role: Role::Coder,
            argv: arguments.map(str::to_owned).to_vec(),
            round: 1,
            domain: None,
            effect: None,
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
            failure: None,
            usage: Usage::default(),
            cost: None,
            commands: vec![format!("cat {SANDBOX}/a /data/ann/.netrc")],
            permissions: Vec::new(),
        };
        let record = Record {
            sandbox: Some(SANDBOX.to_owned()),
            jobs: vec![job],
            ..Record::default()
        };
        let mut run = Run::new(RunId::new("r-1"));
        run.work.commits = vec![CommitSummary {
            sha: CommitSha::new("0123456789".repeat(4)),
            subject: "Do it".into(),
        }];
        record_text(&record, &run, detail)
    }

    #[test]
    fn a_redacted_record_has_commands_without_prompts_and_without_paths_of_the_machine() {
        let text = told(RecordDetail::Redacted).unwrap();
        assert!(text.starts_with("Run `r-1` in `r-1`"), "{text}");
        assert!(
            text.contains("- `~/bin/agent --print [12 characters] --add-dir r-1`"),
            "{text}"
        );
        assert!(text.contains("- `cat r-1/a ~/.netrc`"), "{text}");
        assert!(text.contains("\n- 0123456789 Do it\n"), "{text}");
        assert!(text.contains("| 1 job |"), "{text}");
    }

    #[test]
    fn a_full_record_has_everything_and_none_is_no_record() {
        let text = told(RecordDetail::Full).unwrap();
        for part in [
            SANDBOX,
            "/home/ann/bin/agent",
            "Do this: ask",
            "/data/ann/.netrc",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(told(RecordDetail::None), None);
    }
}
