//! Places in the repository that a failing command names, in the formats of compilers and test runners.

use crate::verify::envelope::Stage;

/// The longest line that is read, in bytes.
const LINE_BYTES: usize = 1_000;

/// A file of the repository, with a line if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The path relative to the repository's root, with `/` as the separator.
    pub(super) path: String,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

/// The whole file; `None` if the path is not inside the repository.
pub(super) fn whole_file(path: &str) -> Option<Place> {
    Some(Place {
        path: within(path)?,
        line: None,
        column: None,
    })
}

/// The first place at which a stage's output reports an error.
pub(super) fn in_output(stage: &Stage, root: Option<&str>) -> Option<Place> {
    let cwd = stage.cwd.as_deref();
    first_in(&stage.stderr_tail, cwd, root).or_else(|| first_in(&stage.stdout_tail, cwd, root))
}

fn first_in(output: &str, cwd: Option<&str>, root: Option<&str>) -> Option<Place> {
    let mut is_warning = false;
    for line in output.lines().filter(|line| line.len() <= LINE_BYTES) {
        if line.starts_with("warning") {
            is_warning = true;
        } else if line.starts_with("error") {
            is_warning = false;
        }
        let Some((path, line, column)) = spelled(line, is_warning) else {
            continue;
        };
        if let Some(path) = in_repository(path, cwd, root) {
            return Some(Place {
                path,
                line: Some(line),
                column,
            });
        }
    }
    None
}

/// The place in a line, in one of the common formats.
fn spelled(line: &str, is_warning: bool) -> Option<(&str, u32, Option<u32>)> {
    if let Some(rest) = line.trim_start().strip_prefix("--> ") {
        // rustc prints an arrow below the message.
        return if is_warning { None } else { colons(rest) };
    }
    if let Some((_, rest)) = line.split_once("panicked at ") {
        return colons(rest);
    }
    let at = line.find(|c: char| c == ':' || c == '(' || c.is_whitespace())?;
    match line.as_bytes()[at] {
        b':' => {
            let found = colons(line)?;
            let is_lesser = ["warning", "note", "info"]
                .iter()
                .any(|word| line.contains(&format!(": {word}")));
            (!is_lesser).then_some(found)
        }
        b'(' => {
            // TypeScript prints `src/a.ts(3,5): error TS2322: …`.
            let (inside, rest) = line[at + 1..].split_once(')')?;
            let (row, column) = inside.split_once(',')?;
            let is_error = rest.starts_with(": error");
            is_error.then_some((&line[..at], row.parse().ok()?, column.parse().ok()))
        }
        _ => None,
    }
}

/// Parses `path:12` or `path:12:5`, followed by any text.
fn colons(text: &str) -> Option<(&str, u32, Option<u32>)> {
    let mut parts = text.trim_end().splitn(4, ':');
    let path = parts.next()?;
    let line = parts.next()?.parse().ok()?;
    let column = parts.next().and_then(|part| part.parse().ok());
    let name = path.rsplit('/').next()?;
    let looks_like_file = name.contains('.') && !path.contains(char::is_whitespace);
    looks_like_file.then_some((path, line, column))
}

/// A path that a command printed, relative to the repository's root.
fn in_repository(path: &str, cwd: Option<&str>, root: Option<&str>) -> Option<String> {
    let below = |whole: &str| -> Option<String> {
        let rest = whole.strip_prefix(root?.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
    };
    if path.starts_with('/') {
        return within(below(path)?.trim_start_matches('/'));
    }
    let folder = match cwd {
        Some(cwd) => below(cwd)?,
        None => String::new(),
    };
    let path = path.strip_prefix("./").unwrap_or(path);
    within(format!("{folder}/{path}").trim_start_matches('/'))
}

/// A relative path that does not lead upwards.
fn within(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let leads_down = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    let is_plain = !path.contains(|c: char| c.is_control() || c == '\\');
    (leads_down && is_plain).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(output: &str) -> Option<(String, Option<u32>, Option<u32>)> {
        let place = first_in(output, Some("/w/app"), Some("/w"))?;
        Some((place.path, place.line, place.column))
    }

    #[test]
    fn the_places_of_common_tools_are_found() {
        for (output, expected) in [
            (
                "error[E0308]: mismatched\n  --> src/lib.rs:3:5\n",
                ("app/src/lib.rs", 3, Some(5)),
            ),
            (
                "warning: unused\n --> src/a.rs:1:1\nerror: no\n --> src/b.rs:2:1\n",
                ("app/src/b.rs", 2, Some(1)),
            ),
            ("./sum.go:3:5: undefined: x\n", ("app/sum.go", 3, Some(5))),
            ("/w/lib/a.c:7:1: error: no\n", ("lib/a.c", 7, Some(1))),
            (
                "src/a.ts(3,5): error TS2322: no\n",
                ("app/src/a.ts", 3, Some(5)),
            ),
            (
                "tests/test_a.py:9: AssertionError\n",
                ("app/tests/test_a.py", 9, None),
            ),
            (
                "thread 'adds' (7) panicked at src/lib.rs:12:9:\n",
                ("app/src/lib.rs", 12, Some(9)),
            ),
        ] {
            let (path, line, column) = expected;
            assert_eq!(
                found(output),
                Some((path.to_owned(), Some(line), column)),
                "{output}"
            );
        }
    }

    #[test]
    fn what_is_no_place_in_the_repository_is_none() {
        for output in [
            "/usr/include/stdio.h:3:1: error: no",
            "../other/a.c:3:1: error: no",
            "/workspace/a.c:3:1: error: no",
            "src/a.c:3:1: warning: unused",
            "12:30:45 started",
            "localhost:8080:1: refused",
            "    sum_test.go:5: want 2",
            "a//b.c:1:1: error",
            "error: no",
            "é",
        ] {
            assert_eq!(found(output), None, "{output}");
        }
    }

    #[test]
    fn a_named_path_leads_down() {
        assert_eq!(whole_file("src/a").unwrap().path, "src/a");
        for path in ["", "/etc/passwd", "../a", "a/../b", "a\nb", "a/"] {
            assert_eq!(whole_file(path), None, "{path:?}");
        }
    }
}
