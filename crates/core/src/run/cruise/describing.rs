//! The pull request's description. It is shown beside everything else: nobody waits for it, and one
//! that could not be written is written after the next look.

use super::super::effect::{Effect, EffectResult};
use super::super::forge_act::ForgeAct;
use super::retrying::is_final;
use super::texts::pull_request_body;
use super::{Flight, Stage};

/// How often the same description is tried before it stays as it is.
const MOST_TRIES: u32 = 10;

impl Flight<'_> {
    /// The description as it should stand now.
    pub(super) fn description(&self) -> String {
        pull_request_body(self.run, &self.cruise, self.request, false)
    }

    /// Brings the description up to date. One at a time, so that no older one comes last.
    pub(super) fn describe(&mut self) {
        if self.is_describing() {
            return;
        }
        let body = self.description();
        let is_same = body == self.cruise.body;
        if !is_same {
            self.cruise.untold = 0;
        } else if self.cruise.untold == 0 || self.cruise.untold >= MOST_TRIES {
            return;
        }
        self.cruise.body.clone_from(&body);
        self.on_forge(ForgeAct::UpdateBody { body }, None);
    }

    /// A description that could not be written is tried again.
    pub(super) fn describe_again(&mut self) {
        if self.cruise.untold > 0 {
            self.describe();
        }
    }

    pub(super) fn is_describing(&self) -> bool {
        self.run.pending.values().any(|effect| {
            matches!(
                effect,
                Effect::OnForge {
                    act: ForgeAct::UpdateBody { .. },
                    ..
                }
            )
        })
    }

    pub(super) fn described(&mut self, result: &EffectResult) {
        if let EffectResult::Failed { problem } = result {
            self.cruise.untold = match is_final(problem) {
                true => MOST_TRIES,
                false => self.cruise.untold + 1,
            };
            if self.cruise.untold >= MOST_TRIES {
                self.warn(format!("the description is out of date: {problem}"));
            }
        } else {
            self.cruise.untold = 0;
            // More may have happened meanwhile.
            self.describe();
        }
        // An approval may have waited for this.
        if self.cruise.stage == Stage::Watching {
            self.proceed();
        }
    }
}
