//! Tests that a route covers a path only if one of its commands tests it, and that a missing tool
//! is not the candidate's fault.

use crate::verify::detectors::{has, project, python_path, toolchains, verified, verified_with};
use crate::verify::support::Scene;

/// The verdict, its category, reason and hint.
fn failure(scene: &Scene, path: Option<&str>) -> [String; 4] {
    let mut command = scene.drive(&["verify", "--base", "base", "--json"]);
    command.envs(toolchains());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let answer = scene.answer(&command.output().unwrap());
    let pointers = [
        "/overall",
        "/failure/category",
        "/failure/reason",
        "/failure/hint",
    ];
    pointers.map(|pointer| answer.text(pointer).to_owned())
}

const MAKE: &[(&str, &str)] = &[
    (
        "Makefile",
        "build: a.txt\n\ntest: build\n\tsh run.sh\n\na.txt: src/a.c\n\tgrep -q one src/a.c\n",
    ),
    ("src/a.c", "#include \"a.h\"\n// one\n"),
    ("src/a.h", "// a\n"),
    ("run.sh", "sh lib/more.sh\n"),
    ("lib/more.sh", "true\n"),
    ("src/never.c", "// never\n"),
    ("README.md", "# p\n"),
];

#[test]
fn a_makefile_is_run_for_what_its_targets_build() {
    if !has(&["make", "--version"]) {
        return;
    }
    for path in ["src/a.c", "src/a.h", "lib/more.sh", "README.md", "Makefile"] {
        let (overall, ran, report) = verified(&project(MAKE, &format!("echo >> {path}")));
        assert_eq!(overall, "pass", "{path}: {report}");
        assert_eq!(ran, ["make build", "make test"]);
    }
}

#[test]
fn a_makefile_does_not_cover_what_it_never_builds() {
    if !has(&["make", "--version"]) {
        return;
    }
    let [overall, category, reason, _] = failure(
        &project(MAKE, "echo >> src/never.c && echo >> src/a.c"),
        None,
    );
    assert_eq!(
        [overall.as_str(), &category, &reason],
        [
            "fail",
            "policy",
            "`src/never.c` is not tested: not used by `make build` or `make test`"
        ]
    );
    // A deleted file needs no test.
    let (overall, _, report) = verified(&project(MAKE, "git rm -q src/never.c"));
    assert_eq!(overall, "pass", "{report}");
}

#[test]
fn a_missing_build_tool_is_a_problem_of_the_machine() {
    let scene = project(
        &[("go.mod", "module x\n\ngo 1.19\n"), ("a.go", "package x\n")],
        "echo '// more' >> a.go",
    );
    // The same programs without Go.
    scene.shell("mkdir bin && cd bin && for p in git sh env; do ln -s $(command -v $p) .; done");
    let path = scene.path("bin");
    assert_eq!(
        failure(&scene, Some(path.to_str().unwrap())),
        [
            "error",
            "infra",
            "`go` is not installed, and project `go` needs it",
            "install Go: https://go.dev/dl, or `apt-get install golang-go`"
        ]
    );
}

#[test]
fn a_package_of_a_node_workspace_that_nothing_tests_fails_with_the_reason() {
    let workspace: &[(&str, &str)] = &[
        (
            "package.json",
            "{\"name\": \"root\", \"workspaces\": [\"packages/*\"], \"scripts\": {\"test\": \"npm test --workspaces --if-present\"}}",
        ),
        (
            "packages/app/package.json",
            "{\"name\": \"app\", \"version\": \"1.0.0\", \"dependencies\": {\"util\": \"1.0.0\"}, \"scripts\": {\"test\": \"node --test\"}}",
        ),
        (
            "packages/app/a.test.js",
            "require('node:test')('one', () => require('util-of-ours'));\n",
        ),
        (
            "packages/lone/package.json",
            "{\"name\": \"lone\", \"version\": \"1.0.0\"}",
        ),
        ("packages/lone/a.js", "// lone\n"),
    ];
    let [overall, category, reason, hint] = failure(
        &project(workspace, "echo '// more' >> packages/lone/a.js"),
        None,
    );
    assert_eq!((overall.as_str(), category.as_str()), ("fail", "policy"));
    assert_eq!(
        reason,
        "`packages/lone/a.js` is not tested: package `lone` and its dependents have no `test` script, and the root's only runs package scripts"
    );
    assert!(
        hint.starts_with("add a `test` script to package `lone`"),
        "{hint}"
    );
}

#[test]
fn a_package_without_a_script_is_tested_by_the_package_that_uses_it() {
    if !has(&["npm", "--version"]) {
        return;
    }
    let workspace: &[(&str, &str)] = &[
        (".gitignore", "node_modules\n"),
        (
            "package.json",
            "{\"name\": \"root\", \"workspaces\": [\"packages/*\"]}",
        ),
        (
            "packages/app/package.json",
            "{\"name\": \"app\", \"version\": \"1.0.0\", \"dependencies\": {\"ours\": \"1.0.0\"}, \"scripts\": {\"test\": \"node --test\"}}",
        ),
        (
            "packages/app/a.test.js",
            "require('node:test')('one', () => { if (require('ours') !== 1) throw new Error('wrong') });\n",
        ),
        (
            "packages/ours/package.json",
            "{\"name\": \"ours\", \"version\": \"1.0.0\"}",
        ),
        ("packages/ours/index.js", "module.exports = 1\n"),
    ];
    let harmless = project(workspace, "echo '// more' >> packages/ours/index.js");
    let (overall, ran, report) = verified(&harmless);
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(ran.last().unwrap(), "npm run test --workspace=app");
    let broken = project(
        workspace,
        "echo 'module.exports = 2' > packages/ours/index.js",
    );
    let [overall, category, ..] = failure(&broken, None);
    assert_eq!((overall.as_str(), category.as_str()), ("fail", "test"));
}

