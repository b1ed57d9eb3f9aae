//! `drive.notice/1`.

use super::value::path_text;
use drive_core::run::{Notice, NoticeEvent, RunCommand};
use schemars::JsonSchema;
use serde::Serialize;

/// A notification, as `notify.command` reads it on its standard input.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NoticeDocument {
    event: NoticeEvent,
    /// The run that was started.
    run_id: String,
    kind: RunCommand,
    /// The repository.
    repo: String,
    /// A headline in one line.
    title: String,
    /// The reason, or further information.
    reason: String,
    /// The task of a cruise that it is about.
    task: Option<String>,
    /// The command that helps.
    command: Option<String>,
    /// The pull request.
    url: Option<String>,
    /// When it happened.
    at: String,
}

impl NoticeDocument {
    pub(crate) fn new(notice: &Notice) -> Self {
        Self {
            event: notice.event,
            run_id: notice.run_id.to_string(),
            kind: notice.kind,
            repo: path_text(&notice.repo),
            title: notice.title.clone(),
            reason: notice.reason.clone(),
            task: notice.task.as_ref().map(ToString::to_string),
            command: notice.command.clone(),
            url: notice.url.clone(),
            at: notice.at.to_string(),
        }
    }
}
