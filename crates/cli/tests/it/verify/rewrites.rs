//! Tests a candidate that rewrites the files from which drive detects what to run.

use crate::verify::detectors::{has, project, python_path, toolchains};
use crate::verify::support::Answer;

fn verified(files: &[(&str, &str)], change: &str, path: Option<&str>) -> Answer {
    let scene = project(files, change);
    let mut command = scene.drive(&["verify", "--base", "base", "--json", "--fresh"]);
    command.envs(toolchains());
    command.envs(path.map(|path| ("PATH", path)));
    let answer = scene.answer(&command.output().unwrap());
    scene.assert_nothing_is_left();
    answer
}

fn failure(answer: &Answer) -> (&str, &str, &str, Option<i32>) {
    (
        answer.text("/overall"),
        answer.text("/failure/category"),
        answer.text("/failure/reason"),
        answer.code,
    )
}

const MAKE: &[(&str, &str)] = &[(
    "Makefile",
    "build:\n\ttrue\ntest:\n\t@echo 3 passed in 0.1s\n",
)];

#[test]
fn a_makefile_whose_tests_become_true_fails_by_the_tests_of_the_base() {
    if !has(&["make", "--version"]) {
        return;
    }
    let answer = verified(
        MAKE,
        "printf 'build:\\n\\ttrue\\ntest:\\n\\ttrue\\n' > Makefile",
        None,
    );
    let reason = "targeted tests (make): the base runs 3 tests, the candidate none";
    assert_eq!(
        failure(&answer),
        ("fail", "test", reason, Some(1)),
        "{:#}",
        answer.report
    );
    let answer = verified(MAKE, "echo '# more' >> Makefile", None);
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    let tests = serde_json::json!({"ran": 3, "failed": 0});
    assert_eq!(answer.report["stages"][1]["tests"], tests);
}

#[test]
fn a_target_that_the_candidate_drops_is_a_broken_rule() {
    if !has(&["make", "--version"]) {
        return;
    }
    let change = "printf 'test:\\n\\t@echo 3 passed in 0.1s\\n' > Makefile";
    let answer = verified(MAKE, change, None);
    let reason = "the base runs `make build` (compile, make), the candidate has no such command";
    assert_eq!(
        failure(&answer),
        ("fail", "policy", reason, Some(1)),
        "{:#}",
        answer.report
    );
}

const NODE: &[(&str, &str)] = &[
    (
        "package.json",
        "{\"name\": \"p\", \"scripts\": {\"test\": \"node --test\"}}",
    ),
    ("a.test.js", "require('node:test')('one', () => {});\n"),
];

#[test]
fn a_package_whose_tests_become_true_fails_by_the_tests_of_the_base() {
    if !has(&["npm", "--version"]) {
        return;
    }
    let change = "sed -i 's/node --test/true/' package.json";
    let answer = verified(NODE, change, None);
    let reason = "targeted tests (node): the base runs 1 test, the candidate none";
    assert_eq!(
        failure(&answer),
        ("fail", "test", reason, Some(1)),
        "{:#}",
        answer.report
    );
    // A separate package around the sources does not count either.
    let inside = "mkdir src && echo 1 > src/a.js && echo '{\"scripts\": {\"test\": \"true\"}}' > src/package.json";
    let answer = verified(NODE, inside, None);
    let reason = "targeted tests (node:src): the base runs 1 test, the candidate none";
    assert_eq!(failure(&answer).2, reason, "{:#}", answer.report);
}

#[test]
fn a_conftest_that_empties_the_collection_fails() {
    let Some(path) = python_path("pytest") else {
        return;
    };
    let files = &[
        (
            "pyproject.toml",
            "[project]\nname = \"p\"\nversion = \"1\"\n",
        ),
        ("test_a.py", "def test_a():\n    assert True\n"),
    ];
    let change = "printf 'def pytest_collection_modifyitems(items):\\n    items.clear()\\n\\ndef pytest_sessionfinish(session):\\n    session.exitstatus = 0\\n' > conftest.py";
    let answer = verified(files, change, Some(&path));
    let (overall, category, reason, _) = failure(&answer);
    assert_eq!((overall, category), ("fail", "test"), "{:#}", answer.report);
    assert!(reason.contains("no test ran"), "{reason}");
}

#[test]
fn a_manifest_that_cannot_be_read_is_the_fault_of_who_broke_it() {
    let cargo = (
        "Cargo.toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\n",
    );
    let source = ("src/lib.rs", "");
    let tables = [
        (&["npm", "--version"] as &[&str], NODE, "package.json"),
        (&["cargo", "--version"], &[cargo, source], "Cargo.toml"),
    ];
    for (tool, files, manifest) in tables {
        if !has(tool) {
            continue;
        }
        let answer = verified(files, &format!("echo '{{' >> {manifest}"), None);
        let (overall, category, reason, code) = failure(&answer);
        assert_eq!(
            (overall, category, code),
            ("fail", "compile", Some(1)),
            "{:#}",
            answer.report
        );
        assert!(reason.ends_with("it can be read on the base"), "{reason}");
        let broken: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (*name, if *name == manifest { "{" } else { *text }))
            .collect();
        let answer = verified(&broken, "echo more > more.txt", None);
        let (overall, category, reason, code) = failure(&answer);
        assert_eq!(
            (overall, category, code),
            ("fail", "baseline", Some(1)),
            "{:#}",
            answer.report
        );
        let told = "it cannot be read on the base either";
        assert!(reason.ends_with(told), "{reason}");
    }
}
