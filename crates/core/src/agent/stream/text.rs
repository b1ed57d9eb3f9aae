use crate::verify::text::tail;

/// At most `max` bytes of `text`, cut between characters; a mark shows the cut.
pub(super) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max)])
}

/// The first line of a text, shortened.
pub(super) fn one_line(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    cut(first, 200)
}

/// Appends text, and drops the beginning beyond the limit. It drops only at twice the limit, so
/// that a long stream costs linear time.
pub(super) fn push_bounded(kept: &mut String, text: &str, max: usize) {
    kept.push_str(text);
    if kept.len() > max * 2 {
        let from = kept.len() - tail(kept, max).len();
        kept.drain(..from);
    }
}
