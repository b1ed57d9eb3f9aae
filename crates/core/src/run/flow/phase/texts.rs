//! Texts of a phase: commit messages, comments, and the description of the pull request.

use super::super::super::model::{
    Approved, Entry, Ledger, Objected, PLAN_PATH, Phase, PlanCheck, Remark, Request, Run, TaskCosts,
};
use super::super::public_text::public;
use super::super::publish::shortened;
use super::super::reply::action_on;
use super::super::review::{MOST_SHOWN, review_body, without_severity};
use super::super::shutdown::is_unpushed;
use super::super::tree::root_id;
use super::findings_text::{counted, open_findings, plain};
use super::outcome_text::description_outcome;
use super::record_text::record_text;
use crate::Problem;
use crate::agent::Cost;
use crate::agent::answer::{CommentAction, CommentAnswer};
use crate::forge::Surface;
use crate::forge::checks::Check;
use crate::forge::part::{outcome, own, unmarked};
use crate::forge::text::{BODY_CHARS, first_line, fit, plain_line, quoted};
use crate::ids::CommitSha;
use crate::markdown::code;
use crate::plan::PlanErrors;
use crate::problem::Kind;
use crate::prompts::fenced;
use crate::review::LastWord;
use crate::settings::TeamMode;
use crate::steering::notice;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// How many comments are listed by name.
pub(super) const MOST_LISTED: usize = 20;
/// How many characters of the description the plan may take.
const PLAN_CHARS: usize = 30_000;
/// The minimum number of characters for which the record is shown.
const LEAST_RECORD: usize = 500;
/// The longest reason in a comment, in characters.
const REASON_CHARS: usize = 1_000;
/// Room for the marks around drive's own part.
const MARKS_ROOM: usize = 1_000;

/// The message of the planner's commit.
pub(super) fn plan_message(title: &str, task: &str) -> String {
    format!("Plan: {title}\n\n{}", shortened(task))
}

/// The message of a commit of uncommitted changes that were found in the sandbox.
pub(super) const LEFT_MESSAGE: &str = "Save uncommitted changes of the sandbox";

/// The message of the commit that removes the plan's file.
pub(super) const DROPPED_MESSAGE: &str = "Remove the plan before the merge";

/// The message of a fixer's commit. It names the comments that the fixer reports as fixed; a
/// comment without an answer was only given to the fixer.
pub(super) fn fix_message<'a>(
    round: u32,
    entries: impl Iterator<Item = &'a Entry>,
    findings: &[Remark],
    answers: &[CommentAnswer],
) -> String {
    let entries: Vec<&Entry> = entries.collect();
    let mut text = match entries.as_slice() {
        [] => match findings {
            [] => format!("Fix round {round}: make the plan valid"),
            [one] => {
                let what = first_line(without_severity(&one.body));
                format!("Fix round {round}: {what}")
            }
            many => format!("Fix round {round}: {} findings", many.len()),
        },
        [one] if !one.parts.is_empty() => {
            format!("Fix round {round}: {} findings", one.parts.len())
        }
        [one] => {
            let what = first_line(without_severity(&one.body));
            format!("Fix round {round}: {what}")
        }
        many => format!("Fix round {round}: {} comments", many.len()),
    };
    if !entries.is_empty() {
        text.push_str("\n\n");
    }
    for entry in entries {
        let id = entry.id();
        let what = match action_on(entry, answers) {
            Some(CommentAction::Fixed) => "Comment",
            Some(CommentAction::Declined | CommentAction::Question) => continue,
            None => "Given",
        };
        let _ = writeln!(text, "{what}: {id} by {}", plain(&entry.author));
    }
    text.trim_end().to_owned()
}

/// The closing comment after the inactivity timeout. Users search for this text.
pub(super) fn timed_out(after: Duration) -> String {
    let hours = after.as_secs() / 3600;
    let span = match (hours, after.as_secs() % 3600) {
        (hours, 0) if hours > 0 => format!("{hours}h"),
        _ => format!("{}s", after.as_secs()),
    };
    format!("Cruise-control session timed out after {span} of inactivity")
}

