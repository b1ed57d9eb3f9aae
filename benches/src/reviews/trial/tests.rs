use super::*;
use crate::reviews::case::{folder, load_cases};
use serde_json::json;

fn environment() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    vec![("PATH".into(), path)]
}

#[test]
fn there_are_twenty_changes_with_a_defect_and_twenty_clean_ones() {
    let cases = load_cases(&folder()).unwrap();
    let defects = cases.iter().filter(|case| case.defect.is_some()).count();
    assert_eq!((defects, cases.len() - defects), (20, 20));
}

/// The script of the primary applies the change, as in an evaluation.
#[test]
fn every_change_applies_and_contains_its_defect() {
    for case in load_cases(&folder()).unwrap() {
        let place = Place::make(&case, Configuration::One, "", &environment()).unwrap();
        let mut coder = place.command(Path::new("/bin/sh"));
        coder.arg(place.path("coder.sh"));
        let ended = child::run(&mut coder, GIT_LIMIT, &place.path("output")).unwrap();
        assert!(ended.success, "{}: {}", case.name, ended.stderr);
        place.git(&["add", "--all"]).unwrap();
        let stat = place.git(&["diff", "--cached", "--numstat"]).unwrap();
        let changed: u64 = stat
            .split_whitespace()
            .filter_map(|word| word.parse::<u64>().ok())
            .sum();
        assert!((10..=45).contains(&changed), "{}: {changed}", case.name);
        if let Some(defect) = &case.defect {
            assert_defect(&place, &case.name, defect);
        }
    }
}

/// The lines of the defect exist, and the change wrote at least one of them.
fn assert_defect(place: &Place, name: &str, defect: &crate::reviews::Defect) {
    let text = fs::read_to_string(place.path("repo").join(&defect.file));
    let text = text.unwrap_or_else(|error| panic!("{name}: {}: {error}", defect.file));
    let (from, to) = defect.lines;
    let lines = text.lines().count() as u64;
    assert!(1 <= from && from <= to && to <= lines, "{name}: {lines}");
    assert!(to - from <= 6, "{name}: such a range is found by chance");
    let range = format!("-L{from},{to}");
    let args = ["blame", "--porcelain", &range, "--", &defect.file];
    let blamed = place.git(&args).unwrap();
    assert!(
        blamed.contains("0000000000000000000000000000000000000000"),
        "{name}: the change did not write these lines"
    );
}

#[test]
fn a_report_without_a_verdict_says_why() {
    let review = |domain: &str, verdict: Value, failure: Value| json!({"domain": domain, "round": 1, "verdict": verdict, "failure": failure, "suggestions": []});
    let reviews = [
        review(
            "Correctness",
            json!(null),
            json!("two verdicts that differ"),
        ),
        review("Correctness", json!("approved"), json!(null)),
        review("Security", json!(null), json!("the agent failed")),
    ];
    let document = json!({
        "schema": "drive.run/1", "status": "failed", "verdict": "inconclusive", "openFindings": [],
        "record": {"reviews": reviews}, "failure": {"kind": "notApproved", "message": "not approved"},
        "tokens": 7, "costUsd": 0.5,
    });
    let trial = Trial::of(&document);
    assert_eq!(
        trial,
        Trial {
            tokens: Some(7),
            cost_usd: Some(0.5),
            ..Trial::failed("Security: the agent failed".to_owned())
        }
    );
}

#[test]
fn a_run_that_failed_before_its_review_says_why() {
    let failure = json!({"kind": "agentFailed", "message": "agent failed", "causes": ["no key"]});
    let document = json!({
        "schema": "drive.run/1", "status": "failed", "verdict": null, "openFindings": [],
        "record": {"reviews": []}, "failure": failure, "tokens": null, "costUsd": null,
    });
    let failed = Trial::failed("agent failed: no key".to_owned());
    assert_eq!(Trial::of(&document), failed);
    let mut error = failure;
    error["schema"] = json!("drive.error/1");
    assert_eq!(Trial::of(&error), failed);
}

#[test]
fn findings_that_block_are_told_from_the_others() {
    let finding = |line: u64, domain: Value| {
        json!({"domain": domain, "file": "a.py", "line": line, "issue": "wrong", "evidence": null,
            "suggestion": "fix it", "severity": "major", "confidence": 90})
    };
    let mut reviewed = [finding(3, json!(null)), finding(9, json!(null))];
    for one in &mut reviewed {
        one.as_object_mut().unwrap().remove("domain");
    }
    let document = json!({
        "schema": "drive.run/1", "status": "failed", "verdict": "needsChanges",
        "openFindings": [finding(3, json!("Security"))],
        "record": {"reviews": [{"domain": "Security", "verdict": "needsChanges", "failure": null,
            "suggestions": reviewed}]},
        "failure": {"kind": "notApproved", "message": "not approved"}, "tokens": null, "costUsd": null,
    });
    let at = |line| Finding {
        domain: Some("Security".to_owned()),
        file: Some("a.py".to_owned()),
        line: Some(line),
        text: "wrong\nfix it".to_owned(),
    };
    let expected = Reviewed {
        blocking: vec![at(3)],
        other: vec![at(9)],
        unjudged: None,
    };
    assert_eq!(Trial::of(&document).reviewed, expected);
}
