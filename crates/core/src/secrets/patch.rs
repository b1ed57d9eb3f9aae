//! Reads the patch of commits that are to be pushed: their messages, paths and added lines.
//!
//! An agent wrote the files, so only git's own structure is trusted: the lines of a hunk are
//! counted and not recognised by their look. An unreadable patch is refused.

use crate::agent::Secrets;
use crate::problem::{Kind, Problem};
use std::fmt;

/// The beginning of a commit in the patch. No line of a diff begins with this byte.
const COMMIT: &[u8] = b"\0commit ";
/// The beginnings of a file's changes in a merge.
const COMBINED: [&[u8]; 2] = [b"diff --combined ", b"diff --cc "];
/// How many places are collected at most.
const MOST: usize = 100;

/// The place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretPlace {
    /// The commit.
    pub commit: String,
    /// The file; `None` for the commit message.
    pub path: Option<String>,
    /// The line in the file; `None` if the secret is in the file's name.
    pub line: Option<u64>,
}

impl fmt::Display for SecretPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.get(..8).unwrap_or(&self.commit);
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "`{path}:{line}` (commit {commit})"),
            // The name itself contains the secret.
            (Some(_), None) => write!(f, "the name of a file of commit {commit}"),
            (None, _) => write!(f, "the message of commit {commit}"),
        }
    }
}

/// The secrets that a patch adds.
pub(super) fn find_secrets(
    patch: &[u8],
    secrets: &Secrets,
    is_allowed: &dyn Fn(&str) -> bool,
) -> Result<Vec<SecretPlace>, Problem> {
    let mut reader = Reader {
        secrets,
        is_allowed,
        found: Vec::new(),
        commit: String::new(),
        path: None,
        added: Vec::new(),
        first: 0,
    };
    reader.read(patch)?;
    Ok(reader.found)
}

struct Reader<'a> {
    secrets: &'a Secrets,
    is_allowed: &'a dyn Fn(&str) -> bool,
    found: Vec<SecretPlace>,
    commit: String,
    path: Option<String>,
    /// Consecutive added lines.
    added: Vec<u8>,
    /// The number of the first added line.
    first: u64,
}

impl Reader<'_> {
    fn read(&mut self, patch: &[u8]) -> Result<(), Problem> {
        let mut lines = patch.split(|byte| *byte == b'\n');
        while let Some(line) = lines.next() {
            if self.found.len() >= MOST {
                return Ok(());
            }
            if let Some(sha) = line.strip_prefix(COMMIT) {
                self.commit = text(sha);
                self.path = None;
                self.message(&mut lines)?;
            } else if line.starts_with(b"diff --") {
                self.path = COMBINED
                    .iter()
                    .find_map(|prefix| line.strip_prefix(*prefix))
                    .map(|name| text(&without_quotes(name)));
                if self.secrets.find(line).is_some() {
                    self.hit(Some(text(line)), None);
                }
            } else if line.starts_with(b"Binary files") {
                self.hidden()?;
            } else if let Some(name) = line.strip_prefix(b"+++ ") {
                self.path = path_of(name);
            } else if line.starts_with(b"@@") {
                let hunk = Hunk::parse(line).ok_or_else(unreadable)?;
                self.hunk(hunk, &mut lines)?;
            }
        }
        Ok(())
    }

    /// Refuses changes without visible text. Git shows every change as text if asked to, except in a merge.
    fn hidden(&self) -> Result<(), Problem> {
        let path = self.path.as_deref().unwrap_or_default();
        if (self.is_allowed)(path) {
            return Ok(());
        }
        let commit = self.commit.get(..8).unwrap_or(&self.commit);
        Err(Problem::new(
            Kind::SecretCheckFailed,
            format!("not pushed: `{path}` of merge {commit} could not be checked for secrets"),
        )
        .hint(format!(
            "read it; if it has none, set `secrets.allow = [\"{}\"]` in `drive.toml`",
            globset::escape(path)
        )))
    }

    /// Reads a commit message, which ends at a byte that no message can contain.
    fn message<'p>(&mut self, lines: &mut impl Iterator<Item = &'p [u8]>) -> Result<(), Problem> {
        let mut message = Vec::new();
        loop {
            let line = lines.next().ok_or_else(unreadable)?;
            if line == [0] {
                break;
            }
            message.extend_from_slice(line);
            message.push(b'\n');
        }
        if self.secrets.find(&message).is_some() {
            self.hit(None, None);
        }
        Ok(())
    }

    fn hunk<'p>(
        &mut self,
        mut hunk: Hunk,
        lines: &mut impl Iterator<Item = &'p [u8]>,
    ) -> Result<(), Problem> {
        while !hunk.is_over() {
            let line = lines.next().ok_or_else(unreadable)?;
            if is_end_note(line) {
                continue;
            }
            let number = hunk.line;
            match hunk.take(line).ok_or_else(unreadable)? {
                Side::Added(content) => {
                    if self.added.is_empty() {
                        self.first = number;
                    }
                    self.added.extend_from_slice(content);
                    self.added.push(b'\n');
                }
                Side::Known => self.check_added(),
                Side::Removed => {}
            }
        }
        self.check_added();
        Ok(())
    }

    fn check_added(&mut self) {
        let added = std::mem::take(&mut self.added);
        let allowed = self.path.as_deref().is_some_and(self.is_allowed);
        if allowed {
            return;
        }
        if let Some(at) = self.secrets.find(&added) {
            let before = added[..at].iter().filter(|byte| **byte == b'\n').count();
            let path = self.path.clone().unwrap_or_default();
            self.hit(Some(path), Some(self.first + before as u64));
        }
    }

    fn hit(&mut self, path: Option<String>, line: Option<u64>) {
        let place = SecretPlace {
            commit: self.commit.clone(),
            path,
            line,
        };
        // The patch contains each message twice: as git shows it and as it is stored.
        if !self.found.contains(&place) {
            self.found.push(place);
        }
    }
}

