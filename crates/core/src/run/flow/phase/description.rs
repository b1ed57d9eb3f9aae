//! Updates the pull request's description and the comment that sums up the reviews. Nothing waits for
//! a description; one that failed is retried after the next poll.

use super::super::super::model::{DoneWhen, Effect, EffectResult, ForgeAct, ForgeAnswer, Stage};
use super::super::reply::is_lost;
use super::super::retry::is_final;
use super::PhaseFlow;
use super::summary_text::summary_text;
use super::texts::pull_request_body;
use crate::ids::EffectKey;
use crate::settings::TeamMode;

/// How often the same description is tried.
const MOST_TRIES: u32 = 10;

/// How often the same summary is tried; the work waits for it.
const MOST_SUMMARY_TRIES: u32 = 2;

impl PhaseFlow<'_> {
    /// The current text of the description.
    pub(in crate::run) fn description(&self) -> String {
        pull_request_body(self.run, &self.state, self.request, false)
    }

    /// Updates the description. Only one update runs at a time, so that an older text cannot
    /// overwrite a newer one.
    pub(in crate::run) fn describe(&mut self) {
        // The root of a cruise writes the description.
        if self.is_describing() || self.terms.is_on_line() {
            return;
        }
        let body = self.description();
        let is_same = body == self.state.description.text;
        if !is_same {
            self.state.description.failures = 0;
        } else if self.state.description.failures == 0
            || self.state.description.failures >= MOST_TRIES
        {
            return;
        }
        self.state.description.text.clone_from(&body);
        self.on_forge(ForgeAct::UpdateBody { body }, None);
    }

    /// The post with the current summary of the reviews.
    pub(in crate::run) fn summary(&self) -> ForgeAct {
        ForgeAct::Summarize {
            body: summary_text(self.run, &self.state, self.request),
            comment: self.state.summary_comment,
        }
    }

    /// Updates the summary, then continues.
    pub(in crate::run) fn summarize(&mut self) {
        self.state.stage = Stage::PostingSummary { stopped: None };
        let summary = self.summary();
        if !self.on_forge(summary, None) {
            self.close_batch();
        }
    }

    /// Handles the result of posting the summary. A failure does not stop the phase.
    pub(in crate::run) fn summary_posted(
        &mut self,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            if is_lost(&problem) {
                // Somebody deleted the comment; the next summary is a new post.
                self.state.summary_comment = None;
            } else if !self.is_enough(&problem) && self.state.tries < MOST_SUMMARY_TRIES {
                return self.try_again(key, effect, &problem);
            } else {
                self.warn(format!("could not update the summary comment: {problem}"));
            }
            self.state.tries = 0;
        } else if let EffectResult::OnForge {
            answer: ForgeAnswer::Posted { comment },
        } = result
        {
            self.state.summary_comment = Some(comment);
        }
        self.close_batch();
    }

    /// Retries a description that could not be written.
    pub(in crate::run) fn describe_again(&mut self) {
        if self.state.description.failures > 0 {
            self.describe();
        }
    }

    pub(in crate::run) fn is_describing(&self) -> bool {
        self.is_pending(|act| matches!(act, ForgeAct::UpdateBody { .. }))
    }

    /// Whether the pull request is opened as a draft: a team's is, until its reviews are done.
    pub(in crate::run) fn is_draft(&self) -> bool {
        match self.terms.done() {
            DoneWhen::Reviewed { .. } => self.terms.mode == TeamMode::Github,
            // A person cannot approve a draft.
            DoneWhen::Landed { approve } => !approve,
            DoneWhen::Approved(_) | DoneWhen::Merged { .. } | DoneWhen::Asked => false,
        }
    }

    pub(in crate::run) fn described(&mut self, result: &EffectResult) {
        if let EffectResult::Failed { problem } = result {
            self.state.description.failures = if is_final(problem) {
                MOST_TRIES
            } else {
                self.state.description.failures + 1
            };
            if self.state.description.failures >= MOST_TRIES {
                self.warn(format!(
                    "could not update the description of the pull request: \
                                   {problem}"
                ));
            }
        } else {
            self.state.description.failures = 0;
            // More may have changed meanwhile.
            self.describe();
        }
        // An approval may have waited for the update.
        if self.state.stage == Stage::Watching {
            self.proceed();
        }
    }
}
