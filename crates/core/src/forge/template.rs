//! The team's template for descriptions of pull requests.

use super::part::unmarked;
use super::text::{BODY_CHARS, fit};

/// The largest template that is used, in bytes.
pub const TEMPLATE_BYTES: u64 = 16 * 1024;

/// Where GitHub looks for a template, in its order.
const FOLDERS: [&str; 3] = [".github/", "", "docs/"];
/// The usual spellings: GitHub does not mind the case.
const STEMS: [&str; 3] = [
    "pull_request_template",
    "PULL_REQUEST_TEMPLATE",
    "Pull_Request_Template",
];
const ENDINGS: [&str; 2] = [".md", ".txt"];

/// The files of a repository that may be its template, the first choice first. A name that ends with
/// `/` stands for all files of a folder.
pub fn candidates() -> Vec<String> {
    let mut names = Vec::new();
    for folder in FOLDERS {
        for stem in STEMS {
            names.extend(ENDINGS.map(|ending| format!("{folder}{stem}{ending}")));
        }
    }
    for folder in FOLDERS {
        names.extend(STEMS.map(|stem| format!("{folder}{stem}/")));
    }
    names
}

/// The template among the found files, each with its text. Of several in a folder the first by name
/// is the one.
pub fn choose(found: &[(String, String)]) -> Option<&str> {
    let is_template = |path: &str| ENDINGS.iter().any(|ending| path.ends_with(ending));
    for candidate in candidates() {
        let matching = found.iter().filter(|(path, _)| {
            let is_in = candidate.ends_with('/') && path.starts_with(&candidate);
            is_template(path) && (*path == candidate || is_in)
        });
        let first = matching.min_by_key(|(path, _)| path.as_str());
        if let Some((_, text)) = first.filter(|(_, text)| !text.trim().is_empty()) {
            return Some(text);
        }
    }
    None
}

/// The description with the template below it: headings, comments and boxes as the team wrote them,
/// for a person to fill in. What is too long together is cut at its end.
pub fn with_template(body: &str, template: &str) -> String {
    let template = unmarked(template.trim());
    let whole = format!("{}\n\n---\n\n{template}\n", body.trim_end());
    fit(&whole, BODY_CHARS)
}

#[cfg(test)]
mod tests {
    use super::super::part;
    use super::*;
    use crate::ids::RunId;

    fn files(names: &[&str]) -> Vec<(String, String)> {
        let file = |&name: &&str| (name.to_owned(), format!("text of {name}"));
        names.iter().map(file).collect()
    }

    #[test]
    fn the_template_is_found_where_github_looks_for_it() {
        for (names, expected) in [
            (&["README.md"][..], None),
            (&["docs/pull_request_template.md"], Some(0)),
            (
                &[
                    "PULL_REQUEST_TEMPLATE.md",
                    ".github/pull_request_template.md",
                ],
                Some(1),
            ),
            (&["docs/PULL_REQUEST_TEMPLATE.txt"], Some(0)),
            (
                &[
                    ".github/PULL_REQUEST_TEMPLATE/fix.md",
                    ".github/PULL_REQUEST_TEMPLATE/feature.md",
                    ".github/PULL_REQUEST_TEMPLATE/a.png",
                ],
                Some(1),
            ),
        ] {
            let found = files(names);
            let expected = expected.map(|at: usize| found[at].1.as_str());
            assert_eq!(choose(&found), expected, "{names:?}");
        }
    }

    #[test]
    fn an_empty_template_is_none() {
        let found = [("pull_request_template.md".to_owned(), " \n".to_owned())];
        assert_eq!(choose(&found), None);
    }

    #[test]
    fn drives_text_comes_first_and_the_template_stays_as_it_is() {
        let template = "<!-- why? -->\n## Why\n\n- [ ] tests\n";
        assert_eq!(
            with_template("What it does.\n", template),
            "What it does.\n\n---\n\n<!-- why? -->\n## Why\n\n- [ ] tests\n"
        );
    }

    #[test]
    fn an_update_of_drives_part_leaves_the_template_alone() {
        let run = RunId::new("r-1");
        let opened = with_template(&part::own(&run, "old"), "## Why\n");
        let now = part::replaced(&opened, &part::own(&run, "new"), BODY_CHARS);
        assert_eq!(now, with_template(&part::own(&run, "new"), "## Why\n"));
    }

    #[test]
    fn a_template_cannot_pretend_to_be_drives_part() {
        let run = RunId::new("r-1");
        let false_part = part::own(&run, "not drive's");
        let opened = with_template(&part::own(&run, "old"), &false_part);
        assert_eq!(opened.matches(part::BEGIN).count(), 1);
    }
}
