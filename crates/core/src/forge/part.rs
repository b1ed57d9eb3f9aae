//! Drive's own parts of a pull request's description: the outcome at its beginning, and the rest at its
//! end. Text that people write around them is preserved.

use super::text::fit;
use crate::ids::RunId;

pub(super) const BEGIN: &str = "<!-- drive-part-begin:";
pub(super) const END: &str = "<!-- drive-part-end:";
const CLOSE: &str = " -->";
/// The end of the name of the outcome part.
const OUTCOME: &str = "-outcome";

/// The text as a run's own part. The text itself cannot contain the marks.
pub fn own(run: &RunId, text: &str) -> String {
    marked(run.as_str(), text)
}

/// The text as the run's outcome part, which begins a description.
pub fn outcome(run: &RunId, text: &str) -> String {
    marked(&format!("{run}{OUTCOME}"), text)
}

fn marked(name: &str, text: &str) -> String {
    let text = unmarked(text);
    format!("{BEGIN}{name}{CLOSE}\n{text}\n{END}{name}{CLOSE}")
}

/// Foreign text, with everything that reads as a mark made harmless.
pub fn unmarked(text: &str) -> String {
    // Nothing is removed: the rest could form another mark.
    let shown = |mark: &str| mark.replace('<', "&lt;");
    text.replace(BEGIN, &shown(BEGIN)).replace(END, &shown(END))
}

/// The current description with drive's own parts taken from the new one. If the new one has no own
/// part, it replaces the whole description. If a person removed a part, the outcome is added at the
/// beginning and the other part at the end. If the result is too long, the last part is cut.
pub fn replaced(current: &str, new: &str, limit: usize) -> String {
    let parts = parts(new);
    let Some((last, first)) = parts.split_last() else {
        return new.to_owned();
    };
    if current.trim().is_empty() {
        return new.to_owned();
    }
    let mut text = current.to_owned();
    for part in first {
        text = part.put_into(&text, usize::MAX);
    }
    last.put_into(&text, limit)
}

/// One part, with its marks as they are in the text.
struct Part<'t> {
    begin: String,
    end: String,
    own: &'t str,
}

impl Part<'_> {
    fn put_into(&self, text: &str, limit: usize) -> String {
        let Part { begin, end, own } = self;
        let is_first = begin.contains(&format!("{OUTCOME}{CLOSE}"));
        let (before, after) = match split(text, begin, end) {
            Some((before, _, after)) => (before.to_owned(), after.to_owned()),
            None if is_first => (String::new(), format!("\n\n{}", text.trim_start())),
            None => (format!("{}\n\n", text.trim_end()), String::new()),
        };
        let around = [&before, begin, end, &after];
        let used: usize = around.iter().map(|text| text.chars().count()).sum();
        let own = fit(own, limit.saturating_sub(used));
        format!("{before}{begin}{own}{end}{after}")
    }
}

/// The parts of a text, in their order.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((_, named)) = rest.split_once(BEGIN) {
        let Some((name, _)) = named.split_once(CLOSE) else {
            break;
        };
        let begin = format!("{BEGIN}{name}{CLOSE}\n");
        let end = format!("\n{END}{name}{CLOSE}");
        let Some((_, own, after)) = split(rest, &begin, &end) else {
            break;
        };
        parts.push(Part { begin, end, own });
        rest = after;
    }
    parts
}

/// A description's own parts, and the other text.
pub(super) fn apart(text: &str) -> (String, String) {
    let mut own = Vec::new();
    let mut words = text.to_owned();
    for part in parts(text) {
        if let Some((before, found, after)) = split(&words, &part.begin, &part.end) {
            own.push(format!("{}{found}{}", part.begin, part.end));
            words = format!("{}\n\n{}", before.trim_end(), after.trim_start());
        }
    }
    (own.join("\n\n"), words.trim().to_owned())
}

fn split<'a>(text: &'a str, begin: &str, end: &str) -> Option<(&'a str, &'a str, &'a str)> {
    // An editor in a browser may have changed the line ends.
    let (begin, end) = (begin.trim_end(), end.trim_start());
    let from = text.find(begin)?;
    let own_from = from + begin.len();
    let own_to = own_from + text[own_from..].rfind(end)?;
    let own = text[own_from..own_to].trim_matches(['\r', '\n']);
    Some((&text[..from], own, &text[own_to + end.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 200;

    fn part(text: &str) -> String {
        own(&RunId::new("r-1"), text)
    }

    #[test]
    fn what_people_wrote_around_the_own_part_stays() {
        let current = format!("My words.\r\n\r\n{}\r\nAnd after.", part("old"));
        let new = format!("Summary.\n\n{}", part("new"));
        assert_eq!(
            replaced(&current, &new, LIMIT),
            format!("My words.\r\n\r\n{}\r\nAnd after.", part("new"))
        );
    }

    #[test]
    fn a_part_that_a_person_removed_comes_back_after_their_words() {
        let new = format!("Summary.\n\n{}", part("new"));
        assert_eq!(
            replaced("My words.\n", &new, LIMIT),
            format!("My words.\n\n{}", part("new"))
        );
        assert_eq!(replaced(" ", &new, LIMIT), new);
    }

    #[test]
    fn the_outcome_stays_first_and_what_a_person_wrote_between_the_parts_stays() {
        let with = |first: &str, between: &str, last: &str| {
            let first = outcome(&RunId::new("r-1"), first);
            format!("{first}\n\n{between}\n\n{}", part(last))
        };
        let new = with("**Approved**", "Summary.", "new");
        let edited = with("In review", "My words.", "old");
        let expected = with("**Approved**", "My words.", "new");
        assert_eq!(replaced(&edited, &new, 1000), expected);
        assert_eq!(replaced("My words.", &new, 1000), expected);
        let older = format!("My words.\n\n{}", part("old"));
        assert_eq!(replaced(&older, &new, 1000), expected);
        let long = with("**Approved**", "Summary.", &"n".repeat(1000));
        let cut = replaced(&edited, &long, 400);
        assert!(
            cut.contains("\n**Approved**\n") && cut.ends_with("end:r-1 -->"),
            "{cut}"
        );
    }

    #[test]
    fn a_description_without_a_part_is_replaced_whole() {
        assert_eq!(replaced("old", "new", LIMIT), "new");
    }

    #[test]
    fn the_own_part_gives_way_where_both_are_too_long() {
        let current = format!("{}{}", "p".repeat(100), part("old"));
        let text = replaced(&current, &part(&"n".repeat(LIMIT)), LIMIT);
        assert!(
            text.starts_with(&"p".repeat(100)) && text.ends_with("end:r-1 -->"),
            "{text}"
        );
    }

    #[test]
    fn a_mark_within_a_mark_leaves_no_mark() {
        for mark in [BEGIN, END] {
            let nested = format!("{mark}{}r-1{CLOSE}", mark.trim_start_matches("<!-- "));
            let text = unmarked(&nested);
            assert!(!text.contains(BEGIN) && !text.contains(END), "{text}");
        }
    }

    #[test]
    fn a_task_that_quotes_the_marks_cannot_move_them() {
        let evil = part(&format!("a {END}r-1{CLOSE} b {BEGIN}r-1{CLOSE}"));
        let current = format!("My words. {evil}");
        assert_eq!(
            replaced(&current, &part("new"), LIMIT),
            format!("My words. {}", part("new"))
        );
    }
}
