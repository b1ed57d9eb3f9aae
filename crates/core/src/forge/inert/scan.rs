//! Finds the tokens that act on a forge.
//!
//! Each rule covers what GitHub, GitLab and Forgejo read, and errs towards finding more: a broken
//! token that was harmless costs a reader a space.

use super::super::part::{BEGIN, END};
use crate::verify::text::tail;
use std::ops::Range;

/// How a forge reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Markdown,
    Plain,
}

/// A token that acts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What to replace.
    pub(super) edit: Range<usize>,
    pub(super) instead: String,
    /// What it says, in one spelling; `None` for one that a person cannot allow either.
    pub(super) name: Option<String>,
}

/// Words after which GitHub, GitLab or Forgejo closes or reopens the issue that is named next.
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

/// What `[skip X]` and `[X skip]` name.
const PIPELINES: [&str; 18] = [
    "ci",
    "actions",
    "action",
    "checks",
    "pipeline",
    "pipelines",
    "build",
    "deploy",
    "release",
    "travis",
    "circleci",
    "appveyor",
    "azp",
    "azurepipelines",
    "netlify",
    "vercel",
    "drone",
    "buildkite",
];

/// What bors is told at the beginning of a line.
const BORS: [&str; 13] = [
    "r+", "r-", "r=", "merge", "try", "retry", "d+", "d-", "d=", "delegate", "cancel", "p=",
    "single",
];

/// Character references that neither hide nor spell a token.
const HARMLESS: [&str; 14] = [
    "amp", "lt", "gt", "quot", "hellip", "mdash", "ndash", "rarr", "larr", "times", "middot",
    "bull", "le", "ge",
];

/// Elements whose contents are not Markdown and may span blank lines.
const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

/// How far back the beginning of a link is looked for.
const LINK_BYTES: usize = 2048;

/// The tokens of a text, in order.
pub(super) fn tokens(text: &str, form: Form) -> Vec<Token> {
    let mut found = Vec::new();
    let mut is_line_start = true;
    let mut before = '\n';
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        let is_word_start = !is_word(before);
        if is_line_start && !c.is_whitespace() {
            found.extend(command(rest, at));
        }
        let token = match c {
            '@' if is_word_start => mention(text, at),
            '[' => skip(rest, at),
            '*' => no_ci(rest, at),
            '&' if form == Form::Markdown => reference(rest, at),
            '<' if form == Form::Markdown => raw_html(rest, at),
            c if c.is_ascii_alphabetic() && is_word_start => closing(rest, at),
            _ => None,
        };
        found.extend(token);
        is_line_start = matches!(c, '\n' | '\r') || (is_line_start && c.is_whitespace());
        before = c;
    }
    found.sort_by_key(|token| token.edit.start);
    found
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(c: char) -> bool {
    is_word(c) || matches!(c, '-' | '.')
}

/// How many bytes at the beginning are such characters.
fn span(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

fn strip<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// `@user` and `@org/team`, but no address, and nothing within a link.
fn mention(text: &str, at: usize) -> Option<Token> {
    let rest = &text[at + 1..];
    let rest = rest.strip_prefix('\\').unwrap_or(rest);
    let len = span(rest, |c| is_name(c) || c == '/');
    let name = rest[..len].trim_end_matches(['.', '-', '/']);
    if !rest.starts_with(is_word) || is_in_link(&text[..at]) {
        return None;
    }
    Some(Token {
        edit: at..at + 1,
        instead: "@ ".to_owned(),
        name: Some(format!("@{name}").to_ascii_lowercase()),
    })
}

/// Whether a link that a forge makes clickable goes on here.
fn is_in_link(before: &str) -> bool {
    let is_plain = |c: char| is_name(c) || "/:%?#=&+~@".contains(c);
    let near = tail(before, LINK_BYTES);
    let url = near.rsplit(|c| !is_plain(c)).next().unwrap_or_default();
    let host = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    host.is_some_and(|host| {
        let len = span(host, is_name);
        host.starts_with(|c: char| c.is_ascii_alphanumeric())
            && host[..len].contains('.')
            && host[len..].starts_with('/')
    })
}

/// A closing word and the issue after it, with whatever markup stands between them.
fn closing(rest: &str, at: usize) -> Option<Token> {
    let is_meant = |word: &&&str| strip(rest, word).is_some_and(|end| !end.starts_with(is_word));
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
        let after = strip(target, name).filter(|after| !after.starts_with(is_word));
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
    })
}

/// The text after white space, punctuation, emphasis and tags.
fn after_markup(text: &str) -> &str {
    let is_between = |c: char| c.is_whitespace() || ":*_~\"'([\\->".contains(c);
    let mut rest = text;
    loop {
        rest = &rest[span(rest, is_between)..];
        let Some(tag) = rest.strip_prefix('<') else {
            return rest;
        };
        let is_tag = |inner: &&str| !inner.contains(['<', '\n', ':']);
        let tag = tag.split_once('>').filter(|(inner, _)| is_tag(inner));
        rest = tag.map_or(&rest[1..], |(_, after)| after);
    }
}