/// The posted form of a comment from the command line.
pub(super) fn injected_body(author: &str, text: &str) -> String {
    format!("From the command line, by {}:\n\n{text}", plain(author))
}

/// The comment about a reached limit: what is open, and who must act.
pub(super) fn limit_comment(limit: &str, run: &Run, ledger: &Ledger) -> String {
    let open = open_comments(ledger);
    let command = run.extend_command();
    format!(
        "Waiting for a person: {limit}. Approve, merge or close this pull request, or raise the \
         limit with `{command}`.{open}"
    )
}

/// A failed check, as text for a fixer.
pub(super) fn check_text(check: &Check) -> String {
    let mut text = format!("Check `{}` failed", check.name);
    let failure = check.failure.as_ref();
    if let Some(step) = failure.and_then(|one| one.step.as_deref()) {
        let _ = write!(text, " in step `{step}`");
    }
    if let Some(one) = failure.filter(|one| one.job != check.name) {
        let _ = write!(text, " of job `{}`", one.job);
    }
    text.push_str(". Fix the cause; do not weaken the check.");
    if let Some(summary) = &check.summary {
        let _ = write!(text, "\n\n{summary}");
    }
    for one in failure.iter().flat_map(|one| &one.annotations) {
        let _ = write!(text, "\n- {}:{}: {}", one.path, one.line, one.message);
    }
    if let Some(log) = failure.and_then(|one| one.log.as_deref()) {
        let _ = write!(text, "\n\nThe end of its log:\n\n{}", fenced(log, "text"));
    }
    text
}

/// The comment posted when no fixer gets a failure any more.
pub(super) fn same_failure(check: &Check, commits: u32) -> String {
    let name = code(&check.name, REASON_CHARS);
    let why = if commits > 1 {
        format!("failed for the same reason on {commits} commits")
    } else {
        "keeps failing".to_owned()
    };
    format!(
        "Check {name} {why}. Drive stopped trying to fix it; \
         a person has to look at it."
    )
}

/// The reply to a comment that no fixer gets for now.
pub(super) fn waits_reply(to: &Entry, limit: &str, run: &Run) -> String {
    let command = run.extend_command();
    let text = format!("No fixer works on this yet: {limit}. Raise the limit with `{command}`.");
    match to.key.surface {
        Surface::Inline => text,
        Surface::Conversation | Surface::Review => {
            let quote = quoted(&to.author, to.url.as_deref(), &to.body);
            format!("{quote}\n\n{text}")
        }
    }
}

/// The comment that names whose objections prevent `--auto-approve`.
pub(super) fn objection_comment(head: &CommitSha, objections: &[Objected]) -> String {
    let head = head.short();
    format!(
        "Every review approved {head}, but the plan is not approved: {}. Drive approves it once \
         each of them approves or their review is dismissed.",
        objected(objections)
    )
}

/// The comment that names whose approval does not count, because the branch moved after it.
pub(super) fn voided_comment(approved: &Approved, head: &CommitSha) -> String {
    let (by, old, new) = (plain(&approved.by), approved.head.short(), head.short());
    format!(
        "{by} approved {old}. The branch is at {new} now, so that approval does not count. Approve \
         {new} if you agree with it."
    )
}

/// The comment on a plan whose errors no fixer corrects: what it waits for.
pub(super) fn unsound_comment(errors: &PlanErrors, rounds: u32, run: &Run) -> String {
    let root = root_id(&run.id);
    let place = run.on_branch();
    let errors = fenced(&errors.to_string(), "text");
    format!(
        "The plan has the same errors after {rounds} fixer rounds, so no fixer tries again:\n\n\
         {errors}\n\n\
         To continue, correct `{PLAN_PATH}` {place}, or comment here what to change. \
         `drive cruise fix {root}` starts one more fixer, `drive cruise cleanup {root}` ends the \
         cruise."
    )
}

