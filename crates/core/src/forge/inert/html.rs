//! Finds Markdown that hides, loads or decodes text, or offers it to apply: comments, images,
//! definitions, character references, suggestions.

use super::super::part::{BEGIN, END};
use super::token::{Token, is_word, span, strip};
use crate::verify::text::tail;

/// Character references that neither hide a token nor form one.
const HARMLESS: [&str; 14] = [
    "amp", "lt", "gt", "quot", "hellip", "mdash", "ndash", "rarr", "larr", "times", "middot",
    "bull", "le", "ge",
];

/// Elements whose contents are not Markdown and may span blank lines.
const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

/// Elements that load something as soon as the text is shown.
const LOADS: [&str; 12] = [
    "img", "image", "picture", "source", "video", "audio", "track", "iframe", "embed", "object",
    "svg", "link",
];

/// The info word of a fence that people can apply as a change.
pub(super) const SUGGESTION: &str = "suggestion";

/// A little more than the longest name of a character reference.
const NAME_BYTES: usize = 32;

/// The longest label that Markdown allows.
const LABEL_CHARS: usize = 1000;

/// Finds a character reference: forges look for tokens after decoding it. A numeric one needs no
/// `;` in an HTML block.
pub(super) fn reference(rest: &str, at: usize) -> Option<Token> {
    let name = &rest[1..];
    let is_number = name.strip_prefix('#').is_some_and(|number| {
        number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'x' | 'X'))
    });
    let len = span(name, |c| c.is_ascii_alphanumeric() || c == '#');
    let is_named = len > 0 && name[len..].starts_with(';') && !HARMLESS.contains(&&name[..len]);
    (is_number || is_named).then(|| Token::markup(at..at + 1, "&amp;"))
}

/// Whether the text ends within a possible name of a character reference. In an HTML block,
/// `&copy@ann` and `&copyfixes` are a sign and a word.
pub(super) fn is_in_reference(before: &str) -> bool {
    let name = tail(before, NAME_BYTES).rsplit_once('&');
    name.is_some_and(|(_, name)| name.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Finds a comment, a declaration, an element whose contents are not Markdown, or one that loads
/// something. Drive's own marks are skipped: foreign text does not contain them.
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

/// Finds `![x](address)`: the forge or the reader's browser requests the address when the text is
/// shown, and an agent could encode data in it. A link does nothing without a click.
pub(super) fn image(rest: &str, at: usize) -> Option<Token> {
    rest.starts_with("![")
        .then(|| Token::markup(at..at + 1, "! "))
}

/// Finds a fence whose first word is `suggestion`: GitHub and GitLab offer its text as a change of
/// the commented line, and one click commits it.
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

/// Finds `[x]: address (words)` and `[^x]: words` at the beginning of a line: readers do not see a
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
