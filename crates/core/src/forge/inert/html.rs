//! Finds what Markdown hides, loads, decodes or offers to apply: comments, images, definitions, character
//! references, suggestions.

use super::super::part::{BEGIN, END};
use super::token::{Token, is_word, span, strip};
use crate::verify::text::tail;

/// Character references that neither hide nor spell a token.
const HARMLESS: [&str; 14] = [
    "amp", "lt", "gt", "quot", "hellip", "mdash", "ndash", "rarr", "larr", "times", "middot",
    "bull", "le", "ge",
];

/// Elements whose contents are not Markdown and may span blank lines.
const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

/// Elements that load something as soon as somebody looks at the text.
const LOADS: [&str; 12] = [
    "img", "image", "picture", "source", "video", "audio", "track", "iframe", "embed", "object",
    "svg", "link",
];

/// What makes a fence a change that people can apply.
pub(super) const SUGGESTION: &str = "suggestion";

/// The longest name of a character reference, and some more.
const NAME_BYTES: usize = 32;

/// The longest label that Markdown takes.
const LABEL_CHARS: usize = 1000;

/// A character reference: forges look for tokens after they have decoded it. A number needs no `;`
/// in an HTML block.
pub(super) fn reference(rest: &str, at: usize) -> Option<Token> {
    let name = &rest[1..];
    let is_number = name.strip_prefix('#').is_some_and(|number| {
        number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'x' | 'X'))
    });
    let len = span(name, |c| c.is_ascii_alphanumeric() || c == '#');
    let is_named = len > 0 && name[len..].starts_with(';') && !HARMLESS.contains(&&name[..len]);
    (is_number || is_named).then(|| Token::markup(at..at + 1, "&amp;"))
}

/// Whether the text ends within what may be the name of a character reference. In an HTML block
/// `&copy@ann` and `&copyfixes` are a sign and a word.
pub(super) fn is_in_reference(before: &str) -> bool {
    let name = tail(before, NAME_BYTES).rsplit_once('&');
    name.is_some_and(|(_, name)| name.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// A comment, a declaration, an element whose contents are not Markdown, or one that loads something.
/// Drive's own marks stay: text of others does not hold them.
pub(super) fn raw_html(rest: &str, at: usize) -> Option<Token> {
    let is_mark = rest.starts_with(BEGIN) || rest.starts_with(END);
    let is_found = is_raw_html(rest) || is_element(rest, &LOADS);
    (is_found && !is_mark).then(|| Token::markup(at..at + 1, "&lt;"))
}

/// Whether HTML begins here that a blank line does not end.
pub(super) fn is_raw_html(rest: &str) -> bool {
    let inner = rest.strip_prefix('<').unwrap_or_default();
    inner.starts_with(['!', '?']) || is_element(rest, &RAW)
}

fn is_element(rest: &str, names: &[&str]) -> bool {
    let inner = rest.strip_prefix('<').unwrap_or_default();
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let is_it = |name: &&str| strip(inner, name).is_some_and(|after| !after.starts_with(is_word));
    names.iter().any(is_it)
}

/// `![x](address)`: the forge or the reader's browser asks that address when the text is shown, which
/// tells it what an agent put there. As a link it waits for a click.
pub(super) fn image(rest: &str, at: usize) -> Option<Token> {
    rest.starts_with("![")
        .then(|| Token::markup(at..at + 1, "! "))
}

/// A fence whose first word is `suggestion`: GitHub and GitLab offer its text as a change of the line that
/// a comment stands on, and a click commits it.
pub(super) fn suggestion(rest: &str, at: usize) -> Option<Token> {
    let mark = rest.chars().next()?;
    let info = rest.trim_start_matches(mark);
    let marks = rest.len() - info.len();
    let word = info.trim_start_matches(|c: char| c.is_whitespace() && !matches!(c, '\n' | '\r'));
    let after = strip(word, SUGGESTION)?;
    let start = at + rest.len() - word.len();
    let is_fence = marks >= 3 && !after.starts_with(is_word);
    is_fence.then(|| Token::markup(start..start + SUGGESTION.len(), "text"))
}

/// `[x]: address (words)` and `[^x]: words` at the beginning of a line: nobody sees the words of a
/// definition that nothing refers to.
pub(super) fn definition(rest: &str, at: usize) -> Option<Token> {
    let mut chars = rest.chars().skip(1).take(LABEL_CHARS + 1);
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => return None,
            ']' => {
                let is_definition = chars.next() == Some(':');
                return is_definition.then(|| Token::markup(at..at + 1, "\\["));
            }
            _ => {}
        }
    }
    None
}
