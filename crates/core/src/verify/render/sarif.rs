use super::place::Place;
use super::reasons::{Reason, Weight, reasons};
use super::words::first_tests;
use crate::verify::envelope::{FailureCategory, Overall, Verification};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many results are written; GitHub shows no more for one run.
const MOST_RESULTS: usize = 5_000;

/// The verification as SARIF 2.1.0, with one result for each reason. `version` is that of drive.
pub fn sarif(report: &Verification, version: &str) -> String {
    let reasons = reasons(report);
    let mut rules: Vec<FailureCategory> = Vec::new();
    let mut seen = BTreeSet::new();
    for reason in &reasons {
        if seen.insert(reason.category.as_str()) {
            rules.push(reason.category);
        }
    }
    let results: Vec<Value> = reasons
        .iter()
        .take(MOST_RESULTS)
        .map(|reason| result(reason, &rules))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "drive",
                "version": version,
                "rules": rules.iter().map(|rule| json!({
                    "id": rule.as_str(),
                    "shortDescription": { "text": meaning(*rule) },
                })).collect::<Vec<_>>(),
            } },
            "automationDetails": { "id": "drive/verify/" },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                // Whether the tool itself worked, whatever it found.
                "executionSuccessful": report.overall != Overall::Error,
                "startTimeUtc": report.timing.started_at.to_string(),
                "endTimeUtc": report.timing.ended_at.to_string(),
            }],
            "properties": {
                "runId": report.run_id,
                "overall": report.overall,
                "headSha": report.candidate.head_sha,
                "baseSha": report.candidate.base_sha,
                "mergedTreeSha": report.candidate.merged_tree_sha,
            },
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn result(reason: &Reason, rules: &[FailureCategory]) -> Value {
    let index = rules.iter().position(|rule| *rule == reason.category);
    let mut message = reason.message.clone();
    let (tests, more) = first_tests(&reason.failed_tests);
    if !tests.is_empty() {
        let _ = write!(message, "\nfailing: {}", tests.join(", "));
        if more > 0 {
            let _ = write!(message, " and {more} more");
        }
    }
    if let Some(hint) = &reason.hint {
        let _ = write!(message, "\nhint: {hint}");
    }
    let mut result = json!({
        "ruleId": reason.category.as_str(),
        "ruleIndex": index,
        "level": match reason.weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
        },
        "message": { "text": message },
    });
    if !reason.places.is_empty() {
        result["locations"] = reason.places.iter().map(location).collect();
    }
    result
}

fn location(place: &Place) -> Value {
    let mut physical = json!({
        "artifactLocation": { "uri": uri(&place.path), "uriBaseId": "%SRCROOT%" },
    });
    if let Some(line) = place.line.filter(|line| *line > 0) {
        let mut region = json!({ "startLine": line });
        if let Some(column) = place.column.filter(|column| *column > 0) {
            region["startColumn"] = json!(column);
        }
        physical["region"] = region;
    }
    json!({ "physicalLocation": physical })
}

/// A relative path as a relative URI reference. Everything but plain characters is encoded,
/// including the colon, which would turn the first part into a scheme.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn meaning(category: FailureCategory) -> &'static str {
    match category {
        FailureCategory::Compile => "The merge result does not build.",
        FailureCategory::Test => "A test failed, or no test ran.",
        FailureCategory::Startup => "The program does not start.",
        FailureCategory::Timeout => "A time limit was reached.",
        FailureCategory::Resource => "A resource limit was reached, or processes were left behind.",
        FailureCategory::Policy => "A rule of the repository was broken, or needs a person.",
        FailureCategory::Infra => "The environment failed; the candidate was not judged.",
        FailureCategory::Baseline => "The base fails as well.",
        FailureCategory::Flaky => "A test failed and then passed on the same tree.",
    }
}
