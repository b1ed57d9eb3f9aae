//! Finds the tokens that act on a forge.
//!
//! Each rule covers the syntax of GitHub, GitLab and Forgejo, and rather finds too much: a harmless
//! token that is broken only costs a space.

use super::closing::closing;
use super::html::{definition, image, is_in_reference, raw_html, reference, suggestion};
use super::token::{Form, Token, is_name, is_word, span, strip};
use crate::verify::text::tail;

/// The names in `[skip X]` and `[X skip]`.
const PIPELINES: [&str; 28] = [
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
    "travisci",
    "azpipelines",
    "cd",
    "cfpages",
    "cirrus",
    "codebuild",
    "preview",
    "render",
    "semaphore",
    "vela",
];

/// Options that work without brackets.
const OPTIONS: [&str; 2] = ["--skip-ci", "--ci-skip"];

/// Commands for bors at the beginning of a line.
const BORS: [&str; 13] = [
    "r+", "r-", "r=", "merge", "try", "retry", "d+", "d-", "d=", "delegate", "cancel", "p=",
    "single",
];

/// How many bytes back the beginning of a link is searched for.
const LINK_BYTES: usize = 2048;

/// The tokens of a text, in order.
pub(super) fn tokens(text: &str, form: Form) -> Vec<Token> {
    let mut found = Vec::new();
    let mut is_line_start = true;
    // Also at the beginning of a list or quote.
    let mut is_block_start = true;
    let mut before = '\n';
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        let is_word_start = !before.is_ascii_alphanumeric()
            || (form.is_markdown()
                && (c == '@' || c.is_ascii_alphabetic())
                && is_in_reference(&text[..at]));
        if is_line_start && !c.is_whitespace() {
            found.extend(command(rest, at, form));
        }
        let token = match c {
            '@' if is_word_start => mention(text, at),
            '[' => skip(rest, at),
            '*' => no_ci(rest, at),
            '-' => option(rest, at),
            '&' if form.is_markdown() => reference(rest, at),
            '<' if form.is_markdown() => raw_html(rest, at),
            '!' if form.is_markdown() => image(rest, at),
            c if c.is_ascii_alphabetic() && is_word_start => closing(rest, at),
            _ => None,
        };
        found.extend(token);
        if is_block_start && form.is_markdown() {
            match c {
                '[' => found.extend(definition(rest, at)),
                '`' | '~' => found.extend(suggestion(rest, at)),
                _ => {}
            }
        }
        let is_new_line = matches!(c, '\n' | '\r');
        is_line_start = is_new_line || (is_line_start && c.is_whitespace());
        is_block_start = is_new_line || (is_block_start && is_block_mark(c));
        before = c;
    }
    found.sort_by_key(|token| token.edit.start);
    found
}

/// Characters that may stand before the first word of a line: space, and the marks of a list or quote.
fn is_block_mark(c: char) -> bool {
    c.is_whitespace() || c.is_ascii_digit() || ">-*+.)".contains(c)
}

/// Finds `@user` and `@org/team`, but not addresses. In a possible link the `@` becomes `%40`,
/// which keeps the link valid: it is uncertain whether a forge makes a link of it.
fn mention(text: &str, at: usize) -> Option<Token> {
    let rest = &text[at + 1..];
    let rest = rest.strip_prefix('\\').unwrap_or(rest);
    let len = span(rest, |c| is_name(c) || c == '/');
    let name = rest[..len].trim_end_matches(['.', '-', '/']);
    let instead = if is_in_link(&text[..at]) { "%40" } else { "@ " };
    rest.starts_with(is_word).then(|| Token {
        edit: at..at + 1,
        instead: instead.to_owned(),
        name: Some(format!("@{name}").to_ascii_lowercase()),
        acts_in_commits: false,
    })
}

/// Whether the text ends within a link that a forge may make clickable.
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

/// Finds `[skip ci]` and similar forms.
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
        ["no", "ci"] | ["skiprun"] => true,
        ["skip", what @ ..] | [what @ .., "skip"] => PIPELINES.contains(&what.concat().as_str()),
        _ => false,
    };
    is_skip.then(|| Token {
        edit: at..at + end + 2,
        instead: format!("({inner})"),
        name: Some(format!("[{}]", words.join(" "))),
        acts_in_commits: true,
    })
}

/// Finds `***NO_CI***`.
fn no_ci(rest: &str, at: usize) -> Option<Token> {
    const WORD: &str = "***NO_CI***";
    strip(rest, WORD)?;
    Some(Token {
        edit: at..at + WORD.len(),
        instead: "(NO_CI)".to_owned(),
        name: Some(WORD.to_ascii_lowercase()),
        acts_in_commits: true,
    })
}

/// Finds `--skip-ci` and similar options.
fn option(rest: &str, at: usize) -> Option<Token> {
    let option = OPTIONS
        .iter()
        .find(|option| strip(rest, option).is_some())?;
    Some(Token {
        edit: at..at + 2,
        instead: "-- ".to_owned(),
        name: Some((*option).to_owned()),
        acts_in_commits: true,
    })
}

/// Finds tokens that only act at the beginning of a line: slash commands, commands for bots,
/// trailers. In commit messages, only trailers and GitLab's `/tag` act.
fn command(rest: &str, at: usize, form: Form) -> Option<Token> {
    let is_end = |text: &str| text.is_empty() || text.starts_with(char::is_whitespace);
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let token = |len: usize, instead: String, name: &str, acts_in_commits: bool| {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Token {
            edit: at..at + len,
            instead,
            name: Some(name.to_ascii_lowercase()),
            acts_in_commits,
        })
        .filter(|_| acts_in_commits || form.is_markdown())
    };
    if let Some(name) = line.strip_prefix('/') {
        let len = span(name, |c| is_word(c) || c == '-');
        let is_tag = name[..len].eq_ignore_ascii_case("tag");
        return if name.starts_with(|c: char| c.is_ascii_alphabetic()) && is_end(&name[len..]) {
            token(1, "/ ".to_owned(), &line[..len + 1], is_tag)
        } else {
            None
        };
    }
    if let Some(order) = strip(line, "bors") {
        let word = order.trim_start_matches([' ', '\t', ':']);
        let is_order = |known: &&str| strip(word, known).is_some();
        return if word.len() < order.len() && BORS.iter().any(is_order) {
            token(4, "\"bors\"".to_owned(), line, false)
        } else {
            None
        };
    }
    if let Some(who) = strip(line, "r?") {
        return match who.trim() {
            "" => None,
            _ => token(2, "r ?".to_owned(), line, false),
        };
    }
    if line.trim().eq_ignore_ascii_case("recheck") {
        return token(7, "\"recheck\"".to_owned(), line, false);
    }
    let value = strip(line, "skip-checks")?.trim_start().strip_prefix(':')?;
    if value.trim().eq_ignore_ascii_case("true") {
        let instead = format!("skip-checks ({})", value.trim());
        return token(line.trim_end().len(), instead, line, true);
    }
    None
}
