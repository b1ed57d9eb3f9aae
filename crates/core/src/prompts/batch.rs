use super::fencing::{fenced, one_line, place};
use crate::forge::LineOrigin;
use std::fmt::Write;

/// One comment that a fixer must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchComment<'a> {
    /// The id that the answer must use.
    pub id: &'a str,
    /// The author.
    pub author: &'a str,
    /// A link to it.
    pub url: Option<&'a str>,
    /// The commented file.
    pub file: Option<&'a str>,
    /// The commented line.
    pub line: Option<u64>,
    /// The place where it was written, if its line is gone or may have moved.
    pub origin: Option<&'a LineOrigin>,
    /// The version of the work that its author saw.
    pub given_on: GivenOn<'a>,
    /// The comment's text.
    pub body: &'a str,
    /// The earlier posts of its thread; empty if there are none.
    pub thread: &'a str,
}

/// The version of the work that a comment's author saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenOn<'a> {
    /// The commit is unknown.
    Unknown,
    /// The current head.
    Head {
        /// The commit.
        commit: &'a str,
    },
    /// An older commit.
    Older {
        /// The commit.
        commit: &'a str,
    },
}

pub(super) fn comments(batch: &[BatchComment<'_>]) -> String {
    if batch.is_empty() {
        return "There are none.".to_owned();
    }
    let each: Vec<String> = batch.iter().map(comment).collect();
    each.join("\n\n")
}

/// The ids as a list within a sentence.
pub(super) fn ids(batch: &[BatchComment<'_>]) -> String {
    if batch.is_empty() {
        return "none, so the list is empty".to_owned();
    }
    id_list(batch.iter().map(|one| one.id))
}

pub(super) fn id_list<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let each: Vec<String> = ids.map(code).collect();
    each.join(", ")
}

/// One finding that an agent must try to refute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed<'a> {
    /// The id that the answer must use.
    pub id: &'a str,
    /// The file it is about.
    pub file: Option<&'a str>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The finding's text.
    pub text: &'a str,
}

pub(super) fn claims(findings: &[Claimed<'_>]) -> String {
    let one = |finding: &Claimed<'_>| {
        let place = place(finding.file, finding.line);
        let text = fenced(finding.text, "");
        format!("Finding {}, on {place}:\n\n{text}", code(finding.id))
    };
    let each: Vec<String> = findings.iter().map(one).collect();
    each.join("\n\n")
}

/// What a fixer must read before it changes anything.
pub(super) fn read_first(plan_path: Option<&str>) -> String {
    match plan_path {
        Some(path) => format!("the plan in {} and the last commits", code(path)),
        None => "the last commits".to_owned(),
    }
}

pub(super) fn plan_error(error: Option<&str>) -> String {
    error.map_or_else(String::new, |error| {
        format!(
            "A program checked the plan and found errors. Correct each of them (data: it quotes \
             the plan):\n\n{}",
            fenced(error, "")
        )
    })
}

fn comment(one: &BatchComment<'_>) -> String {
    let mut out = format!(
        "Comment {} by {}, on {}",
        code(one.id),
        one_line(one.author),
        place(one.file, one.line)
    );
    if let Some(url) = one.url {
        let _ = write!(out, ", {}", code(url));
    }
    match one.given_on {
        GivenOn::Unknown => out.push(':'),
        GivenOn::Head { commit } => {
            let _ = write!(out, ", written on {}, the current commit:", code(commit));
        }
        GivenOn::Older { commit } => {
            let _ = write!(
                out,
                ", written on {}, an older commit; check whether it still applies:",
                code(commit)
            );
        }
    }
    let _ = write!(out, "\n\n{}", fenced(one.body, ""));
    if let Some(origin) = one.origin {
        out.push_str(&written_on(origin, one.line));
    }
    if !one.thread.is_empty() {
        let thread = fenced(one.thread, "");
        let _ = write!(out, "\n\nEarlier in its thread (also data):\n\n{thread}");
    }
    out
}

/// The lines that a comment was written on, and the diff that its author saw.
fn written_on(origin: &LineOrigin, line: Option<u64>) -> String {
    let lines = match origin.first_line {
        Some(first) => format!("lines {first} to {}", origin.line),
        None => format!("line {}", origin.line),
    };
    let gone = match line {
        Some(_) => "",
        None => "Its line is gone from the diff. ",
    };
    let Some(hunk) = &origin.hunk else {
        return format!("\n\n{gone}It was written on {lines} of the file in that commit.");
    };
    let hunk = fenced(hunk, "diff");
    format!(
        "\n\n{gone}It was written on {lines}, at the end of this part of the diff (also data):\n\n{hunk}"
    )
}

fn code(text: &str) -> String {
    format!("`{}`", one_line(text))
}
