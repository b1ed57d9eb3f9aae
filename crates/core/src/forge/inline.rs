//! Lines of a diff that a comment can be attached to, and where such a line moved later.

use crate::problem::{Kind, Problem};
use crate::verify::text::named;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How many files an error names.
const LISTED_FILES: usize = 20;

/// One file of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The path before the change; `None` for a new file.
    pub old_path: Option<String>,
    /// The path after the change; `None` for a deleted file.
    pub new_path: Option<String>,
    /// The hunks, from top to bottom.
    pub hunks: Vec<Hunk>,
    /// The changed lines without context; empty if they are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Hunk>,
}

/// One hunk: lines of the old file and the lines that replace them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Lines of the old file.
    pub old: Range<u64>,
    /// Lines of the new file.
    pub new: Range<u64>,
}

/// Parses a unified diff as git prints it. Other text gives no files.
pub fn parse_diff(diff: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut old_path = None;
    let (mut old_left, mut new_left) = (0, 0);
    for line in diff.split('\n') {
        // Inside a hunk, only a line's first character counts; a removed `-- x` looks like a header.
        if old_left > 0 || new_left > 0 {
            match line.as_bytes().first() {
                Some(b'-') => old_left -= 1.min(old_left),
                Some(b'+') => new_left -= 1.min(new_left),
                Some(b'\\') => {}
                _ => {
                    old_left -= 1.min(old_left);
                    new_left -= 1.min(new_left);
                }
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            old_path = header_path(path, "a/");
        } else if let Some(path) = line.strip_prefix("+++ ") {
            files.push(FileDiff {
                old_path: old_path.take(),
                new_path: header_path(path, "b/"),
                ..FileDiff::default()
            });
        } else if let (Some(hunk), Some(file)) = (parse_hunk(line), files.last_mut()) {
            old_left = hunk.old.end - hunk.old.start;
            new_left = hunk.new.end - hunk.new.start;
            file.hunks.push(hunk);
        }
    }
    files
}

/// Accepts a line that the diff shows on its new side; otherwise the problem names the lines it shows.
pub fn require_line(files: &[FileDiff], path: &str, line: u64) -> Result<(), Problem> {
    let Some(file) = files
        .iter()
        .find(|file| file.new_path.as_deref() == Some(path))
    else {
        return Err(Problem::new(
            Kind::FileNotInDiff,
            format!("file `{path}` is not in the diff of the pull request"),
        )
        .hint(files_hint(files)));
    };
    if file.hunks.iter().any(|hunk| hunk.new.contains(&line)) {
        return Ok(());
    }
    let shown: Vec<String> = file
        .hunks
        .iter()
        .filter_map(|hunk| spelled(&hunk.new))
        .collect();
    let hint = if shown.is_empty() {
        format!("`{path}` has no line to comment on; leave out `--file` and `--line`")
    } else {
        format!(
            "the diff of `{path}` shows these lines: {}",
            shown.join(", ")
        )
    };
    Err(Problem::new(
        Kind::LineNotInDiff,
        format!("line {line} of `{path}` is not in the diff of the pull request"),
    )
    .hint(hint))
}

/// Whether a comment can be placed on these lines. Forges only accept lines that one hunk shows.
pub fn shows_lines(files: &[FileDiff], path: &str, first: u64, last: u64) -> bool {
    let mut files = files.iter();
    let file = files.find(|file| file.new_path.as_deref() == Some(path));
    let holds = |hunk: &Hunk| hunk.new.contains(&first) && hunk.new.contains(&last);
    first <= last && file.is_some_and(|file| file.hunks.iter().any(holds))
}

/// The new number of line `line` of the old file; `None` if it was changed or removed. The hunks
/// must have no context lines.
pub fn follow_line(hunks: &[Hunk], line: u64) -> Option<u64> {
    let mut shifted = line;
    for hunk in hunks {
        if hunk.old.contains(&line) {
            return None;
        }
        // A pure insertion comes after the line that its header names.
        if hunk.old.end <= line {
            let removed = hunk.old.end - hunk.old.start;
            shifted = shifted
                .checked_add(hunk.new.end - hunk.new.start)?
                .checked_sub(removed)?;
        }
    }
    Some(shifted)
}

/// How many lines of a hunk are stored, and how many characters of each.
const HUNK_LINES: usize = 40;
const HUNK_LINE_CHARS: usize = 300;

/// The last lines of a hunk, after its header: a comment belongs to the last one.
pub fn end_of_hunk(hunk: &str) -> String {
    let mut lines: Vec<String> = hunk
        .lines()
        .map(|line| line.chars().take(HUNK_LINE_CHARS).collect())
        .collect();
    let left_out = lines.len().saturating_sub(HUNK_LINES + 1);
    if left_out > 0 {
        let plural = if left_out == 1 { "" } else { "s" };
        lines.splice(
            1..=left_out,
            [format!("[{left_out} line{plural} left out]")],
        );
    }
    lines.join("\n")
}

/// The hunk of one file's diff, up to a line of the new file; `None` if no hunk shows the line.
pub fn hunk_up_to(diff: &str, line: u64) -> Option<String> {
    let mut shown: Vec<&str> = Vec::new();
    let mut at = 0;
    for text in diff.lines() {
        if let Some(hunk) = parse_hunk(text) {
            shown = vec![text];
            at = hunk.new.start;
            if !hunk.new.contains(&line) {
                shown.clear();
            }
        } else if !shown.is_empty() {
            shown.push(text);
            if !text.starts_with(['-', '\\']) {
                if at == line {
                    return Some(shown.join("\n"));
                }
                at += 1;
            }
        }
    }
    None
}

fn files_hint(files: &[FileDiff]) -> String {
    let paths = files.iter().filter_map(|file| file.new_path.as_ref());
    let names: Vec<&String> = paths.collect();
    if names.is_empty() {
        return "the pull request changes no file; leave out `--file` and `--line`".to_owned();
    }
    format!("it changes these files: {}", named(&names, LISTED_FILES))
}

fn spelled(lines: &Range<u64>) -> Option<String> {
    match lines.end.checked_sub(lines.start)? {
        0 => None,
        1 => Some(lines.start.to_string()),
        _ => Some(format!("{}-{}", lines.start, lines.end - 1)),
    }
}

/// Parses a hunk header such as `@@ -3,4 +3,6 @@ anything`.
pub(crate) fn parse_hunk(line: &str) -> Option<Hunk> {
    let inner = line.strip_prefix("@@ -")?;
    let (ranges, _) = inner.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    Some(Hunk {
        old: parse_range(old)?,
        new: parse_range(new)?,
    })
}

fn parse_range(text: &str) -> Option<Range<u64>> {
    let (start, length) = match text.split_once(',') {
        Some((start, length)) => (start.parse().ok()?, length.parse().ok()?),
        None => (text.parse().ok()?, 1),
    };
    // For an empty range, git names the line before it, so the range begins one line later.
    let start: u64 = if length == 0 {
        u64::checked_add(start, 1)?
    } else {
        start
    };
    Some(start..start.checked_add(length)?)
}

/// The path after `--- ` or `+++ `, without its prefix; `None` for `/dev/null`.
pub(crate) fn header_path(text: &str, prefix: &str) -> Option<String> {
    let text = text.strip_suffix('\t').unwrap_or(text);
    let path = match text
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
    {
        Some(inner) => unquoted(inner),
        None => text.to_owned(),
    };
    path.strip_prefix(prefix).map(str::to_owned)
}

/// Decodes git's quoting of unusual paths.
fn unquoted(inner: &str) -> String {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                while let Some(next @ b'0'..=b'7') = rest.peek().copied() {
                    if value >= 0o100 {
                        break;
                    }
                    value = value * 8 + u32::from(next - b'0');
                    rest.next();
                }
                bytes.push((value & 0xff) as u8);
            }
            Some(other) => bytes.push(other),
            None => bytes.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
