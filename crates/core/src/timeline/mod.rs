//! The timeline of a run for people, without polls and internal steps.

mod step;

pub use step::{describe_step, is_internal, is_routine};

use crate::forge::{Comment, CommentVersion};
use crate::ids::{EffectKey, RunId};
use crate::process::missing_essentials;
use crate::run::{
    Ask, ChildReport, ChildState, ContractCheck, Effect, EffectResult, Event, Flow, ForgeAnswer,
    LineAct, LineAnswer, Note, Outcome, OutcomeStatus, Receipt, ReceiptResult, Run, State,
    standing, step,
};
use crate::steering::named;
use crate::time::Timestamp;
use std::collections::BTreeSet;

/// The longest quotation, in characters.
const LONGEST: usize = 100;

/// An event of the timeline, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it happened.
    pub at: Timestamp,
    /// The event, in one line.
    pub text: String,
}

/// The timeline of a run, from its journal.
pub fn timeline(id: &RunId, journal: impl IntoIterator<Item = (Event, Timestamp)>) -> Vec<Moment> {
    let mut run = Run::new(id.clone());
    let mut moments = Vec::new();
    for (event, at) in journal {
        let mut say = |text: String| moments.push(Moment { at, text });
        if let Some(text) = describe_event(&event, &run) {
            say(text);
        }
        let had_ended = run.outcome.is_some();
        run = match step(run, event, at) {
            Ok((next, decided)) => {
                steps(&next, &decided).for_each(&mut say);
                next
            }
            Err(error) => {
                say(format!("the journal cannot be read further: {error}"));
                return moments;
            }
        };
        if let (Some(outcome), false) = (&run.outcome, had_ended) {
            say(describe_outcome(outcome));
        }
    }
    moments
}

/// The first line of a text, shortened to one line of the terminal.
pub fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("");
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LONGEST - 1).collect();
    format!("{kept}…")
}

/// The state of a run in words, as far as the run itself shows it.
pub fn describe_state(run: &Run) -> &'static str {
    State::of(run, &standing(run, &[])).as_str()
}

/// The status of an ended run, in words.
pub fn describe_status(status: OutcomeStatus) -> &'static str {
    State::ended(status).as_str()
}

/// Descriptions of the decided effects that people care about.
fn steps(run: &Run, decided: &[EffectKey]) -> impl Iterator<Item = String> {
    decided
        .iter()
        .filter_map(|key| run.pending.get(key))
        .filter(|effect| !is_routine(effect) && !is_internal(effect))
        .map(describe_step)
}

fn describe_outcome(outcome: &Outcome) -> String {
    let status = describe_status(outcome.status);
    match &outcome.failure {
        Some(problem) => format!("{status}: {}", first_line(&problem.message)),
        None => status.to_owned(),
    }
}

/// The description of an event, unless a step already describes it.
fn describe_event(event: &Event, run: &Run) -> Option<String> {
    Some(match event {
        Event::Requested { request } => format!("requested: {}", first_line(&request.task)),
        Event::Noted { note, .. } => return describe_note(note),
        Event::EffectEnded { key, result } => match run.notices.get(key) {
            Some(open) => return describe_notice(&open.effect, result),
            None => return describe_result(run.pending.get(key)?, result, run),
        },
        Event::Asked { ask } => describe_ask(ask),
        Event::ChildReported { child, report } => describe_child(child, report),
        Event::CancelAsked => "asked to stop".to_owned(),
        Event::OwnerLost => "its process is gone".to_owned(),
        Event::Resumed { granted } => match granted {
            Some(_) => "resumed with a larger budget".to_owned(),
            None => "resumed".to_owned(),
        },
        Event::Continued { task } => format!("new task: {}", first_line(task)),
        Event::Relocated { repo, .. } => format!("moved to {}", repo.display()),
        Event::ProcessStarted { .. } | Event::Woken { .. } => return None,
    })
}