/// What stands before the number in a link to an issue.
const KINDS: [&str; 5] = [
    "/issues/",
    "/pull/",
    "/pulls/",
    "/merge_requests/",
    "/work_items/",
];

/// A reference to an issue at the beginning of a text, in words, and its length.
fn issue(text: &str) -> Option<(String, usize)> {
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
            format!("issue {} of {project}", &path[number..number + digits]),
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
        format!(" of {project}")
    };
    Some((format!("issue {}{of}", &number[..digits]), len + 1 + digits))
}

/// The length of the number at the beginning; `None` where it is part of a word, such as a colour.
fn digits(text: &str) -> Option<usize> {
    let len = span(text, |c| c.is_ascii_digit());
    (len > 0 && !text[len..].starts_with(is_word)).then_some(len)
}

/// `[skip ci]` and its relatives.
fn skip(rest: &str, at: usize) -> Option<Token> {
    let inner = &rest[1..];
    let end = inner.find([']', '\n', '['])?;
    if !inner[end..].starts_with(']') {
        return None;
    }
    let inner = &inner[..end];
    let lower = inner.to_ascii_lowercase();
    let split = |c: char| c.is_whitespace() || c == '-' || c == '_';
    let words: Vec<&str> = lower.split(split).filter(|word| !word.is_empty()).collect();
    let is_skip = match words.as_slice() {
        ["no", "ci"] | ["cf", "pages", "skip"] => true,
        ["skip", what] | [what, "skip"] => PIPELINES.contains(what),
        _ => false,
    };
    is_skip.then(|| Token {
        edit: at..at + end + 2,
        instead: format!("({inner})"),
        name: Some(format!("[{}]", words.join(" "))),
    })
}

/// `***NO_CI***`
fn no_ci(rest: &str, at: usize) -> Option<Token> {
    const WORD: &str = "***NO_CI***";
    strip(rest, WORD)?;
    Some(Token {
        edit: at..at + WORD.len(),
        instead: "(NO_CI)".to_owned(),
        name: Some(WORD.to_ascii_lowercase()),
    })
}

/// What acts only at the beginning of a line: a slash command, a word to a bot, a trailer.
fn command(rest: &str, at: usize) -> Option<Token> {
    let is_end = |text: &str| text.is_empty() || text.starts_with(char::is_whitespace);
    let line = rest.lines().next().unwrap_or_default();
    let token = |len: usize, instead: String, name: &str| {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Token {
            edit: at..at + len,
            instead,
            name: Some(name.to_ascii_lowercase()),
        })
    };
    if let Some(name) = line.strip_prefix('/') {
        let len = span(name, |c| is_word(c) || c == '-');
        return if name.starts_with(|c: char| c.is_ascii_alphabetic()) && is_end(&name[len..]) {
            token(1, "/ ".to_owned(), &line[..len + 1])
        } else {
            None
        };
    }
    if let Some(order) = strip(line, "bors") {
        let word = order.trim_start_matches([' ', '\t', ':']);
        let is_order = |known: &&str| strip(word, known).is_some();
        return if word.len() < order.len() && BORS.iter().any(is_order) {
            token(4, "\"bors\"".to_owned(), line)
        } else {
            None
        };
    }
    if let Some(who) = strip(line, "r?") {
        return match who.trim() {
            "" => None,
            _ => token(2, "r ?".to_owned(), line),
        };
    }
    if line.trim().eq_ignore_ascii_case("recheck") {
        return token(7, "\"recheck\"".to_owned(), line);
    }
    let value = strip(line, "skip-checks")?.trim_start().strip_prefix(':')?;
    if value.trim().eq_ignore_ascii_case("true") {
        let instead = format!("skip-checks ({})", value.trim());
        return token(line.trim_end().len(), instead, line);
    }
    None
}

/// A character reference: forges look for tokens after they have decoded it.
fn reference(rest: &str, at: usize) -> Option<Token> {
    let name = &rest[1..];
    let len = span(name, |c| c.is_ascii_alphanumeric() || c == '#');
    let is_reference = len > 0 && name[len..].starts_with(';');
    (is_reference && !HARMLESS.contains(&&name[..len])).then(|| Token {
        edit: at..at + 1,
        instead: "&amp;".to_owned(),
        name: None,
    })
}

/// A comment, a declaration or an element whose contents are not Markdown. Drive's own marks stay:
/// text of others does not hold them.
fn raw_html(rest: &str, at: usize) -> Option<Token> {
    (is_raw_html(rest) && !rest.starts_with(BEGIN) && !rest.starts_with(END)).then(|| Token {
        edit: at..at + 1,
        instead: "&lt;".to_owned(),
        name: None,
    })
}

/// Whether HTML begins here that a blank line does not end.
pub(super) fn is_raw_html(rest: &str) -> bool {
    let inner = rest.strip_prefix('<').unwrap_or_default();
    inner.starts_with(['!', '?'])
        || RAW.iter().any(|name| {
            let name = strip(inner.strip_prefix('/').unwrap_or(inner), name);
            name.is_some_and(|after| !after.starts_with(is_word))
        })
}
