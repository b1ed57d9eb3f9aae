//! The text of a post: visible text, then the hidden marker, within the forge's size limit.

use crate::verify::text::tail;

/// The longest body that a forge accepts, in characters.
pub const BODY_CHARS: usize = 65_536;

const NOTE: &str = "\n\n*(truncated: the text is too long for a comment)*";

/// The body with its marker at the end. A body that is too long is cut with a note; the marker
/// stays complete.
pub fn compose(body: &str, marker: &str) -> String {
    let body = without_markers(body, marker);
    let tail = if marker.is_empty() {
        String::new()
    } else {
        format!("\n\n{marker}")
    };
    let room = BODY_CHARS.saturating_sub(tail.chars().count());
    format!("{}{tail}", fit(body.trim_end(), room))
}

/// How many bytes before a cut the beginning of its word is searched for.
const WORD_BYTES: usize = 200;

/// The text within `room` characters, with a note if it was cut. A cut never turns code into text,
/// or a word into another word: either could act on the forge.
pub fn fit(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let keep = room.saturating_sub(NOTE.chars().count());
    let kept: String = text.chars().take(keep).collect();
    // Code that is left unchanged is closed on its line.
    let line = kept.rfind('\n').unwrap_or_default();
    let end = kept[line..].find('`');
    let end = end.map_or(kept.len(), |tick| line + tick);
    let last = tail(&kept[..end], WORD_BYTES);
    let word = last.rfind(char::is_whitespace).map(|at| last.len() - at);
    let kept = &kept[..end - word.unwrap_or_default()];
    format!("{}{NOTE}", kept.trim_end())
}

/// The longest quote of foreign text in one line.
pub const LINE_CHARS: usize = 80;

/// Foreign text as part of one line: without markup, mentions and markers.
pub fn plain_line(text: &str, most: usize) -> String {
    let mut words = String::new();
    let mut before = ' ';
    let kept = |c: &char| !c.is_control() && !matches!(c, '*' | '`' | '#' | '<' | '>');
    for c in text.chars().filter(kept).take(most) {
        // Within a word, `@` is part of an address.
        if c != '@' || before.is_ascii_alphanumeric() {
            words.push(c);
        }
        before = c;
    }
    words.trim().to_owned()
}

/// The first non-empty line, shortened for use in a line of ours.
pub fn first_line(body: &str) -> String {
    let line = body.lines().find(|line| !line.trim().is_empty());
    plain_line(line.unwrap_or_default(), LINE_CHARS)
}

/// A quote of the post that a reply answers: its author, a link if one is known, and its beginning.
pub fn quoted(author: &str, url: Option<&str>, body: &str) -> String {
    let author = match plain_line(author, LINE_CHARS) {
        nobody if nobody.is_empty() => "somebody".to_owned(),
        author => author,
    };
    let who = match url.filter(|url| is_plain_link(url)) {
        Some(url) => format!("[{author}]({url})"),
        None => author,
    };
    format!("> {who}: {}", first_line(body))
}

fn is_plain_link(url: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "()<>[]".contains(c);
    url.starts_with("https://") && !url.contains(is_odd)
}

/// The body without the marker, which text read from a forge may already contain.
fn without_markers(body: &str, marker: &str) -> String {
    if marker.is_empty() {
        body.to_owned()
    } else {
        body.replace(marker, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_body_is_followed_by_its_marker() {
        assert_eq!(
            compose("looks good\n", "<!-- drive:1 -->"),
            "looks good\n\n<!-- drive:1 -->"
        );
    }

    #[test]
    fn composing_twice_changes_nothing() {
        let once = compose("looks good", "<!-- drive:1 -->");
        assert_eq!(compose(&once, "<!-- drive:1 -->"), once);
    }

    #[test]
    fn a_long_body_is_cut_with_a_note_and_keeps_its_marker() {
        let text = compose(&"ü".repeat(70_000), "<!-- drive:1 -->");
        assert_eq!(text.chars().count(), BODY_CHARS);
        assert!(text.ends_with(&format!("{NOTE}\n\n<!-- drive:1 -->")));
    }

    #[test]
    fn a_cut_leaves_no_code_open_and_no_word_in_part() {
        let room = NOTE.chars().count() + 20;
        let long = "x".repeat(200);
        for (text, kept) in [
            ("one two `@ann is here`", "one two"),
            ("a `b` c\ntwo `@ann is here`", "a `b` c\ntwo"),
            ("a fix #1a2b3c4d5e6f", "a fix"),
            ("one two three four #1a", "one two three four"),
        ] {
            assert_eq!(fit(&format!("{text}{long}"), room), format!("{kept}{NOTE}"));
        }
    }

    #[test]
    fn a_quote_is_one_line_that_calls_nobody() {
        let long = "x".repeat(100);
        let cases = [
            ("ann", None, "\n\n  one\ntwo", "> ann: one"),
            (
                "ann",
                Some("https://a.example/7#c5"),
                "one",
                "> [ann](https://a.example/7#c5): one",
            ),
            ("ann", Some("javascript:x"), "one", "> ann: one"),
            ("ann", Some("https://a.example/)x"), "one", "> ann: one"),
            (
                "",
                None,
                "@bob, (@@eve) and a@b.example",
                "> somebody: bob, (eve) and a@b.example",
            ),
            (
                "a\nnn",
                None,
                "# **bold** `code` <!-- x -->",
                "> ann: bold code !-- x --",
            ),
            ("ann", None, &long, &format!("> ann: {}", &long[..80])),
        ];
        for (author, url, body, expected) in cases {
            assert_eq!(quoted(author, url, body), expected);
        }
    }

    #[test]
    fn a_body_that_just_fits_is_not_cut() {
        let body = "x".repeat(BODY_CHARS);
        assert_eq!(compose(&body, ""), body);
    }
}
