//! Tests the evaluation of reviews in `benches`, with a script as the reviewer.

use drive_benches::reviews::{Evaluation, Options, Summary, evaluate};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

/// Recognizes each case by one of its files. It finds one defect (and something else), notes one, raises a
/// false alarm, approves a clean change, and fails on everything else. `Security` approves everything.
const REVIEWER: &str = r#"
cat > /dev/null
answer() { printf '```json\n{"verdict": "%s", "suggestions": [%s]}\n```\n[REVIEW COMPLETE]\n' "$1" "$2"; }
finding() { printf '{"file": "%s", "line": %s, "issue": "%s", "severity": "%s", "confidence": 95}' "$1" "$2" "$3" "$4"; }
if [ "$DRIVE_DOMAIN" = Security ]; then
  answer approved ''
elif [ -e src/orders.ts ]; then
  answer needs_changes "$(finding src/orders.ts 17 'Page 1 is skipped.' blocker), $(finding src/handler.ts 2 'A bad name.' major)"
elif [ -e src/stats.rs ]; then
  answer approved "$(finding src/stats.rs 18 'Is the last run there?' minor)"
elif [ -e comments.ts ]; then
  answer needs_changes "$(finding comments.ts 28 'One row too many.' major)"
elif [ -e slug.js ]; then
  answer approved ''
else
  exit 3
fi
"#;
/// Answers long after every limit of a test.
const SLEEPER: &str = "sleep 600\n";
const CASES: [&str; 5] = [
    "orders-by-page",
    "moving-average",
    "comments-by-page",
    "slug-check",
    "price-cache",
];

/// Evaluates this script as the reviewer, with these options.
fn evaluated(script: &str, args: &[&str]) -> Evaluation {
    let folder = TempDir::new().unwrap();
    let (program, settings) = (
        folder.path().join("reviewer"),
        folder.path().join("settings.toml"),
    );
    fs::write(&program, script).unwrap();
    let text = format!(
        "[review]\ndomains = [\"Correctness\", \"Security\"]\n\
         [agents.mine]\nkind = \"command\"\ncommand = [\"/bin/sh\", {program:?}]\n"
    );
    fs::write(&settings, text).unwrap();
    let settings = settings.to_str().unwrap();
    let drive = env!("CARGO_BIN_EXE_drive");
    let options = Options::read(&[args, &["--settings", settings, "--drive", drive]].concat());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = [(OsString::from("PATH"), path)];
    // Shown if the test fails.
    let mut narrate = |line: &str| eprintln!("{line}");
    evaluate(&options.unwrap(), &environment, &mut narrate).unwrap()
}

fn on_cases<'a>(args: &[&'a str], cases: &[&'a str]) -> Vec<&'a str> {
    let cases = cases.iter().flat_map(|case| ["--case", case]);
    args.iter().copied().chain(cases).collect()
}

/// The totals of a configuration without its time.
fn sums(evaluation: &Evaluation, index: usize) -> Summary {
    Summary {
        time: Duration::ZERO,
        ..evaluation.results[index].summary()
    }
}

fn results(document: &Value) -> Vec<Value> {
    let cases = document["configurations"][0]["cases"].as_array().unwrap();
    let gist = |one: &Value| json!([one["case"], one["outcome"], one["reason"]]);
    cases.iter().map(gist).collect()
}

#[test]
fn an_evaluation_counts_found_missed_false_alarms_and_missing_verdicts() {
    let args = on_cases(&["--agent", "mine", "--configuration", "one"], &CASES);
    let evaluation = evaluated(REVIEWER, &args);
    let expected = Summary {
        defects: 3,
        clean: 2,
        found: 1,
        missed: 1,
        noted: 1,
        false_alarms: 1,
        alarmed: 1,
        elsewhere: 1,
        no_verdict: 1,
        ..Summary::default()
    };
    assert_eq!(sums(&evaluation, 0), expected);
    let failed = "agent `mine` failed (exit code 3)";
    assert_eq!(
        results(&evaluation.document()),
        [
            json!(["comments-by-page", "falseAlarm", null]),
            json!(["moving-average", "missed", null]),
            json!(["orders-by-page", "found", null]),
            json!(["price-cache", "noVerdict", failed]),
            json!(["slug-check", "quiet", null]),
        ]
    );
}

/// The settings name two domains.
#[test]
fn an_evaluation_by_domains_says_which_domain_found_the_defect() {
    let cases = ["orders-by-page", "slug-check"];
    let evaluation = evaluated(
        REVIEWER,
        &on_cases(
            &["--agent", "mine", "--configuration", "one,domains"],
            &cases,
        ),
    );
    let expected = Summary {
        defects: 1,
        clean: 1,
        found: 1,
        elsewhere: 1,
        ..Summary::default()
    };
    assert_eq!(evaluation.results.len(), 2);
    for (index, found_by) in [(0, vec![]), (1, vec!["Correctness"])] {
        assert_eq!(sums(&evaluation, index), expected);
        let found = &evaluation.results[index].judged[0];
        assert_eq!(found.case, "orders-by-page");
        assert_eq!(found.score.found_by, found_by);
    }
}

/// Raises a false alarm, and refutes it when it is asked to.
const DOUBTER: &str = r#"
case "$(cat)" in
*"Try to refute"*) printf '```json\n{"findings": [{"id": "finding-1", "holds": false, "why": "line 3"}]}\n```\n' ;;
*) printf '```json\n{"verdict": "needs_changes", "suggestions": [{"issue": "It fails.", "severity": "major"}]}\n```\n' ;;
esac
"#;

#[test]
fn a_false_alarm_that_is_refuted_is_none() {
    let args = ["--agent", "mine", "--configuration", "one,one-refuted"];
    let evaluation = evaluated(DOUBTER, &on_cases(&args, &["slug-check"]));
    let alarms: Vec<_> = (0..2).map(|n| sums(&evaluation, n).false_alarms).collect();
    assert_eq!(alarms, [1, 0]);
}

#[test]
fn a_case_that_reaches_its_limit_has_no_verdict() {
    let args = [
        "--agent",
        "mine",
        "--configuration",
        "one",
        "--limit-per-case",
        "2s",
    ];
    let evaluation = evaluated(SLEEPER, &on_cases(&args, &["slug-check"]));
    let reason = "the limit of 2s was reached";
    assert_eq!(
        results(&evaluation.document()),
        [json!(["slug-check", "noVerdict", reason])]
    );
    assert!(!evaluation.has_verdicts());
}

#[test]
fn an_agent_that_does_not_exist_is_named_as_the_reason() {
    let args = ["--agent", "nobody", "--configuration", "domains"];
    let evaluation = evaluated(REVIEWER, &on_cases(&args, &["slug-check"]));
    let document = evaluation.document();
    let case = &document["configurations"][0]["cases"][0];
    assert_eq!(case["outcome"], "noVerdict");
    let reason = case["reason"].as_str().unwrap();
    assert!(reason.contains("`nobody`"), "{reason}");
}

#[test]
fn an_unknown_case_is_refused_with_those_there_are() {
    let drive = env!("CARGO_BIN_EXE_drive");
    let args = ["--agent", "mine", "--drive", drive, "--case", "nothing"];
    let options = Options::read(&args).unwrap();
    let problem = evaluate(&options, &[], &mut |_| {}).unwrap_err();
    assert_eq!(problem.message, "unknown case `nothing`");
    assert!(problem.hint.unwrap().contains("slug-check"));
}
