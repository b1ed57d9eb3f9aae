//! Replies: one for each comment. No reply claims more than the fixer reported.

use super::super::model::{
    Answer, Entry, FixerResult, ForgeAct, ForgeAnswer, Life, PostKey, Remark, RemarkRecord, Round,
    RoundJob, RoundStep,
};
use super::phase::PhaseFlow;
use super::review::{MOST_SHOWN, without_severity};
use crate::agent::answer::{CommentAction, CommentAnswer};
use crate::forge::text::{BODY_CHARS, first_line, quoted};
use crate::forge::{CommentRef, CommentVersion, Surface};
use crate::ids::CommitSha;
use crate::markdown::code;
use crate::problem::{Kind, Problem};
use std::fmt::Write;

/// How many characters of a finding the record stores.
const FINDING_CHARS: usize = 32 * 1024;
/// The id under which a fixer may answer all findings without a comment together.
const FINDINGS_ID: &str = "review";
/// The longest reply to several findings; the whole comment must fit.
const REPLY_CHARS: usize = BODY_CHARS - 4_096;
/// The longest name of a file in a reply.
const PATH_CHARS: usize = 300;

/// The id under which a fixer answers the finding without a comment at this index.
pub(super) fn finding_id(place: usize) -> String {
    format!("{FINDINGS_ID}-{}", place + 1)
}

