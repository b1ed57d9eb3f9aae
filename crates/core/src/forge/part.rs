//! Drive's own part of a pull request's description. Text that people write around it is preserved.

use super::text::fit;
use crate::ids::RunId;

pub(super) const BEGIN: &str = "<!-- drive-part-begin:";
pub(super) const END: &str = "<!-- drive-part-end:";
const CLOSE: &str = " -->";

/// The text as the own part of a run. It cannot hold the marks itself.
pub fn own(run: &RunId, text: &str) -> String {
    let text = unmarked(text);
    format!("{BEGIN}{run}{CLOSE}\n{text}\n{END}{run}{CLOSE}")
}

/// Text of others in which nothing reads as a mark.
pub fn unmarked(text: &str) -> String {
    // Nothing is taken out: what is left could be another mark.
    let shown = |mark: &str| mark.replace('<', "&lt;");
    text.replace(BEGIN, &shown(BEGIN)).replace(END, &shown(END))
}

/// The description with its own part as the new one has it. Without an own part, the new one is the
/// whole description; where a person removed the part, it comes back at the end. Where the two are
/// too long together, the own part is cut.
pub fn replaced(current: &str, new: &str, limit: usize) -> String {
    let Some((begin, end)) = marks(new) else {
        return new.to_owned();
    };
    let Some((_, own, _)) = split(new, &begin, &end) else {
        return new.to_owned();
    };
    let (before, after) = match split(current, &begin, &end) {
        Some((before, _, after)) => (before.to_owned(), after),
        None if current.trim().is_empty() => return new.to_owned(),
        None => (format!("{}\n\n", current.trim_end()), ""),
    };
    let around = [before.as_str(), &begin, &end, after];
    let used: usize = around.iter().map(|text| text.chars().count()).sum();
    let own = fit(own, limit.saturating_sub(used));
    format!("{before}{begin}{own}{end}{after}")
}

/// The marks of the part in a text, as they stand there.
fn marks(text: &str) -> Option<(String, String)> {
    let (_, rest) = text.split_once(BEGIN)?;
    let (run, _) = rest.split_once(CLOSE)?;
    Some((
        format!("{BEGIN}{run}{CLOSE}\n"),
        format!("\n{END}{run}{CLOSE}"),
    ))
}

fn split<'a>(text: &'a str, begin: &str, end: &str) -> Option<(&'a str, &'a str, &'a str)> {
    // An editor in a browser may have changed how lines end.
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
