//! The diff for a reviewer: a list of all files with their counts, then the lines of files that
//! people write. If those do not fit, each file is cut to a fair share.

use super::change::{Change, ChangedFile, whole_lines};
use super::folded::Folded;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The smallest share of a file that is shown at all.
const LEAST_SHARE: usize = 512;
/// Room for the line that says what was left out of a file.
const NOTE_BYTES: usize = 120;
/// Room for the longest [`Note`] in a row of the list.
const PART_BYTES: usize = 32;

/// How a file is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Only in the list, because it is folded or has no lines.
    Row,
    /// All of it.
    Whole,
    /// As far as it fits.
    Cut(Cut<'a>),
    /// Only in the list, because there is no room.
    LeftOut,
}

/// The beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    /// The hunks that are shown.
    pub(super) hunks: Vec<&'a str>,
    /// The line about what is left out.
    pub(super) note: String,
}

impl Part<'_> {
    /// The note about the file in the list.
    pub(super) fn note(&self) -> &'static str {
        match self {
            Part::Row | Part::Whole => "",
            Part::Cut(_) => " (cut)",
            Part::LeftOut => " (no room: read the file)",
        }
    }

    /// Whether the reviewer only gets the file's row in the list.
    pub(super) fn is_hidden(&self) -> bool {
        matches!(self, Part::Row | Part::LeftOut)
    }
}

/// A file's note in the list after the counts, and whether its lines are hidden.
pub(super) type Note = (String, bool);

/// The text for a reviewer, at most `limit` bytes long.
pub fn shown(change: &Change, limit: usize) -> String {
    let parts = shares(change, room(change, limit));
    let notes: Vec<Note> = parts
        .iter()
        .map(|part| (part.note().to_owned(), part.is_hidden()))
        .collect();
    let mut text = list(change, Some(&notes), limit / 2);
    for (file, part) in change.files.iter().zip(&parts) {
        match part {
            Part::Row | Part::LeftOut => {}
            Part::Whole => {
                text.push_str(&file.head);
                text.extend(file.hunks.iter().map(String::as_str));
            }
            Part::Cut(cut) => {
                text.push_str(&file.head);
                text.extend(cut.hunks.iter().copied());
                text.push_str(&cut.note);
            }
        }
    }
    text
}

/// The room for lines in a text of this length, after the list of all files.
pub(super) fn room(change: &Change, limit: usize) -> usize {
    limit.saturating_sub(list(change, None, limit / 2).len())
}

/// Divides the room among the files, the smallest first, so that others get what they leave.
pub(super) fn shares(change: &Change, mut room: usize) -> Vec<Part<'_>> {
    let mut parts = vec![Part::Row; change.files.len()];
    let has_more = |file: &ChangedFile| file.folded.is_none() && !file.head.is_empty();
    let all = change.files.iter().enumerate();
    let mut files: Vec<(usize, &ChangedFile)> = all.filter(|(_, file)| has_more(file)).collect();
    files.sort_by_key(|(number, file)| (file.is_cut, file.len, *number));
    let mut left = files.len();
    for (number, file) in files {
        let share = (room / left).max(LEAST_SHARE).min(room);
        left -= 1;
        parts[number] = if !file.is_cut && file.len <= share {
            Part::Whole
        } else {
            cut(file, share).map_or(Part::LeftOut, Part::Cut)
        };
        room -= match &parts[number] {
            Part::Whole => file.len,
            Part::Cut(cut) => {
                let hunks: usize = cut.hunks.iter().map(|hunk| hunk.len()).sum();
                file.head.len() + hunks + cut.note.len()
            }
            Part::Row | Part::LeftOut => 0,
        };
    }
    parts
}

