//! Matches a change with findings: which findings it touched, and which of its lines no finding names.

use crate::agent::answer::Finding;
use crate::forge::inline::{FileDiff, Hunk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How many lines from a named line a change still belongs to it.
const NEAR: u64 = 10;

/// How many findings of a review were touched afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// Findings with a place, except refuted ones and those from before the change.
    pub findings: u32,
    /// Findings whose lines changed since the review; for findings without a line, whose file changed.
    pub resolved: u32,
}

/// The place that a finding or comment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The file.
    pub file: String,
    /// The lines; `None` for the whole file.
    pub lines: Option<Range<u64>>,
    /// The finding's text, which may name other files.
    pub text: String,
}

/// A changed place, in the new version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedPlace {
    /// The file; its old path if it was deleted.
    pub file: String,
    /// The first changed line; `None` where the file has no changed lines.
    pub line: Option<u64>,
    /// How many lines were changed, added or removed there.
    pub lines: u64,
}

impl Named {
    /// The place of a finding; `None` without a file.
    pub fn of(finding: &Finding) -> Option<Self> {
        let more = [&finding.evidence, &finding.suggestion];
        let mut text = finding.issue.clone();
        for part in more.into_iter().flatten() {
            text.push('\n');
            text.push_str(part);
        }
        let last = |line| finding.end_line.unwrap_or(line);
        Some(Self {
            file: finding.file.clone()?,
            lines: finding.line.map(|line| line..last(line) + 1),
            text,
        })
    }

    /// The place without its lines, unless they are lines of the current commit.
    #[must_use]
    pub fn on_lines(self, is_same: bool) -> Self {
        Self {
            lines: self.lines.filter(|_| is_same),
            ..self
        }
    }

    fn covers(&self, file: &FileDiff, hunk: Option<&Hunk>) -> bool {
        let is_file = is_named(file, &self.file);
        match (is_file, &self.lines, hunk) {
            (true, Some(lines), Some(hunk)) => {
                let from = lines.start.saturating_sub(NEAR);
                hunk.old.start < lines.end.saturating_add(NEAR) && from <= hunk.old.end
            }
            (true, None, _) | (true, _, None) => true,
            (false, _, _) => paths(file).any(|path| self.text.contains(path)),
        }
    }
}

/// How many findings of a review the later changes touched. The hunks must have no context lines.
pub fn resolution(findings: &[Finding], files: &[FileDiff]) -> Resolution {
    let mut resolution = Resolution::default();
    for finding in findings {
        let counts = finding.refuted.is_none() && !finding.pre_existing;
        let Some(named) = Named::of(finding).filter(|_| counts) else {
            continue;
        };
        resolution.findings += 1;
        let mut files = files.iter();
        let file = files.find(|file| file.old_path.as_deref() == Some(&named.file));
        let is_touched = file.is_some_and(|file| match &named.lines {
            Some(lines) => file.hunks.iter().any(|hunk| touches(hunk, lines)),
            None => true,
        });
        resolution.resolved += u32::from(is_touched);
    }
    resolution
}

/// Whether a hunk changes one of these lines. Lines inserted right before or after them count,
/// because a missing check is added there.
fn touches(hunk: &Hunk, lines: &Range<u64>) -> bool {
    if hunk.old.is_empty() {
        return (lines.start..=lines.end).contains(&hunk.old.start);
    }
    hunk.old.start < lines.end && lines.start < hunk.old.end
}

/// The changed places that no finding names. The hunks must have no context lines.
pub fn outside(files: &[FileDiff], named: &[Named]) -> Vec<ChangedPlace> {
    let mut places = Vec::new();
    for file in files {
        let Some(path) = file.new_path.as_ref().or(file.old_path.as_ref()) else {
            continue;
        };
        let is_covered = |hunk| named.iter().any(|one| one.covers(file, hunk));
        if file.hunks.is_empty() && !is_covered(None) {
            places.push(ChangedPlace {
                file: path.clone(),
                line: None,
                lines: 0,
            });
        }
        for hunk in file.hunks.iter().filter(|hunk| !is_covered(Some(hunk))) {
            let (old, new) = (&hunk.old, &hunk.new);
            places.push(ChangedPlace {
                file: path.clone(),
                line: Some(new.start.max(1)),
                lines: (old.end - old.start).max(new.end - new.start),
            });
        }
    }
    places
}

