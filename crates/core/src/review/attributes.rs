//! Reads the rules of `.gitattributes` that mark generated and vendored files, as GitHub does.

use super::folded::Folded;

/// How many lines are read at most.
const MOST_RULES: usize = 200;
/// The longest pattern.
const PATTERN_BYTES: usize = 300;

/// The marks in the `.gitattributes` at the root of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    rules: Vec<(String, Folded, bool)>,
}

impl Attributes {
    /// Parses the file. Macros and quoted patterns are skipped.
    pub(super) fn parse(text: &str) -> Self {
        let mut rules = Vec::new();
        for line in text
            .lines()
            .filter(|line| !line.starts_with(['#', '[', '"']))
        {
            let mut words = line.split_whitespace();
            let pattern = words.next().unwrap_or_default();
            if pattern.len() > PATTERN_BYTES || pattern.contains(['[', '\\']) {
                continue;
            }
            let marks = words.filter_map(mark);
            rules.extend(marks.map(|(what, is_set)| (pattern.to_owned(), what, is_set)));
        }
        rules.truncate(MOST_RULES);
        Self { rules }
    }

    /// The mark of a file. The last matching rule counts.
    pub(super) fn of(&self, path: &str) -> Option<Folded> {
        [Folded::Generated, Folded::Vendored]
            .into_iter()
            .find(|what| {
                let rules = self.rules.iter().rev().filter(|rule| rule.1 == *what);
                let mut about = rules.filter(|rule| is_about(&rule.0, path));
                about.next().is_some_and(|rule| rule.2)
            })
    }
}

/// One attribute of a line, and whether it is set.
fn mark(word: &str) -> Option<(Folded, bool)> {
    let (name, is_set) = match (word.strip_prefix(['-', '!']), word.split_once('=')) {
        (Some(name), _) => (name, false),
        (None, Some((name, value))) => (name, value.eq_ignore_ascii_case("true")),
        (None, None) => (word, true),
    };
    match name {
        "linguist-generated" => Some((Folded::Generated, is_set)),
        "linguist-vendored" => Some((Folded::Vendored, is_set)),
        _ => None,
    }
}

/// Whether a pattern matches this file. A pattern without a slash matches the file's name in any folder.
fn is_about(pattern: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match pattern.strip_prefix('/') {
        Some(rooted) => matches(rooted, path),
        None if pattern.contains('/') => matches(pattern, path),
        None => matches(pattern, name),
    }
}

/// Whether a pattern matches a path. `*` and `?` do not match a slash, `**` does.
fn matches(pattern: &str, path: &str) -> bool {
    // The positions in the pattern that are reachable after the part of the path read so far.
    let pattern = pattern.as_bytes();
    let mut at = vec![false; pattern.len() + 1];
    at[0] = true;
    skip_stars(pattern, &mut at);
    for byte in path.bytes() {
        let mut next = vec![false; pattern.len() + 1];
        for (place, wanted) in pattern.iter().enumerate().filter(|(place, _)| at[*place]) {
            match wanted {
                b'*' => next[place] |= byte != b'/' || is_deep(pattern, place),
                b'?' => next[place + 1] |= byte != b'/',
                wanted => next[place + 1] |= *wanted == byte,
            }
        }
        skip_stars(pattern, &mut next);
        at = next;
    }
    at[pattern.len()]
}

/// Adds positions after stars, because a star may match nothing, and `**/` no folder.
fn skip_stars(pattern: &[u8], at: &mut [bool]) {
    for place in 0..pattern.len() {
        if at[place] && pattern[place] == b'*' {
            at[place + 1] = true;
            let is_start = place == 0 || pattern[place - 1] == b'/';
            if is_start && pattern[place..].starts_with(b"**/") {
                at[place + 3] = true;
            }
        }
    }
}

/// Whether the star at this position is part of `**`.
fn is_deep(pattern: &[u8], place: usize) -> bool {
    pattern.get(place + 1) == Some(&b'*') || (place > 0 && pattern[place - 1] == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_files_as_git_reads_it() {
        let table = [
            ("*.rs", "src/a.rs", true),
            ("a.rs", "src/a.rs", true),
            ("/a.rs", "src/a.rs", false),
            ("/a.rs", "a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**", "src/b/a.rs", true),
            ("**/gen/*.go", "a/b/gen/x.go", true),
            ("**/gen/*.go", "gen/x.go", true),
            ("a/**/x.go", "a/x.go", true),
            ("a/**/x.go", "a/b/c/x.go", true),
            ("a?.rs", "ab.rs", true),
            ("src", "src/a.rs", false),
            ("src/", "src/a.rs", false),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(is_about(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_rule_for_a_file_counts() {
        let marked = Attributes::parse(
            "# a comment\n*.pb.go linguist-generated\ngen/** text linguist-generated=true\n\
             gen/keep.rs -linguist-generated\nlib/** linguist-vendored\n* text=auto\n",
        );
        assert_eq!(marked.of("a/b.pb.go"), Some(Folded::Generated));
        assert_eq!(marked.of("gen/x.rs"), Some(Folded::Generated));
        assert_eq!(marked.of("gen/keep.rs"), None);
        assert_eq!(marked.of("lib/x.rs"), Some(Folded::Vendored));
        assert_eq!(marked.of("src/x.rs"), None);
    }
}
