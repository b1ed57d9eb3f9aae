//! The team's template for pull request descriptions.

use super::part::{apart, unmarked};
use super::text::{BODY_CHARS, fit};

/// The largest template that is used, in bytes.
pub const TEMPLATE_BYTES: u64 = 16 * 1024;

/// The folders in which GitHub looks for a template, in order.
const FOLDERS: [&str; 3] = [".github/", "", "docs/"];
/// The usual spellings; GitHub ignores the case.
const STEMS: [&str; 3] = [
    "pull_request_template",
    "PULL_REQUEST_TEMPLATE",
    "Pull_Request_Template",
];
const ENDINGS: [&str; 2] = [".md", ".txt"];

/// The files that may be the template, in order of preference. A name that ends with `/` stands for
/// all files of a folder.
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

/// The template among the found files, each with its text. In a folder with several, the first by
/// name is used.
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

/// Headings that teams use for the section about what a change does.
const SUMMARIES: [&str; 10] = [
    "summary",
    "description",
    "describe your changes",
    "what",
    "what does this do",
    "what does this pr do",
    "what changed",
    "changes",
    "overview",
    "proposed changes",
];

/// Combines a description with a template: the text goes under the heading that asks for it, and
/// drive's own parts go above the template, where they can be updated. Headings, comments and
/// checkboxes stay as the team wrote them. Without such a heading, the template follows the whole
/// description. If the result is too long, its end is cut.
pub fn with_template(body: &str, template: &str) -> String {
    let template = unmarked(template.trim());
    let (own, words) = apart(body);
    let place = (!words.is_empty()).then(|| summary_place(&template));
    if let Some(at) = place.flatten() {
        let lines: Vec<&str> = template.lines().collect();
        let (before, after) = lines.split_at(at);
        let mut whole = if own.is_empty() {
            String::new()
        } else {
            format!("{own}\n\n---\n\n")
        };
        whole.push_str(&format!("{}\n\n{words}\n", before.join("\n").trim_end()));
        if !after.is_empty() {
            whole.push_str(&format!("\n{}\n", after.join("\n").trim_start()));
        }
        return fit(&whole, BODY_CHARS);
    }
    let whole = format!("{}\n\n---\n\n{template}\n", body.trim_end());
    fit(&whole, BODY_CHARS)
}

/// The line of the template before which a summary goes: after its heading and the comments below that.
fn summary_place(template: &str) -> Option<usize> {
    let lines: Vec<&str> = template.lines().collect();
    let mut is_code = false;
    let heading = lines.iter().position(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && heading(line).is_some_and(|name| SUMMARIES.contains(&name.as_str()))
    })?;
    let mut at = heading + 1;
    let mut is_comment = false;
    while let Some(line) = lines.get(at).map(|line| line.trim()) {
        is_comment |= line.starts_with("<!--");
        if !is_comment && !line.is_empty() {
            break;
        }
        is_comment &= !line.ends_with("-->");
        at += 1;
    }
    Some(at)
}

/// The words of a heading, in lowercase.
fn heading(line: &str) -> Option<String> {
    let line = line.trim();
    let words = match line
        .strip_prefix("**")
        .and_then(|rest| rest.strip_suffix("**"))
    {
        Some(bold) => bold,
        None => line
            .strip_prefix('#')?
            .trim_start_matches('#')
            .strip_prefix(' ')?,
    };
    let plain = words.trim_matches(|c: char| !c.is_alphanumeric());
    Some(plain.to_lowercase())
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
    fn the_summary_stands_under_the_heading_that_asks_for_it() {
        let run = RunId::new("r-1");
        let (outcome, own) = (part::outcome(&run, "Open."), part::own(&run, "Work."));
        let body = format!("{outcome}\n\nIt greets.\n\n{own}");
        for (template, expected) in [
            (
                "## Why\n\n## What does this PR do?\n<!-- say\nmore -->\n\n## Tests\n- [ ] tests",
                "## Why\n\n## What does this PR do?\n<!-- say\nmore -->\n\nIt greets.\n\n\
                 ## Tests\n- [ ] tests\n",
            ),
            ("**Description:**", "**Description:**\n\nIt greets.\n"),
            (
                "# Summary\nOne sentence.",
                "# Summary\n\nIt greets.\n\nOne sentence.\n",
            ),
        ] {
            let filled = with_template(&body, template);
            assert_eq!(filled, format!("{outcome}\n\n{own}\n\n---\n\n{expected}"));
            let now = part::replaced(&filled, &part::own(&run, "More."), BODY_CHARS);
            assert_eq!(now, filled.replace("Work.", "More."));
        }
        let bare = with_template("It greets.", "## Changes\n");
        assert_eq!(bare, "## Changes\n\nIt greets.\n");
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
