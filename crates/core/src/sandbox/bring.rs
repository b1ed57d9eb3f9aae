//! Patterns of untracked files to copy into a sandbox. Patterns that leave the repository are
//! refused.

use crate::problem::{Kind, Problem};
use globset::{GlobBuilder, GlobMatcher};

/// A pattern of paths relative to the repository's root, which cannot match outside of it.
#[derive(Clone, Debug)]
pub struct BringPattern {
    text: String,
    matcher: GlobMatcher,
    base: String,
}

impl BringPattern {
    /// Parses a pattern; the problem says why it is refused. `setting` is the key it came from.
    pub fn parse(setting: &str, text: &str) -> Result<Self, Problem> {
        let clean = text
            .strip_prefix("./")
            .unwrap_or(text)
            .trim_end_matches('/');
        if let Some(reason) = refusal(clean) {
            return Err(Problem::new(
                Kind::BadPattern,
                format!("`{}` in `{setting}` {reason}", text.escape_debug()),
            )
            .hint(
                "name a path inside the repository, such as `.env.example` or `fixtures/*.bin`",
            ));
        }
        let glob = GlobBuilder::new(clean)
            .literal_separator(true)
            .build()
            .map_err(|error| {
                Problem::new(
                    Kind::BadPattern,
                    format!("`{text}` in `{setting}` is not a pattern"),
                )
                .because(error)
            })?;
        Ok(Self {
            text: text.to_owned(),
            base: literal_base(clean),
            matcher: glob.compile_matcher(),
        })
    }

    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The folder that contains everything the pattern can match, so that only this folder is
    /// searched; empty for the root. A pattern without wildcards is its own base.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the pattern matches a path relative to the root.
    pub fn matches(&self, path: &std::path::Path) -> bool {
        self.matcher.is_match(path)
    }
}

fn refusal(pattern: &str) -> Option<&'static str> {
    if pattern.is_empty() || pattern == "." {
        return Some("names the whole repository");
    }
    if pattern.starts_with('/') || pattern.starts_with('~') {
        return Some("is not relative to the repository");
    }
    if pattern.contains('\0') {
        return Some("contains a NUL");
    }
    let mut parts = pattern.split('/');
    if parts.clone().any(|part| part == "..") {
        return Some("leaves the repository with `..`");
    }
    if parts.any(|part| part.eq_ignore_ascii_case(".git")) {
        return Some("reaches into `.git`");
    }
    None
}

fn literal_base(pattern: &str) -> String {
    let parts: Vec<&str> = pattern
        .split('/')
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn patterns_that_escape_are_refused() {
        for text in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "~/x",
            "",
            ".",
            ".git/config",
            "a/.GIT/x",
        ] {
            let problem = BringPattern::parse("sandbox.copy", text).unwrap_err();
            assert_eq!(problem.kind, Kind::BadPattern, "{text}");
        }
    }

    #[test]
    fn a_star_stays_within_one_folder() {
        let pattern = BringPattern::parse("sandbox.copy", "fixtures/*.bin").unwrap();
        assert!(pattern.matches(Path::new("fixtures/a.bin")));
        assert!(!pattern.matches(Path::new("fixtures/deep/a.bin")));
        assert_eq!(pattern.base(), "fixtures");
    }

    #[test]
    fn a_plain_path_is_its_own_base() {
        let pattern = BringPattern::parse("sandbox.seed", "./target/").unwrap();
        assert_eq!(pattern.base(), "target");
        assert!(pattern.matches(Path::new("target")));
    }
}
