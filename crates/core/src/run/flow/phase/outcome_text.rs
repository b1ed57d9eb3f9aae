//! One-line outcome of a change, for the description and the summary. It never claims more approval
//! than the commit status does.

use super::super::super::model::{DoneWhen, Phase, PhaseEnd, Request, Run};
use super::super::public_text::public;
use super::findings_text::{blocking_findings, counted, plain};
use crate::agent::answer::Verdict;
use crate::forge::text::plain_line;
use crate::review::{LastWord, Move};
use crate::verify::Overall;

/// The longest reason, in characters.
const REASON_CHARS: usize = 1_000;

/// The first line of the description. Until the phase ends it stays the same, so that reviews do
/// not edit the description.
pub(super) fn description_outcome(run: &Run, phase: &Phase, request: &Request) -> String {
    if phase.end.is_none() && phase.verdict.is_none() {
        let terms = request.kind.phase_terms();
        if terms.is_some_and(|terms| terms.is_about_plan() && !terms.is_reviewed()) {
            return "Not approved yet: this plan gets no review.".to_owned();
        }
        return "In review: not approved yet.".to_owned();
    }
    outcome_text(run, phase, request)
}

/// The first line of the summary.
pub(super) fn outcome_text(run: &Run, phase: &Phase, request: &Request) -> String {
    let Some(end) = &phase.end else {
        return standing(run, phase, request);
    };
    let head = run.work.head_sha.as_ref().map_or("-", |sha| sha.short());
    let reviews = reviews(run, phase, request);
    match end {
        PhaseEnd::Approved { by } => {
            let open = match blocking_findings(phase, request).len() {
                0 => String::new(),
                count => format!(", with {}", counted(count, "open finding")),
            };
            format!(
                "**Approved** at `{head}` by {}{open}: {reviews}.",
                plain(by)
            )
        }
        PhaseEnd::TimedOut => format!("**Timed out** without an approval of `{head}`: {reviews}."),
        PhaseEnd::Merged => format!("**Merged** at `{head}`: {reviews}."),
        PhaseEnd::Closed => format!("**Closed** without a merge at `{head}`: {reviews}."),
        PhaseEnd::Stopped { why } => {
            format!(
                "**Stopped** at `{head}`: {}.",
                plain_line(&public(why, run), REASON_CHARS)
            )
        }
        PhaseEnd::Unverified { why } => unverified(phase, &public(why, run), run),
    }
}

fn unverified(phase: &Phase, why: &str, run: &Run) -> String {
    let judged = phase.judged.as_ref();
    let Some(judged) = judged.filter(|judged| judged.overall != Overall::Pass) else {
        return format!("**Not verified**: {}.", plain_line(why, REASON_CHARS));
    };
    let (head, base) = (judged.head_sha.short(), judged.base_sha.short());
    let why = judged.why.as_deref().map_or(String::new(), |why| {
        format!(": {}", plain_line(&public(why, run), REASON_CHARS))
    });
    format!(
        "**Failed verification** at `{head}` against `{base}`{why}. Reproduce it with `drive verify \
         {head} --base {base}`."
    )
}

/// The reviews' combined verdict on the head, as text.
fn standing(run: &Run, phase: &Phase, request: &Request) -> String {
    let Some(head) = run.work.head_sha.as_ref() else {
        return "In review: nothing is committed yet.".to_owned();
    };
    let is_objected = phase.record.objections().next().is_some();
    let is_changed = phase.record.is_changed_since_objections(head);
    let (reviews, sha) = (reviews(run, phase, request), head.short());
    let open = counted(blocking_findings(phase, request).len(), "open finding");
    match (phase.verdict, &phase.next) {
        (Some(LastWord::Approved), _) => {
            let after = match phase.rounds {
                0 => String::new(),
                rounds => format!(", after {}", counted(rounds as usize, "fix round")),
            };
            format!("**Approved** at `{sha}`: {reviews}{after}.")
        }
        (Some(LastWord::NeedsChanges), _) if !is_objected || is_changed => {
            format!("**Changed since the last review**: `{sha}` was not reviewed.")
        }
        (Some(LastWord::NeedsChanges), _) | (None, Move::Fix) => {
            format!("**Needs changes** at `{sha}`: {open}.")
        }
        (Some(LastWord::Inconclusive), _) => format!("**No verdict** on `{sha}`: {reviews}."),
        (None, Move::Review { .. }) => format!("In review at `{sha}`: {reviews}."),
        (None, Move::Done) => {
            let waits = match request.kind.phase_terms().map(|terms| terms.done()) {
                Some(DoneWhen::Approved(_)) => ", and a person decides",
                Some(DoneWhen::Merged { auto: false }) => ", and a person merges it",
                Some(
                    DoneWhen::Merged { auto: true }
                    | DoneWhen::Reviewed { .. }
                    | DoneWhen::Landed { .. }
                    | DoneWhen::Asked,
                )
                | None => "",
            };
            format!("In review at `{sha}`: {reviews}{waits}.")
        }
    }
}

/// How many domains approved the head, as text.
fn reviews(run: &Run, phase: &Phase, request: &Request) -> String {
    let terms = request.kind.phase_terms();
    let domains = terms.map_or(Vec::new(), |terms| terms.review_plan().domains);
    if domains.is_empty() {
        return "no review".to_owned();
    }
    let open = match &run.work.head_sha {
        Some(head) => phase.record.not_content(&domains, head).len(),
        None => domains.len(),
    };
    let content = domains.len() - open;
    if let [None] = domains.as_slice() {
        let said = if content == 1 {
            "approved"
        } else {
            "did not approve"
        };
        return format!("the reviewer {said}");
    }
    let idle = domains.iter().filter(|domain| {
        let mut latest = phase.record.reviews.iter().rev();
        let last = latest.find(|review| review.domain == **domain);
        last.is_some_and(|review| {
            review.verdict == Some(Verdict::NotApplicable) && review.head == run.work.head_sha
        })
    });
    let idle = idle.count();
    let approved = content.saturating_sub(idle);
    let all = counted(domains.len(), "domain");
    match idle {
        0 => format!("{approved} of {all} approved"),
        _ => format!("{approved} of {all} approved ({idle} did not apply)"),
    }
}
