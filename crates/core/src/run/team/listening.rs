//! What people write on the pull request while the team works.

use super::super::effect::EffectResult;
use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::super::reviewing::Remark;
use super::{Flight, TeamStage};
use crate::review::Move;

/// How often people may have something to say after the last review before the run ends anyway.
const MOST_LATE_ROUNDS: u32 = 10;

impl Flight<'_> {
    /// Looks at what people wrote, before the next move.
    pub(super) fn listen(&mut self) {
        self.team.stage = TeamStage::Listening;
        let since = self.team.cursor;
        self.on_forge(ForgeAct::Listen { since });
    }

    /// A forge that cannot be asked now must not stop the work: it is asked again before the next
    /// move, from the same point on.
    pub(super) fn listened(&mut self, result: EffectResult) {
        self.team.listened = true;
        if let EffectResult::OnForge {
            answer:
                ForgeAnswer::Heard {
                    comments,
                    ignored,
                    next,
                },
        } = result
        {
            self.team.cursor = next;
            self.team.record.overheard(&comments, ignored);
            for comment in comments {
                if self.team.heard.insert(comment.key.clone()) {
                    let mut remark = Remark::of_comment(&comment);
                    if let Some(thread) = remark.thread_id() {
                        remark.thread = self.team.threads.so_far(thread);
                        self.team.threads.said(thread, &remark.author, &remark.body);
                    }
                    self.team.queue.push_back(remark);
                }
            }
        } else if let EffectResult::Failed { problem } = result {
            self.run
                .warnings
                .push(format!("the pull request could not be read: {problem}"));
        }
        // What was said after the last review may be followed by more.
        if let (Move::Done(_), false) = (&self.team.next, self.team.queue.is_empty()) {
            self.team.late_rounds += 1;
            self.team.listened = self.team.late_rounds >= MOST_LATE_ROUNDS;
        }
        self.proceed();
    }
}