/// The kind of a hunk's line.
enum Side<'p> {
    /// In the new file only.
    Added(&'p [u8]),
    /// In the new file and in an old one.
    Known,
    /// Not in the new file.
    Removed,
}

/// The numbers of lines left in a hunk. A merge has one column and one range for each parent.
struct Hunk {
    old: Vec<u64>,
    new: u64,
    /// The number of the next line in the new file.
    line: u64,
}

impl Hunk {
    /// Parses a header such as `@@ -1,2 +3,4 @@`, or that of a merge, `@@@ -1,2 -5 +3,4 @@@`.
    fn parse(header: &[u8]) -> Option<Self> {
        let signs = header.iter().take_while(|byte| **byte == b'@').count();
        let parents = signs.checked_sub(1).filter(|parents| *parents > 0)?;
        let header = std::str::from_utf8(header.get(signs..)?.split(|byte| *byte == b'@').next()?);
        let mut words = header.ok()?.split_whitespace();
        let mut old = Vec::new();
        for _ in 0..parents {
            let (_, count) = range(words.next()?.strip_prefix('-')?)?;
            old.push(count);
        }
        let (line, new) = range(words.next()?.strip_prefix('+')?)?;
        Some(Self { old, new, line })
    }

    fn is_over(&self) -> bool {
        self.new == 0 && self.old.iter().all(|left| *left == 0)
    }

    fn take<'p>(&mut self, line: &'p [u8]) -> Option<Side<'p>> {
        let columns = line.get(..self.old.len())?;
        if columns.iter().any(|c| !matches!(c, b'+' | b'-' | b' ')) {
            return None;
        }
        let leaves = if columns.contains(&b'-') { b'-' } else { b' ' };
        for (left, column) in self.old.iter_mut().zip(columns) {
            if *column == leaves {
                *left = left.checked_sub(1)?;
            }
        }
        if leaves == b'-' {
            return Some(Side::Removed);
        }
        self.new = self.new.checked_sub(1)?;
        self.line += 1;
        Some(if columns.contains(&b' ') {
            Side::Known
        } else {
            Side::Added(&line[columns.len()..])
        })
    }
}

/// Parses `12,3`, or `12` for a single line.
fn range(text: &str) -> Option<(u64, u64)> {
    match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// Whether this is git's note that a file does not end with a line end.
fn is_end_note(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"\\ No newline")
        && !line.starts_with(b"+")
        && !line.starts_with(b"-")
}

/// The path after `+++ `; `None` for a deleted file.
fn path_of(name: &[u8]) -> Option<String> {
    without_quotes(name).strip_prefix(b"b/").map(text)
}

