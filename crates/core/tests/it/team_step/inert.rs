//! Tests that texts of agents trigger no actions on a forge.

use crate::common::{agent_said, team_request};
use crate::team_step::scene::{APPROVED, Scene};
use drive_core::run::{Effect, EffectResult, ForgeAct, Request};
use drive_core::settings::TeamMode;
use serde_json::json;

const TITLE: &str = "Ask @ann, fixes #12 [skip ci]";
const EVIL: &str = "Ask @ann.\n/merge\nfixes #12 [skip ci] a\u{202e}b <!-- drive:v1 -->\n\n\
    <!-- drive-part-begin: x";

/// The effects of a run whose agents all write texts that would trigger actions.
fn posted(task: &str) -> Vec<Effect> {
    posted_with(task, EVIL)
}

fn posted_with(task: &str, summary: &str) -> Vec<Effect> {
    let findings = json!({"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 2, "issue": EVIL, "suggestion": EVIL},
        {"file": "a`@bob.rs", "issue": format!("{EVIL} too")}]});
    let fixed = json!({"comments": [
        {"id": "200", "action": "fixed", "note": EVIL},
        {"id": "100", "action": "declined", "note": EVIL}]});
    let mut scene = Scene::reviews(&[&findings.to_string(), APPROVED]);
    let named = json!({"pr_title": TITLE, "branch_name": "x"}).to_string();
    let mut coded = agent_said(summary);
    if let EffectResult::AgentEnded { outcome, .. } = &mut coded {
        outcome.summary = summary.to_owned();
    }
    scene.answers("runAgent", [agent_said(&named), coded]);
    scene.fixer = Some(agent_said(&fixed.to_string()));
    scene.fly(Request {
        task: task.to_owned(),
        ..team_request(TeamMode::Github)
    });
    scene.performed
}

/// Every text that reaches the forge, with its place.
fn texts(effects: &[Effect]) -> Vec<(&'static str, &str)> {
    let mut texts = Vec::new();
    for effect in effects {
        match effect {
            Effect::CommitWork { message, .. } => texts.push(("commit", message.as_str())),
            Effect::OpenPullRequest { title, body, .. } => {
                texts.push(("title", title));
                texts.push(("description", body));
            }
            Effect::OnForge { act, .. } => match act {
                ForgeAct::PostReview { body, lines, .. } => {
                    texts.push(("review", body));
                    texts.extend(lines.iter().map(|line| ("inline", line.body.as_str())));
                }
                ForgeAct::Reply { body, .. } => texts.push(("reply", body)),
                ForgeAct::UpdateBody { body } => texts.push(("description", body)),
                _ => {}
            },
            _ => {}
        }
    }
    texts
}

#[test]
fn what_agents_write_is_inert_on_every_surface() {
    let effects = posted("Fix the login");
    let texts = texts(&effects);
    for (surface, text) in &texts {
        for active in [
            "@ann",
            "fixes #12",
            "[skip ci]",
            "\n/merge",
            "\u{202e}",
            "<!-- drive:",
            "<!-- drive-part-begin: x",
        ] {
            assert!(!text.contains(active), "{surface} has {active:?}: {text}");
        }
    }
    for (surface, inert) in [
        ("title", "Ask @ ann, fixes issue 12 (skip ci)"),
        ("commit", "Ask @ ann, fixes issue 12 (skip ci)"),
        (
            "description",
            "Ask @ ann.\n/ merge\nfixes issue 12 (skip ci) a<U+202E>b &lt;!-- drive:",
        ),
        ("inline", "Ask @ ann.\n/ merge\nfixes issue 12"),
        (
            "review",
            "\n- ``a`@ bob.rs``: **major** Ask @ ann.\n  / merge\n  fixes issue 12",
        ),
        ("reply", "Ask @ ann.\n/ merge\nfixes issue 12"),
    ] {
        let found = texts
            .iter()
            .any(|(of, text)| *of == surface && text.contains(inert));
        assert!(found, "{surface} without {inert:?}: {texts:#?}");
    }
}

#[test]
fn code_in_a_description_skips_no_pipeline_after_a_squash() {
    let effects = posted_with("Fix the login", "Adds `[skip ci]` and `@types/node`.");
    let texts = texts(&effects);
    let mut descriptions = texts.iter().filter(|(of, _)| *of == "description");
    let is_inert = |text: &str| text.contains("Adds `(skip ci)` and `@types/node`.");
    assert!(descriptions.all(|(_, text)| is_inert(text)), "{texts:#?}");
}

#[test]
fn what_a_person_wrote_in_the_task_may_be_repeated() {
    let effects = posted("Ask @ann.\n/merge\nfixes #12 [skip ci]");
    let texts = texts(&effects);
    let title = texts.iter().find(|(surface, _)| *surface == "title");
    assert_eq!(title, Some(&("title", TITLE)));
    for surface in ["commit", "description", "inline", "review", "reply"] {
        let found = texts
            .iter()
            .any(|(of, text)| *of == surface && text.contains("@ann"));
        assert!(found, "{surface}: {texts:#?}");
    }
    assert!(texts.iter().all(|(_, text)| !text.contains('\u{202e}')));
}
