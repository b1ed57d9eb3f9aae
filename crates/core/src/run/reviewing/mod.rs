//! Reviewing, whichever flow asks for it: what an answer amounts to, where its remarks stand, how
//! they are told and answered, and the record of it all.

mod judging;
mod placing;
mod record;
mod remark;
mod texts;
mod threads;

pub use record::{JobRecord, PermissionRecord, Record, RemarkRecord, ReviewRecord};
pub use remark::Remark;
pub use threads::Threads;

pub(super) use judging::{in_its_own_words, judged};
pub(super) use placing::{by_place, line_remark, together};
pub(super) use remark::{commit_message_for, reply_to};
pub(super) use texts::review_body;