fn without_quotes(name: &[u8]) -> Vec<u8> {
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    match name {
        [b'"', inner @ .., b'"'] => unquoted(inner),
        plain => plain.to_vec(),
    }
}

/// A name that git quoted, decoded.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < name.len() {
        let (byte, length) = match &name[at..] {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 4)
            }
            [b'\\', b'n', ..] => (b'\n', 2),
            [b'\\', b't', ..] => (b'\t', 2),
            [b'\\', b'r', ..] => (b'\r', 2),
            [b'\\', other, ..] => (*other, 2),
            [byte, ..] => (*byte, 1),
            [] => break,
        };
        out.push(byte);
        at += length;
    }
    out
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn unreadable() -> Problem {
    Problem::new(
        Kind::SecretCheckFailed,
        "not pushed: the commits could not be checked for secrets",
    )
    .cause("git's diff of them could not be read")
    .hint("read the commits and push them by hand")
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "hunter2-hunter2";

    fn places(patch: &str) -> Result<Vec<String>, Problem> {
        let found = find_secrets(patch.as_bytes(), &Secrets::new([VALUE]), &|_| false)?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    fn commit(message: &str, diff: &str) -> String {
        format!("\0commit {}\n{message}\n\0\n{diff}", "d".repeat(40))
    }

    #[test]
    fn added_lines_count_and_removed_ones_do_not() {
        let diff = format!(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3 +3,2 @@ {VALUE}\n-{VALUE}\n+one\n+{VALUE}\n"
        );
        let found = places(&commit("Subject", &diff)).unwrap();
        assert_eq!(found, ["`x:4` (commit dddddddd)"]);
        let gone = format!("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-{VALUE}\n");
        assert_eq!(
            places(&commit("Subject", &gone)).unwrap(),
            Vec::<String>::new()
        );
    }

    #[test]
    fn messages_and_names_of_files_count() {
        let found = places(&commit(&format!("Subject\n\n{VALUE}"), "")).unwrap();
        assert_eq!(found, ["the message of commit dddddddd"]);
        let named = format!("diff --git a/{VALUE} b/{VALUE}\nnew file mode 100644\n");
        let found = places(&commit("Subject", &named)).unwrap();
        assert_eq!(found, ["the name of a file of commit dddddddd"]);
    }

    #[test]
    fn lines_that_look_like_headers_are_content_inside_a_hunk() {
        // A removed line `-- a`, and added lines that look like another file and another commit.
        let diff = format!(
            "--- a/x\n+++ b/x\n@@ -1 +1,4 @@\n--- a/y\n+++ b/allowed\n+@@ -1 +1 @@\n+\0commit e\n+{VALUE}\n"
        );
        let found = places(&commit("Subject", &diff)).unwrap();
        assert_eq!(found, ["`x:4` (commit dddddddd)"]);
    }

    #[test]
    fn a_merge_counts_what_neither_side_had() {
        let diff = format!(
            "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,3 -1 +1,3 @@@\n  one\n +{VALUE} of theirs\n++{VALUE}\n- two\n"
        );
        let found = places(&commit("Merge", &diff)).unwrap();
        assert_eq!(found, ["`x:3` (commit dddddddd)"]);
    }

    #[test]
    fn a_secret_over_two_lines_is_found_at_the_first() {
        let diff = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,3 @@\n+data:\n+aHVudGVyMi1o\n+dW50ZXIy\n\\ No newline at end of file\n";
        let found = places(&commit("Subject", diff)).unwrap();
        assert_eq!(found, ["`x:2` (commit dddddddd)"]);
    }

    #[test]
    fn quoted_names_are_read() {
        assert_eq!(path_of(b"\"b/a\\\"\\303\\251\\t\"").unwrap(), "a\"é\t");
        assert_eq!(path_of(b"b/a b\t").unwrap(), "a b");
        assert_eq!(path_of(b"/dev/null"), None);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for diff in [
            "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n+one\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n?one\n",
            "--- a/x\n+++ b/x\n@@ one @@\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n+a\n+b\n",
            "diff --combined x\nBinary files differ\n",
        ] {
            let problem = places(&commit("Subject", diff)).unwrap_err();
            assert_eq!(problem.kind, Kind::SecretCheckFailed, "{diff}");
        }
    }
}
