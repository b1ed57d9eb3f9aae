//! Parses the Test Anything Protocol and the tree that node prints instead. Each test is named by
//! its path, because titles such as `should be equal` occur often.

use std::collections::BTreeSet;

/// The separator between the titles of a test's path.
const WITHIN: &str = " > ";

/// The open suites around a line, each with its indentation.
#[derive(Default)]
struct Around<'a>(Vec<(usize, &'a str)>);

impl<'a> Around<'a> {
    fn open(&mut self, indent: usize, title: &'a str) {
        self.0.retain(|(other, _)| *other < indent);
        self.0.push((indent, title));
    }

    /// The path of a title at this indentation; `None` if the output was cut above it.
    fn path(&self, indent: usize, step: usize, title: &str) -> Option<String> {
        let outer = self.0.iter().filter(|(other, _)| *other < indent);
        let mut path: Vec<&str> = outer.map(|(_, title)| *title).collect();
        if path.len() != indent / step {
            return None;
        }
        path.push(title);
        Some(path.join(WITHIN))
    }
}

/// Parses `not ok 3 - name` below the `# Subtest: name` of the suites around it (node 18 to 24, tap
/// 21, ava 7, mocha 11), and `not ok 3 name` below `# name` (tape 5).
pub(super) fn tap(lines: &[&str]) -> Vec<String> {
    let mut around = Around::default();
    let mut comment = None;
    let mut names = BTreeSet::new();
    for line in lines {
        let (indent, line) = indented(line);
        if let Some(title) = line.strip_prefix("# Subtest: ") {
            around.open(indent, title);
            continue;
        }
        if let Some(title) = line.strip_prefix("# ") {
            comment = Some(title).filter(|_| indent == 0);
            continue;
        }
        let Some(failed) = line.strip_prefix("not ok ") else {
            continue;
        };
        let Some((number, name)) = failed.split_once(' ') else {
            continue;
        };
        let Some(title) = title(name).filter(|_| number.bytes().all(|b| b.is_ascii_digit())) else {
            continue;
        };
        let path = match (name.strip_prefix("- "), comment) {
            (None, Some(comment)) => Some(format!("{comment}{WITHIN}{title}")),
            (Some(_), _) | (None, None) => around.path(indent, 4, title),
        };
        names.extend(path);
        if name.ends_with(" {") {
            // Its contents follow in braces.
            around.open(indent, title);
        }
    }
    innermost(&names)
}

/// The title of a test point without its directive; `None` if it is allowed to fail.
fn title(name: &str) -> Option<&str> {
    let name = name.strip_prefix("- ").unwrap_or(name);
    let name = name.strip_suffix(" {").unwrap_or(name);
    let Some((title, directive)) = name.rsplit_once(" # ") else {
        return Some(name);
    };
    let word = directive.split([' ', '=']).next().unwrap_or(directive);
    match word.to_ascii_lowercase().as_str() {
        "todo" | "skip" => None,
        "time" => Some(title),
        _ => Some(name),
    }
}

/// Parses `✖ adds (2.8ms)` within `▶ calc`, as node prints it for people (18 to 24). Node lists the
/// failures again without their suites.
pub(super) fn node_tree(lines: &[&str]) -> Vec<String> {
    let mut around = Around::default();
    let mut names = BTreeSet::new();
    for line in lines {
        let (indent, line) = indented(line);
        if line == "✖ failing tests:" {
            break;
        }
        if let Some(title) = line.strip_prefix("▶ ") {
            around.open(indent, title);
        } else if let Some(title) = line.strip_prefix("✖ ").and_then(timed) {
            names.extend(around.path(indent, 2, title));
        }
    }
    innermost(&names)
}

/// The title before `(2.8ms)`; a directive follows it.
fn timed(line: &str) -> Option<&str> {
    let (title, time) = line.strip_suffix("ms)")?.rsplit_once(" (")?;
    time.parse::<f64>().is_ok().then_some(title)
}

fn indented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len(), rest)
}

/// The names without suites that failed because of a test in them: runners do not count these.
fn innermost(names: &BTreeSet<String>) -> Vec<String> {
    let is_outer = |name: &String| {
        let inside = format!("{name}{WITHIN}");
        names.iter().any(|other| other.starts_with(&inside))
    };
    let inner = names.iter().filter(|name| !is_outer(name));
    inner.cloned().collect()
}
