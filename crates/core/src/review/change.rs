//! Reads a unified diff as git prints it, and keeps the parts that a review needs, within limits.

use super::attributes::Attributes;
use super::folded::{Folded, folded, is_header, is_source};
use super::quotes::Quotes;
use crate::forge::inline::{FileDiff, Hunk, header_path, parse_hunk};

/// How many bytes of one file are kept: as many as all parts of a review show.
const FILE_BYTES: usize = 1024 * 1024;
/// How many bytes of all files are kept.
const HELD_BYTES: usize = 16 * 1024 * 1024;
/// The longest line that is kept, in bytes; minified files have lines of megabytes.
const LINE_BYTES: usize = 4096;
/// How many files are kept; further ones are only counted.
const MOST_FILES: usize = 20_000;
/// How many hunk positions are kept over all files.
const MOST_HUNKS: usize = 10_000;

/// A change, file by file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The files, in the order of the diff.
    pub files: Vec<ChangedFile>,
    /// The number of further files.
    pub more: u64,
    /// Lines of all files that look like a reviewer's answer.
    quotes: String,
}

/// One file of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file's path; the old one for a deleted file.
    pub path: String,
    /// The number of added lines.
    pub added: u64,
    /// The number of deleted lines.
    pub deleted: u64,
    /// Why reviewers do not see its lines.
    pub folded: Option<Folded>,
    /// The reason that applies only if more than the file's name indicates it.
    maybe_folded: Option<Folded>,
    /// The number of its hunks.
    pub(super) hunk_count: u64,
    /// The lines that git prints before the first hunk.
    pub(super) head: String,
    /// The first hunks; the last one may be cut.
    pub(super) hunks: Vec<String>,
    /// Whether `hunks` is incomplete.
    pub(super) is_cut: bool,
    /// The total length of `head` and `hunks`.
    pub(super) len: usize,
    lines: FileDiff,
    /// Whether its edits are unknown.
    is_unmeasured: bool,
}

impl Change {
    /// Parses a complete diff.
    pub fn parse(diff: &[u8]) -> Self {
        let mut reader = ChangeReader::default();
        reader.read(diff);
        reader.finish()
    }

    /// The changed lines as hunks without context, for limited numbers of files and hunks; and
    /// whether more changed.
    pub fn into_edits(self, most_files: usize, most_hunks: usize) -> (Vec<FileDiff>, bool) {
        let (mut hunks, mut is_cut) = (0, self.more > 0 || self.files.len() > most_files);
        let mut files = Vec::new();
        for file in self.files.into_iter().take(most_files) {
            let mut lines = named(file.lines, file.path);
            lines.hunks = std::mem::take(&mut lines.edits);
            is_cut |= file.is_unmeasured || hunks + lines.hunks.len() > most_hunks;
            lines.hunks.truncate(most_hunks - hunks);
            hunks += lines.hunks.len();
            files.push(lines);
        }
        (files, is_cut)
    }

    /// Folds the files that a `.gitattributes` marks as generated or vendored. Use the base's file,
    /// because a change must not decide what its reviewers see.
    pub fn fold_marked(&mut self, attributes: &str) {
        let marked = Attributes::parse(attributes);
        for file in self.files.iter_mut().filter(|file| file.folded.is_none()) {
            file.fold(marked.of(&file.path));
        }
    }

    /// Lines that look like a reviewer's answer, with their signs; also of files that are folded or cut.
    pub fn quotes(&self) -> &str {
        &self.quotes
    }

    /// Whether it has more lines than [`Self::into_lines`] names.
    pub fn has_unknown_lines(&self) -> bool {
        let is_unknown = |file: &ChangedFile| (file.lines.hunks.len() as u64) < file.hunk_count;
        self.more > 0 || self.files.iter().any(is_unknown)
    }

    /// The lines that the diff shows, including those of shortened files. A file without shown
    /// lines only has its name.
    pub fn into_lines(self) -> Vec<FileDiff> {
        let files = self.files.into_iter();
        files.map(|file| named(file.lines, file.path)).collect()
    }
}

/// The file's lines, with its path on both sides if git named none: git names them only with lines.
fn named(mut lines: FileDiff, path: String) -> FileDiff {
    if lines.new_path.is_none() && lines.old_path.is_none() {
        lines.old_path = Some(path.clone());
        lines.new_path = Some(path);
    }
    lines
}

impl ChangedFile {
    /// Whether the change deletes the file.
    pub(super) fn is_deleted(&self) -> bool {
        self.lines.new_path.is_none() && self.lines.old_path.is_some()
    }