#[test]
fn a_bench_that_needs_a_nightly_compiler_does_not_break_a_stable_check() {
    if !has(&["cargo", "--version"]) {
        return;
    }
    let files: &[(&str, &str)] = &[
        (".gitignore", "target\nCargo.lock\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        ("src/lib.rs", "#[test]\nfn a() {}\n"),
        ("benches/b.rs", "#![feature(test)]\nextern crate test;\n"),
    ];
    let (overall, ran, report) = verified(&project(files, "echo '// more' >> src/lib.rs"));
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(
        ran[0],
        "cargo check --lib --bins --tests --examples --workspace"
    );
}

/// A build backend that needs no package, so that no registry is contacted.
const BACKEND: &str = r#"
import os, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "p-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("p.pth", os.path.abspath("src"))
        wheel.writestr("p-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: p\nVersion: 1\n")
        tag = "Wheel-Version: 1.0\nGenerator: p\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr("p-1.dist-info/WHEEL", tag)
        wheel.writestr("p-1.dist-info/RECORD", "")
    return name
"#;

#[test]
fn modules_below_src_are_installed_for_their_tests() {
    let Some(path) = python_path("pytest, venv, ensurepip") else {
        return;
    };
    let files: &[(&str, &str)] = &[
        (".gitignore", ".venv\n"),
        (
            "pyproject.toml",
            "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n[project]\nname = \"p\"\nversion = \"1\"\n",
        ),
        ("backend.py", BACKEND),
        ("src/p/__init__.py", "answer = 42\n"),
        (
            "tests/test_p.py",
            "from p import answer\n\ndef test_p():\n    assert answer == 42\n",
        ),
    ];
    let harmless = project(files, "echo '# more' >> src/p/__init__.py");
    let (overall, ran, report) = verified_with(&harmless, Some(&path));
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(
        [ran[0].as_str(), &ran[1], &ran[3]],
        [
            "python3 -m venv --system-site-packages .venv",
            "env .venv/bin/python -m pip install --quiet -e . pytest",
            "env .venv/bin/python -m pytest"
        ]
    );
    let broken = project(files, "echo 'answer = 41' > src/p/__init__.py");
    let [overall, category, ..] = failure(&broken, Some(&path));
    assert_eq!((overall.as_str(), category.as_str()), ("fail", "test"));
}

#[test]
fn a_cmake_project_is_built_and_tested_by_ctest() {
    if !has(&["ctest", "--version"]) || !has(&["cc", "--version"]) {
        return;
    }
    let files: &[(&str, &str)] = &[
        (
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.20)\nproject(x C)\nenable_testing()\nadd_executable(a a.c)\nadd_test(NAME a COMMAND a)\n",
        ),
        ("a.c", "#include \"a.h\"\nint main(void) { return A; }\n"),
        ("a.h", "#define A 0\n"),
        ("never.c", "\n"),
    ];
    let (overall, ran, report) = verified(&project(files, "echo >> a.h"));
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(
        ran.last().unwrap(),
        "ctest --test-dir .drive-build --output-on-failure"
    );
    let [overall, category, ..] = failure(&project(files, "echo '#define A 1' > a.h"), None);
    assert_eq!((overall.as_str(), category.as_str()), ("fail", "test"));
    let [_, category, reason, _] = failure(&project(files, "echo >> never.c"), None);
    assert_eq!(
        (category.as_str(), reason.as_str()),
        (
            "policy",
            "`never.c` is not tested: not named in any CMake file"
        )
    );
}

#[test]
fn what_no_route_covers_is_tested_by_its_project_and_a_skip_still_covers() {
    if !has(&["make", "--version"]) {
        return;
    }
    let route = |name: &str, rest: &str| {
        format!("[[verify.routes]]\nname = \"{name}\"\npaths = [\"{name}/**\"]\n{rest}\n")
    };
    let settings = [
        route("api", "targeted_tests = [\"echo\", \"1 passed in 0.1s\"]"),
        route("docs", "skip = \"prose\""),
    ];
    let settings = settings.concat();
    let files = &[
        ("drive.toml", settings.as_str()),
        (
            "Makefile",
            "test:\n\tgrep -q . src/a.txt && echo 2 passed in 0.1s\n",
        ),
        ("api/a", "1"),
        ("docs/a", "1"),
        ("src/a.txt", "1"),
    ];
    let ran = |change: &str| verified(&project(files, change));
    let (overall, commands, report) = ran("echo >> api/a && echo >> src/a.txt && echo >> docs/a");
    assert_eq!(overall, "pass", "{report}");
    assert_eq!(commands, ["echo 1 passed in 0.1s", "make test"]);
    let (overall, commands, report) = ran("echo >> docs/a");
    assert_eq!((overall.as_str(), commands.len()), ("pass", 0), "{report}");
    let (overall, _, report) = ran("rm src/a.txt && echo >> api/a");
    assert_eq!(overall, "fail", "{report}");
}
