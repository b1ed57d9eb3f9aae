//! Makes text that an agent wrote inert: posted as it is, nothing in it acts on the forge.
//!
//! A token that would act is broken visibly and alike on every surface: `@ user`, `fixes issue 12`,
//! `/ merge`, `(skip ci)`. A code span would read better in Markdown, but a mail client that answers a
//! post sends it back as plain text, where the mention acts after all (dependabot-core#3157), and
//! a squash copies the description into a commit message, which is not Markdown. An invisible
//! character would be copied along with the name. What a person wrote in the task stays active.
//!
//! Forges do not act within code, and a broken decorator or package name there would be wrong: text
//! is left alone where it is certainly code. HTML comments and character references are
//! shown outside of code, because they hide and spell what a reader does not see; characters that
//! reorder or hide text are shown everywhere.

mod code;
mod scan;

use crate::verify::text::is_invisible;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Passes over a text: breaking one token can at most uncover another.
const MOST_PASSES: usize = 8;

/// The active tokens that a person wrote in a task. They may be repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said(BTreeSet<String>);

impl Said {
    /// What a person wrote.
    pub fn by_person(task: &str) -> Self {
        let found = scan::tokens(task, scan::Form::Plain);
        Self(found.into_iter().filter_map(|token| token.name).collect())
    }
}

/// Text of a post or a description, which the forge reads as Markdown.
pub fn markdown(text: &str, said: &Said) -> String {
    inert(text, said, scan::Form::Markdown)
}

/// Text without markup: a commit message, a title, the text of a commit status.
pub fn plain(text: &str, said: &Said) -> String {
    inert(text, said, scan::Form::Plain)
}

fn inert(text: &str, said: &Said, form: scan::Form) -> String {
    let mut text = shown(text).into_owned();
    for _ in 0..MOST_PASSES {
        let code = match form {
            scan::Form::Markdown => code::ranges(&text),
            scan::Form::Plain => Vec::new(),
        };
        let is_code = |at: usize| code.iter().any(|range| range.contains(&at));
        let is_said = |token: &scan::Token| {
            token
                .name
                .as_ref()
                .is_some_and(|name| said.0.contains(name))
        };
        let mut tokens = scan::tokens(&text, form);
        tokens.retain(|token| !is_said(token) && !is_code(token.edit.start));
        if tokens.is_empty() {
            break;
        }
        let mut out = String::with_capacity(text.len() + 2 * tokens.len());
        let mut done = 0;
        for token in tokens {
            // Two tokens can share their text; the next pass finds what is left of the second.
            if token.edit.start >= done {
                out.push_str(&text[done..token.edit.start]);
                out.push_str(&token.instead);
                done = token.edit.end;
            }
        }
        out.push_str(&text[done..]);
        text = out;
    }
    text
}

/// The text with characters that reorder or hide text written out, as `<U+202E>`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for c in text.chars() {
        // Emoji and several scripts join and style their characters with these.
        let joins = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
            && !before.is_ascii_alphanumeric()
            && !is_hidden(before)
            && !before.is_whitespace();
        if is_hidden(c) && !joins {
            let _ = write!(out, "<U+{:04X}>", u32::from(c));
        } else {
            out.push(c);
        }
        before = c;
    }
    Cow::Owned(out)
}

/// Whether a reader does not see the character. Variation selectors are among them because a row of
/// them can spell a hidden text.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        '\u{fe00}'..='\u{fe0f}' => true,
        c => c.is_control() || is_invisible(c),
    }
}

#[cfg(test)]
mod tests;