    /// Records a removed or added line. Returns how many edits began with it.
    fn edit(&mut self, old_at: u64, new_at: u64, (old, new): (u64, u64), edits: usize) -> usize {
        if self.is_unmeasured {
            return 0;
        }
        if let Some(last) = self.lines.edits.last_mut()
            && (last.old.end, last.new.end) == (old_at, new_at)
        {
            last.old.end += old;
            last.new.end += new;
            return 0;
        }
        if edits >= MOST_HUNKS {
            // Some changed lines would look unchanged, so only the hunks are kept.
            self.is_unmeasured = true;
            self.lines.edits.clear();
            return 0;
        }
        self.lines.edits.push(Hunk {
            old: old_at..old_at + old,
            new: new_at..new_at + new,
        });
        1
    }

    /// Folds the file if its name indicates that nobody wrote it. For source code, the name is not enough.
    fn fold_by_name(&mut self, path: &str) {
        let why = folded(path);
        let is_source = is_source(path);
        self.maybe_folded = why.filter(|_| is_source);
        self.fold(why.filter(|_| !is_source));
    }

    fn fold(&mut self, why: Option<Folded>) {
        if why.is_some() {
            self.folded = why;
            self.hunks.clear();
            self.len = self.head.len();
        }
    }

    /// Drops text down to `limit`: whole hunks from the end, then lines of the first one.
    fn trim(&mut self, limit: usize) {
        while self.len > limit {
            self.is_cut = true;
            self.len -= match self.hunks.as_mut_slice() {
                [] => std::mem::take(&mut self.head).len(),
                [only] => {
                    let before = only.len();
                    let kept = limit.saturating_sub(self.head.len());
                    only.truncate(whole_lines(only, kept));
                    let dropped = before - only.len();
                    if only.is_empty() {
                        self.hunks.clear();
                    }
                    dropped
                }
                [_, ..] => self.hunks.pop().map_or(0, |last| last.len()),
            };
        }
    }
}

/// The length of the whole lines that fit into `limit` bytes.
pub(super) fn whole_lines(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let fits = &text.as_bytes()[..limit];
    let end = fits.iter().rposition(|byte| *byte == b'\n');
    end.map_or(0, |end| end + 1)
}

/// Reads a diff piece by piece.
#[derive(Debug)]
pub struct ChangeReader {
    change: Change,
    /// The unfinished line, as far as it is kept.
    line: Vec<u8>,
    /// How many bytes of that line were dropped.
    dropped: u64,
    /// The numbers of lines that the hunk still has on each side.
    old_left: u64,
    new_left: u64,
    /// The number of the next line on each side.
    old_at: u64,
    new_at: u64,
    /// How many bytes of text are kept so far.
    held: usize,
    file_limit: usize,
    hunks: usize,
    edits: usize,
    quotes: Quotes,
}

impl Default for ChangeReader {
    fn default() -> Self {
        Self {
            change: Change::default(),
            line: Vec::new(),
            dropped: 0,
            old_left: 0,
            new_left: 0,
            old_at: 0,
            new_at: 0,
            held: 0,
            file_limit: FILE_BYTES,
            hunks: 0,
            edits: 0,
            quotes: Quotes::default(),
        }
    }
}

