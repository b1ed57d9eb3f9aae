use super::block::last_json;
use super::fields::Fields;
use crate::ids::BranchName;
use serde::{Deserialize, Serialize};

/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 72;
/// The longest branch name, in characters.
pub const MAX_BRANCH_CHARS: usize = 50;

/// A usable title and branch name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Naming {
    /// The pull request's title.
    pub pr_title: String,
    /// The branch's name.
    pub branch_name: BranchName,
}

/// Parses a namer's answer; an unusable part is made from the task instead.
pub fn read_naming(text: &str, task: &str) -> Naming {
    let answer = last_json(text)
        .map(|object| object.value)
        .unwrap_or_default();
    let fields = Fields::new(&answer);
    Naming {
        pr_title: fields
            .text("pr_title")
            .filter(|title| is_title(title))
            .unwrap_or_else(|| title_of(task)),
        branch_name: fields
            .text("branch_name")
            .and_then(|name| usable(&name))
            .unwrap_or_else(|| slug(task)),
    }
}

/// A branch name from the task's first words.
pub fn slug(task: &str) -> BranchName {
    BranchName::of_words(task, MAX_BRANCH_CHARS)
}

/// A title from the task's first line.
pub fn title_of(task: &str) -> String {
    let first = task
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("Task");
    let clean: String = first.chars().filter(|c| !c.is_control()).collect();
    if clean.chars().count() > MAX_TITLE_CHARS {
        let kept: String = clean.chars().take(MAX_TITLE_CHARS - 1).collect();
        format!("{}…", kept.trim_end())
    } else {
        clean
    }
}

fn is_title(title: &str) -> bool {
    title.chars().count() <= MAX_TITLE_CHARS && !title.chars().any(char::is_control)
}

/// The name as a branch, if git accepts it and a shell needs no quotes for it.
fn usable(name: &str) -> Option<BranchName> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_misread = name.starts_with("refs/")
        || name
            .split('/')
            .any(|part| part.starts_with('-') || part.ends_with('.'));
    let fits = name.len() <= MAX_BRANCH_CHARS && name.chars().all(is_plain) && !is_misread;
    let name = BranchName::parse(name).ok().filter(|_| fits)?;
    name.for_new().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naming(pr_title: &str, branch_name: &str) -> Naming {
        Naming {
            pr_title: pr_title.to_owned(),
            branch_name: BranchName::parse(branch_name).unwrap(),
        }
    }

    #[test]
    fn usable_names_are_used_and_the_rest_comes_from_the_task() {
        let long = "x".repeat(73);
        let task = "Fix the auth bug!\nIt hurts.";
        let fallback = naming("Fix the auth bug!", "fix-the-auth-bug-it-hurts");
        let table = [
            (
                r#"{"pr_title": "Fix login", "branch_name": "fix/login"}"#.to_owned(),
                naming("Fix login", "fix/login"),
            ),
            (
                r#"{"prTitle": "Fix login", "Branch-Name": "fix-login"}"#.to_owned(),
                naming("Fix login", "fix-login"),
            ),
            (
                format!(r#"{{"pr_title": "{long}", "branch_name": "ok"}}"#),
                naming("Fix the auth bug!", "ok"),
            ),
            (
                format!(r#"{{"pr_title": "Fine", "branch_name": "{long}"}}"#),
                naming("Fine", "fix-the-auth-bug-it-hurts"),
            ),
            ("no json at all".to_owned(), fallback.clone()),
            (
                r#"{"pr_title": 3, "branch_name": ["a"]}"#.to_owned(),
                fallback.clone(),
            ),
            (
                r#"{"pr_title": "  ", "branch_name": ""}"#.to_owned(),
                fallback.clone(),
            ),
            (
                r#"{"pr_title": "a\nb", "branch_name": "a b"}"#.to_owned(),
                fallback,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(read_naming(&text, task), expected, "{text}");
        }
    }

    #[test]
    fn names_git_would_refuse_or_misread_are_unusable() {
        for name in [
            "-rf",
            "a..b",
            "a.lock",
            "a/",
            "/a",
            "a//b",
            ".a",
            "a.",
            "a~b",
            "a:b",
            "HEAD",
            "refs/heads/x",
            "a;rm",
            "ünï",
            "a/.b",
            "a@{b",
            "a/-b",
            "a./b",
            "0123456789abcdef0123456789abcdef01234567",
        ] {
            assert_eq!(usable(name), None, "{name}");
        }
        for name in ["a", "feat/login-2", "v1.2", "a_b"] {
            assert_eq!(usable(name), BranchName::parse(name).ok(), "{name}");
        }
    }

    #[test]
    fn a_task_that_reads_as_the_id_of_a_commit_gives_a_name_that_does_not() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(slug(id).as_str(), format!("task-{id}"));
        assert_eq!(slug("").as_str(), "task");
        assert_eq!(slug("Ä").as_str(), "task");
    }

    proptest! {
        #[test]
        fn whatever_the_task_the_names_are_usable(task in "\\PC{0,200}|[ -~]{0,200}") {
            let made = read_naming("", &task);
            prop_assert!(made.branch_name.len() <= MAX_BRANCH_CHARS, "{}", made.branch_name);
            prop_assert!(is_title(&made.pr_title), "{}", made.pr_title);
        }
    }
}
