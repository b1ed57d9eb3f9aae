//! Prints pull requests for people.

use crate::output::{Look, Printable};
use crate::table::{Cell, Column, Tone, age, render};
use drive_core::forge::marker::visible;
use drive_core::forge::{Comment, PrState, PullRequest, ReviewState};
use drive_core::time::Timestamp;
use std::fmt::Write;

/// The columns. A narrow terminal drops those with larger numbers first.
const COLUMNS: [Column; 5] = [
    Column::right("PR", 0),
    Column::left("STATE", 0),
    Column::right("AGE", 2),
    Column::left("BRANCH", 1),
    Column::left("TITLE", 0),
];

/// One line for each pull request, in columns.
pub(super) fn table(pull_requests: &[PullRequest], now: Timestamp, look: Look) -> String {
    if pull_requests.is_empty() {
        return "no pull requests".to_owned();
    }
    let row = |pr: &PullRequest| {
        let tone = match pr.state {
            PrState::Open => Tone::Working,
            PrState::Merged => Tone::Good,
            PrState::Closed => Tone::Plain,
        };
        [
            Cell::new(pr.number.to_string()),
            Cell::toned(state_of(pr), tone),
            Cell::new(age(pr.updated_at, now)),
            Cell::new(format!("{} → {}", pr.branch, pr.base)),
            Cell::new(&pr.title),
        ]
    };
    let rows: Vec<[Cell; 5]> = pull_requests.iter().map(row).collect();
    render(COLUMNS, &rows, look)
}

/// A pull request with its comments.
pub(super) fn page(pr: &PullRequest, comments: &[Comment]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}  {}", pr.number, one_line(&pr.title));
    let _ = writeln!(
        text,
        "{}  {} → {}  at {}{}",
        state_of(pr),
        plain(&pr.branch),
        plain(&pr.base),
        short(&pr.head_sha),
        mergeable_note(pr)
    );
    let body = plain(visible(&pr.body));
    if !body.trim().is_empty() {
        let _ = write!(text, "\n{}", indented(&body));
    }
    for comment in comments {
        let _ = write!(
            text,
            "\n{}\n{}",
            comment_line(comment),
            comment_text(comment)
        );
    }
    text
}

/// The author, place and time of a comment.
pub(super) fn comment_line(comment: &Comment) -> String {
    let author = comment.author.login.as_deref().unwrap_or("unknown author");
    let what = match comment.review {
        None => "",
        Some(ReviewState::Approved) => " approved",
        Some(ReviewState::ChangesRequested) => " requested changes",
        Some(ReviewState::Commented) => " reviewed",
        Some(ReviewState::Dismissed) => " reviewed (dismissed)",
    };
    let place = match (&comment.path, comment.line) {
        (Some(path), Some(line)) => format!("  {}:{line}", plain(path)),
        (Some(path), None) => format!("  {} (outdated)", plain(path)),
        (None, _) => String::new(),
    };
    let answers = match comment.in_reply_to {
        Some(id) => format!("  in reply to {id}"),
        None => String::new(),
    };
    let at = comment.created_at.strftime("%Y-%m-%d %H:%M UTC");
    let id = comment.key.id;
    format!("[{id}] {}{what}{place}{answers}  {at}", plain(author))
}

pub(super) fn state_word(state: PrState) -> &'static str {
    match state {
        PrState::Open => "open",
        PrState::Merged => "merged",
        PrState::Closed => "closed",
    }
}

fn comment_text(comment: &Comment) -> String {
    indented(&plain(visible(&comment.body)))
}

fn state_of(pr: &PullRequest) -> String {
    let draft = if pr.draft { " (draft)" } else { "" };
    format!("{}{draft}", state_word(pr.state))
}

fn mergeable_note(pr: &PullRequest) -> &'static str {
    match pr.mergeable {
        Some(false) => "  (conflicts with its base)",
        Some(true) | None => "",
    }
}

fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

fn plain(text: &str) -> String {
    Printable(text).to_string()
}

fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn indented(text: &str) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        let line = format!("    {line}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
