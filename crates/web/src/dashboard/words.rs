//! Short texts about a run that several pages use.

use super::html::{Html, clip};
use drive_core::agent::Usage;
use drive_core::phase::PhaseName;
use drive_core::run::Run;

/// The maximum length of a task in lists and titles, in characters.
const TITLE: usize = 120;

/// The first non-empty line of its task.
pub(super) fn title(run: &Run) -> String {
    let task = run.request.as_ref().map_or("", |request| &request.task);
    let first = task.lines().find(|line| !line.trim().is_empty());
    clip(first.unwrap_or(run.id.as_str()).trim(), TITLE)
}

pub(super) fn kind(run: &Run) -> &'static str {
    match &run.request {
        Some(request) => request.kind.as_str(),
        None => "not requested yet",
    }
}

pub(super) fn phase(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Planning => "planning",
        PhaseName::Building => "building",
        PhaseName::Validating => "validating",
    }
}

pub(super) fn cost(run: &Run) -> Option<String> {
    run.spent_in_all().cost.map(|cost| cost.to_string())
}

/// Renders the pull request. The URL of a local one cannot be opened in a browser.
pub(super) fn pull_request(html: &mut Html, run: &Run) {
    match &run.work.pull_request {
        Some(pr) => html.outward(&pr.url, format_args!("#{}", pr.number)),
        None => {
            html.text("none");
        }
    }
}

/// A place in a file, as editors and compilers write it.
pub(super) fn place(file: Option<&str>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, _) => String::new(),
    }
}

/// Tokens as people read them in a table.
pub(super) fn tokens(usage: Usage) -> String {
    usage
        .reported()
        .map_or("unknown".to_owned(), |tokens| tokens.to_string())
}
