//! The placeholders of a template.

/// The names of all placeholders.
pub(super) fn holes(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, hole, after) = next_hole(rest)?;
        rest = after;
        Some(hole)
    })
}

/// The text before the next `{{name}}`, the name, and the text after it.
pub(super) fn next_hole(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (hole, after) = rest.split_once("}}")?;
    Some((before, hole.trim(), after))
}
