//! Suggestions: blocks in comments that replace exactly the commented lines.

use super::LineOrigin;
use super::approval::asks_expressly;

/// The first line of a suggestion's block.
const OPENS: &str = "```suggestion";

/// Words beside a suggestion that refer to more than its lines.
const MORE: [&str; 11] = [
    "also",
    "both",
    "elsewhere",
    "everywhere",
    "other",
    "others",
    "rest",
    "same",
    "similar",
    "then",
    "too",
];

/// The lines that a comment suggests as a replacement. `None` if it suggests nothing or several
/// things, or asks for more in words.
pub fn suggested(body: &str) -> Option<Vec<String>> {
    let mut lines = body.lines();
    let mut words = Vec::new();
    let mut found: Option<Vec<String>> = None;
    while let Some(line) = lines.next() {
        if line.trim() != OPENS {
            words.push(line);
            continue;
        }
        let mut block = Vec::new();
        loop {
            match lines.next() {
                Some(line) if line.trim() == "```" => break,
                Some(line) => block.push(line.to_owned()),
                None => return None,
            }
        }
        if found.replace(block).is_some() {
            return None;
        }
    }
    let words = words.join("\n");
    found.filter(|_| !asks_expressly(&words) && !speaks_of_more(&words))
}

/// Whether words refer to other places or other work as well.
fn speaks_of_more(words: &str) -> bool {
    let words = words.to_lowercase();
    let mut words = words.split(|c: char| !c.is_alphanumeric());
    words.any(|word| MORE.contains(&word))
}

/// A replacement of lines, counted from one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// The first line that is replaced.
    pub first: u64,
    /// The last replaced line.
    pub last: u64,
    /// The new lines.
    pub lines: Vec<String>,
    /// The lines that its author saw there, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Vec<String>>,
}

