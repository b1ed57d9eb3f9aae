/// The variables of a file such as `~/.gemini/.env`: `NAME=value` by line, with or without `export`
/// and quotes.
pub(super) fn variables(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then(|| (name.to_owned(), unquoted(value.trim()).to_owned()))
    })
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest.split(quote).next().unwrap_or(rest);
        }
    }
    value.split(" #").next().unwrap_or(value).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_a_shell_would() {
        let text =
            "# a comment=1\nA=1\nexport B = \"two words\" # why\nC='x=y'\nD=4 # four\n=5\nE\n";
        let read: Vec<(String, String)> = variables(text).collect();
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "4")];
        assert_eq!(
            read,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
