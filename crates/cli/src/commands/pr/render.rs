//! Pull requests as documents for scripts and as text for people.

use crate::output::Printable;
use drive_core::forge::marker::visible;
use drive_core::forge::{Comment, PrState, PullRequest, ReviewState, Surface};
use drive_core::time::Timestamp;
use serde::Serialize;
use std::fmt::Write;

/// `drive.pullRequests/1`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullRequestsDocument<'a> {
    pull_requests: Vec<Summary<'a>>,
}

/// `drive.pullRequest/1`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullRequestDocument<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    body: &'a str,
    mergeable: Option<bool>,
    comments: Vec<CommentDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    number: u64,
    title: &'a str,
    state: PrState,
    draft: bool,
    branch: &'a str,
    base: &'a str,
    head_sha: &'a str,
    url: &'a str,
    updated_at: Timestamp,
}

/// One comment, also `drive.comment/1` by itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommentDocument<'a> {
    id: u64,
    pr_number: u64,
    surface: Surface,
    author: Option<&'a str>,
    body: &'a str,
    path: Option<&'a str>,
    line: Option<u64>,
    commit: Option<&'a str>,
    in_reply_to: Option<u64>,
    review: Option<ReviewState>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> PullRequestsDocument<'a> {
    pub(super) fn new(pull_requests: &'a [PullRequest]) -> Self {
        Self {
            pull_requests: pull_requests.iter().map(Summary::new).collect(),
        }
    }
}

impl<'a> PullRequestDocument<'a> {
    pub(super) fn new(pull_request: &'a PullRequest, comments: &'a [Comment]) -> Self {
        Self {
            summary: Summary::new(pull_request),
            body: &pull_request.body,
            mergeable: pull_request.mergeable,
            comments: comments.iter().map(CommentDocument::new).collect(),
        }
    }
}

impl<'a> Summary<'a> {
    fn new(pr: &'a PullRequest) -> Self {
        Self {
            number: pr.number,
            title: &pr.title,
            state: pr.state,
            draft: pr.draft,
            branch: &pr.branch,
            base: &pr.base,
            head_sha: &pr.head_sha,
            url: &pr.url,
            updated_at: pr.updated_at,
        }
    }
}

impl<'a> CommentDocument<'a> {
    pub(super) fn new(comment: &'a Comment) -> Self {
        Self {
            id: comment.key.id,
            pr_number: comment.pr,
            surface: comment.key.surface,
            author: comment.author.login.as_deref(),
            body: &comment.body,
            path: comment.path.as_deref(),
            line: comment.line,
            commit: comment.commit.as_deref(),
            in_reply_to: comment.in_reply_to,
            review: comment.review,
            created_at: comment.created_at,
            updated_at: comment.key.updated_at,
        }
    }
}

/// One line a pull request, in columns.
pub(super) fn table(pull_requests: &[PullRequest]) -> String {
    if pull_requests.is_empty() {
        return "no pull requests".to_owned();
    }
    let rows: Vec<[String; 4]> = pull_requests
        .iter()
        .map(|pr| {
            let way = format!("{} → {}", pr.branch, pr.base);
            [
                pr.number.to_string(),
                state_of(pr),
                plain(&way),
                one_line(&pr.title),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let [number, state, way] = [0, 1, 2].map(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for [a, b, c, title] in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{a:>number$}  {b:<state$}  {c:<way$}  {title}");
    }
    text
}

/// A pull request with everything said about it.
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

/// Who said something, where and when.
pub(super) fn comment_line(comment: &Comment) -> String {
    let author = comment.author.login.as_deref().unwrap_or("somebody");
    let what = match comment.review {
        None => "",
        Some(ReviewState::Approved) => " approved",
        Some(ReviewState::ChangesRequested) => " asked for changes",
        Some(ReviewState::Commented) => " reviewed",
        Some(ReviewState::Dismissed) => " reviewed (dismissed)",
    };
    let place = match (&comment.path, comment.line) {
        (Some(path), Some(line)) => format!("  {}:{line}", plain(path)),
        (Some(path), None) => format!("  {} (outdated)", plain(path)),
        (None, _) => String::new(),
    };
    let answers = match comment.in_reply_to {
        Some(id) => format!("  in answer to {id}"),
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