/// The comment after a merge that missed comments or objections.
pub(in crate::run) fn merged_unheard(
    sha: &CommitSha,
    revert: &str,
    unread: &[Entry],
    objections: &[Objected],
) -> String {
    let mut listed: String = unread.iter().take(MOST_LISTED).map(listed).collect();
    if !objections.is_empty() {
        listed.push_str(&format!("- {}\n", objected(objections)));
    }
    format!(
        "**Merged as {} before this was read.** To revert it: `{revert}`

{}",
        sha.short(),
        listed.trim_end()
    )
}

/// The standing requests for changes, as text.
pub(in crate::run) fn objected(objections: &[Objected]) -> String {
    let named = objections.iter().map(|one| match &one.head {
        Some(head) => format!("{} requests changes on {}", plain(&one.by), head.short()),
        None => format!("{} requests changes", plain(&one.by)),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// The comment on an early end: the reason, and what is open.
pub(super) fn stopped_comment(problem: &Problem, run: &Run, ledger: &Ledger) -> String {
    let (id, options) = (&run.id, run.extension());
    let why = plain_line(&public(&problem.to_string(), run), REASON_CHARS);
    let open = open_comments(ledger);
    let then = if problem.kind == Kind::BudgetExceeded {
        format!(
            "Continue with `drive runs extend {id} {options}`; comments that are written here until \
             then are read when it continues."
        )
    } else if is_unpushed(problem.kind) {
        format!(
            "Continue with `drive runs resume {id}` once that is resolved; comments that are written \
             here until then are read when it continues."
        )
    } else {
        "Drive reads no further comments on this pull request.".to_owned()
    };
    format!("Stopped before the work was done: {why}. {then}{open}")
}

/// The comment after an approval.
pub(super) fn approved_comment(approved: &Approved, plan_only: bool, ledger: &Ledger) -> String {
    let (by, head) = (plain(&approved.by), approved.head.short());
    let rest = if plan_only {
        "Only the plan was requested, so the cruise ends here."
    } else {
        "Drive builds its tasks now."
    };
    let open = open_comments(ledger);
    format!("The plan is approved at {head} by {by}. {rest}{open}")
}

/// The comment after a task landed on the branch of its cruise, or a person merged it there.
pub(super) fn landed_comment(landed: Option<&CommitSha>, ledger: &Ledger) -> String {
    let first = match landed {
        Some(commit) => format!(
            "{} landed on the branch of the cruise, in a tree that passed verification.",
            commit.short()
        ),
        None => "This pull request is merged into the branch of the cruise.".to_owned(),
    };
    let open = open_comments(ledger);
    format!("{first} To change it now, comment on the pull request of the plan.{open}")
}

/// The comment that lists comments which arrived during the end and that no agent gets.
pub(super) fn late_comment(unread: &[Entry]) -> String {
    let listed: String = unread.iter().take(MOST_LISTED).map(listed).collect();
    format!(
        "These comments were written while this run ended, and no agent gets them:\n\n{}",
        listed.trim_end()
    )
}

/// One line of a list of comments.
fn listed(entry: &Entry) -> String {
    let (id, author) = (entry.id(), plain(&entry.author));
    format!("- {id} by {author}: {}\n", first_line(&entry.body))
}

/// The list of open comments, to append to another text.
fn open_comments(ledger: &Ledger) -> String {
    let open: Vec<&Entry> = ledger.open().collect();
    let mut text = String::new();
    if !open.is_empty() {
        text.push_str("\n\nStill open:\n\n");
    }
    text.extend(open.iter().take(MOST_LISTED).map(|entry| listed(entry)));
    if open.len() > MOST_LISTED {
        let _ = writeln!(text, "- and {} more", open.len() - MOST_LISTED);
    }
    text.trim_end().to_owned()
}

/// The estimated cost of a plan.
fn estimate(tasks: usize, costs: TaskCosts) -> String {
    let all = |cost: Cost| cost.usd() * tasks as f64;
    let (tasks, built) = (
        counted(tasks, "task"),
        counted(costs.tasks as usize, "task"),
    );
    format!(
        "Estimated cost: ${:.2} to ${:.2} for {tasks}. Half of the {built} that landed in this \
         repository before cost between ${:.2} and ${:.2} each.",
        all(costs.low),
        all(costs.high),
        costs.low.usd(),
        costs.high.usd()
    )
}

/// The current description: the outcome, the summary of what changed, then open findings, the task, the
/// plan's graph or its errors, and at the end the record, within the forge's size limit. Everything except
/// the summary is in drive's own parts, so that a person can edit the text around them.
pub(super) fn pull_request_body(
    run: &Run,
    phase: &Phase,
    request: &Request,
    with_record: bool,
) -> String {
    let summary = fit(&unmarked(phase.summary.trim()), BODY_CHARS / 2);
    let first = outcome(&run.id, &description_outcome(run, phase, request));
    let before = format!("{first}\n\n{summary}");
    let most = BODY_CHARS - MARKS_ROOM - before.chars().count();
    let mut text = String::new();
    if let Some(notice) = notice(&run.work.steering) {
        let _ = write!(text, "{notice}\n\n");
    }
    let is_objected = phase.record.objections().next().is_some();
    let has_open = match phase.verdict {
        Some(LastWord::NeedsChanges) => true,
        Some(LastWord::Inconclusive) => is_objected,
        Some(LastWord::Approved) | None => false,
    };
    if has_open {
        text.push_str(&open_list(run, phase, request));
    }
    let task = fenced(&shortened(&request.task), "text");
    let _ = write!(
        text,
        "<details><summary>Task</summary>\n\n{task}\n\n</details>\n"
    );
    match &phase.plan {
        PlanCheck::Unread => {}
        PlanCheck::Valid { plan } => {
            let _ = write!(text, "\n{}\n", plan.summary_markdown(PLAN_CHARS));
            let terms = request.kind.phase_terms();
            if let Some(costs) = terms.and_then(|terms| terms.costs) {
                let _ = write!(text, "\n{}\n", estimate(plan.tasks.len(), costs));
            }
        }
        PlanCheck::Invalid { errors } => {
            let errors = fenced(&errors.to_string(), "text");
            let _ = write!(text, "\nThe plan is not valid yet:\n\n{errors}\n");
        }
    }
    if is_pingpong(request) {
        for review in &phase.record.reviews {
            let _ = write!(text, "\n### Review, round {}\n\n", review.round);
            text.push_str(&review_body(
                run,
                review,
                0,
                (&review.findings, MOST_SHOWN),
                &BTreeMap::new(),
            ));
            text.push('\n');
        }
    }
    let detail = request.kind.phase_terms().map(|terms| terms.record);
    let record = record_text(&phase.record, run, detail.unwrap_or_default());
    let record = record.filter(|_| with_record);
    let shown = if record.is_some() {
        most - most / 3
    } else {
        most
    };
    let mut text = fit(text.trim_start(), shown);
    if let Some(record) = record {
        let open = "\n<details><summary>Record of the run</summary>\n\n";
        let close = "\n</details>\n";
        let room = most.saturating_sub(text.chars().count() + open.len() + close.len());
        if room >= LEAST_RECORD {
            let record = fit(&record, room);
            text = format!("{text}{open}{record}{close}");
        }
    }
    let part = own(&run.id, text.trim_end());
    format!("{}\n\n{part}\n", before.trim_end())
}

/// The list of findings that block a merge, for the end of the description.
fn open_list(run: &Run, phase: &Phase, request: &Request) -> String {
    let terms = request.kind.phase_terms();
    let head = run.work.head_sha.as_ref();
    let is_fixed = head.is_some_and(|head| phase.record.is_changed_since_objections(head));
    let is_sequential = terms.is_some_and(|terms| terms.mode == TeamMode::Sequential) && is_fixed;
    let open = open_findings(phase, request);
    if is_sequential {
        format!("The reviewer asked for changes. The fix was not reviewed.\n\n{open}\n")
    } else if open.is_empty() {
        String::new()
    } else {
        format!("Open findings:\n\n{open}\n")
    }
}

fn is_pingpong(request: &Request) -> bool {
    let terms = request.kind.phase_terms();
    terms.is_some_and(|terms| terms.mode == TeamMode::Pingpong)
}
