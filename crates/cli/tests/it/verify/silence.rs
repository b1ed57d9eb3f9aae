//! Tests that a test which ends its runner with exit code 0 does not pass.

use crate::verify::detectors::{has, project, python_path, toolchains};
use crate::verify::support::Answer;

const SILENT: &str = "exit code 0, but its runner ended without a summary";

fn verified(files: &[(&str, &str)], change: &str, path: Option<&str>) -> Answer {
    let scene = project(files, change);
    let mut command = scene.drive(&["verify", "--base", "base", "--json", "--fresh"]);
    command.envs(toolchains());
    command.envs(path.map(|path| ("PATH", path)));
    scene.answer(&command.output().unwrap())
}

fn assert_is_silent(answer: &Answer) {
    assert_eq!(
        (
            answer.text("/overall"),
            answer.text("/failure/category"),
            answer.code
        ),
        ("fail", "test", Some(1)),
        "{:#}",
        answer.report
    );
    let reason = answer.text("/failure/reason");
    assert!(reason.contains(SILENT), "{reason}");
}

const CARGO: &[(&str, &str)] = &[
    (".gitignore", "target\n"),
    (
        "Cargo.toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    ),
    ("src/lib.rs", "#[test]\nfn passes() {}\n"),
    ("tests/it.rs", "#[test]\nfn fails_later() {}\n"),
];

#[test]
fn a_rust_test_that_exits_fails_although_other_binaries_print_a_summary() {
    if !has(&["cargo", "--version"]) {
        return;
    }
    let change = "printf '#[test]\\nfn leaves() { std::process::exit(0) }\\n#[test]\\nfn wrong() { panic!() }\\n' > tests/it.rs";
    assert_is_silent(&verified(CARGO, change, None));
}

const PYTHON: &[(&str, &str)] = &[
    (
        "pyproject.toml",
        "[project]\nname = \"p\"\nversion = \"1\"\n",
    ),
    ("test_a.py", "def test_a():\n    assert True\n"),
];

const EXITS: &str = "printf 'import os\\n\\ndef test_a():\\n    os._exit(0)\\n\\ndef test_b():\\n    assert False\\n'";

#[test]
fn a_python_test_that_exits_fails() {
    let Some(path) = python_path("pytest") else {
        return;
    };
    let change = format!("{EXITS} > test_a.py");
    assert_is_silent(&verified(PYTHON, &change, Some(&path)));
}

#[test]
fn a_python_test_that_exits_a_quiet_pytest_fails() {
    let Some(path) = python_path("pytest") else {
        return;
    };
    let quiet = ("pytest.ini", "[pytest]\naddopts = -q\n");
    let files = [PYTHON, &[quiet]].concat();
    let answer = verified(&files, "echo '# more' >> test_a.py", Some(&path));
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    let change = format!("{EXITS} > test_a.py");
    assert_is_silent(&verified(&files, &change, Some(&path)));
}
