//! Finds text in Markdown that is certainly code.
//!
//! An agent may try to make drive see code where the forge sees text, so that a token stays active.
//! So this is no Markdown parser: it recognises the plain cases, and treats everything else as
//! text. A fence counts only at the beginning of a line outside of lists and quotes; a code span
//! counts only if every line of its paragraph closes the spans that it opens.

use super::html::is_raw_html;
use std::ops::Range;

/// Longer text may be cut before it is posted, and a cut can open a span that was closed.
const MOST_CHARS: usize = 60_000;

/// The only white space that Markdown treats as blank.
const BLANK: [char; 2] = [' ', '\t'];

/// A longer row of backticks does not open a code span on GitHub.
const MOST_TICKS: usize = 80;

struct Line<'t> {
    text: &'t str,
    at: usize,
}

/// The parts of a text that are certainly code.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut code = Vec::new();
    if text.chars().count() > MOST_CHARS || text.replace("\r\n", "").contains('\r') {
        return code;
    }
    let mut at = 0;
    let lines: Vec<Line<'_>> = text
        .split_inclusive('\n')
        .map(|line| {
            at += line.len();
            Line {
                text: line.trim_end_matches(['\n', '\r']),
                at: at - line.len(),
            }
        })
        .collect();
    let mut from = 0;
    let mut block: Vec<&Line<'_>> = Vec::new();
    while let Some(line) = lines.get(from) {
        from += 1;
        if line.text.trim_matches(BLANK).is_empty() {
            spans(&mut block, &mut code);
            continue;
        }
        if let Some(fence) = Fence::opens(line.text) {
            if fence.indent > 3 {
                // Outside of a list this is no fence: it may continue the paragraph or the HTML before it.
                block.push(line);
                continue;
            }
            let is_html = block.iter().any(|line| html(line.text).is_some());
            spans(&mut block, &mut code);
            let close = lines[from..]
                .iter()
                .position(|line| fence.is_closed_by(line.text));
            if is_html {
                return code;
            }
            if fence.indent > 0 {
                // It may or may not be in a list: only a block that reads the same in both cases is
                // skipped, as text.
                let Some(close) = close.filter(|close| {
                    let inside = &lines[from..from + close];
                    inside.iter().all(|line| fence.holds(line.text))
                        && Fence::indent(lines[from + close].text) == fence.indent
                }) else {
                    return code;
                };
                from += close + 1;
                continue;
            }
            let end = close.map_or(lines.len(), |close| from + close);
            let start = lines.get(from).map_or(text.len(), |line| line.at);
            let to = lines.get(end).map_or(text.len(), |line| line.at);
            // The words after the opening fence are not code: forges decode them and act on them.
            code.push(start..to);
            from = end + 1;
            continue;
        }
        if has_raw_html(line.text) {
            spans(&mut block, &mut code);
            return code;
        }
        block.push(line);
    }
    spans(&mut block, &mut code);
    code
}

/// The HTML that begins in a line: at its start, or in a list or quote that begins there.
fn html(line: &str) -> Option<&str> {
    let is_mark = |c: char| c.is_ascii_digit() || c.is_whitespace() || ">-*+.)".contains(c);
    let inner = line.trim_start_matches(is_mark);
    inner.starts_with('<').then_some(inner)
}

/// Whether HTML begins that a blank line does not end. A comment that ends on its line is not such HTML.
fn has_raw_html(line: &str) -> bool {
    let Some(html) = html(line) else {
        return false;
    };
    let comment = html.trim_end().strip_prefix("<!--");
    match comment.and_then(|rest| rest.strip_suffix("-->")) {
        Some(inner) => inner.contains("-->") || inner.contains('<'),
        None => is_raw_html(html),
    }
}

struct Fence {
    mark: char,
    count: usize,
    indent: usize,
}

impl Fence {
    fn indent(line: &str) -> usize {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        if line[spaces..].starts_with('\t') {
            spaces + 4
        } else {
            spaces
        }
    }

    fn opens(line: &str) -> Option<Self> {
        let marks = line.trim_start_matches(BLANK);
        let mark = marks.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = marks.trim_start_matches(mark);
        let count = marks.len() - info.len();
        let is_fence = count >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then(|| Self {
            mark,
            count,
            indent: Self::indent(line),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let marks = line.trim_start_matches(' ');
        let rest = marks.trim_start_matches(self.mark);
        Self::indent(line) <= 3
            && marks.len() - rest.len() >= self.count
            && rest.trim_matches(BLANK).is_empty()
    }

    /// Whether a line belongs to an indented fence, in a list or not.
    fn holds(&self, line: &str) -> bool {
        let is_inside = Self::indent(line) >= self.indent || line.trim_matches(BLANK).is_empty();
        let mut start = line.trim_start_matches(BLANK).chars();
        let is_fence = (0..3).all(|_| start.next() == Some(self.mark));
        is_inside && !is_fence
    }
}

/// Adds the code spans of a paragraph, if every line closes its own and nothing else can contain a
/// backtick: a tag, a table, an escape, the target of a link.
fn spans(block: &mut Vec<&Line<'_>>, code: &mut Vec<Range<usize>>) {
    let mut found = Vec::new();
    let mut is_certain = true;
    for line in block.drain(..) {
        let mut rest = 0;
        while let Some(open) = line.text[rest..].find('`') {
            let open = rest + open;
            let outside = &line.text[rest..open];
            let count = ticks(&line.text[open..]);
            let inner = open + count;
            let Some(close) = closing(&line.text[inner..], count) else {
                is_certain = false;
                break;
            };
            let inside = &line.text[inner..inner + close];
            is_certain &= count <= MOST_TICKS
                && !outside.contains('<')
                && !outside.ends_with('\\')
                && !inside.contains('|')
                && !has_open_target(outside)
                && !ends_in_link(outside);
            rest = inner + close + count;
            found.push(line.at + open..line.at + rest);
        }
        // A tag or a link target may continue on the next line.
        let rest = line.text.get(rest..).unwrap_or_default();
        is_certain &= !rest.contains(['<', '`']) && !has_open_target(rest);
    }
    if is_certain {
        code.extend(found);
    }
}

/// Whether the target of a link may contain a backtick: it has a title, or does not end here.
fn has_open_target(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:.-_#?=&%+~".contains(c);
    text.split("](")
        .skip(1)
        .any(|target| !target.trim_start_matches(is_plain).starts_with(')'))
}

/// Whether a link may extend over the following text. Only a blank certainly ends one.
fn ends_in_link(text: &str) -> bool {
    let word = text.rsplit(BLANK).next().unwrap_or_default();
    word.contains("://") || word.to_ascii_lowercase().contains("www.")
}

fn ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// The start of the next run of exactly `count` backticks.
fn closing(text: &str, count: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('`')?;
        let run = ticks(&text[at..]);
        if run == count {
            return Some(at);
        }
        at += run;
    }
}
