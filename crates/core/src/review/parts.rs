//! Divides a change that is too long for one reviewer into parts. Each part lists all files and
//! shows other lines.

use super::change::{Change, ChangedFile};
use super::shown::{Note, Part, list, room, shares, shown};
use crate::forge::inline::parse_hunk;
use std::fmt::Write;

/// The maximum number of parts of a change; a longer change is cut.
pub const MOST_PARTS: usize = 8;
/// Room for the line that counts the parts.
const COUNT_BYTES: usize = 120;
/// Room for the line with a hunk's position, and for git's note about a missing line end.
const POSITION_BYTES: usize = 128;
/// How often a smaller room is tried, because parts that end at a file or a line leave some room unused.
const MOST_TRIES: usize = 16;

/// The texts for a change's reviewers, each of at most `limit` bytes: one text if that suffices. If
/// `most` do not suffice, each file is cut to a fair share.
pub fn shown_in_parts(change: &Change, limit: usize, most: usize) -> Vec<String> {
    let is_whole = |part: &Part<'_>| matches!(part, Part::Row | Part::Whole);
    if shares(change, room(change, limit)).iter().all(is_whole) {
        return vec![shown(change, limit)];
    }
    let room = room(change, limit).saturating_sub(COUNT_BYTES);
    let mut total = room.saturating_mul(most);
    for _ in 0..MOST_TRIES {
        let shares = shares(change, total);
        if let Some(packed) = Packed::of(change, &shares, room, most) {
            return packed.texts(change, &shares, limit);
        }
        total = total / 8 * 7;
    }
    vec![shown(change, limit)]
}

/// A diff that is divided into parts.
struct Packed {
    room: usize,
    most: usize,
    /// The text of each part.
    bodies: Vec<String>,
    /// The file whose header is the last one in the last part.
    open: Option<usize>,
    /// The first and the last part with lines of each file.
    spans: Vec<Option<(usize, usize)>>,
}

