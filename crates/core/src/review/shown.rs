//! The diff that a reviewer sees: every file with its counts, then the lines of files that people
//! write. When those do not fit, each file is cut to a fair share.

use super::change::{Change, ChangedFile, whole_lines};
use super::folded::Folded;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The smallest share of a file, where there is room for one at all.
const LEAST_SHARE: usize = 512;
/// Room for the line that says what is left out of a file.
const NOTE_BYTES: usize = 120;
/// Room for the longest [`Part`] in a row of the list.
const PART_BYTES: usize = 32;

/// How much of a file is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Only its row in the list, because it is folded or there is nothing more.
    Row,
    /// All of it.
    Whole,
    /// This much of it.
    Cut(String),
    /// Only its row in the list, because there is no room.
    LeftOut,
}

/// The text for a reviewer, at most `limit` bytes long.
pub fn shown(change: &Change, limit: usize) -> String {
    let longest = list(change, None, limit / 2).len();
    let parts = shares(change, limit.saturating_sub(longest));
    let mut text = list(change, Some(&parts), limit / 2);
    for (file, part) in change.files.iter().zip(&parts) {
        match part {
            Part::Row | Part::LeftOut => {}
            Part::Whole => {
                text.push_str(&file.head);
                text.extend(file.hunks.iter().map(String::as_str));
            }
            Part::Cut(cut) => text.push_str(cut),
        }
    }
    text
}

/// Divides the room among the files: the smallest first, so that what they leave is for the others.
fn shares(change: &Change, mut room: usize) -> Vec<Part> {
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
            Part::Cut(cut) => cut.len(),
            Part::Row | Part::LeftOut => 0,
        };
    }
    parts
}

/// As many whole hunks as fit, or the first lines of the first one. `None` where no line fits.
fn cut(file: &ChangedFile, room: usize) -> Option<String> {
    let mut room = room.checked_sub(NOTE_BYTES + file.head.len())?;
    let mut text = file.head.clone();
    let whole = if file.is_cut {
        file.hunks.len().saturating_sub(1)
    } else {
        file.hunks.len()
    };
    let mut hunks = 0;
    for hunk in &file.hunks[..whole] {
        if hunk.len() > room {
            break;
        }
        room -= hunk.len();
        hunks += 1;
        text.push_str(hunk);
    }
    if hunks == 0 {
        let first = file.hunks.first()?;
        let end = whole_lines(first, room);
        // The line of the hunk's position alone shows nothing.
        if first[..end].lines().count() < 2 {
            return None;
        }
        text.push_str(&first[..end]);
    }
    let lines = || text[file.head.len()..].lines();
    let added = lines().filter(|line| line.starts_with('+')).count() as u64;
    let deleted = lines().filter(|line| line.starts_with('-')).count() as u64;
    let _ = writeln!(
        text,
        "[left out: +{} -{} in {} of {} hunks{}]",
        file.added.saturating_sub(added),
        file.deleted.saturating_sub(deleted),
        file.hunk_count.saturating_sub(hunks),
        file.hunk_count,
        if file.is_deleted() {
            ""
        } else {
            "; read them in the file"
        }
    );
    Some(text)
}

/// The list of all files. Where it is longer than `limit`, files are counted by folder. Without
/// `parts`, it is as long as it can become.
fn list(change: &Change, parts: Option<&[Part]>, limit: usize) -> String {
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
        return by_folder(change, parts, head, limit);
    }
    let mut text = head;
    for (number, row) in rows.iter().enumerate() {
        text.push_str(row);
        match parts.map(|parts| &parts[number]) {
            None => text.push_str(&" ".repeat(longest(&change.files[number]))),
            Some(Part::Row | Part::Whole) => {}
            Some(Part::Cut(_)) => text.push_str(" (cut)"),
            Some(Part::LeftOut) => text.push_str(" (no room: read the file)"),
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// One file: its path, its counts, and why its lines are not shown.
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

/// One row per folder, and as many rows as fit.
fn by_folder(change: &Change, parts: Option<&[Part]>, head: String, limit: usize) -> String {
    let mut folders: BTreeMap<&str, (u64, u64, u64, u64)> = BTreeMap::new();
    for (number, file) in change.files.iter().enumerate() {
        let folder = file.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let counts = folders.entry(folder).or_default();
        counts.0 += 1;
        counts.1 += file.added;
        counts.2 += file.deleted;
        let is_shown = parts.is_some_and(|parts| match parts[number] {
            Part::Whole | Part::Cut(_) => true,
            Part::Row | Part::LeftOut => false,
        });
        counts.3 += u64::from(!is_shown);
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

/// A path that stays on its line.
fn plain(path: &str) -> String {
    if path.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        format!("{path:?}")
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests;
