//! The text of a post: what people read, then the hidden marker, within what a forge takes.

/// The longest body a forge takes, in characters.
pub const BODY_CHARS: usize = 65_536;

const NOTE: &str = "\n\n*(cut: the text was longer than a comment may be)*";

/// The body with its marker at the end. A body too long is cut and says so; the marker stays whole.
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

/// The text within `room` characters; what is cut off is noted.
pub fn fit(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let keep = room.saturating_sub(NOTE.chars().count());
    let kept: String = text.chars().take(keep).collect();
    format!("{}{NOTE}", kept.trim_end())
}

/// A body may already carry the marker, when text read from a forge is posted again.
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
    fn a_body_that_just_fits_is_not_cut() {
        let body = "x".repeat(BODY_CHARS);
        assert_eq!(compose(&body, ""), body);
    }
}
