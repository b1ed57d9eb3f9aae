//! Converts a program's output to text that is safe to print, store and send.

/// Converts bytes to text: invalid UTF-8 becomes the replacement character, escape sequences and
/// other control characters are dropped, and a carriage return restarts the line.
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// The text on one line, without characters that could leave the line.
pub fn one_line(text: &str) -> String {
    printable(text.as_bytes())
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The first `most` names of a list as code, and the number of the others.
pub fn named<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown = names.iter().take(most);
    let shown: Vec<String> = shown.map(|name| format!("`{}`", name.as_ref())).collect();
    let more = match names.len().saturating_sub(most) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    shown.join(", ") + &more
}

/// At most the last `max` bytes, cut between characters.
pub fn tail(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// The last lines within `max` bytes. A first line that was cut is left out, unless it is the only one.
pub fn tail_lines(text: &str, max: usize) -> &str {
    let cut = tail(text, max);
    if cut.len() == text.len() {
        return cut;
    }
    match cut.find('\n') {
        Some(at) if at + 1 < cut.len() => &cut[at + 1..],
        Some(_) | None => cut,
    }
}

/// Whether a character reorders or hides text, so that readers see something else than the real text.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Skips the characters after an escape character: a CSI or OSC sequence, or one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            for c in chars.by_ref() {
                if ('\u{40}'..='\u{7e}').contains(&c) {
                    break;
                }
            }
        }
        Some(']' | 'P' | '^' | '_' | 'X') => skip_string(chars),
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            chars.next();
            chars.next();
        }
        Some('\n') | None => {}
        Some(_) => {
            chars.next();
        }
    }
}

/// Skips an operating system command, which ends with BEL, ESC `\`, or the line if it is unterminated.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(&c) = chars.peek() {
        if c == '\n' {
            return;
        }
        chars.next();
        if c == '\u{7}' {
            return;
        }
        if c == '\u{1b}' {
            if chars.peek() == Some(&'\\') {
                chars.next();
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_and_invalid_bytes_become_plain_text() {
        let table: &[(&[u8], &str)] = &[
            (b"plain\n", "plain\n"),
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b]0;never closed\nnext", "\nnext"),
            (b"10%\r20%\r\ndone", "10%\n20%\ndone"),
            (b"a\0b\x08c\x7f", "abc"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
            ("a\u{202e}b\u{200b}c".as_bytes(), "abc"),
            (b"\x1b(Bx", "x"),
            (b"end\x1b", "end"),
        ];
        for (bytes, expected) in table {
            assert_eq!(printable(bytes), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_tail_is_cut_between_characters_and_at_a_line() {
        assert_eq!(tail("aé", 1), "");
        assert_eq!(tail("aé", 2), "é");
        assert_eq!(tail_lines("one\ntwo\nthree\n", 11), "two\nthree\n");
        assert_eq!(tail_lines("one\ntwo\nthree\n", 9), "three\n");
        assert_eq!(tail_lines("one\n", 11), "one\n");
        assert_eq!(tail_lines("abcdef", 3), "def");
    }

    proptest! {
        #[test]
        fn printable_text_has_no_control_character_but_newline_and_tab(bytes: Vec<u8>) {
            let text = printable(&bytes);
            prop_assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{text:?}");
        }
    }
}
