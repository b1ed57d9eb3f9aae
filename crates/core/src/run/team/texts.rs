//! What people read on the pull request.

use super::super::Run;
use super::super::request::{Kind, Request};
use super::super::reviewing::review_body;
use super::super::spawn::shortened;
use super::Team;
use crate::forge::part::{own, unmarked};
use crate::forge::text::{BODY_CHARS, fit};
use crate::prompts::fenced;
use crate::settings::TeamMode;
use std::fmt::Write;

/// What the marks of the own part take, at most.
const MARKS_ROOM: usize = 512;

/// The message of the first commit.
pub(super) fn commit_message(title: &str, task: &str) -> String {
    match title == task.trim() {
        true => title.to_owned(),
        false => format!("{title}\n\n{}", shortened(task)),
    }
}

/// The pull request's description as it stands now: what was said, the task, in pingpong what the
/// reviewer said, and after the reviews the record. Within what a forge takes. All but what was said
/// stands in a part of its own, so that a person can write around it.
pub(super) fn pull_request_body(run: &Run, team: &Team, request: &Request) -> String {
    let summary = fit(&unmarked(team.summary.trim()), BODY_CHARS / 2);
    let mut text = String::new();
    let task = fenced(&shortened(&request.task), "text");
    let _ = write!(
        text,
        "<details><summary>The task</summary>\n\n{task}\n\n</details>\n"
    );
    if is_pingpong(request) {
        for review in &team.record.reviews {
            let _ = write!(text, "\n### Review, round {}\n\n", review.round);
            text.push_str(&review_body(review, 0, &review.suggestions));
            text.push('\n');
        }
    }
    let most = BODY_CHARS.saturating_sub(summary.chars().count() + MARKS_ROOM);
    let record = match team.verdict {
        Some(_) => told(&team.record.markdown(run), most / 3),
        None => String::new(),
    };
    let text = fit(&text, most.saturating_sub(record.chars().count())) + &record;
    let part = own(&run.id, text.trim_end());
    format!("{summary}\n\n{part}\n").trim_start().to_owned()
}

/// The record in a block that can be opened, within this many characters.
fn told(record: &str, room: usize) -> String {
    let (open, close) = (
        "\n<details><summary>What happened</summary>\n\n",
        "\n</details>\n",
    );
    let room = room.saturating_sub(open.len() + close.len());
    format!("{open}{}{close}", fit(record, room))
}

fn is_pingpong(request: &Request) -> bool {
    match &request.kind {
        Kind::Team(terms) => terms.mode == TeamMode::Pingpong,
        Kind::Spawn | Kind::Cruise(_) => false,
    }
}