impl PhaseFlow<'_> {
    /// Records the fixer's answer to each comment of a published round. A comment that the fixer
    /// did not name gets an answer too, but without a claim: the commit may not be about it.
    pub(super) fn enter_answers(&mut self, round: &mut Round) {
        let RoundJob::Fix { batch, findings } = &mut round.job else {
            return;
        };
        let head = self.run.work.head_sha.clone();
        let commit = head.filter(|head| round.head_before.as_ref() != Some(head));
        let answer = |said: Option<&CommentAnswer>| Answer {
            action: said.map_or(FixerResult::Unsaid, |one| one.action.into()),
            commit: commit.clone(),
            note: said.map_or(String::new(), |one| one.note.clone()),
        };
        for (place, finding) in std::mem::take(findings).iter().enumerate() {
            let said = |id: &str| round.answers.iter().find(|one| one.id == id);
            let said = said(&finding_id(place)).or_else(|| said(FINDINGS_ID));
            self.enter_finding(finding, answer(said));
        }
        for key in std::mem::take(batch) {
            let Some(entry) = self.state.ledger.get(&key) else {
                continue;
            };
            let whole = answer_for(entry, &round.answers);
            let parts = 0..entry.parts.len();
            let parts = parts.map(|place| part_answer(entry, place, &round.answers).or(whole));
            let parts: Vec<Answer> = parts.map(&answer).collect();
            let answer = all_in_one(&parts).unwrap_or_else(|| answer(whole));
            self.state.ledger.answer_parts(&key, parts);
            self.record_answer(&key, &answer);
            self.state.ledger.set(&key, Life::Pushed { answer });
        }
    }

    /// Records the outcome of a comment, or of each finding that it lists.
    pub(super) fn record_answer(&mut self, key: &CommentVersion, answer: &Answer) {
        let entry = self.state.ledger.get(key);
        let parts = entry.map_or(&[][..], |entry| &entry.parts);
        for part in parts {
            let answer = part.answer.as_ref().unwrap_or(answer);
            self.state.record.remarks.push(RemarkRecord {
                comment: Some(key.comment()),
                file: part.file.clone(),
                line: part.line,
                commit: answer.commit.clone(),
                note: answer.note.clone(),
                resolved: is_fixed(answer),
                action: Some(answer.action),
                review: entry.and_then(|entry| entry.review.clone()),
                text: Some(remembered(&part.body)),
            });
        }
        if !parts.is_empty() {
            return;
        }
        let review = entry.and_then(|entry| entry.review.clone());
        let text = entry.filter(|entry| entry.review.is_some());
        self.state.record.remarks.push(RemarkRecord {
            comment: Some(key.comment()),
            file: entry.and_then(|entry| entry.path.clone()),
            line: entry.and_then(|entry| entry.line),
            commit: answer.commit.clone(),
            note: answer.note.clone(),
            resolved: is_fixed(answer),
            action: Some(answer.action),
            review,
            text: text.map(|entry| remembered(&entry.body)),
        });
    }

    /// Records the outcome of a finding without a comment.
    pub(super) fn enter_finding(&mut self, finding: &Remark, answer: Answer) {
        self.state.record.remarks.push(RemarkRecord {
            comment: None,
            file: finding.file.clone(),
            line: finding.line,
            resolved: is_fixed(&answer),
            action: Some(answer.action),
            commit: answer.commit,
            note: answer.note,
            // A finding of a check belongs to no review.
            review: (finding.review.round > 0).then(|| finding.review.clone()),
            text: Some(remembered(&finding.body)),
        });
    }

    /// Replies to the next author who waits. Without one, the round is over.
    pub(super) fn next_reply(&mut self, mut round: Round) {
        let waiting = self.state.ledger.open().find_map(|entry| {
            let answer = entry.life.pushed()?;
            let (thread, key) = (entry.thread, entry.key.clone());
            Some((key, thread, reply(entry, answer), entry.reply_key()))
        });
        let Some((key, thread, body, name)) = waiting else {
            return self.round_over(&round);
        };
        if let Some(thread) = thread {
            let fixer = &self.terms.fixer;
            self.state.threads.add(thread, None, fixer, &body);
        }
        let to = key.comment();
        round.step = RoundStep::Reply { key };
        self.at(round);
        self.on_forge(ForgeAct::Reply { to, body }, Some(PostKey::Step(name)));
    }

    pub(super) fn answered(&mut self, round: Round, answer: &ForgeAnswer) {
        match (round.step.clone(), answer) {
            (RoundStep::Reply { key }, ForgeAnswer::Posted { comment }) => {
                self.replied(round, key, *comment);
            }
            _ => self.next_reply(round),
        }
    }

    fn replied(&mut self, mut round: Round, key: CommentVersion, reply: CommentRef) {
        self.active();
        let entry = self.state.ledger.get(&key);
        let Some(answer) = entry.and_then(|entry| entry.life.pushed()).cloned() else {
            return self.next_reply(round);
        };
        let is_fixed = is_fixed(&answer);
        let reply = Some(reply);
        let is_person = entry.is_some_and(|entry| entry.review.is_none());
        let life = if is_person && answer.action == FixerResult::Question {
            Life::Asked { answer, reply }
        } else {
            Life::Replied { answer, reply }
        };
        self.state.ledger.set(&key, life);
        if !is_fixed || key.surface != Surface::Inline {
            return self.next_reply(round);
        }
        let comment = key.comment();
        round.step = RoundStep::Resolve { key };
        self.at(round);
        self.on_forge(ForgeAct::ResolveThread { comment }, None);
    }
}

/// The part of a finding that its reviewer is reminded of.
fn remembered(text: &str) -> String {
    text.chars().take(FINDING_CHARS).collect()
}

/// Whether a comment no longer exists. A forge that returns nothing at all may be asked again.
pub(super) fn is_lost(problem: &Problem) -> bool {
    problem.kind == Kind::CommentNotFound
}

fn is_fixed(answer: &Answer) -> bool {
    answer.action == FixerResult::Fixed && answer.commit.is_some()
}

/// The fixer's answer to a comment, found by the comment's id or its number alone.
pub(super) fn answer_for<'a>(
    entry: &Entry,
    answers: &'a [CommentAnswer],
) -> Option<&'a CommentAnswer> {
    let (id, number) = (entry.id(), entry.key.id.to_string());
    let exact = answers.iter().find(|one| one.id == id);
    exact.or_else(|| {
        let mut bare = answers.iter().filter(|one| one.id == number);
        bare.next().filter(|_| bare.next().is_none())
    })
}

/// The fixer's answer to one of the findings that a comment lists.
fn part_answer<'a>(
    entry: &Entry,
    place: usize,
    answers: &'a [CommentAnswer],
) -> Option<&'a CommentAnswer> {
    let id = entry.part_id(place);
    answers.iter().find(|one| one.id == id)
}

