//! Tests findings that existed before the change.

use crate::common::team_request;
use crate::team_step::scene::{APPROVED, Scene, end};
use drive_core::agent::Role;
use drive_core::review::LastWord;
use drive_core::run::{Effect, ForgeAct};
use drive_core::settings::TeamMode;

/// A blocker on this line that existed before, according to the reviewer.
fn older(file: &str, line: u64) -> String {
    format!(
        r#"{{"verdict": "needs_changes", "suggestions": [{{"file": "src/{file}.rs", "line": {line},
            "issue": "the name is not checked", "severity": "blocker", "preExisting": true}}]}}"#
    )
}

#[test]
fn what_existed_before_is_reported_apart_and_neither_blocks_nor_is_fixed() {
    let mut scene = Scene::reviews(&[&older("names", 99), APPROVED]);
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert!(!scene.jobs.iter().any(|job| job.role == Role::Fixer));
    let acts = scene.performed.iter().filter_map(|effect| match effect {
        Effect::OnForge { act, .. } => Some(act),
        _ => None,
    });
    let (mut reviews, mut summaries) = (Vec::new(), Vec::new());
    for act in acts {
        match act {
            ForgeAct::PostReview { body, lines, .. } => reviews.push((body.as_str(), lines.len())),
            ForgeAct::Summarize { body, .. } => summaries.push(body.as_str()),
            _ => {}
        }
    }
    let heading = "Existed before this change, and does not block it:\n\n- ";
    let said = format!(
        "[SECURITY REVIEW - APPROVED]\n\n{heading}`src/names.rs` line 99: **blocker** the name is not checked"
    );
    assert_eq!(reviews, [(said.as_str(), 0)]);
    let row = format!("{heading}blocker: src/names.rs:99: the name is not checked\n");
    assert!(
        summaries.iter().all(|text| text.contains(&row)),
        "{summaries:?}"
    );
    assert!(summaries.iter().all(|text| !text.contains("Open findings")));
}

#[test]
fn a_line_that_the_change_added_did_not_exist_before_whatever_the_reviewer_says() {
    let mut scene = Scene::reviews(&[&older("login", 2), APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    assert_eq!(scene.told[0], "[SECURITY REVIEW - NEEDS CHANGES] +1 lines");
    assert!(scene.jobs.iter().any(|job| job.role == Role::Fixer));
}

#[test]
fn findings_that_existed_before_are_folded_beyond_ten_in_every_text() {
    let one = |n: usize| {
        format!(
            r#"{{"file": "src/other.rs", "line": {n}, "issue": "issue number {n}", "severity": "major",
            "preExisting": true}}"#
        )
    };
    let all: Vec<String> = (1..=30).map(one).collect();
    let said = format!(
        r#"{{"verdict": "needs_changes", "suggestions": [
            {{"file": "src/login.rs", "line": 2, "issue": "the name is not checked"}}, {}]}}"#,
        all.join(", ")
    );
    let mut scene = Scene::reviews(&[&said, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let texts = scene.performed.iter().filter_map(|effect| match effect {
        Effect::OnForge { act, .. } => match act {
            ForgeAct::PostReview { body, lines, .. } => Some((body, lines.len())),
            ForgeAct::Summarize { body, .. } | ForgeAct::UpdateBody { body } => Some((body, 0)),
            _ => None,
        },
        _ => None,
    });
    let mut seen = 0;
    for (text, on_lines) in texts.filter(|(text, _)| text.contains("issue number")) {
        seen += 1;
        let mut folds = 0;
        let is_shown = |line: &&str| {
            folds += usize::from(line.contains("<details>"));
            let is_row = line.starts_with("- ") && folds == 0;
            folds -= usize::from(line.contains("</details>"));
            is_row
        };
        let shown = text.lines().filter(is_shown).count();
        assert!(
            shown + on_lines <= 10,
            "{shown} and {on_lines} are shown: {text}"
        );
        assert!(text.contains("issue number 30"), "nothing is lost: {text}");
    }
    assert!(seen >= 2, "a review and a summary name them");
}
