//! Follows a reviewer's earlier findings across commits.

use super::super::super::model::{
    Answer, Entry, FixerResult, Life, Remark, RemarkRecord, ReviewOf, ReviewRecord,
};
use super::super::phase::PhaseFlow;
use super::placing::remark;
use super::texts::{finding_text, without_severity};
use crate::agent::answer::Finding;
use crate::forge::{CommentRef, CommentVersion, Surface};
use crate::ids::{CommentId, CommitSha};
use crate::prompts::Answered;
use crate::review::{ChangedPlace, Domain, is_blocking};
use crate::settings::TeamMode;
use crate::time::Timestamp;

/// How many findings of its last review a reviewer is reminded of.
const MOST_REMINDED: usize = 50;

impl PhaseFlow<'_> {
    /// The last review of a domain that gave a verdict.
    pub(super) fn earlier_review(&self, domain: Option<&Domain>) -> Option<&ReviewRecord> {
        let mut latest = self.state.record.reviews.iter().rev();
        latest.find(|one| one.domain.as_ref() == domain && one.verdict.is_some())
    }

    /// The diff since the last review, with a list of the last fixer's changes that no finding named.
    pub(super) fn with_overreach(&self, since: String) -> String {
        let last = self.state.record.rounds.last();
        let last = last.filter(|round| round.head == self.run.work.head_sha);
        let places = last.map_or(Vec::new(), |round| {
            let place = |one: &ChangedPlace| match one.line {
                Some(line) => format!("{}:{line}", one.file),
                None => one.file.clone(),
            };
            round.outside.iter().map(place).collect()
        });
        if places.is_empty() {
            return since;
        }
        let places = places.join("\n");
        format!("Changed outside of what the findings name:\n{places}\n\n{since}")
    }

    /// Each finding of a review, with its answer.
    pub(super) fn answers_to(&self, review: &ReviewRecord) -> Vec<Answered> {
        let findings = review.findings.iter().take(MOST_REMINDED);
        findings
            .map(|finding| Answered {
                text: finding_text(finding),
                answer: match (&finding.refuted, self.outcome_of(review, finding)) {
                    (Some(why), _) => format!("Another agent refuted it: {why}"),
                    (None, Some(remark)) => outcome_text(remark),
                    (None, None) => "Not answered.".to_owned(),
                },
            })
            .collect()
    }

    fn outcome_of(&self, review: &ReviewRecord, finding: &Finding) -> Option<&RemarkRecord> {
        let of = ReviewOf {
            domain: review.domain.clone(),
            round: review.round,
        };
        let latest = || self.state.record.remarks.iter().rev();
        let own = latest().find(|one| one.review.as_ref() == Some(&of) && is_about(one, finding));
        // A finding that two reviews share was answered as the first review's finding.
        own.or_else(|| latest().find(|one| one.review.is_some() && is_about(one, finding)))
    }

    /// Whether a fixer declined this finding before and gave a reason. It may have been another reviewer's.
    pub(super) fn is_declined(&self, finding: &Finding) -> bool {
        let mut remarks = self.state.record.remarks.iter();
        remarks.any(|one| is_reasoned_refusal(one) && is_about(one, finding))
    }

    /// Keeps the reviewers' last objections open in the ledger, if reviews post no comments.
    /// Objections that no reviewer repeats are closed.
    pub(in crate::run) fn keep_objections(&mut self) {
        if self.terms.mode == TeamMode::Github && self.run.work.pull_request.is_some() {
            return;
        }
        let min = self.terms.review.min_confidence;
        let author = self.terms.reviewer.as_str();
        let objections = self.state.record.objections();
        let remarks = objections.flat_map(|review| {
            let blocking = review.findings.iter().filter(|one| is_blocking(one, min));
            blocking.map(|one| remark(one, author, review.domain.as_ref(), review.round))
        });
        let remarks: Vec<Remark> = remarks.collect();
        let known = self.state.ledger.entries();
        let known = known.filter(|one| one.key.id == UNPOSTED && one.life == Life::Left);
        let is_asked = |one: &Entry| remarks.iter().any(|remark| remark.body == one.body);
        let over = known
            .filter(|one| !is_asked(one))
            .map(|one| one.key.clone());
        for key in over.collect::<Vec<_>>() {
            self.state.ledger.set(&key, Life::Superseded);
        }
        for remark in remarks {
            let comment = CommentRef {
                surface: Surface::Review,
                id: UNPOSTED,
            };
            let entry = left(remark, comment, self.run.work.head_sha.clone(), self.now);
            self.state.ledger.insert(entry, false);
        }
    }

    /// Reopens comments that a fixer declined and a reviewer insists on: no fixer gets them, so a
    /// person decides. If no reviewer asks for it any more, the refusal stands.
    pub(super) fn leave_insisted(&mut self) {
        let min = self.terms.review.min_confidence;
        let objections = self.state.record.objections();
        let asked = objections.flat_map(|one| &one.findings);
        let asked: Vec<&Finding> = asked.filter(|one| is_blocking(one, min)).collect();
        let mut moved = Vec::new();
        for entry in self.state.ledger.entries() {
            let comment = Some(entry.key.comment());
            let refusals = self.state.record.remarks.iter();
            let refusals =
                refusals.filter(|one| one.comment == comment && is_reasoned_refusal(one));
            let Some(remark) = refusals.clone().next_back() else {
                continue;
            };
            let is_asked = |remark: &RemarkRecord| asked.iter().any(|one| is_about(remark, one));
            let is_insisted = refusals.clone().any(is_asked);
            let is_answered = matches!(entry.life, Life::Replied { .. });
            if is_insisted && is_answered {
                moved.push((entry.key.clone(), Life::Left));
            } else if !is_insisted && entry.life == Life::Left {
                let answer = Answer {
                    action: FixerResult::Declined,
                    commit: remark.commit.clone(),
                    note: remark.note.clone(),
                };
                let reply = None;
                moved.push((entry.key.clone(), Life::Replied { answer, reply }));
            }
        }
        for (key, life) in moved {
            self.state.ledger.set(&key, life);
        }
    }
}

