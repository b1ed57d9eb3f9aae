//! Tests that the merge is verified, by rules that the candidate cannot change.

use crate::verify::support::{Answer, Scene};
use serde_json::json;

/// A rule for everything; the base is not verified.
fn rule(script: &str) -> String {
    let script = toml::Value::from(script.to_owned());
    format!(
        "[verify]\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ncompile = [\"sh\", \"-c\", {script}]\nskip = \"not tested here\"\n"
    )
}

fn verify(scene: &Scene, arguments: &[&str]) -> Answer {
    let arguments: Vec<&str> = ["verify", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    scene.verify_args(&arguments)
}

fn notes(answer: &Answer) -> String {
    answer.report["notes"].to_string()
}

/// Two branches that merge without a conflict: one renames a function, the other calls it by its old name.
fn broken_together() -> Scene {
    let scene = Scene::me();
    scene.settings(&rule("for one in src/*.sh; do . ./$one || exit 1; done"));
    scene.shell(
        "cd repo && echo 'greet() { true; }' > src/1.sh && git add -A && git commit -qm lib \
         && git checkout -qb candidate && echo 'greet || exit 1' > src/2.sh && git add -A && git commit -qm call \
         && git checkout -q main && echo 'hello() { true; }' > src/1.sh && git commit -qam rename",
    );
    scene
}

#[test]
fn branches_that_merge_cleanly_and_break_each_other_fail() {
    let scene = broken_together();
    // The control: they do not conflict, and each passes alone.
    scene.shell("cd repo && git merge-tree --write-tree main candidate");
    let alone = verify(&scene, &["candidate", "--base", "main", "--head-only"]);
    assert_eq!(alone.text("/overall"), "pass", "{}", alone.report);
    assert_eq!(alone.report["candidate"]["mergedTreeSha"], json!(null));
    let merged = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(merged.verdict(), ("fail", "fail", "exited", "compile"));
}

#[test]
fn the_report_names_the_commits_and_the_tree_of_both_and_moves_nothing() {
    let scene = broken_together();
    scene.shell("cd repo && git checkout -q candidate && sed -i s/greet/hello/ src/2.sh && git commit -qam follow && git checkout -q main");
    let refs = scene.shell("cd repo && git for-each-ref");
    let answer = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
    let id = |name: &str| scene.shell(&format!("cd repo && git rev-parse {name}"));
    assert_eq!(
        answer.report["candidate"],
        json!({
            "headSha": id("candidate"),
            "baseSha": id("main"),
            "mergedTreeSha": scene.shell("cd repo && git merge-tree --write-tree main candidate"),
            "rulesFrom": id("main"),
        })
    );
    assert_eq!(scene.shell("cd repo && git for-each-ref"), refs);
    assert_eq!(scene.shell("cd repo && git status --porcelain"), "");
    let text = scene
        .drive(&["verify", "candidate", "--base", "main"])
        .output()
        .unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    let line = format!(
        "verification of {} merged into {}",
        &id("candidate")[..12],
        &id("main")[..12]
    );
    assert!(text.contains(&line), "{text}");
}

#[test]
fn what_the_base_has_beyond_the_candidate_is_not_its_change() {
    let scene = Scene::me();
    scene.settings("[[verify.routes]]\npaths = [\"src/**\"]\ntargeted_tests = [\"true\"]\n");
    scene.shell("cd repo && git checkout -qb candidate && echo x > src/b && git add -A && git commit -qm b && git checkout -q main && echo y > uncovered && git add -A && git commit -qm y");
    let answer = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
}

/// A checked out candidate that rewrites the rules by which it fails.
fn rewritten() -> Scene {
    let scene = Scene::me();
    scene.settings(&rule("false"));
    scene.shell("cd repo && git checkout -qb candidate && sed -i s/false/true/ drive.toml && echo x > src/b && git add -A && git commit -qm easy");
    scene
}

#[test]
fn rules_of_a_candidate_that_is_checked_out_do_not_count() {
    let scene = rewritten();
    let answer = verify(&scene, &["--base", "main"]);
    assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
    let main = scene.shell("cd repo && git rev-parse main");
    assert_eq!(answer.text("/candidate/rulesFrom"), main);
    assert_eq!(answer.report["protectedChanges"], json!(["drive.toml"]));
    let told = format!(
        "ignored `drive.toml` in your checkout: rules come from {} (use yours with \
         `--trust-candidate-rules`)",
        &main[..10]
    );
    assert!(notes(&answer).contains(&told), "{}", answer.report);
    assert!(
        notes(&answer).contains("steering files changed: `drive.toml`;"),
        "{}",
        answer.report
    );
}

#[test]
fn rules_of_the_candidate_count_when_a_person_trusts_them() {
    let scene = rewritten();
    let trusting = ["candidate", "--base", "main", "--trust-candidate-rules"];
    let answer = verify(&scene, &trusting);
    assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
    assert_eq!(answer.text("/candidate/rulesFrom"), "workingCopy");
    // If it is not checked out, its committed files are read.
    let candidate = scene.shell("cd repo && git rev-parse candidate && git checkout -q main");
    let answer = verify(&scene, &trusting);
    assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
    assert_eq!(answer.text("/candidate/rulesFrom"), candidate);
}

#[test]
fn without_a_base_the_rules_are_those_of_the_main_branch() {
    let scene = rewritten();
    let answer = verify(&scene, &[]);
    assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
    let main = scene.shell("cd repo && git rev-parse main");
    assert_eq!(answer.text("/candidate/rulesFrom"), main);
    scene.shell("cd repo && git branch -m main trunk");
    let answer = verify(&scene, &[]);
    assert_eq!(answer.text("/candidate/rulesFrom"), "ownSettings");
    assert!(
        notes(&answer).contains("no main branch was found"),
        "{}",
        answer.report
    );
}

#[test]
fn settings_that_are_named_are_read_at_the_base_when_they_are_in_the_repository() {
    let scene = Scene::me();
    scene.settings("");
    let harsh = rule("false");
    std::fs::write(scene.path("repo/ci.toml"), &harsh).unwrap();
    scene.shell("cd repo && git add -A && git commit -qm ci && git checkout -qb candidate && sed -i s/false/true/ ci.toml && git commit -qam easy");
    let answer = verify(&scene, &["--config", "ci.toml", "--base", "main"]);
    assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
    // A link out of the repository does not count either.
    std::fs::write(scene.path("own.toml"), rule("true")).unwrap();
    scene.shell("cd repo && ln -sf ../own.toml ci.toml && git commit -qam link");
    let answer = verify(&scene, &["--config", "ci.toml", "--base", "main"]);
    assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
    assert_eq!(answer.report["protectedChanges"], json!(["ci.toml"]));
    // The user's own file counts, and the report says so.
    let answer = verify(&scene, &["--config", "../own.toml", "--base", "main"]);
    assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
    assert_eq!(answer.text("/candidate/rulesFrom"), "ownSettings");
    assert!(notes(&answer).contains("../own.toml"), "{}", answer.report);
    // A file that the base lacks provides no rules.
    scene.shell("cd repo && cp ci.toml new.toml && git add -A && git commit -qm new");
    let output = scene
        .drive(&["verify", "--config", "new.toml", "--base", "main", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("settingsMissing"), "{text}");
}

/// A shallow history has no common ancestor: a merge without one restores what the candidate removed.
#[test]
fn a_shallow_clone_is_no_verdict() {
    let scene = Scene::me();
    scene.settings(&rule("[ ! -e src/a ] || exit 0; exit 1"));
    scene.shell(
        "cd repo && git checkout -qb candidate && git rm -q src/a && git commit -qm gone && git checkout -q main && echo y > src/y && git add -A && git commit -qm y \
         && cd .. && git clone -q --depth 1 --no-single-branch file://$PWD/repo shallow",
    );
    let full = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(full.text("/overall"), "fail", "{}", full.report);
    let shallow = [
        "--repo",
        "../shallow",
        "origin/candidate",
        "--base",
        "origin/main",
    ];
    let answer = verify(&scene, &shallow);
    assert_eq!(
        (answer.text("/overall"), answer.text("/failure/category")),
        ("error", "infra"),
        "{}",
        answer.report
    );
    assert!(
        answer
            .text("/failure/hint")
            .contains("git fetch --unshallow")
    );
}

#[test]
fn a_commit_that_shares_no_history_with_its_base_is_refused() {
    let scene = Scene::me();
    scene.settings(&rule("true"));
    scene.shell("cd repo && git checkout -q --orphan candidate && git commit -qm alone && git checkout -q main");
    let answer = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(
        (answer.text("/overall"), answer.text("/failure/category")),
        ("fail", "policy"),
        "{}",
        answer.report
    );
    let reason = answer.text("/failure/reason");
    assert!(reason.contains("shares no commit"), "{reason}");
}

#[test]
fn attributes_of_the_checkout_do_not_decide_how_files_are_merged() {
    let scene = Scene::me();
    scene.settings(&rule("true"));
    scene.shell("cd repo && git checkout -qb candidate && echo theirs >> src/a && git commit -qam b && git checkout -q main && echo ours >> src/a && git commit -qam c && echo '* merge=union' > .gitattributes");
    // The control: git itself uses them.
    scene.shell("cd repo && git merge-tree --write-tree main candidate");
    let answer = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(
        answer.text("/failure/category"),
        "policy",
        "{}",
        answer.report
    );
    assert!(
        answer
            .text("/failure/reason")
            .contains("conflict in `src/a`")
    );
}

#[test]
fn without_a_default_of_the_remote_its_main_branch_gives_the_rules() {
    let scene = rewritten();
    // As in CI: the candidate is checked out as `main`, and the remote's own branch is known.
    scene.shell("git clone -q --bare repo remote && cd repo && git remote add origin ../remote && git fetch -q && git branch -qM candidate main");
    let answer = verify(&scene, &[]);
    assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
    let theirs = scene.shell("cd repo && git rev-parse origin/main");
    assert_eq!(answer.text("/candidate/rulesFrom"), theirs);
}

#[test]
fn a_commit_put_in_place_of_the_candidate_is_not_what_is_verified() {
    let scene = Scene::me();
    scene.settings(&rule("grep good src/a"));
    scene.shell("cd repo && echo good > src/a && git commit -qam good && git tag good && echo bad > src/a && git commit -qam bad && git replace HEAD good");
    // The control: git itself shows the other commit.
    assert_eq!(scene.shell("cd repo && git show HEAD:src/a"), "good");
    let answer = scene.verify();
    assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
}

#[test]
fn a_graft_does_not_make_a_candidate_build_on_its_base() {
    let scene = broken_together();
    scene.shell("cd repo && mkdir -p .git/info && echo \"$(git rev-parse candidate) $(git rev-parse main)\" > .git/info/grafts");
    // The control: for git itself the candidate has everything of its base, and would be judged alone.
    scene.shell("cd repo && git merge-base --is-ancestor main candidate");
    let merged = verify(&scene, &["candidate", "--base", "main"]);
    assert_eq!(merged.verdict(), ("fail", "fail", "exited", "compile"));
}

#[test]
fn what_decides_about_tests_is_listed_in_the_report() {
    let scene = Scene::me();
    let protected = "[verify]\nprotected_paths = [\"db/**\", \"!pytest.ini\"]\n";
    scene.settings(&rule("true").replacen("[verify]\n", protected, 1));
    scene.shell(
        "cd repo && mkdir -p .github/workflows db tests/x && for f in package.json tests/x/conftest.py pytest.ini Makefile .github/workflows/ci.yml db/1.sql src/b; do echo > $f; done && git add -A && git commit -qm all",
    );
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
    assert_eq!(
        answer.report["protectedChanges"],
        json!([
            ".github/workflows/ci.yml",
            "Makefile",
            "db/1.sql",
            "package.json",
            "tests/x/conftest.py"
        ])
    );
}
