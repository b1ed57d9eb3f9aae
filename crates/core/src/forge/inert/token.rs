//! A token that acts, and how text is read to find one.

use std::ops::Range;

/// How a forge reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Markdown,
    /// Markdown that may become a commit message too.
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
    /// What to replace.
    pub(super) edit: Range<usize>,
    pub(super) instead: String,
    /// What it says, in one spelling; `None` for one that a person cannot allow either.
    pub(super) name: Option<String>,
    /// Whether it acts in a commit message, where there is no code.
    pub(super) acts_in_commits: bool,
}

impl Token {
    /// One that only a reader of Markdown takes for something.
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

/// Whether a word goes on here. `_` ends one: it can be emphasis, which a reader does not see.
pub(super) fn goes_on(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// How many bytes at the beginning are such characters.
pub(super) fn span(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

pub(super) fn strip<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}