/// The id of an entry that has no comment.
const UNPOSTED: CommentId = CommentId::new(0);

/// The entry of a finding that is left to a person.
fn left(of: Remark, comment: CommentRef, commit: Option<CommitSha>, now: Timestamp) -> Entry {
    Entry {
        key: CommentVersion::new(comment, &of.body),
        author: of.author,
        path: of.file,
        line: of.line,
        origin: None,
        thread: None,
        commit,
        url: None,
        body: of.body,
        seen_at: now,
        edited_at: None,
        told: false,
        tries: 0,
        review: Some(of.review),
        parts: Vec::new(),
        answers: Vec::new(),
        life: Life::Left,
    }
}

/// Whether a fixer declined a reviewer's finding and gave a reason.
fn is_reasoned_refusal(remark: &RemarkRecord) -> bool {
    let is_declined = remark.action == Some(FixerResult::Declined);
    remark.review.is_some() && is_declined && !remark.note.trim().is_empty()
}

/// Whether a record is about this finding. A record without a file may cover several findings, each
/// named with its place.
fn is_about(remark: &RemarkRecord, finding: &Finding) -> bool {
    let text = remark.text.as_deref().unwrap_or_default();
    let issue = words(&finding.issue);
    match (&remark.file, &finding.file) {
        (Some(of), Some(file)) => of == file && words(without_severity(text)).starts_with(&issue),
        (Some(_), None) => false,
        (None, Some(file)) => text.contains(file.as_str()) && words(text).contains(&issue),
        (None, None) => words(text).contains(&issue),
    }
}

/// A text with single spaces, so that line breaks make no difference.
fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    format!(" {} ", words.join(" "))
}

fn outcome_text(remark: &RemarkRecord) -> String {
    let said = match (remark.action, &remark.commit) {
        (Some(FixerResult::Fixed), Some(commit)) => format!("Changed in {}.", commit.short()),
        (Some(FixerResult::Declined), _) => "Declined.".to_owned(),
        (Some(FixerResult::Question), _) => "The fixer asked:".to_owned(),
        (_, Some(commit)) => format!(
            "Not answered; the round's changes are in {}.",
            commit.short()
        ),
        (_, None) => "Not changed.".to_owned(),
    };
    format!("{said} {}", remark.note).trim_end().to_owned()
}
