//! The last words: a status on the commit, the record in the description, then the way out.

use super::super::effect::EffectResult;
use super::super::forge_act::ForgeAct;
use super::super::outcome::OutcomeStatus;
use super::texts::pull_request_body;
use super::{Flight, TeamStage};
use crate::Problem;
use crate::agent::answer::Verdict;
use crate::review::{Domain, LastWord};
use crate::settings::TeamMode;

impl Flight<'_> {
    /// Every review is through.
    pub(super) fn finish(&mut self, word: LastWord) {
        let head = self.run.work.head_sha.clone().unwrap_or_default();
        if word == LastWord::Approved && !self.team.record.is_approved(&head) {
            return self.finish_unseen(&head);
        }
        self.team.verdict = Some(word);
        let open = self.open_reviews();
        match (word, self.terms.mode) {
            (LastWord::Approved, _) | (LastWord::NeedsChanges, TeamMode::Sequential) => {
                self.last_words(OutcomeStatus::Succeeded, None);
            }
            (LastWord::NeedsChanges, TeamMode::Pingpong | TeamMode::Github) => {
                let problem = Problem::work(
                    "notApproved",
                    format!("the reviewer `{}` still asks for changes{open}", self.terms.reviewer),
                )
                .hint("read its remarks on the pull request or in `drive runs show`; `--max-iterations` gives more rounds");
                self.last_words(OutcomeStatus::Failed, Some(problem));
            }
            (LastWord::Inconclusive, _) => {
                let problem = Problem::work(
                    "reviewInconclusive",
                    format!(
                        "the reviewer `{}` gave no usable verdict{open}",
                        self.terms.reviewer
                    ),
                )
                .hint(
                    "look at the change yourself; what the reviewer said is in `drive runs logs`",
                );
                self.last_words(OutcomeStatus::NeedsHuman, Some(problem));
            }
        }
    }

    /// What was approved is not what is there now, and no review is left to look at it.
    fn finish_unseen(&mut self, head: &str) {
        let approved = self.team.record.last_approved().unwrap_or("nothing");
        let problem = Problem::work(
            "headNotReviewed",
            format!(
                "the reviewer `{}` approved {approved}, and nobody has looked at {head} since",
                self.terms.reviewer
            ),
        )
        .hint("look at what came after it yourself; `--max-iterations` gives more rounds");
        self.finish_with(LastWord::Inconclusive, OutcomeStatus::NeedsHuman, problem);
    }

    /// Every review is through, and something else is in the way.
    pub(super) fn finish_with(&mut self, word: LastWord, status: OutcomeStatus, problem: Problem) {
        self.team.verdict = Some(word);
        self.last_words(status, Some(problem));
    }

    /// Stops before every review is through, and says what is open.
    pub(super) fn stop(&mut self, status: OutcomeStatus, problem: Problem) {
        if self.run.work.pull_request.is_none() {
            return self.leave(status, Some(problem));
        }
        self.team.verdict = Some(LastWord::Inconclusive);
        let waiting = self.team.queue.len();
        let problem = match waiting {
            0 => problem,
            _ => problem.cause(format!("{waiting} remarks are still open")),
        };
        self.last_words(status, Some(problem));
    }

    fn last_words(&mut self, status: OutcomeStatus, failure: Option<Problem>) {
        let passed = status == OutcomeStatus::Succeeded;
        let description = failure
            .as_ref()
            .map_or("ready for human review".to_owned(), |why| {
                why.message.clone()
            });
        let is_ready = match status {
            OutcomeStatus::Succeeded | OutcomeStatus::NeedsHuman => true,
            OutcomeStatus::Failed | OutcomeStatus::TimedOut | OutcomeStatus::Cancelled => false,
        };
        self.team.stage = TeamStage::Finishing { status, failure };
        let head = self.run.work.head_sha.clone();
        let status = head
            .filter(|_| self.terms.mode == TeamMode::Github)
            .map(|sha| ForgeAct::SetStatus {
                sha,
                passed,
                description,
            });
        if let Some(status) = status {
            self.on_forge(status);
        }
        if is_ready && self.terms.mode == TeamMode::Github {
            self.on_forge(ForgeAct::MarkReady);
        }
        let body = pull_request_body(self.run, &self.team, self.request);
        self.on_forge(ForgeAct::UpdateBody { body });
        self.leave_when_said();
    }

    /// Words that could not be said are no reason to end otherwise.
    pub(super) fn said(
        &mut self,
        status: OutcomeStatus,
        failure: Option<Problem>,
        result: EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            self.run
                .warnings
                .push(format!("the pull request could not be updated: {problem}"));
        }
        self.team.stage = TeamStage::Finishing { status, failure };
        self.leave_when_said();
    }

    fn leave_when_said(&mut self) {
        if let TeamStage::Finishing { status, failure } = self.team.stage.clone()
            && self.run.pending.is_empty()
        {
            match self.terms.auto_merge && status == OutcomeStatus::Succeeded {
                true => self.promote(),
                false => self.leave(status, failure),
            }
        }
    }

    /// The domains whose last review did not approve, in words.
    fn open_reviews(&self) -> String {
        let reviews = &self.team.record.reviews;
        let is_open = |domain: &Domain| {
            let mut of_domain = reviews.iter().filter(|one| one.domain == Some(*domain));
            of_domain
                .next_back()
                .is_some_and(|last| last.verdict != Some(Verdict::Approved))
        };
        let open: Vec<&str> = Domain::ALL
            .iter()
            .filter(|domain| is_open(domain))
            .map(|domain| domain.name())
            .collect();
        match open.is_empty() {
            true => String::new(),
            false => format!(" ({})", open.join(", ")),
        }
    }
}