/// As many whole hunks as fit, or the first lines of the first hunk. `None` if no line fits.
fn cut(file: &ChangedFile, room: usize) -> Option<Cut<'_>> {
    let mut room = room.checked_sub(NOTE_BYTES + file.head.len())?;
    let whole = if file.is_cut {
        file.hunks.len().saturating_sub(1)
    } else {
        file.hunks.len()
    };
    let mut hunks = Vec::new();
    for hunk in &file.hunks[..whole] {
        if hunk.len() > room {
            break;
        }
        room -= hunk.len();
        hunks.push(hunk.as_str());
    }
    let count = hunks.len() as u64;
    if hunks.is_empty() {
        let first = file.hunks.first()?;
        let end = whole_lines(first, room);
        // The line with the hunk's position shows nothing by itself.
        if first[..end].lines().count() < 2 {
            return None;
        }
        hunks.push(&first[..end]);
    }
    let lines = || hunks.iter().flat_map(|hunk| hunk.lines());
    let added = lines().filter(|line| line.starts_with('+')).count() as u64;
    let deleted = lines().filter(|line| line.starts_with('-')).count() as u64;
    let note = format!(
        "[left out: +{} -{} in {} of {} hunks{}]\n",
        file.added.saturating_sub(added),
        file.deleted.saturating_sub(deleted),
        file.hunk_count.saturating_sub(count),
        file.hunk_count,
        if file.is_deleted() {
            ""
        } else {
            "; read them in the file"
        }
    );
    Some(Cut { hunks, note })
}

/// The list of all files. If it is longer than `limit`, files are counted by folder. Without
/// `notes`, it has its maximum length.
pub(super) fn list(change: &Change, notes: Option<&[Note]>, limit: usize) -> String {
    let count = change.files.len() as u64 + change.more;
    let sum = |of: fn(&ChangedFile) -> u64| change.files.iter().map(of).sum::<u64>();
    let mut head = format!(
        "{count} file{} changed, +{} -{}\n",
        if count == 1 { "" } else { "s" },
        sum(|file| file.added),
        sum(|file| file.deleted),
    );
    if change.more > 0 {
        let _ = writeln!(head, "(the last {} are not listed)", change.more);
    }
    head.push('\n');
    let longest = |file: &ChangedFile| file.folded.is_none() as usize * PART_BYTES;
    let rows: Vec<String> = change.files.iter().map(row).collect();
    let spare = change.files.iter().map(longest).sum::<usize>();
    let length = rows.iter().map(|row| row.len() + 1).sum::<usize>() + spare;
    if head.len() + length >= limit {
        return by_folder(change, notes, head, limit);
    }
    let mut text = head;
    for (number, row) in rows.iter().enumerate() {
        text.push_str(row);
        match notes {
            None => text.push_str(&" ".repeat(longest(&change.files[number]))),
            Some(notes) => text.push_str(&notes[number].0),
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// A row of the list: the path, the counts, and why the lines are not shown.
fn row(file: &ChangedFile) -> String {
    let mut row = plain(&file.path);
    if file.added > 0 || file.deleted > 0 || file.folded.is_none() {
        let _ = write!(row, " +{} -{}", file.added, file.deleted);
    }
    if let Some(why) = file.folded {
        let hint = if why == Folded::Binary || file.is_deleted() {
            ""
        } else {
            "; read the file"
        };
        let _ = write!(row, " ({}: not shown{hint})", why.as_str());
    }
    row
}

/// One row per folder, with as many rows as fit.
fn by_folder(change: &Change, notes: Option<&[Note]>, head: String, limit: usize) -> String {
    let mut folders: BTreeMap<&str, (u64, u64, u64, u64)> = BTreeMap::new();
    for (number, file) in change.files.iter().enumerate() {
        let folder = file.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let counts = folders.entry(folder).or_default();
        counts.0 += 1;
        counts.1 += file.added;
        counts.2 += file.deleted;
        let is_hidden = notes.is_none_or(|notes| notes[number].1);
        counts.3 += u64::from(is_hidden);
    }
    let mut text = head;
    for (listed, (folder, counts)) in folders.iter().enumerate() {
        let (files, added, deleted, hidden) = counts;
        let row = format!(
            "{}/: {files} files +{added} -{deleted} ({hidden} not shown: read the files)\n",
            plain(folder)
        );
        if text.len() + row.len() + NOTE_BYTES > limit {
            let more = folders.len() - listed;
            let _ = writeln!(text, "(and {more} more folders)");
            break;
        }
        text.push_str(&row);
    }
    text.push('\n');
    text
}

/// A path that stays on one line.
fn plain(path: &str) -> String {
    if path.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        format!("{path:?}")
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests;
