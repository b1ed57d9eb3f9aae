//! Tests routes without settings, on real projects of each kind.

use crate::verify::support::{PATH, Scene};
use std::process::Command;

/// The tool chains of the user who runs the tests.
pub(crate) fn toolchains() -> Vec<(&'static str, String)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let or =
        |name: &str, below: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{below}"));
    vec![
        ("RUSTUP_HOME", or("RUSTUP_HOME", ".rustup")),
        ("CARGO_HOME", or("CARGO_HOME", ".cargo")),
        ("PYENV_ROOT", or("PYENV_ROOT", ".pyenv")),
        (
            "PATH",
            std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned()),
        ),
    ]
}

pub(crate) fn has(program: &[&str]) -> bool {
    let found = Command::new(program[0])
        .args(&program[1..])
        .output()
        .is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("skipped: `{}` does not work here", program.join(" "));
    }
    found
}

/// A search path whose `python3` has these modules: the user's own, or the system's, because a
/// Python of pyenv rarely has pytest.
pub(crate) fn python_path(modules: &str) -> Option<String> {
    let own = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
    let works = |path: &String| {
        let script = format!("PATH='{path}' exec python3 -c 'import {modules}'");
        let output = Command::new("/bin/sh").args(["-c", &script]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = [own, PATH.to_owned()].into_iter().find(works);
    if found.is_none() {
        eprintln!("skipped: no `python3` here can import {modules}");
    }
    found
}

/// A repository with these files as its base, and a candidate that `change` creates.
pub(crate) fn project(files: &[(&str, &str)], change: &str) -> Scene {
    let scene = Scene::me();
    scene.shell("cd repo && git rm -rq .");
    for (path, text) in files {
        let path = scene.path("repo").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    scene.shell("cd repo && git add -A && git commit -qm project && git tag base");
    scene.shell(&format!(
        "cd repo && {change} && git add -A && git commit -qm change"
    ));
    scene
}

/// The verdict, and every command line that ran.
pub(crate) fn verified(scene: &Scene) -> (String, Vec<String>, String) {
    verified_with(scene, None)
}

/// The same with another search path for programs.
pub(crate) fn verified_with(scene: &Scene, path: Option<&str>) -> (String, Vec<String>, String) {
    let mut command = scene.drive(&["verify", "--base", "base", "--json", "--fresh"]);
    command.envs(toolchains());
    command.envs(path.map(|path| ("PATH", path)));
    let answer = scene.answer(&command.output().unwrap());
    let stages = answer.report["stages"].as_array().unwrap();
    let words = |stage: &serde_json::Value| {
        let words: Vec<&str> = stage["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_str().unwrap())
            .collect();
        words.join(" ")
    };
    let ran = stages
        .iter()
        .filter(|s| !s["ended"].is_null())
        .map(words)
        .collect();
    (
        answer.text("/overall").to_owned(),
        ran,
        format!("{:#}", answer.report),
    )
}

const CARGO: &[(&str, &str)] = &[
    (".gitignore", "target\n"),
    (
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"a\", \"b\", \"c\"]\n",
    ),
    (
        "a/Cargo.toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    ),
    ("a/src/lib.rs", "#[test]\nfn a() {}\n"),
    (
        "b/Cargo.toml",
        "[package]\nname = \"b\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\na = { path = \"../a\" }\n",
    ),
    ("b/src/lib.rs", "#[test]\nfn b() {}\n"),
    (
        "c/Cargo.toml",
        "[package]\nname = \"c\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    ),
    ("c/src/lib.rs", "pub fn none() {}\n"),
];

#[test]
fn a_cargo_workspace_is_checked_where_a_change_reaches() {
    if !has(&["cargo", "--version"]) {
        return;
    }
    let scene = project(CARGO, "echo '// more' >> a/src/lib.rs");
    let (overall, ran, report) = verified(&scene);
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(
        ran,
        [
            "cargo check --all-targets -p a -p b",
            "cargo test -p a -p b"
        ]
    );
    scene.assert_nothing_is_left();
}

#[test]
fn a_cargo_package_without_tests_fails() {
    if !has(&["cargo", "--version"]) {
        return;
    }
    let (overall, _, report) = verified(&project(CARGO, "echo '// more' >> c/src/lib.rs"));
    assert_eq!(overall, "fail");
    assert!(report.contains("no test ran"), "{report}");
}

#[test]
fn a_changed_cargo_package_without_tests_fails_beside_one_that_has_some() {
    if !has(&["cargo", "--version"]) {
        return;
    }
    let change = "echo '// more' >> a/src/lib.rs && echo '// more' >> c/src/lib.rs";
    let (overall, ran, report) = verified(&project(CARGO, change));
    assert_eq!(overall, "fail", "{report}");
    assert_eq!(ran.last().unwrap(), "cargo test --workspace");
    let reason = "no test ran in `c`, nor in what depends on it";
    assert!(report.contains(reason), "{report}");
}

#[test]
fn an_npm_workspace_runs_the_scripts_of_the_affected_packages() {
    if !has(&["npm", "--version"]) {
        return;
    }
    let test = "import t from 'node:test';\nt('one', () => { if (!process.env.NODE_OPTIONS.includes('--max-old-space-size=')) throw new Error('no heap cap') });\n";
    let scene = project(
        &[
            (".gitignore", "node_modules\n"),
            (
                "package.json",
                "{\"name\": \"root\", \"private\": true, \"workspaces\": [\"packages/*\"]}",
            ),
            (
                "packages/ui/package.json",
                "{\"name\": \"ui\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test\"}}",
            ),
            ("packages/ui/a.test.mjs", test),
            (
                "packages/lone/package.json",
                "{\"name\": \"lone\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"exit 1\"}}",
            ),
        ],
        "echo '// more' >> packages/ui/a.test.mjs && mkdir -p node_modules",
    );
    let (overall, ran, report) = verified(&scene);
    // Empty folders are not seeded: dependencies are installed first, which needs no network here.
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(
        ran.last().unwrap(),
        "npm run test --workspace=ui",
        "{report}"
    );
}

/// A package whose dependency is installed in the checkout, without a registry.
const NEEDY: &[(&str, &str)] = &[
    (".gitignore", "node_modules\n"),
    (".npmrc", "registry=http://127.0.0.1:9/\nfetch-retries=0\n"),
    (
        "package.json",
        "{\"name\": \"p\", \"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {\"dep\": \"^1.0.0\"}}",
    ),
    (
        "a.test.js",
        "require('node:test')('one', () => require('dep'));\n",
    ),
];

const INSTALLED: &str = "mkdir -p node_modules/dep && echo '{\"name\": \"dep\", \"version\": \"1.0.0\"}' > node_modules/dep/package.json && touch node_modules/dep/index.js";

#[test]
fn a_change_of_dependencies_is_not_judged_by_what_was_installed_before() {
    if !has(&["npm", "--version"]) {
        return;
    }
    let changes = [
        "sed -i 's/\\^1.0.0/^99.0.0/' package.json",
        "echo '{\"name\": \"p\", \"scripts\": {\"test\": \"node --test\"}}' > package.json",
    ];
    for change in changes {
        let (overall, ran, report) = verified(&project(NEEDY, &format!("{change} && {INSTALLED}")));
        assert_eq!(overall, "fail", "{change}: {report}");
        assert_eq!(
            ran[0], "npm install --no-package-lock --no-audit --no-fund",
            "{report}"
        );
    }
}

#[test]
fn what_is_installed_in_the_checkout_serves_a_candidate_with_the_same_manifests() {
    if !has(&["npm", "--version"]) {
        return;
    }
    let scene = project(
        NEEDY,
        &format!("echo '// more' >> a.test.js && {INSTALLED}"),
    );
    let (overall, ran, report) = verified(&scene);
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(ran, ["npm run test"]);
    // The checkout has changed, and so has what was installed for it.
    scene.shell("cd repo && sed -i 's/1.0.0/2.0.0/' package.json");
    let (overall, ran, report) = verified(&scene);
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(
        ran,
        [
            "npm install --no-package-lock --no-audit --no-fund",
            "npm prune --no-package-lock --no-audit --no-fund",
            "npm run test"
        ],
        "{report}"
    );
}

#[test]
fn a_candidate_that_removes_its_tests_is_refused_by_name() {
    let table = [
        (
            ("Makefile", "all:\n\ttrue\ntest:\n\tfalse\n"),
            "printf 'all:\\n\\ttrue\\n' > Makefile",
            "project `make` has no `test` target, so no test would run",
        ),
        (
            (
                "package.json",
                "{\"name\": \"p\", \"scripts\": {\"build\": \"true\", \"test\": \"false\"}}",
            ),
            "echo '{\"name\": \"p\", \"scripts\": {\"build\": \"true\"}}' > package.json",
            "project `node` has no `test` script, so no test would run",
        ),
    ];
    for (file, change, reason) in table {
        let scene = project(&[file], change);
        let mut command = scene.drive(&["verify", "--base", "base", "--json"]);
        command.envs(toolchains());
        let answer = scene.answer(&command.output().unwrap());
        assert_eq!(
            (
                answer.text("/overall"),
                answer.text("/failure/category"),
                answer.text("/failure/reason"),
                answer.report["stages"].as_array().unwrap().len(),
            ),
            ("fail", "policy", reason, 0)
        );
        assert!(
            answer.text("/failure/hint").contains("[[verify.routes]]"),
            "{:#}",
            answer.report
        );
    }
}

#[test]
fn a_python_project_is_tested_by_pytest() {
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
    let verified = |change: &str| verified_with(&project(files, change), Some(&path));
    let (overall, ran, report) = verified("echo '# more' >> test_a.py");
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(ran[1], "python3 -m pytest");
    let (overall, _, report) = verified("git rm -q test_a.py && echo 'x = 1' > a.py");
    assert_eq!(overall, "fail", "{report}");
}

#[test]
fn a_candidate_that_makes_pytest_only_collect_tests_fails() {
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
    for option in ["--co", "--collect-only -q"] {
        let scene = project(
            files,
            &format!("printf '[pytest]\\naddopts = {option}\\n' > pytest.ini"),
        );
        let (overall, _, report) = verified_with(&scene, Some(&path));
        assert_eq!(overall, "fail", "{option}: {report}");
        assert!(report.contains("no test ran"), "{option}: {report}");
    }
}

#[test]
fn a_go_module_is_tested_where_a_change_reaches() {
    if !has(&["go", "version"]) {
        return;
    }
    let files = &[
        ("go.mod", "module x\n\ngo 1.19\n"),
        ("a/a.go", "package a\n"),
        (
            "a/a_test.go",
            "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
        ),
        ("b/b.go", "package b\n\nimport _ \"x/a\"\n"),
        ("c/c.go", "package c\n"),
    ];
    let (overall, ran, report) = verified(&project(files, "echo '// more' >> a/a.go"));
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(ran, ["go build x/a x/b", "go test x/a x/b"]);
}

#[test]
fn a_tree_without_any_project_fails_closed() {
    let (overall, ran, report) = verified(&project(&[("a", "x")], "echo y > a"));
    assert_eq!((overall.as_str(), ran.len()), ("fail", 0));
    assert!(
        report.contains("`a` is not covered by any route"),
        "{report}"
    );
}