impl Replacement {
    /// The replacement that a comment suggests, if its line is known. `line` is the last one, in the head's
    /// numbering. If it is unknown which lines its author saw, the comment must be on the current commit.
    pub fn of(
        body: &str,
        line: u64,
        origin: Option<&LineOrigin>,
        is_current: bool,
    ) -> Option<Self> {
        let lines = suggested(body)?;
        let span = origin.map_or(0, |origin| {
            origin.line - origin.first_line.unwrap_or(origin.line)
        });
        let first = line.checked_sub(span).filter(|first| *first > 0)?;
        let hunk = origin.and_then(|origin| origin.hunk.as_deref());
        let seen = match hunk {
            Some(hunk) => Some(seen(hunk, span)?),
            None if is_current => None,
            None => return None,
        };
        Some(Self {
            first,
            last: line,
            lines,
            seen,
        })
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether these lines are what the suggestion's author saw.
    fn fits(&self, lines: &[&str]) -> bool {
        let at = |line: u64| usize::try_from(line).ok();
        let range = at(self.first).zip(at(self.last));
        let standing = range.and_then(|(first, last)| lines.get(first - 1..last));
        let Some(standing) = standing else {
            return false;
        };
        let standing = standing
            .iter()
            .map(|line| line.trim_end_matches(['\n', '\r']));
        let seen = self.seen.as_ref();
        seen.is_none_or(|seen| seen.iter().map(String::as_str).eq(standing))
    }
}

/// The last lines of a hunk on the new side; `None` if it does not show all of them.
fn seen(hunk: &str, span: u64) -> Option<Vec<String>> {
    let wanted = usize::try_from(span).ok()? + 1;
    let new = hunk.lines().skip(1);
    let new = new.filter(|line| !line.starts_with(['-', '\\']));
    let new: Vec<&str> = new.collect();
    let shown = new.get(new.len().checked_sub(wanted)?..)?;
    let content = shown.iter().map(|line| {
        let content = line.strip_prefix(['+', ' '])?;
        Some(content.trim_end_matches('\r').to_owned())
    });
    content.collect()
}

/// The text with all replacements applied. `None` if one does not fit the current lines, or two overlap.
pub fn applied(text: &str, replacements: &[Replacement]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut ordered: Vec<&Replacement> = replacements.iter().collect();
    ordered.sort_by_key(|one| one.first);
    let collide = ordered.windows(2).any(|pair| pair[0].overlaps(pair[1]));
    if collide || !ordered.iter().all(|one| one.fits(&lines)) {
        return None;
    }
    let mut out = String::new();
    let mut next = 0;
    for one in ordered {
        let (first, last) = (index(one.first)?, index(one.last)?);
        out.extend(lines[next..first].iter().copied());
        let end = line_end(lines[last], text);
        for line in &one.lines {
            out.push_str(line.trim_end_matches('\r'));
            out.push_str(end);
        }
        next = last + 1;
    }
    out.extend(lines[next..].iter().copied());
    Some(out)
}

fn index(line: u64) -> Option<usize> {
    usize::try_from(line).ok()?.checked_sub(1)
}

/// The line end of the replaced lines. The last line of a file may have none, but a line in the
/// middle needs one.
fn line_end(line: &str, text: &str) -> &'static str {
    if line.ends_with("\r\n") || (!line.ends_with('\n') && text.contains("\r\n")) {
        "\r\n"
    } else {
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(first: u64, last: u64, lines: &[&str]) -> Replacement {
        Replacement {
            first,
            last,
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
            seen: None,
        }
    }

    #[test]
    fn a_comment_with_one_block_suggests_its_lines() {
        let block = |words: &str| format!("{words}```suggestion\n  let a = 1;\n\n```\n");
        let lines = Some(vec!["  let a = 1;".to_owned(), String::new()]);
        assert_eq!(suggested(&block("")), lines);
        assert_eq!(suggested(&block("Shorter:\n\n")), lines);
        let reason = "I think this reads better, since the name says what it holds.\n\n";
        assert_eq!(suggested(&block(reason)), lines);
        assert_eq!(suggested(&block("And please rename it.\n")), None);
        assert_eq!(suggested(&block("The same in the other files\n")), None);
        assert_eq!(suggested(&format!("{}{}", block(""), block(""))), None);
        assert_eq!(suggested("```suggestion\nopen"), None);
        assert_eq!(suggested("```rust\nlet a;\n```"), None);
        assert_eq!(
            suggested("```suggestion\n```"),
            Some(Vec::new()),
            "it deletes"
        );
    }

    #[test]
    fn suggestions_replace_their_lines_and_nothing_else() {
        let text = "a\nb\nc\nd\n";
        let both = [at(4, 4, &["D"]), at(1, 2, &["x", "y", "z"])];
        assert_eq!(applied(text, &both).unwrap(), "x\ny\nz\nc\nD\n");
        assert_eq!(applied(text, &[at(2, 3, &[])]).unwrap(), "a\nd\n");
        assert_eq!(
            applied("a\r\nb\r\n", &[at(1, 1, &["x"])]).unwrap(),
            "x\r\nb\r\n"
        );
        assert_eq!(applied(text, &[at(5, 5, &["x"])]), None);
        assert_eq!(applied(text, &[at(1, 2, &["x"]), at(2, 3, &["y"])]), None);
    }

    #[test]
    fn a_suggestion_for_other_lines_than_its_author_saw_is_not_applied() {
        let hunk = "@@ -1,2 +1,3 @@\n a\n-old\n+b\n+c";
        let origin = LineOrigin::new(Some(2), 3, Some(hunk));
        let body = "```suggestion\nB\n```";
        let fits = Replacement::of(body, 3, Some(&origin), false).unwrap();
        assert_eq!(Replacement::of(body, 3, None, false), None);
        assert!(Replacement::of(body, 3, None, true).is_some());
        assert_eq!((fits.first, fits.last), (2, 3));
        assert_eq!(
            applied("a\nb\nc\n", std::slice::from_ref(&fits)).unwrap(),
            "a\nB\n"
        );
        assert_eq!(applied("a\nb\nC\n", &[fits]), None);
    }
}
