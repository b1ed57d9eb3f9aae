//! Tests answers in the form that a CLI's own option enforces.

use crate::agent_interop::lab::Lab;
use drive_core::agent::answer::{
    AnswerForm, Refutation, Shown, Verdict, read_refutations, read_review,
};
use drive_core::agent::{AgentEvent, Ending, Role};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Call, RecordedRequest, Script, Turn};
use serde_json::{Value, json};

fn objection() -> Value {
    json!({
        "analysis": "It must refuse an empty name.",
        "commit": null,
        "suggestions": [{
            "confidence": 95,
            "endLine": null,
            "preExisting": false,
            "replacement": null,
            "evidence": null,
            "file": "a.txt",
            "issue": "an empty name is accepted",
            "line": 1,
            "severity": "blocker",
            "suggestion": null,
        }],
        "verdict": "needs_changes",
    })
}

/// The turn in which a model gives the answer that its CLI requests.
fn turn(cli: Cli, answer: &Value) -> Turn {
    match cli {
        Cli::Claude => Turn::call(Call::tool("StructuredOutput", answer.clone())),
        Cli::Codex | Cli::Gemini => Turn::text(answer.to_string()),
    }
}

/// The schema that a request passes to the model.
fn schema_of(cli: Cli, request: &RecordedRequest) -> Option<Value> {
    match cli {
        Cli::Claude => {
            let tools = request.body["tools"].as_array()?;
            let tool = tools.iter().find(|tool| tool["name"] == "StructuredOutput");
            tool.map(|tool| tool["input_schema"].clone())
        }
        Cli::Codex => {
            let format = &request.body["text"]["format"];
            assert_eq!(format["strict"], json!(true), "{format}");
            format.get("schema").cloned()
        }
        Cli::Gemini => None,
    }
}

fn reviewed(cli: Cli) {
    let draft = "I look at the files first.";
    let Some(lab) = Lab::new(cli, |_| {
        Script::new([turn(cli, &objection()), Turn::text(draft)])
    }) else {
        return;
    };
    let mut request = lab.request(Role::Reviewer);
    request.answer = AnswerForm::Review;
    let played = lab.play_request(&request);
    let outcome = played.outcome();
    assert_eq!(outcome.ending, Ending::Succeeded, "{}", lab.log());
    let turns = lab.server.turns();
    assert_eq!(turns.len(), 1, "{}", lab.log());
    assert_eq!(schema_of(cli, &turns[0]), AnswerForm::Review.schema());
    let asked = AnswerForm::Review.note().unwrap();
    assert!(turns[0].prompt.contains(asked), "{}", turns[0].prompt);
    let document = outcome.document.as_deref().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(document).unwrap(),
        objection()
    );
    let review = read_review(outcome, &Shown::default()).unwrap();
    assert_eq!(review.verdict, Verdict::NeedsChanges);
    assert_eq!(review.findings[0].issue, "an empty name is accepted");
    let launched = played.events.iter().find_map(|event| match event {
        AgentEvent::Launched { argv } => Some(argv.join(" ")),
        _ => None,
    });
    let launched = launched.unwrap();
    assert!(launched.contains("schema"), "{launched}");
    assert!(!launched.contains("properties"), "{launched}");
    assert_eq!(outcome.ignored.unknown_events, 0, "{}", lab.log());
}

#[test]
fn claude_answers_a_review_in_the_form_of_its_own_option() {
    reviewed(Cli::Claude);
}

#[test]
fn codex_answers_a_review_in_the_form_of_its_own_option() {
    reviewed(Cli::Codex);
}

fn refuted(cli: Cli) {
    let answer = json!({
        "analysis": "I read a.txt.",
        "findings": [{"holds": false, "id": "finding-1", "why": "line 1 refuses it"}],
    });
    let Some(lab) = Lab::new(cli, |_| Script::new([turn(cli, &answer)])) else {
        return;
    };
    let mut request = lab.request(Role::Reviewer);
    request.answer = AnswerForm::Refutations;
    let played = lab.play_request(&request);
    let turns = lab.server.turns();
    assert_eq!(schema_of(cli, &turns[0]), AnswerForm::Refutations.schema());
    let refutation = Refutation {
        id: "finding-1".to_owned(),
        why: "line 1 refuses it".to_owned(),
    };
    assert_eq!(
        read_refutations(played.outcome(), &Shown::default()),
        Ok(vec![refutation])
    );
}

#[test]
fn claude_answers_a_refutation_in_the_form_of_its_own_option() {
    refuted(Cli::Claude);
}

#[test]
fn codex_answers_a_refutation_in_the_form_of_its_own_option() {
    refuted(Cli::Codex);
}

#[test]
fn a_model_that_answers_as_text_all_the_same_is_understood() {
    let text = "```json\n{\"verdict\": \"approved\", \"suggestions\": []}\n```";
    for cli in Cli::ALL {
        let Some(lab) = Lab::new(cli, |_| Script::new([Turn::text(text), Turn::text(text)])) else {
            return;
        };
        let mut request = lab.request(Role::Reviewer);
        request.answer = AnswerForm::Review;
        let played = lab.play_request(&request);
        let outcome = played.outcome();
        assert_eq!(outcome.ending, Ending::Succeeded, "{}", lab.log());
        assert_eq!(outcome.document, None);
        let review = read_review(outcome, &Shown::default()).unwrap();
        assert_eq!(review.verdict, Verdict::Approved);
    }
}