impl ChangeReader {
    /// Reads the next bytes, which may end anywhere.
    pub fn read(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_end) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            let room = LINE_BYTES.saturating_sub(self.line.len()).min(text.len());
            self.line.extend_from_slice(&text[..room]);
            self.dropped += (text.len() - room) as u64;
            if is_end {
                self.end_line();
            }
        }
    }

    /// The complete change, after everything was read.
    pub fn finish(mut self) -> Change {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.change.quotes = self.quotes.into_text();
        self.change
    }

    fn end_line(&mut self) {
        let mut line = String::from_utf8_lossy(&self.line).into_owned();
        // A cut line could contain a part of a secret, which could not be recognised later.
        if self.dropped > 0 {
            let sign = line.chars().next().unwrap_or(' ');
            let bytes = self.line.len() as u64 + self.dropped;
            line = format!("{sign}[a line of {bytes} bytes]");
        }
        self.line.clear();
        self.dropped = 0;
        let in_hunk = self.old_left > 0 || self.new_left > 0;
        if in_hunk {
            self.quotes.take(&line);
        } else {
            self.quotes.end_hunk();
        }
        match line.strip_prefix("diff --git ") {
            Some(paths) if !in_hunk => self.begin_file(paths, &line),
            Some(_) | None => self.take(in_hunk, &line),
        }
        if self.held > HELD_BYTES {
            self.trim();
        }
    }

    fn begin_file(&mut self, paths: &str, line: &str) {
        if self.change.files.len() == MOST_FILES {
            self.change.more += 1;
            return;
        }
        let path = same_path(paths).unwrap_or_else(|| paths.to_owned());
        let head = format!("{line}\n");
        let mut file = ChangedFile {
            len: head.len(),
            head,
            ..ChangedFile::default()
        };
        file.fold_by_name(&path);
        file.path = path;
        self.held += file.len;
        self.change.files.push(file);
    }

    /// Handles a line of a file, inside or outside of a hunk.
    fn take(&mut self, in_hunk: bool, line: &str) {
        let is_counted_only = self.change.more > 0;
        let Some(file) = self.change.files.last_mut().filter(|_| !is_counted_only) else {
            return;
        };
        let before = file.len;
        if in_hunk {
            let (old, new) = match line.as_bytes().first() {
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                Some(b'\\') => (0, 0),
                _ => (1, 1),
            };
            self.old_left = self.old_left.saturating_sub(old);
            self.new_left = self.new_left.saturating_sub(new);
            file.deleted += u64::from((old, new) == (1, 0));
            file.added += u64::from((old, new) == (0, 1));
            if old != new {
                self.edits += file.edit(self.old_at, self.new_at, (old, new), self.edits);
            }
            if file.maybe_folded.is_some() && new == 1 && is_header(self.new_at, line) {
                let why = file.maybe_folded.take();
                file.fold(why);
            }
            self.old_at += old;
            self.new_at += new;
            keep(file, line, self.file_limit);
        } else if let Some(hunk) = parse_hunk(line) {
            self.old_left = hunk.old.end - hunk.old.start;
            self.new_left = hunk.new.end - hunk.new.start;
            (self.old_at, self.new_at) = (hunk.old.start, hunk.new.start);
            file.hunk_count += 1;
            if self.hunks < MOST_HUNKS {
                self.hunks += 1;
                file.lines.hunks.push(hunk);
            }
            if file.folded.is_none() && !file.is_cut {
                file.hunks.push(String::new());
            }
            keep(file, line, self.file_limit);
        } else if line.starts_with('\\') {
            keep(file, line, self.file_limit);
        } else {
            header(file, line);
        }
        self.held = (self.held + file.len).saturating_sub(before);
    }

    /// Halves the limit of each file until all of them fit.
    fn trim(&mut self) {
        while self.held > HELD_BYTES && self.file_limit > 0 {
            self.file_limit /= 2;
            self.held = 0;
            for file in &mut self.change.files {
                file.trim(self.file_limit);
                self.held += file.len;
            }
        }
    }
}

/// Adds a line to the last hunk, unless the file has reached its limit.
fn keep(file: &mut ChangedFile, line: &str, limit: usize) {
    if file.folded.is_some() || file.is_cut {
        return;
    }
    if file.len + line.len() >= limit {
        file.is_cut = true;
        if file.hunks.last().is_some_and(String::is_empty) {
            file.hunks.pop();
        }
    } else if let Some(hunk) = file.hunks.last_mut() {
        hunk.push_str(line);
        hunk.push('\n');
        file.len += line.len() + 1;
    }
}

/// Handles a line before the first hunk.
fn header(file: &mut ChangedFile, line: &str) {
    if let Some(path) = line.strip_prefix("--- ") {
        file.lines.old_path = header_path(path, "a/");
    } else if let Some(path) = line.strip_prefix("+++ ") {
        file.lines.new_path = header_path(path, "b/");
        let known = file
            .lines
            .new_path
            .as_ref()
            .or(file.lines.old_path.as_ref());
        if let Some(path) = known.cloned() {
            file.fold_by_name(&path);
            file.path = path;
        }
    } else if let Some(path) = line.strip_prefix("rename to ") {
        file.path = header_path(path, "").unwrap_or_else(|| path.to_owned());
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.fold(Some(Folded::Binary));
    }
    let is_kept = !line.starts_with("index ") && file.hunks.is_empty();
    if is_kept && file.head.len() + line.len() < LINE_BYTES {
        file.head.push_str(line);
        file.head.push('\n');
        file.len += line.len() + 1;
    }
}

/// The path in `a/x b/x`, if both sides name the same file.
fn same_path(paths: &str) -> Option<String> {
    let half = paths.len().checked_sub(1)? / 2;
    let old = paths.get(..half)?;
    let new = paths.get(half..)?.strip_prefix(' ')?;
    let (old, new) = (header_path(old, "a/")?, header_path(new, "b/")?);
    (old == new).then_some(new)
}

#[cfg(test)]
mod tests;
