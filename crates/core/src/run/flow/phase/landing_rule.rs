//! Objections of a whole reading of a task's pull request to landing its commit.

use super::super::super::model::{DoneWhen, Flow, Landable, PollResult, Run};
use super::texts::objected;
use crate::forge::PrState;
use crate::ids::CommitSha;

/// Why the commit that the run of a task offers must not land, as text; `None` if it may. The
/// current state of the run counts, not the one in which it offered the commit.
pub fn against_landing(run: &Run, head: &CommitSha, poll: &PollResult) -> Option<String> {
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    let (Flow::Phase { phase }, Some(terms)) = (&run.flow, terms) else {
        return Some("its run has no pull request".to_owned());
    };
    match poll.state {
        // A person decided that.
        Some(PrState::Merged) => return None,
        Some(PrState::Closed) => return Some("its pull request was closed".to_owned()),
        Some(PrState::Open) | None => {}
    }
    if let Some(missing) = &poll.missing {
        return Some(format!("could not read all of its pull request: {missing}"));
    }
    if let Some(objections) = poll.objections.as_ref().filter(|all| !all.is_empty()) {
        return Some(objected(objections));
    }
    match phase.unread(&poll.comments).len() {
        0 => {}
        1 => return Some("1 unread comment".to_owned()),
        many => return Some(format!("{many} unread comments")),
    }
    if poll.head.as_ref().is_some_and(|shown| shown != head) {
        return Some("its pull request is at another commit".to_owned());
    }
    if let Some(why) = &poll.unchecked {
        return Some(format!("could not read the checks: {why}"));
    }
    let checks = poll.checks.as_ref();
    if let Some(open) = checks.and_then(|checks| phase.ci.against(checks)) {
        return Some(open);
    }
    let needs_person = matches!(terms.done(), DoneWhen::Landed { approve: true });
    let given = poll.approvals.iter().flatten().chain(&phase.watch.granted);
    if needs_person && !given.into_iter().any(|one| one.head == *head) {
        return Some("no person approved the commit".to_owned());
    }
    let is_offered =
        matches!(&phase.landable, Landable::Ready { head: offered } if offered == head);
    (!is_offered).then(|| "its run took the commit back".to_owned())
}