impl Packed {
    /// Divides the diff; `None` if it needs more parts.
    fn of(change: &Change, shares: &[Part<'_>], room: usize, most: usize) -> Option<Self> {
        let mut packed = Self {
            room,
            most,
            bodies: vec![String::new()],
            open: None,
            spans: vec![None; change.files.len()],
        };
        for (number, (file, share)) in change.files.iter().zip(shares).enumerate() {
            let all: Vec<&str> = file.hunks.iter().map(String::as_str).collect();
            match share {
                Part::Row | Part::LeftOut => {}
                Part::Whole => packed.add(number, file, &all, "")?,
                Part::Cut(cut) => packed.add(number, file, &cut.hunks, &cut.note)?,
            }
        }
        Some(packed)
    }

    /// Adds a file, as a whole if a part has room for it.
    fn add(&mut self, number: usize, file: &ChangedFile, hunks: &[&str], note: &str) -> Option<()> {
        let head = (number, file.head.as_str());
        let lengths = hunks.iter().map(|hunk| hunk.len());
        let length = file.head.len() + lengths.sum::<usize>() + note.len();
        if length <= self.room && length > self.free() {
            self.begin()?;
        }
        if hunks.is_empty() {
            return self.put(head, note);
        }
        for hunk in hunks {
            let left = self.left(head);
            if hunk.len() <= left {
                self.put(head, hunk)?;
            } else if file.head.len() + hunk.len() <= self.room {
                self.begin()?;
                self.put(head, hunk)?;
            } else {
                self.split(head, hunk)?;
            }
        }
        if note.len() > self.left(head) {
            self.begin()?;
        }
        self.put(head, note)
    }

    /// Divides a hunk that is longer than a part, at line ends.
    fn split(&mut self, head: (usize, &str), hunk: &str) -> Option<()> {
        let (position, lines) = hunk.split_once('\n')?;
        let position = parse_hunk(position)?;
        let mut piece = Piece::at(position.old.start, position.new.start);
        for line in lines.split_inclusive('\n') {
            let is_note = line.starts_with('\\');
            if !is_note && piece.text.len() + line.len() + POSITION_BYTES > self.left(head) {
                self.put_piece(head, &mut piece)?;
                self.begin()?;
                if line.len() + POSITION_BYTES > self.left(head) {
                    return None;
                }
            }
            piece.push(line);
        }
        self.put_piece(head, &mut piece)
    }

    fn put_piece(&mut self, head: (usize, &str), piece: &mut Piece) -> Option<()> {
        match piece.take() {
            Some(text) => self.put(head, &text),
            None => Some(()),
        }
    }

    /// The room left in the last part.
    fn free(&self) -> usize {
        let used = self.bodies.last().map_or(0, String::len);
        self.room.saturating_sub(used)
    }

    /// The room left in the last part after this file's header.
    fn left(&self, (number, head): (usize, &str)) -> usize {
        let head = if self.open == Some(number) {
            0
        } else {
            head.len()
        };
        self.free().saturating_sub(head)
    }

    /// Begins another part, unless the last one is still empty.
    fn begin(&mut self) -> Option<()> {
        if self.bodies.last().is_some_and(String::is_empty) {
            return Some(());
        }
        if self.bodies.len() >= self.most {
            return None;
        }
        self.bodies.push(String::new());
        self.open = None;
        Some(())
    }

    /// Adds a text to the last part, if it fits.
    fn put(&mut self, (number, head): (usize, &str), text: &str) -> Option<()> {
        let head = if self.open == Some(number) { "" } else { head };
        if head.len() + text.len() > self.free() {
            return None;
        }
        let part = self.bodies.len();
        let body = self.bodies.last_mut()?;
        body.push_str(head);
        body.push_str(text);
        self.open = Some(number);
        let span = self.spans.get_mut(number)?;
        *span = Some((span.map_or(part, |(first, _)| first), part));
        Some(())
    }

    /// The parts, each after the list of all files.
    fn texts(self, change: &Change, shares: &[Part<'_>], limit: usize) -> Vec<String> {
        let count = self.bodies.len();
        let files = shares.iter().zip(&self.spans);
        let notes = files.map(|(share, span)| {
            let note = match span {
                Some(span) if count > 1 => noted(share, *span),
                Some(_) | None => share.note().to_owned(),
            };
            (note, share.is_hidden())
        });
        let notes: Vec<Note> = notes.collect();
        let list = list(change, Some(&notes), limit / 2);
        let mut texts = Vec::new();
        for (number, body) in (1..).zip(self.bodies) {
            let mut text = String::with_capacity(limit);
            if count > 1 {
                let _ = writeln!(
                    text,
                    "Part {number} of {count}. All files are listed; the lines of the other parts are not \
                     shown here."
                );
            }
            text.push_str(&list);
            text.push_str(&body);
            texts.push(text);
        }
        texts
    }
}

/// The note about a file in the list, which names the parts that show it.
fn noted(share: &Part<'_>, (first, last): (usize, usize)) -> String {
    let cut = if matches!(share, Part::Cut(_)) {
        "cut, "
    } else {
        ""
    };
    if first == last {
        format!(" ({cut}part {first})")
    } else {
        format!(" ({cut}parts {first} to {last})")
    }
}

/// Consecutive lines of a hunk.
struct Piece {
    text: String,
    old: (u64, u64),
    new: (u64, u64),
}

impl Piece {
    fn at(old: u64, new: u64) -> Self {
        Self {
            text: String::new(),
            old: (old, 0),
            new: (new, 0),
        }
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.old.1 += u64::from(!line.starts_with(['+', '\\']));
        self.new.1 += u64::from(!line.starts_with(['-', '\\']));
    }

    /// Returns these lines as a hunk; the next lines follow them.
    fn take(&mut self) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let (old, new) = (self.old, self.new);
        let lines = std::mem::take(&mut self.text);
        self.old = (old.0 + old.1, 0);
        self.new = (new.0 + new.1, 0);
        Some(format!(
            "@@ -{},{} +{},{} @@\n{lines}",
            old.0, old.1, new.0, new.1
        ))
    }
}

#[cfg(test)]
mod tests;
