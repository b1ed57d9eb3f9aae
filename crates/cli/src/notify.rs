//! Notifies the user with `notify.command`.

use crate::answer::PrintedDocument;
use crate::documents::NoticeDocument;
use drive_adapters::Environment;
use drive_adapters::notify::{NOTIFY_DEADLINE, NotifyCommand};
use drive_adapters::process::BoundedRunner;
use drive_core::problem::{Kind, Problem};
use drive_core::run::Notice;
use drive_engine::CancelToken;
use drive_engine::ports::Notifier;
use std::sync::Arc;

/// The user's program, which reads `drive.notice/1` on its standard input.
pub(crate) struct UserCommand {
    pub(crate) command: Vec<String>,
    pub(crate) environment: Environment,
    pub(crate) runner: Arc<BoundedRunner>,
}

impl Notifier for UserCommand {
    fn notify(&self, notice: &Notice, cancel: &CancelToken) -> Result<(), Problem> {
        let document = PrintedDocument::new(&NoticeDocument::new(notice))?;
        let mut text = serde_json::to_vec(&document).map_err(|error| {
            Problem::new(Kind::AnswerUnfit, "cannot write a notice").cause(error.to_string())
        })?;
        text.push(b'\n');
        let command = NotifyCommand {
            command: &self.command,
            environment: &self.environment,
            runner: self.runner.as_ref(),
            deadline: NOTIFY_DEADLINE,
        };
        command.call(text, cancel)
    }
}
