/// The first version in `text`: three numbers with dots, and any suffix.
pub(super) fn find_version(text: &str) -> Option<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')'))
        .map(|word| word.trim_start_matches('v'))
        .find(|word| {
            let mut numbers = word.splitn(3, '.');
            let whole = |part: Option<&str>| {
                part.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
            };
            whole(numbers.next())
                && whole(numbers.next())
                && numbers
                    .next()
                    .is_some_and(|p| p.starts_with(|c: char| c.is_ascii_digit()))
        })
        .map(str::to_owned)
}

/// A warning about a version that was not verified; `None` for a verified one.
pub(super) fn warning(agent: &str, version: Option<&str>, verified: &[&str]) -> Option<String> {
    let names = verified
        .iter()
        .map(|v| format!("`{v}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match version {
        Some(version) if verified.contains(&version) => None,
        Some(version) => Some(format!(
            "agent `{agent}` has version `{version}`; tested with {names}"
        )),
        None if verified.is_empty() => None,
        None => Some(format!(
            "agent `{agent}` does not print its version; tested with {names}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_the_agents_print() {
        let table = [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("v0.61.0-nightly.1", Some("0.61.0-nightly.1")),
            ("cat (GNU coreutils) 9.7", None),
            ("1.2", None),
            ("", None),
        ];
        for (text, version) in table {
            assert_eq!(find_version(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn an_unknown_version_is_a_warning_that_names_what_was_verified() {
        assert_eq!(warning("x", Some("1.0.0"), &["1.0.0"]), None);
        assert_eq!(warning("x", None, &[]), None);
        assert_eq!(
            warning("x", Some("9.9.9"), &["1.0.0", "1.1.0"]).as_deref(),
            Some("agent `x` has version `9.9.9`; tested with `1.0.0`, `1.1.0`")
        );
    }
}
