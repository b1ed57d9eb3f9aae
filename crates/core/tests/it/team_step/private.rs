//! Tests that no path of this machine reaches a forge, whoever wrote it.

use crate::common::{agent_said, comment, team_request};
use crate::team_step::scene::{APPROVED, Scene, heard};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Effect, EffectResult, ForgeAct, Request, RunKind};
use drive_core::settings::{RecordDetail, TeamMode};
use serde_json::json;
use std::collections::BTreeSet;

/// Paths of the sandbox, the state directory, the repository, and homes.
const PATHS: &str =
    "/state/sandboxes/x/src/a.rs /state/logs/r1 /repo/a.rs /home/ann/.ssh /root/.npm";
const HIDDEN: [&str; 5] = [
    "/state/sandboxes",
    "/state/",
    " /repo/",
    "/home/ann",
    "/root/",
];

/// Every text that reaches the forge, with its surface.
fn texts(effects: &[Effect]) -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    let mut told = |surface, text: &str| texts.push((surface, format!(" {text}")));
    for effect in effects {
        match effect {
            Effect::CommitWork { message, .. } => told("commit", message),
            Effect::OpenPullRequest { title, body, .. } => {
                told("title", title);
                told("opened", body);
            }
            Effect::OnForge { act, .. } => match act {
                ForgeAct::PostReview { body, lines, .. } => {
                    told("review", body);
                    lines.iter().for_each(|line| told("inline", &line.body));
                }
                ForgeAct::Reply { body, .. } => told("reply", body),
                ForgeAct::UpdateBody { body } => told("description", body),
                ForgeAct::PostComment { body } => told("comment", body),
                ForgeAct::Summarize { body, .. } => told("summary", body),
                ForgeAct::SetStatus { description, .. } => told("status", description),
                _ => {}
            },
            _ => {}
        }
    }
    texts
}

/// The texts of a team whose agents and errors all contain paths.
fn told(record: RecordDetail) -> Vec<(&'static str, String)> {
    let findings = json!({"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 2, "issue": PATHS, "evidence": PATHS, "suggestion": PATHS,
         "replacement": format!("// {PATHS}")},
        {"issue": format!("{PATHS} too")}]});
    let answered = json!({"comments": [
        {"id": "200", "action": "fixed", "note": PATHS},
        {"id": "100", "action": "declined", "note": PATHS},
        {"id": "inline-5", "action": "question", "note": PATHS}]});
    let named = json!({"pr_title": format!("See {PATHS}"), "branch_name": "x"}).to_string();
    let mut scene = Scene::reviews(&[&findings.to_string(), "no verdict", APPROVED]);
    let mut coded = agent_said(PATHS);
    if let EffectResult::AgentEnded { outcome, .. } = &mut coded {
        outcome.summary = PATHS.to_owned();
    }
    scene.answers("runAgent", [agent_said(&named), coded]);
    scene.people = [heard(vec![comment(5, "why?")])].into();
    scene.fixer = Some(agent_said(&answered.to_string()));
    let mut request = team_request(TeamMode::Github);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.record = record;
    }
    scene.fly(Request {
        task: format!("Fix the login, see {PATHS}"),
        ..request
    });
    let mut all = texts(&scene.performed);
    all.extend(stopped());
    all
}

/// The texts of a team that stops because of an error with paths.
fn stopped() -> Vec<(&'static str, String)> {
    let mut scene = Scene::reviews(&[APPROVED]);
    let failed = EffectResult::Failed {
        problem: Problem::new(Kind::ForgeAnswer, format!("it failed: {PATHS}")).cause(PATHS),
    };
    scene.answers("poll", vec![failed; 60]);
    scene.fly(team_request(TeamMode::Github));
    texts(&scene.performed)
}

#[test]
fn no_post_of_any_kind_names_a_path_of_this_machine() {
    let texts = told(RecordDetail::Redacted);
    for (surface, text) in &texts {
        for path in HIDDEN {
            assert!(!text.contains(path), "{surface} names {path}: {text}");
        }
    }
    let surfaces: BTreeSet<&str> = texts.iter().map(|(surface, _)| *surface).collect();
    let expected = [
        "comment",
        "commit",
        "description",
        "inline",
        "opened",
        "reply",
        "review",
        "status",
        "summary",
        "title",
    ];
    assert_eq!(surfaces.into_iter().collect::<Vec<_>>(), expected);
    let review = texts.iter().find(|(surface, _)| *surface == "inline");
    let (_, text) = review.unwrap();
    assert!(
        text.contains("(state)/logs/r1 repo/a.rs ~/.ssh ~/.npm"),
        "{text}"
    );
}

#[test]
fn only_a_description_that_is_to_hold_everything_keeps_them() {
    let texts = told(RecordDetail::Full);
    let names = |surface: &str| {
        let mut all = texts.iter().filter(|(of, _)| *of == surface);
        all.any(|(_, text)| HIDDEN.iter().any(|path| text.contains(path)))
    };
    assert!(names("description"));
    for surface in ["comment", "inline", "reply", "review", "status", "summary"] {
        assert!(!names(surface), "{surface}");
    }
}
