//! A token that acts on a forge, and helpers to find one in a text.

use std::ops::Range;

/// How a forge reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Markdown,
    /// Markdown that may also become a commit message.
    Description,
    Plain,
}

impl Form {
    pub(super) fn is_markdown(self) -> bool {
        match self {
            Form::Markdown | Form::Description => true,
            Form::Plain => false,
        }
    }
}

/// A token that acts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The range to replace.
    pub(super) edit: Range<usize>,
    pub(super) instead: String,
    /// The token in one normalised spelling; `None` if a person cannot allow it either.
    pub(super) name: Option<String>,
    /// Whether it also acts in a commit message, where nothing is code.
    pub(super) acts_in_commits: bool,
}

impl Token {
    /// A token that exists only in Markdown.
    pub(super) fn markup(edit: Range<usize>, instead: &str) -> Self {
        Self {
            edit,
            instead: instead.to_owned(),
            name: None,
            acts_in_commits: false,
        }
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

pub(super) fn is_name(c: char) -> bool {
    is_word(c) || matches!(c, '-' | '.')
}

/// Whether a word continues here. `_` ends a word: it can be emphasis, which readers do not see.
pub(super) fn goes_on(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// How many bytes at the beginning consist of these characters.
pub(super) fn span(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

pub(super) fn strip<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}
