//! "Did you mean" suggestions for misspelled names.

/// The smallest Jaro-Winkler similarity, from 0 to 1, at which a name is suggested.
const ALIKE: f64 = 0.78;

/// The most similar candidate, unless none is similar enough.
pub(crate) fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let written = plain(written);
    candidates
        .into_iter()
        .map(|candidate| (likeness(&written, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// The Jaro-Winkler similarity. A whole part of a name always suffices: `tests` for `targeted_tests`.
fn likeness(written: &str, candidate: &str) -> f64 {
    let is_part = written.len() >= 4 && candidate.split('_').any(|part| part == written);
    let alike = strsim::jaro_winkler(written, candidate);
    if is_part { alike.max(ALIKE) } else { alike }
}

/// `did you mean …`, or the whole list if nothing is similar and the list is short.
pub(crate) fn suggestion<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(name) = nearest(written, candidates.clone()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let names: Vec<String> = candidates
        .into_iter()
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len() {
        0 => None,
        1..=12 => Some(format!("possible here: {}", names.join(", "))),
        _ => None,
    }
}

/// The name without differences in case, hyphens and underscores, which people mix up most.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let names = ["idle_timeout", "total_timeout", "agent", "max_escalations"];
        assert_eq!(nearest("idle_timout", names), Some("idle_timeout"));
        assert_eq!(nearest("Total-Timeout", names), Some("total_timeout"));
        assert_eq!(nearest("maxescalation", names), Some("max_escalations"));
        assert_eq!(nearest("colour", names), None);
    }
}
