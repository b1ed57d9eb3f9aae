//! Makes an agent's text inert, so that nothing in it acts on the forge when it is posted.
//!
//! An active token is broken visibly, and in the same way on every surface: `@ user`, `fixes issue 12`, `/
//! merge`, `(skip ci)`. A code span would look better in Markdown, but a mail client that replies to a post
//! sends it back as plain text, where the mention acts after all (dependabot-core#3157), and a squash copies
//! the description into a commit message, which is not Markdown. An invisible character would be copied along
//! with the name. Tokens that a person wrote in the task stay active.
//!
//! Forges do not act on code, and a broken decorator or package name there would be wrong: text that is
//! certainly code is left alone. A description may become a commit message, which has no code: there, tokens
//! that act in commits are broken in code too. HTML comments, definitions and character references outside of
//! code are made visible, because they hide text from readers; characters that reorder or hide text are shown
//! everywhere. Images become links, because a browser requests an image's address as soon as the text is
//! shown. Links stay, because they need a click. A block that a forge offers to apply as a change stays only
//! where drive itself wrote it.

mod closing;
mod code;
mod html;
mod scan;
mod token;

use super::part::{BEGIN, END};
use crate::verify::text::is_invisible;
use html::SUGGESTION;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use token::{Form, Token};

/// How many passes a text gets: breaking a token can uncover another, and two tokens can overlap.
const MOST_PASSES: usize = 8;

/// The active tokens that a person wrote in a task. Agents may repeat them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said(BTreeSet<String>);

impl Said {
    /// The active tokens in a person's task.
    pub fn by_person(task: &str) -> Self {
        // This form recognises every token.
        let found = scan::tokens(task, Form::Description);
        Self(found.into_iter().filter_map(|token| token.name).collect())
    }
}

/// Makes the text of a post inert, which the forge reads as Markdown.
pub fn markdown(text: &str, said: &Said) -> String {
    inert(text, said, Form::Markdown, None)
}

/// Makes the text of a post inert, except for a block that drive wrote and that people may apply as
/// a change: `block` is that block, with its fences.
pub fn with_suggestion(text: &str, block: Option<&str>, said: &Said) -> String {
    inert(text, said, Form::Markdown, block)
}

/// Makes the description of a pull request inert: it is Markdown and, after a squash, a commit message.
pub fn description(text: &str, said: &Said) -> String {
    inert(text, said, Form::Description, None)
}

/// Makes text without markup inert: a commit message, a title, the text of a commit status.
pub fn plain(text: &str, said: &Said) -> String {
    inert(text, said, Form::Plain, None)
}

fn inert(text: &str, said: &Said, form: Form, block: Option<&str>) -> String {
    let mut text = shown(text).into_owned();
    for _ in 0..MOST_PASSES {
        let tokens = active(&text, said, form, block);
        if tokens.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len() + 2 * tokens.len());
        let mut done = 0;
        for token in tokens {
            // Two tokens can overlap; the next pass finds the rest of the second one.
            if token.edit.start >= done {
                out.push_str(&text[done..token.edit.start]);
                out.push_str(&token.instead);
                done = token.edit.end;
            }
        }
        out.push_str(&text[done..]);
        text = out;
    }
    if active(&text, said, form, block).is_empty() {
        text
    } else {
        without_signs(&text)
    }
}

/// The tokens to break.
fn active(text: &str, said: &Said, form: Form, block: Option<&str>) -> Vec<Token> {
    let code = match form {
        Form::Markdown | Form::Description => code::ranges(text),
        Form::Plain => Vec::new(),
    };
    let is_code = |at: usize| {
        let next = code.partition_point(|range| range.end <= at);
        code.get(next).is_some_and(|range| range.contains(&at))
    };
    let is_said = |token: &Token| {
        let name = token.name.as_ref();
        name.is_some_and(|name| said.0.contains(name))
    };
    let is_spared = |token: &Token| {
        is_code(token.edit.start) && !(form == Form::Description && token.acts_in_commits)
    };
    let is_own = |token: &Token| block.is_some_and(|block| is_fence_of(block, text, token));
    let mut tokens = scan::tokens(text, form);
    tokens.retain(|token| !is_said(token) && !is_spared(token) && !is_own(token));
    tokens
}

/// Whether a token is in the opening fence of this block. The block may stand anywhere, because it
/// is the same change everywhere.
fn is_fence_of(block: &str, text: &str, token: &Token) -> bool {
    let marks = block.find(SUGGESTION).unwrap_or_default();
    let Some(start) = token.edit.start.checked_sub(marks) else {
        return false;
    };
    let (before, rest) = text.split_at_checked(start).unwrap_or_default();
    let is_line = before.is_empty() || before.ends_with('\n');
    let after = rest.strip_prefix(block);
    is_line && after.is_some_and(|after| after.is_empty() || after.starts_with('\n'))
}

/// The words of a text in which every pass uncovered another token. No token works without a sign
/// or a quote mark.
fn without_signs(text: &str) -> String {
    let is_sign = |c: char| c.is_ascii_punctuation() && !".,;()".contains(c);
    let is_mark = |line: &str| {
        let inner = line.strip_prefix(BEGIN).or(line.strip_prefix(END));
        let run = inner.and_then(|inner| inner.strip_suffix(" -->"));
        run.is_some_and(|run| run.chars().all(token::is_name))
    };
    let lines = text.split(['\n', '\r']).map(|line| {
        if is_mark(line) {
            line.to_owned()
        } else {
            format!("> {}", line.replace(is_sign, " "))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text, with characters that reorder or hide text written as `<U+202E>`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    let (mut last, mut before) = (' ', ' ');
    while let Some(c) = chars.next() {
        // Emoji and several scripts join and style their characters with these. An emoji may be
        // styled first and joined afterwards, and a digit can be styled as a key.
        let styled = match (before, c) {
            ('\u{fe0f}', '\u{200d}') => last,
            _ => before,
        };
        let is_key = c == '\u{fe0f}'
            && (before.is_ascii_digit() || matches!(before, '#' | '*'))
            && chars.peek() == Some(&'\u{20e3}');
        let joins = is_key
            || (matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
                && !styled.is_ascii_alphanumeric()
                && !is_hidden(styled)
                && !styled.is_whitespace());
        if is_hidden(c) && !joins {
            let _ = write!(out, "<U+{:04X}>", u32::from(c));
        } else {
            out.push(c);
        }
        (last, before) = (before, c);
    }
    Cow::Owned(out)
}

/// Whether readers cannot see the character. Variation selectors count, because a row of them can
/// spell a hidden text.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        '\u{fe00}'..='\u{fe0f}' => true,
        c => c.is_control() || is_invisible(c),
    }
}

#[cfg(test)]
mod tests;
