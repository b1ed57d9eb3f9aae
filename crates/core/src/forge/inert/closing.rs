//! Finds a closing word with the issue that a forge closes because of it.

use super::token::{Token, goes_on, is_name, span, strip};

/// Words after which GitHub, GitLab or Forgejo closes or reopens the next issue.
const CLOSING: [&str; 20] = [
    "close",
    "closes",
    "closed",
    "closing",
    "fix",
    "fixes",
    "fixed",
    "fixing",
    "resolve",
    "resolves",
    "resolved",
    "resolving",
    "implement",
    "implements",
    "implemented",
    "implementing",
    "reopen",
    "reopens",
    "reopened",
    "duplicate of",
];

/// The paths before the number in a link to an issue.
const KINDS: [&str; 5] = [
    "/issues/",
    "/pull/",
    "/pulls/",
    "/merge_requests/",
    "/work_items/",
];

/// Beginnings of text that a forge turns into a link, even right after a number.
const LINKS: [&str; 5] = ["http", "ftp", "www", "mailto", "xmpp"];

/// How many bytes of tags and references may stand between a word and its issue. Without a limit, a
/// text full of closing words within tags would take quadratic time.
const MARKUP_BYTES: usize = 1024;

/// The longest reference to an issue, limited for the same reason.
const ISSUE_BYTES: usize = 1024;

/// A closing word and the issue after it, with any markup between them.
pub(super) fn closing(rest: &str, at: usize) -> Option<Token> {
    let is_meant = |word: &&&str| strip(rest, word).is_some_and(|end| !goes_on(end));
    let word = CLOSING.iter().find(is_meant)?;
    let between = &rest[word.len()..];
    let mut target = after_markup(between);
    let from = at + rest.len() - target.len();
    let space = if target.len() == between.len() {
        " "
    } else {
        ""
    };
    for name in ["issues", "issue"] {
        let after = strip(target, name).filter(|after| !goes_on(after));
        if let Some(after) = after {
            target = after_markup(after);
            break;
        }
    }
    let (issue, len) = issue(target)?;
    let name = format!("{word} {}", &target[..len]);
    Some(Token {
        edit: from..at + rest.len() - target.len() + len,
        instead: format!("{space}{issue}"),
        name: Some(name.to_ascii_lowercase()),
        acts_in_commits: true,
    })
}

/// The text after white space, punctuation, emphasis, tags and character references.
fn after_markup(text: &str) -> &str {
    let is_between = |c: char| c.is_whitespace() || ":*_~\"'([\\->".contains(c);
    let mut rest = text;
    let mut left = MARKUP_BYTES;
    loop {
        rest = &rest[span(rest, is_between)..];
        let near = &rest[..rest.floor_char_boundary(left)];
        let len = match near.chars().next() {
            Some('<') => tag(near),
            Some('&') => reference(near),
            Some(_) | None => return rest,
        };
        left -= len;
        rest = &rest[len..];
    }
}

/// The length of the character reference at the beginning, with or without its `;`.
fn reference(text: &str) -> usize {
    let start = 1 + usize::from(text[1..].starts_with('#'));
    let end = start + span(&text[start..], |c| c.is_ascii_alphanumeric());
    end + usize::from(text[end..].starts_with(';'))
}

/// The length of the tag at the beginning; one character if it is no tag, such as a link.
fn tag(text: &str) -> usize {
    let inner = &text[1..];
    let is_tag = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && strip(inner, "http").is_none();
    match inner.find('>') {
        Some(end) if is_tag => end + 2,
        Some(_) | None => 1,
    }
}

/// A reference to an issue at the beginning of a text, in words, and its length. The words end with
/// a bracket, so that a project named `fixes` does not close the next issue.
fn issue(text: &str) -> Option<(String, usize)> {
    let text = &text[..text.floor_char_boundary(ISSUE_BYTES)];
    let link = strip(text, "https://").or_else(|| strip(text, "http://"));
    if let Some(link) = link {
        let path = &link[..span(link, |c| is_name(c) || c == '/')];
        let lower = path.to_ascii_lowercase();
        let number_at = |(at, mark): (usize, &str)| (at, at + mark.len());
        let kinds = KINDS.iter().flat_map(|kind| lower.match_indices(kind));
        let numbered = kinds
            .map(number_at)
            .filter(|&(_, number)| path[number..].starts_with(|c: char| c.is_ascii_digit()));
        let (kind, number) = numbered.min()?;
        let digits = span(&path[number..], |c| c.is_ascii_digit());
        let (_, project) = path[..kind].split_once('/')?;
        let project = project.trim_end_matches("/-");
        return Some((
            format!("issue {} ({project})", &path[number..number + digits]),
            text.len() - link.len() + number + digits,
        ));
    }
    if let Some(number) = strip(text, "GH-")
        && let Some(digits) = digits(number)
    {
        return Some((format!("issue {}", &number[..digits]), 3 + digits));
    }
    let len = span(text, |c| is_name(c) || matches!(c, '/' | '\\'));
    let (project, number) = text.split_at(len);
    let number = number.strip_prefix(['#', '!'])?;
    let digits = digits(number)?;
    let of = if project.is_empty() {
        String::new()
    } else {
        format!(" ({project})")
    };
    Some((format!("issue {}{of}", &number[..digits]), len + 1 + digits))
}

/// The length of the number at the beginning; `None` if it is part of a word, such as a colour.
fn digits(text: &str) -> Option<usize> {
    let len = span(text, |c| c.is_ascii_digit());
    let end = &text[len..];
    let is_link = || LINKS.iter().any(|link| strip(end, link).is_some());
    (len > 0 && (!goes_on(end) || is_link())).then_some(len)
}