fn is_named(file: &FileDiff, path: &str) -> bool {
    paths(file).any(|one| one == path)
}

fn paths(file: &FileDiff) -> impl Iterator<Item = &str> {
    [&file.old_path, &file.new_path]
        .into_iter()
        .filter_map(|path| path.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::{Confidence, Severity};

    fn finding(file: Option<&str>, line: Option<u64>) -> Finding {
        Finding {
            file: file.map(str::to_owned),
            line,
            end_line: None,
            issue: "wrong".to_owned(),
            evidence: Some("The same in `c.rs` line 4.".to_owned()),
            suggestion: None,
            replacement: None,
            severity: Severity::Major,
            confidence: Confidence::CERTAIN,
            pre_existing: false,
            refuted: None,
        }
    }

    fn changed(path: &str, hunks: &[(Range<u64>, Range<u64>)]) -> FileDiff {
        let hunks = hunks.iter().cloned();
        FileDiff {
            old_path: Some(path.to_owned()),
            new_path: Some(path.to_owned()),
            hunks: hunks.map(|(old, new)| Hunk { old, new }).collect(),
            edits: Vec::new(),
        }
    }

    #[test]
    fn a_finding_is_resolved_when_its_lines_changed_or_its_file_without_a_line() {
        let files = [changed("a.rs", &[(3..5, 3..4), (20..20, 19..22)])];
        for (line, resolved) in [
            (Some(2), 0),
            (Some(3), 1),
            (Some(4), 1),
            (Some(5), 0),
            (Some(18), 0),
            (Some(19), 1),
            (Some(20), 1),
            (Some(21), 0),
            (None, 1),
        ] {
            let expected = Resolution {
                findings: 1,
                resolved,
            };
            let found = resolution(&[finding(Some("a.rs"), line)], &files);
            assert_eq!(found, expected, "{line:?}");
        }
        let range = Finding {
            end_line: Some(3),
            ..finding(Some("a.rs"), Some(1))
        };
        assert_eq!(resolution(&[range], &files).resolved, 1);
    }

    #[test]
    fn only_findings_of_the_change_with_a_place_are_measured() {
        let files = [changed("a.rs", &[(3..5, 3..4)])];
        let on_line = finding(Some("a.rs"), Some(3));
        let older = Finding {
            pre_existing: true,
            ..on_line.clone()
        };
        let refuted = Finding {
            refuted: Some("no".to_owned()),
            ..on_line.clone()
        };
        let all = [
            on_line,
            older,
            refuted,
            finding(None, None),
            finding(Some("b.rs"), None),
        ];
        let expected = Resolution {
            findings: 2,
            resolved: 1,
        };
        assert_eq!(resolution(&all, &files), expected);
    }

    #[test]
    fn places_that_no_finding_names_are_listed() {
        let files = [
            changed("a.rs", &[(1..2, 1..2), (25..26, 25..25), (60..60, 60..63)]),
            changed("b.rs", &[(7..9, 7..8)]),
            changed("c.rs", &[(90..91, 90..91)]),
            changed("logo.png", &[]),
        ];
        let named = Named::of(&finding(Some("a.rs"), Some(20))).unwrap();
        let place = |file: &str, line, lines| ChangedPlace {
            file: file.to_owned(),
            line,
            lines,
        };
        let outside = |named: Named| super::outside(&files, &[named]);
        assert_eq!(
            outside(named.clone()),
            [
                place("a.rs", Some(1), 1),
                place("a.rs", Some(60), 3),
                place("b.rs", Some(7), 2),
                place("logo.png", None, 0),
            ]
        );
        let elsewhere = [place("b.rs", Some(7), 2), place("logo.png", None, 0)];
        assert_eq!(outside(named.on_lines(false)), elsewhere);
    }
}
