use super::tests::failing;
use super::*;
use crate::verify::envelope::*;
use proptest::prelude::*;
use serde_json::Value;

fn passing() -> Verification {
    let mut report = failing();
    report.overall = Overall::Pass;
    report.failure = None;
    report.stages.truncate(1);
    report
}

/// A failure before the first stage.
fn refused() -> Verification {
    let mut report = failing();
    report.stages.clear();
    report.failure = Some(Failure {
        category: FailureCategory::Policy,
        reason: "`tests/t`, `tools.sh` are not covered by any route".to_owned(),
        stage: None,
        hint: None,
    });
    report
}

/// A text from anywhere, in every field that a candidate can fill.
fn hostile(text: &str) -> Verification {
    let mut report = failing();
    report.stages[1].stdout_tail = text.to_owned();
    report.stages[1].stderr_tail = text.to_owned();
    report.stages[1].route = text.to_owned();
    report.stages[1].command = vec![text.to_owned()];
    report.stages[1].reason = Some(text.to_owned());
    report.stages[1].failed_tests = vec![text.to_owned()];
    report.protected_changes = vec![text.to_owned()];
    report.notes = vec![text.to_owned()];
    if let Some(failure) = &mut report.failure {
        failure.reason = text.to_owned();
    }
    report
}

/// Checks that XML is well formed, and returns its elements with their attributes.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    for c in xml.chars() {
        assert!(
            matches!(c, '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'..)
                && !('\u{7f}'..='\u{9f}').contains(&c),
            "{c:?} is in the XML"
        );
    }
    let mut rest = xml.split_once("?>").unwrap().1.trim();
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (text, after) = rest.split_once('<').unwrap();
        assert!(!open.is_empty() || text.trim().is_empty(), "{text}");
        entities(text);
        let (tag, after) = after.split_once('>').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut pairs = Vec::new();
        while !attributes.trim().is_empty() {
            let (key, value) = attributes.split_once("=\"").unwrap();
            let (value, after) = value.split_once('"').unwrap();
            pairs.push((key.trim().to_owned(), entities(value)));
            attributes = after;
        }
        found.push((name.to_owned(), pairs));
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, Vec::<String>::new());
    found
}

/// Text with its entities replaced; only known ones may occur.
fn entities(text: &str) -> String {
    let mut pieces = text.split('&');
    let mut out = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once(';').unwrap();
        match name {
            "amp" => out.push('&'),
            "lt" => out.push('<'),
            "gt" => out.push('>'),
            "quot" => out.push('"'),
            number => {
                let code: u32 = number.strip_prefix('#').unwrap().parse().unwrap();
                out.push(char::from_u32(code).unwrap());
            }
        }
        out.push_str(rest);
    }
    out
}

fn attribute<'a>(element: &'a (String, Vec<(String, String)>), name: &str) -> &'a str {
    let found = element.1.iter().find(|(key, _)| key == name);
    found.map_or("-", |(_, value)| value)
}

#[test]
fn junit_has_a_suite_for_each_stage_and_a_case_for_each_failing_test() {
    let mut report = failing();
    report.stages[1].failed_tests = vec!["codec::reads".to_owned(), "codec::writes".to_owned()];
    let xml = junit(&report);
    insta::assert_snapshot!(xml);
    let all = elements(&xml);
    let names = |wanted: &str| -> Vec<&str> {
        let of = all.iter().filter(|(name, _)| name == wanted);
        of.map(|element| attribute(element, "name")).collect()
    };
    assert_eq!(
        names("testsuite"),
        [
            "compile (api)",
            "targeted tests (api)",
            "startup smoke test (api)"
        ]
    );
    assert_eq!(
        names("testcase"),
        [
            "cargo test",
            "cargo test",
            "codec::reads",
            "codec::writes",
            "cargo test"
        ]
    );
}

#[test]
fn junit_of_a_failure_before_the_first_stage_has_one_case() {
    let all = elements(&junit(&refused()));
    let failure = all.iter().find(|(name, _)| name == "failure").unwrap();
    assert_eq!(attribute(failure, "type"), "policy");
    assert_eq!(attribute(&all[0], "tests"), "1");
    assert_eq!(attribute(&all[0], "failures"), "1");
}

#[test]
fn junit_of_a_flaky_stage_that_was_let_through_has_no_failure() {
    let mut report = passing();
    report.stages[0].fault = Some(Fault::Flaky);
    report.stages[0].failed_tests = vec!["sometimes".to_owned()];
    let all = elements(&junit(&report));
    assert_eq!(attribute(&all[0], "failures"), "0");
    assert_eq!(attribute(&all[0], "tests"), "1");
}

#[test]
fn sarif_has_a_result_for_each_reason_with_relative_places() {
    let mut report = failing();
    report.protected_changes = vec!["ci/a b:c.yml".to_owned()];
    report.stages[1].stderr_tail = "error: no\n --> src/lib.rs:3:5\n".to_owned();
    report.stages[1].failed_tests = vec!["codec::reads".to_owned()];
    if let Some(failure) = &mut report.failure {
        failure.reason = "targeted tests (api): cannot read `/w/src/lib.rs`".to_owned();
    }
    let text = sarif(&report, "1.2.3");
    insta::assert_snapshot!(text);
    assert!(!text.contains("/w"), "a machine's path is in it: {text}");
}