/// The fixer's result for a comment. A comment that lists findings counts as fixed if any of them is.
pub(super) fn action_on(entry: &Entry, answers: &[CommentAnswer]) -> Option<CommentAction> {
    let whole = answer_for(entry, answers);
    let parts = 0..entry.parts.len();
    let parts = parts.map(|place| part_answer(entry, place, answers).or(whole));
    let parts: Vec<Option<CommentAction>> = parts.map(|one| one.map(|one| one.action)).collect();
    if parts.is_empty() {
        return whole.map(|one| one.action);
    }
    let is_fixed = |one: &&Option<CommentAction>| **one == Some(CommentAction::Fixed);
    let said = parts.iter().find(is_fixed);
    *said
        .or(parts.iter().find(|one| one.is_none()))
        .unwrap_or(&parts[0])
}

/// One answer for a comment that lists findings: fixed only if all of them are.
fn all_in_one(parts: &[Answer]) -> Option<Answer> {
    let open = parts.iter().find(|one| !is_fixed(one));
    open.or(parts.first()).cloned()
}

/// The reply to a comment. On a surface without threads it begins with a quote.
fn reply(to: &Entry, answer: &Answer) -> String {
    if !to.parts.is_empty() {
        return reply_to_parts(to, answer);
    }
    let text = answer_text(answer);
    match to.key.surface {
        Surface::Inline => text,
        Surface::Conversation | Surface::Review => {
            let quote = quoted(&to.author, to.url.as_deref(), &to.body);
            format!("{quote}\n\n{text}")
        }
    }
}

/// One reply with an answer to each finding that a comment lists.
fn reply_to_parts(to: &Entry, answer: &Answer) -> String {
    let count = to.parts.len();
    let room = REPLY_CHARS / count;
    let items = to.parts.iter().map(|part| {
        let place = match (&part.file, part.line) {
            (Some(file), Some(line)) => format!("{} line {line}: ", code(file, PATH_CHARS)),
            (Some(file), None) => format!("{}: ", code(file, PATH_CHARS)),
            (None, _) => String::new(),
        };
        let what = first_line(without_severity(&part.body));
        let said = answer_text(part.answer.as_ref().unwrap_or(answer));
        let item = format!("- {place}{what}\n  {}", said.replace('\n', "\n  "));
        item.chars().take(room).collect::<String>()
    });
    let items: Vec<String> = items.collect();
    let (shown, folded) = items.split_at(MOST_SHOWN.min(count));
    let quote = quoted(&to.author, to.url.as_deref(), &format!("{count} findings"));
    let mut text = format!("{quote}\n\n{}", shown.join("\n"));
    if !folded.is_empty() {
        let (more, rest) = (folded.len(), folded.join("\n"));
        let _ = write!(
            text,
            "\n\n<details><summary>{more} more</summary>\n\n{rest}\n\n</details>"
        );
    }
    text
}

fn answer_text(answer: &Answer) -> String {
    let commit = answer.commit.as_ref().map(CommitSha::short);
    let said = match (answer.action, commit) {
        (FixerResult::Fixed, Some(commit)) => format!("Fixed in {commit}."),
        (FixerResult::Fixed, None) => "Nothing was changed.".to_owned(),
        (FixerResult::Declined, None) => "Not changed.".to_owned(),
        (FixerResult::Question, None) => "Question:".to_owned(),
        (FixerResult::Declined | FixerResult::Question, Some(commit)) => {
            format!("Left open; related changes are in {commit}.")
        }
        (FixerResult::Failed | FixerResult::Unknown, Some(commit)) => {
            format!("Not resolved; partial changes are in {commit}.")
        }
        (FixerResult::Failed | FixerResult::Unknown, None) => "Not resolved.".to_owned(),
        (FixerResult::Unsaid, Some(commit)) => format!(
            "The fixer did not answer this comment. Its changes of this round are \
             in {commit}."
        ),
        (FixerResult::Unsaid, None) => "The fixer changed nothing and did not say why.".to_owned(),
    };
    format!("{said} {}", answer.note).trim_end().to_owned()
}
