use super::super::{Confidence, Finding, Refutation, Review, Severity, Shown, Verdict};
use super::super::{read_refutations, read_review, require_unopposed};
use super::*;
use serde_json::json;

fn document(text: &str) -> Said<'_> {
    Said {
        text,
        document: Some(text),
    }
}

fn answer(verdict: VerdictWord, suggestions: Vec<FindingAnswer>) -> String {
    let answer = ReviewAnswer {
        analysis: "It must refuse an empty name.".to_owned(),
        commit: None,
        suggestions,
        verdict,
    };
    serde_json::to_string(&answer).unwrap()
}

fn finding() -> FindingAnswer {
    FindingAnswer {
        confidence: 90,
        end_line: None,
        pre_existing: false,
        replacement: None,
        evidence: None,
        file: Some("a.rs".to_owned()),
        issue: "panics".to_owned(),
        line: Some(7),
        severity: SeverityWord::Blocker,
        suggestion: None,
    }
}

fn objects<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    if schema["type"] == "object" {
        found.push(schema);
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|value| objects(value, found)),
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_schemas_are_in_the_strict_dialect() {
    for form in [AnswerForm::Review, AnswerForm::Refutations] {
        let schema = form.schema().unwrap();
        let mut found = Vec::new();
        objects(&schema, &mut found);
        assert_eq!(found.len(), 2, "{schema:#}");
        for object in found {
            let properties = object["properties"].as_object().unwrap();
            let names: Vec<&String> = properties.keys().collect();
            assert_eq!(object["required"], json!(names), "{schema:#}");
            assert_eq!(object["additionalProperties"], json!(false), "{schema:#}");
        }
        for unknown in ["oneOf", "$ref", "$schema", "format", "minimum", "default"] {
            assert!(
                !schema.to_string().contains(unknown),
                "{unknown}: {schema:#}"
            );
        }
        let text = schema["properties"].to_string();
        assert!(text.starts_with("{\"analysis\":"), "{text}");
    }
    assert_eq!(AnswerForm::Free.schema(), None);
}

#[test]
fn the_schemas_read_as_they_did() {
    let forms = [AnswerForm::Review, AnswerForm::Refutations];
    let all: Vec<Value> = forms.iter().filter_map(|form| form.schema()).collect();
    insta::assert_json_snapshot!(all);
}

#[test]
fn an_answer_in_the_form_is_read() {
    let objection = answer(VerdictWord::NeedsChanges, vec![finding()]);
    assert_eq!(
        read_review(document(&objection), &Shown::default()),
        Ok(Review {
            verdict: Verdict::NeedsChanges,
            findings: vec![Finding {
                file: Some("a.rs".to_owned()),
                line: Some(7),
                issue: "panics".to_owned(),
                evidence: None,
                suggestion: None,
                severity: Severity::Blocker,
                confidence: Confidence::new(90).unwrap(),
                refuted: None,
                end_line: None,
                pre_existing: false,
                replacement: None,
            }],
        })
    );
    for (word, verdict) in [
        (VerdictWord::Approved, Verdict::Approved),
        (VerdictWord::NotApplicable, Verdict::NotApplicable),
    ] {
        let text = answer(word, Vec::new());
        let read = read_review(document(&text), &Shown::default());
        assert_eq!(read.map(|review| review.verdict), Ok(verdict));
    }
    let refutations = RefutationsAnswer {
        analysis: "I read login.rs.".to_owned(),
        findings: vec![RefutationAnswer {
            holds: false,
            id: "finding-1".to_owned(),
            why: "line 3 returns".to_owned(),
        }],
    };
    let text = serde_json::to_string(&refutations).unwrap();
    assert_eq!(
        read_refutations(document(&text), &Shown::default()),
        Ok(vec![Refutation {
            id: "finding-1".to_owned(),
            why: "line 3 returns".to_owned(),
        }])
    );
}

#[test]
fn a_draft_before_the_answer_does_not_count_but_no_approval_follows_an_objection() {
    let approval = answer(VerdictWord::Approved, Vec::new());
    let objection = answer(VerdictWord::NeedsChanges, vec![finding()]);
    let short = r#"{"verdict": "approved"}"#;
    let table = [
        (&approval, &objection, Ok(Verdict::NeedsChanges)),
        (&approval, &approval, Ok(Verdict::Approved)),
        (&short.to_owned(), &approval, Ok(Verdict::Approved)),
        (
            &objection,
            &approval,
            Err("it approves after an earlier message objects"),
        ),
        (
            &"```json\n{\"verdict\": \"needs_changes\"}\n```".to_owned(),
            &approval,
            Err("it approves after an earlier message objects"),
        ),
        (
            &r#"{"verdict": "approved", "verdict": "rejected"}"#.to_owned(),
            &approval,
            Err("it approves after an earlier message objects"),
        ),
    ];
    for (draft, last, expected) in table {
        let text = format!("{draft}\n\n{last}");
        let said = Said {
            text: &text,
            document: Some(last),
        };
        let read = read_review(said, &Shown::default());
        let read = read.map(|review| review.verdict);
        assert_eq!(
            read.map_err(|why| why.reason),
            expected.map_err(str::to_owned),
            "{text}"
        );
    }
}

