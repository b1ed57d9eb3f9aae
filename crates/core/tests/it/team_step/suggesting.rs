//! Tests code that a reviewer suggests for a line.

use crate::common::team_request;
use crate::team_step::scene::{APPROVED, Scene};
use drive_core::agent::Role;
use drive_core::run::{Effect, ForgeAct, LineRemark};
use drive_core::settings::TeamMode;
use serde_json::{Value, json};

/// The posted inline comment, and the fixer's prompt.
fn told(more: &Value) -> (String, String) {
    let mut finding =
        json!({"file": "src/login.rs", "line": 2, "issue": "the name is not checked"});
    for (key, value) in more.as_object().unwrap() {
        finding[key] = value.clone();
    }
    let said = json!({"verdict": "needs_changes", "suggestions": [finding]});
    let mut scene = Scene::reviews(&[&said.to_string(), APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let posted = scene.performed.iter().find_map(|effect| match effect {
        Effect::OnForge {
            act: ForgeAct::PostReview { lines, body, .. },
            ..
        } => Some(lines.first().map_or(body, |line| &line.body).clone()),
        _ => None,
    });
    let fixer = scene.jobs.iter().find(|job| job.role == Role::Fixer);
    (posted.unwrap(), fixer.unwrap().prompt.clone())
}

#[test]
fn code_for_the_commented_line_is_a_suggestion_that_reaches_the_forge_as_it_is() {
    let (posted, fixer) = told(&json!({"replacement": "    @Checked // fixes #12\n"}));
    assert_eq!(
        posted,
        "**major** the name is not checked\n\n```suggestion\n    @Checked // fixes #12\n```"
    );
    assert!(
        fixer.contains("Line 2 becomes:\n\n```\n    @Checked // fixes #12\n```"),
        "{fixer}"
    );
}

#[test]
fn the_fence_is_longer_than_any_in_the_code_and_text_with_blocks_comes_after_it() {
    let (posted, _) = told(&json!({"replacement": "a\n```\nb", "evidence": "```\nnever closed"}));
    assert_eq!(
        posted,
        "````suggestion\na\n```\nb\n````\n\n**major** the name is not checked\n\n```\nnever closed"
    );
}

#[test]
fn an_empty_replacement_deletes_the_line() {
    let (posted, _) = told(&json!({"replacement": ""}));
    assert!(posted.ends_with("\n\n```suggestion\n```"), "{posted}");
}

#[test]
fn code_for_several_lines_is_a_suggestion_on_all_of_them() {
    let said = json!({"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 2, "endLine": 4, "issue": "twice", "replacement": "x\ny"}]});
    let mut scene = Scene::reviews(&[&said.to_string(), APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let posted = scene.performed.iter().find_map(|effect| match effect {
        Effect::OnForge {
            act: ForgeAct::PostReview { lines, .. },
            ..
        } => lines.first().cloned(),
        _ => None,
    });
    let block = "```suggestion\nx\ny\n```";
    let expected = LineRemark {
        path: "src/login.rs".to_owned(),
        line: 4,
        start_line: Some(2),
        body: format!("**major** twice\n\nLines 2 to 4 become:\n\n{block}"),
        suggestion: Some(block.to_owned()),
    };
    assert_eq!(posted, Some(expected));
}

#[test]
fn code_that_would_replace_other_lines_is_shown_and_is_no_suggestion() {
    for more in [
        json!({"replacement": "x", "endLine": 99}),
        json!({"replacement": "x\ry"}),
        json!({"replacement": "x", "line": 99}),
        json!({"replacement": "\u{202e}x"}),
    ] {
        let (posted, _) = told(&more);
        assert!(!posted.contains("suggestion"), "{posted}");
        assert!(posted.contains("become"), "{posted}");
    }
}

#[test]
fn a_change_that_a_reviewer_hides_in_its_words_cannot_be_applied() {
    let hidden = "```suggestion\nrm -rf /\n```";
    let (posted, _) = told(&json!({"evidence": hidden}));
    assert_eq!(
        posted,
        "**major** the name is not checked\n\n```text\nrm -rf /\n```"
    );
    let (posted, _) = told(&json!({"evidence": hidden, "replacement": "x"}));
    assert_eq!(
        posted,
        "```suggestion\nx\n```\n\n**major** the name is not checked\n\n```text\nrm -rf /\n```"
    );
}
