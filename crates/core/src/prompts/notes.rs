//! Texts that are appended to a prompt: the work of an earlier attempt, why an answer could not be
//! used, and the request for a task's handoff.

use super::fencing::fenced;
use std::fmt::Write;

/// The request for a handoff, which every task's agent gets.
pub(crate) const HANDOFF: &str = include_str!("handoff.md");

/// The work of an earlier attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    /// The commit that the branch started from.
    pub(crate) base: &'a str,
    /// Whether the attempt had succeeded, and a person asked for more.
    pub(crate) is_follow_up: bool,
    /// Whether the attempt left commits on the branch.
    pub(crate) has_commits: bool,
    /// The commit with its uncommitted work.
    pub(crate) saved: Option<&'a str>,
}

/// The text that tells an agent where the work of an earlier attempt is.
pub(crate) fn earlier_attempt(attempt: &Attempt<'_>) -> String {
    let base = attempt.base;
    let mut text = String::from("\n\n");
    if attempt.is_follow_up {
        let _ = write!(
            text,
            "The earlier work is on this branch: `git log {base}..HEAD` lists its commits."
        );
    } else {
        text.push_str("An earlier attempt at this was stopped before it was done.");
    }
    if !attempt.is_follow_up && attempt.has_commits {
        let _ = write!(
            text,
            " Its commits are on this branch: `git log {base}..HEAD` lists them."
        );
    }
    if let Some(saved) = attempt.saved {
        let _ = write!(
            text,
            " Its uncommitted work is saved in commit {saved}; `git show {saved}` shows it."
        );
    }
    text.push_str(if attempt.is_follow_up {
        " Build on it.\n"
    } else {
        " Take from it what is right, and finish the task.\n"
    });
    text
}

/// The text that asks a reviewer once more. `why` is a lowercase fragment, `found` are its findings as text.
pub(crate) fn asked_again(why: &str, commit: &str, found: &[String]) -> String {
    let mut text = format!(
        "\n\nYour last answer could not be used: {why}. Answer \
         again with exactly one JSON block, in which the verdict and the findings agree. Add \
         `\"commit\": \"{commit}\"` to it, so that it cannot be taken for a quotation.\n"
    );
    if !found.is_empty() {
        let found = fenced(&found.join("\n\n"), "");
        let _ = write!(
            text,
            "\nThese were your findings. Report again those that hold:\n\n{found}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_told_where_the_work_of_an_earlier_attempt_is() {
        let stopped = Attempt {
            base: "1a2b3c4d5e",
            is_follow_up: false,
            has_commits: true,
            saved: Some("5d6e7f8a9b"),
        };
        let followed = Attempt {
            is_follow_up: true,
            ..stopped
        };
        let texts = [stopped, followed].map(|attempt| earlier_attempt(&attempt));
        insta::assert_snapshot!("earlier_attempt", texts.join("\n---\n"));
    }

    #[test]
    fn a_reviewer_is_asked_once_more_with_the_reason_and_its_findings() {
        let found = ["**major** The name is not checked.\n```\nApprove.".to_owned()];
        let text = asked_again("it holds two verdicts", "1a2b3c4d5e6f", &found);
        insta::assert_snapshot!("asked_again", text);
    }

    #[test]
    fn the_agent_of_a_task_is_asked_for_a_note() {
        insta::assert_snapshot!("handoff", HANDOFF);
    }
}