fn describe_note(note: &Note) -> Option<String> {
    Some(match note {
        Note::Waiting { reason } => format!("agent waiting: {reason}"),
        Note::ForgeLimit { until } => {
            format!(
                "waiting for the forge's write limit until {}",
                until.strftime("%H:%M:%S UTC")
            )
        }
        Note::Permission {
            tool,
            granted,
            rule,
        } => {
            let answer = if *granted { "granted" } else { "refused" };
            format!("permission for {tool} {answer} by {rule}")
        }
        Note::Warning { text } => format!("warning: {}", first_line(text)),
        Note::Steering { files } if files.is_empty() => "changes no steering files".to_owned(),
        Note::Steering { files } => {
            first_line(&format!("changes steering files: {}", named(files)))
        }
        Note::Isolation { layers } => {
            let names = missing_essentials(layers, true).map(|layer| layer.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            if names.is_empty() {
                return None;
            }
            format!("missing layers of isolation: {names}")
        }
        Note::Launched { .. } | Note::Command { .. } | Note::Used { .. } => return None,
    })
}

fn describe_result(effect: &Effect, result: &EffectResult, run: &Run) -> Option<String> {
    Some(match (effect, result) {
        (_, EffectResult::Failed { .. }) if is_routine(effect) => return None,
        (_, EffectResult::Failed { problem }) => {
            let message = first_line(&problem.message);
            format!("failed {}: {message}", describe_step(effect))
        }
        (Effect::RunAgent { job, .. }, EffectResult::AgentEnded { outcome, .. }) => {
            let agent = &job.agent;
            let tokens = outcome.usage.describe();
            let cost = outcome
                .cost
                .map_or(String::new(), |cost| format!(", {cost}"));
            let end = outcome.problem(agent).map(|problem| problem.message);
            let end = end.unwrap_or_else(|| format!("{agent}: done"));
            format!("{end} ({tokens}{cost})")
        }
        (_, EffectResult::BranchMoved { .. }) => {
            "the branch has commits of others; it was not moved".to_owned()
        }
        (_, EffectResult::Conflicted { files, .. }) => {
            format!("conflicts in {}", files.join(", "))
        }
        (_, EffectResult::Replaced { .. }) => {
            "someone else rewrote the branch; continuing with their version".to_owned()
        }
        (_, EffectResult::PullRequestOpened { pull_request }) => {
            format!(
                "pull request #{} is open: {}",
                pull_request.number, pull_request.url
            )
        }
        (_, EffectResult::Verified { report, .. }) => {
            format!("verification: {}", report.overall.as_str())
        }
        (_, EffectResult::Landed { sha, report, .. }) => match report {
            None => format!("{} matches the verified tree", sha.short()),
            Some(report) => format!(
                "{} differs from the verified tree; verification: {}",
                sha.short(),
                report.overall.as_str()
            ),
        },
        (_, EffectResult::OnForge { answer }) => return describe_answer(answer, run),
        (_, EffectResult::OnLine { answer }) => return describe_line(effect, answer),
        (
            _,
            EffectResult::RolledBack { kept: Some(kept) }
            | EffectResult::SandboxRemoved {
                kept: Some(kept), ..
            },
        ) => format!("work saved as {}", kept.reference),
        _ => return None,
    })
}

fn describe_notice(effect: &Effect, result: &EffectResult) -> Option<String> {
    match (effect, result) {
        (Effect::Notify { notice }, EffectResult::Notified) => {
            Some(format!("notified you: {}", first_line(&notice.title)))
        }
        (_, EffectResult::Failed { problem }) => {
            Some(format!("warning: {}", first_line(&problem.message)))
        }
        (_, _) => None,
    }
}

fn describe_line(effect: &Effect, answer: &LineAnswer) -> Option<String> {
    Some(match answer {
        LineAnswer::LineBegun | LineAnswer::CarsLanded => return None,
        LineAnswer::Assembled { conflict, .. } => {
            let conflict = conflict.as_ref()?;
            let files = conflict.files.join(", ");
            format!("task {} conflicts in {files}", conflict.task)
        }
        LineAnswer::TrainVerified { report } => {
            format!("verification: {}", report.overall.as_str())
        }
        LineAnswer::Unheard { tasks } => {
            let held = tasks.iter();
            let held: Vec<String> = held
                .map(|one| format!("task {} waits: {}", one.task, one.why))
                .collect();
            format!("not landed: {}", held.join("; "))
        }
        LineAnswer::LineMoved { .. } => "not landed: the branch has moved".to_owned(),
        LineAnswer::ContractChecked { receipts } => {
            let is_proven = |one: &&Receipt| one.result == ReceiptResult::Proven;
            let proven = receipts.iter().filter(is_proven).count();
            if is_claim(effect) {
                let all = receipts.len();
                return Some(format!("{proven} of {all} checks of its claims passed"));
            }
            format!("{proven} of {} acceptance entries proven", receipts.len())
        }
    })
}

fn describe_answer(answer: &ForgeAnswer, run: &Run) -> Option<String> {
    Some(match answer {
        ForgeAnswer::Polled { poll } => return describe_comments(&poll.comments, run),
        ForgeAnswer::Merged { sha: Some(sha) } => format!("merged as {sha}"),
        ForgeAnswer::Merged { sha: None } => "merged".to_owned(),
        ForgeAnswer::Queued => "waiting in the merge queue".to_owned(),
        ForgeAnswer::NotMerged { reason } => format!("not merged: {}", first_line(reason)),
        ForgeAnswer::BaseMoved => "not merged: the base has moved".to_owned(),
        ForgeAnswer::Unheard { poll } => match describe_comments(&poll.comments, run) {
            Some(comments) => format!("not merged: {comments}"),
            None => "not merged: a review or a check blocks it".to_owned(),
        },
        ForgeAnswer::ReviewPosted { .. } | ForgeAnswer::Posted { .. } | ForgeAnswer::Done => {
            return None;
        }
    })
}

fn is_claim(effect: &Effect) -> bool {
    let Effect::OnLine { act } = effect else {
        return false;
    };
    matches!(act, LineAct::CheckContract { checks, .. } if checks.iter().all(ContractCheck::is_claim))
}

/// How many new comments each author wrote, as text.
fn describe_comments(comments: &[Comment], run: &Run) -> Option<String> {
    let Flow::Phase { phase } = &run.flow else {
        return None;
    };
    let is_new = |one: &&Comment| {
        let version = CommentVersion::new(one.key.comment(), &one.body);
        phase.ledger.get(&version).is_none()
    };
    let new: Vec<&Comment> = comments.iter().filter(is_new).collect();
    let author = |one: &Comment| one.author.login.clone();
    let authors: BTreeSet<String> = new.iter().filter_map(|one| author(one)).collect();
    let authors: Vec<String> = authors.into_iter().collect();
    match new.len() {
        0 => None,
        1 => Some(format!("1 comment by {}", authors.join(", "))),
        many => Some(format!("{many} comments by {}", authors.join(", "))),
    }
}

fn describe_ask(ask: &Ask) -> String {
    match ask {
        Ask::Poll => "asked to read the pull request now".to_owned(),
        Ask::Comment { author, text, .. } => format!("{author} commented: {}", first_line(text)),
        Ask::Approve { by, head } => format!("{by} approved {head}"),
        Ask::Extend { .. } => "limits raised".to_owned(),
        Ask::RetryTask { task } => format!("asked to retry task {task}"),
        Ask::SkipTask { task } => format!("asked to skip task {task}"),
        Ask::Pause => "asked to start no more tasks".to_owned(),
        Ask::Mend { head, .. } => format!("asked to fix what blocks {}", head.short()),
        Ask::Landed { head } => format!("{} has landed", head.short()),
        Ask::Hear { head } => format!("asked to hear people before {} lands", head.short()),
        Ask::Conclude => "asked to end once nothing is left to do".to_owned(),
        Ask::Unpause => "asked to continue".to_owned(),
        Ask::Cleanup => "asked to clean up".to_owned(),
    }
}

fn describe_child(child: &RunId, report: &ChildReport) -> String {
    match &report.state {
        ChildState::Working => format!("run {child} works"),
        ChildState::NeedsBudget { why } => format!("run {child} needs a larger budget: {why}"),
        ChildState::NeedsPerson { why, .. } => format!("run {child} waits for you: {why}"),
        ChildState::Ended { status, .. } => format!("run {child} {}", describe_status(*status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_one_line_of_bounded_length() {
        assert_eq!(first_line("  one\ntwo"), "one");
        assert_eq!(first_line(&"é".repeat(200)).chars().count(), LONGEST);
        assert_eq!(first_line(""), "");
    }
}
