//! Updates the pull request's description. Nothing waits for an update; one that failed is retried
//! after the next poll.

use super::super::super::model::{DoneWhen, EffectResult, ForgeAct, Stage};
use super::PhaseFlow;
use super::retry::is_final;
use super::texts::pull_request_body;
use crate::settings::TeamMode;

/// How often the same description is tried.
const MOST_TRIES: u32 = 10;

impl PhaseFlow<'_> {
    /// The description as it should stand now.
    pub(in crate::run) fn description(&self) -> String {
        pull_request_body(self.run, &self.state, self.request, false)
    }

    /// Brings the description up to date. One at a time, so that no older one comes last.
    pub(in crate::run) fn describe(&mut self) {
        if self.is_describing() {
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

    /// A description that could not be written is tried again.
    pub(in crate::run) fn describe_again(&mut self) {
        if self.state.description.failures > 0 {
            self.describe();
        }
    }

    pub(in crate::run) fn is_describing(&self) -> bool {
        self.is_pending(|act| matches!(act, ForgeAct::UpdateBody { .. }))
    }

    /// Whether the pull request is opened as a draft: a team's is, until its reviews are through.
    pub(in crate::run) fn is_draft(&self) -> bool {
        match self.terms.done {
            DoneWhen::Reviewed { .. } => self.terms.mode == TeamMode::Github,
            DoneWhen::Approved { .. } => false,
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
            // More may have happened meanwhile.
            self.describe();
        }
        // An approval may have waited for this.
        if self.state.stage == Stage::Watching {
            self.proceed();
        }
    }
}