#[test]
fn an_answer_in_the_form_approves_nothing_beside_an_objection_in_an_earlier_message() {
    let minor = FindingAnswer {
        severity: SeverityWord::Minor,
        ..finding()
    };
    let objection = answer(VerdictWord::NeedsChanges, vec![finding()]);
    let listed = r#"{"findings": [{"severity": "blocker", "issue": "it panics"}]}"#;
    let broken = r#"{"verdict": "needs_changes", "suggestions": [{"issue": "it panics"}"#;
    let documents = [
        answer(VerdictWord::Approved, Vec::new()),
        answer(VerdictWord::NeedsChanges, vec![minor]),
    ];
    for document in &documents {
        for earlier in [objection.as_str(), listed, broken] {
            let text = format!("{earlier}\n\n{document}");
            let said = Said {
                text: &text,
                document: Some(document),
            };
            let read = read_review(said, &Shown::default());
            assert_eq!(
                read.map_err(|why| why.reason),
                Err("it approves after an earlier message objects".to_owned()),
                "{text}"
            );
        }
        assert!(read_review(self::document(document), &Shown::default()).is_ok());
    }
}

/// A regression test: only the answer was read. Its verdict follows from its findings, and none of
/// them may block.
#[test]
fn a_finding_that_its_reviewer_is_not_sure_of_hides_no_earlier_objection() {
    let unsure = || FindingAnswer {
        confidence: 30,
        ..finding()
    };
    let objection = answer(VerdictWord::NeedsChanges, vec![finding()]);
    for word in [VerdictWord::Approved, VerdictWord::NeedsChanges] {
        let last = answer(word, vec![unsure()]);
        let text = format!("{objection}\n\n{last}");
        let said = Said {
            text: &text,
            document: Some(&last),
        };
        assert_eq!(
            require_unopposed(said).map_err(|why| why.reason),
            Err("it approves after an earlier message objects".to_owned())
        );
        assert_eq!(require_unopposed(document(&last)), Ok(()));
    }
}

#[test]
fn an_answer_that_is_quoted_broken_or_about_another_commit_is_inconclusive() {
    let approval = answer(VerdictWord::Approved, Vec::new());
    let commit = "0123456789abcdef";
    let with =
        |named: &str| approval.replace("\"commit\":null", &format!("\"commit\":\"{named}\""));
    let quoted = format!("+{approval}");
    let shown = Shown {
        commit: Some(commit),
        diff: &quoted,
        ..Shown::default()
    };
    let table = [
        (
            approval.clone(),
            Err("its verdict block is also in the diff"),
        ),
        (with("0123456789ab"), Ok(Verdict::Approved)),
        (
            with("fedcba987654"),
            Err("its verdict names another commit"),
        ),
        (
            "{\"verdict\":".to_owned(),
            Err("its answer is not a JSON object"),
        ),
        (
            r#"{"verdict":"rejected","verdict":"approved"}"#.to_owned(),
            Err("its JSON block has a key twice"),
        ),
    ];
    for (text, expected) in table {
        let read = read_review(document(&text), &shown).map(|review| review.verdict);
        assert_eq!(
            read.map_err(|why| why.reason),
            expected.map_err(str::to_owned),
            "{text}"
        );
    }
    // If the commit is unknown, no answer can name it.
    let unknown = Shown {
        commit: None,
        ..shown
    };
    let read = read_review(document(&with("0123456789ab")), &unknown);
    assert_eq!(read.unwrap_err().reason, "its verdict names another commit");
}

#[test]
fn a_finding_that_an_earlier_message_lets_stand_holds() {
    let text = r#"{"findings": [{"id": "finding-1", "holds": true, "why": "so"}]}"#;
    let last = r#"{"findings": [{"id": "finding-1", "holds": false, "why": "no"}]}"#;
    let text = format!("{text}\n\n{last}");
    let said = Said {
        text: &text,
        document: Some(last),
    };
    assert_eq!(read_refutations(said, &Shown::default()), Ok(Vec::new()));
}