#[test]
fn sarif_names_the_paths_of_a_broken_rule() {
    let log: Value = serde_json::from_str(&sarif(&refused(), "1")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    let uris: Vec<&str> = results[0]["locations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| {
            place["physicalLocation"]["artifactLocation"]["uri"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(uris, ["tests/t", "tools.sh"]);
}

#[test]
fn sarif_of_a_pass_has_no_result() {
    let log: Value = serde_json::from_str(&sarif(&passing(), "1")).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(
        log["runs"][0]["invocations"][0]["executionSuccessful"],
        true
    );
}

#[test]
fn annotations_name_the_place_the_reason_and_the_tests() {
    let mut report = failing();
    report.protected_changes = vec!["Cargo.toml".to_owned()];
    report.stages[1].stderr_tail = "error: no\n --> src/lib.rs:3:5\n".to_owned();
    report.stages[1].failed_tests = (0..12).map(|n| format!("t{n}")).collect();
    insta::assert_snapshot!(annotations(&report));
    assert_eq!(
        annotations(&passing()),
        "::notice title=drive verify::verification passed: 1 passed in 1 min 5 s (base 2222222222)\n"
    );
}

#[test]
fn other_failing_stages_are_reasons_of_their_own() {
    let mut report = failing();
    report.stages[2].status = StageStatus::Timeout;
    report.stages[2].ended = Some(StageEnd::TimedOut);
    report.stages[2].reason = Some("did not finish within 30s".to_owned());
    let said = annotations(&report);
    assert_eq!(said.matches("::error ").count(), 2, "{said}");
    assert!(said.contains("title=drive verify%3A timeout::startup smoke test (api): did not"));
    let text = human(&report);
    assert!(
        text.contains("(timeout: did not finish\n           within 30s)"),
        "{text}"
    );
}

#[test]
fn a_status_has_at_most_140_characters_on_one_line() {
    assert_eq!(
        status_text(&passing()),
        "1 passed in 1 min 5 s (base 2222222222)"
    );
    assert_eq!(
        status_text(&failing()),
        "test: targeted tests (api): exit code 101 (base 2222222222)"
    );
    let text = status_text(&hostile(&"é\n".repeat(1_000)));
    assert_eq!(text.chars().count(), STATUS_CHARS);
    assert!(text.ends_with('…') && !text.contains('\n'));
}

#[test]
fn the_text_fits_80_columns_and_says_each_reason_once() {
    let mut report = failing();
    report.stages[1].command = vec!["word".to_owned(); 60];
    report.stages[1].failed_tests = (0..12).map(|n| format!("codec::t{n:02}")).collect();
    report.stages[1].stdout_tail = format!("FAILED\n  {}\n", "long ".repeat(60));
    report.stages.push(report.stages[2].clone());
    if let Some(failure) = &mut report.failure {
        failure.hint = Some("word ".repeat(40));
    }
    report.notes = vec!["note ".repeat(40), "same".to_owned(), "same".to_owned()];
    let text = human(&report);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for once in [
        "exit code 101",
        "targeted tests of route `api` failed",
        "note: same",
        "codec::t09",
        "    and 2 more\n",
        "12 failing tests in targeted tests (api):",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once}\n{text}");
    }
    assert!(!text.contains("codec::t10"), "{text}");
    assert!(
        text.ends_with("\nverification: fail (1 passed, 1 failed, 2 skipped) in 1 min 5 s\n"),
        "{text}"
    );
}

#[test]
fn a_word_that_is_too_long_has_a_line_of_its_own() {
    let mut report = refused();
    let path = format!("`{}`", "x/".repeat(60));
    if let Some(failure) = &mut report.failure {
        failure.reason = format!("this path is not covered: {path} by any route");
    }
    let text = human(&report);
    assert!(text.contains(&format!("\n  {path}\n")), "{text}");
    assert!(
        text.ends_with("\nverification: fail in 1 min 5 s\n"),
        "{text}"
    );
}

#[test]
fn code_that_fits_a_line_is_not_broken() {
    let mut report = refused();
    let code = "`drive verify HEAD --base main`";
    let long = format!("`{}`", "word ".repeat(40));
    report.notes = (0..60)
        .map(|n| format!("{} {code}, then", "x".repeat(n)))
        .collect();
    report.notes.push(format!("{long} and one ` alone"));
    let text = human(&report);
    assert_eq!(text.matches(code).count(), 60, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

proptest! {
    #[test]
    fn no_text_breaks_the_xml(text in "(\\PC|[<>&\"'\\]\n\r\t\u{0}-\u{1f}\u{7f}-\u{9f}\u{fffe}\u{ffff}]){0,80}") {
        elements(&junit(&hostile(&text)));
    }

    #[test]
    fn no_text_adds_a_workflow_command(text in "([:#\\[ %,\na-e\r\t]|::|##\\[|::error::){0,60}") {
        let report = hostile(&text);
        let said = annotations(&report);
        prop_assert_eq!(said.lines().count(), 2);
        for line in said.lines() {
            prop_assert!(line.starts_with("::error ") || line.starts_with("::warning "));
        }
        let shown = shielded(&human(&report), "token");
        let lines: Vec<&str> = shown.lines().collect();
        prop_assert_eq!(lines[0], "::stop-commands::token");
        prop_assert_eq!(lines[lines.len() - 1], "::token::");
        for line in &lines[1..lines.len() - 1] {
            prop_assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{}", line);
        }
    }

    #[test]
    fn sarif_is_json_and_its_places_are_relative(text in "([`/.a:% \n\\\\]){0,40}") {
        let log: Value = serde_json::from_str(&sarif(&hostile(&text), "1")).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        for place in results.iter().filter_map(|r| r["locations"].as_array()).flatten() {
            let uri = place["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
            prop_assert!(!uri.starts_with('/') && !uri.contains("..//") && !uri.contains(':'), "{}", uri);
            prop_assert!(uri.split('/').all(|part| part != ".." && !part.is_empty()), "{}", uri);
        }
    }
}
