//! Tests a person who checks out the branch of a cruise, or commits to it, while the cruise works on it.

use crate::cruise::crew::{
    REPO, commit_of, fixes, kill, local, on_github, on_local, sandbox, status, until, until_quiet,
};
use crate::stage::{Stage, ended, said};
use std::fs;

fn tip(stage: &Stage) -> String {
    stage.git(&["rev-parse", "user-auth"])
}

fn is_clean(stage: &Stage) -> bool {
    let changed = stage.git(&["status", "--porcelain", "--untracked-files=no"]);
    changed.is_empty()
}

#[test]
fn a_checkout_of_a_local_branch_is_waited_for_and_never_changed() {
    let (stage, owner) = on_local();
    stage.git(&["checkout", "--quiet", "user-auth"]);
    let before = tip(&stage);
    stage.drive(&["pr", "comment", "1", "Thank you."]);
    until("the wait", || {
        let waits = status(&stage)["waitingFor"].to_string();
        waits.contains("branch `user-auth` is checked out at")
    });
    assert_eq!(tip(&stage), before);
    assert!(is_clean(&stage));
    stage.git(&["checkout", "--quiet", "main"]);
    assert_eq!(stage.drive(&["cruise", "fix"]).code, Some(0));
    until_quiet(&stage, 1);
    let said = fixes(said(&stage.pull_request()));
    assert_eq!(said.len(), 1, "{said:#?}");
    assert_eq!(commit_of(&said[0]), &tip(&stage)[..10]);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn what_a_person_commits_to_a_local_branch_while_a_fixer_works_is_merged_with_the_fix() {
    let (stage, owner) = on_local();
    stage.drive(&["pr", "comment", "1", "Please wait."]);
    let waits = sandbox(&stage).join(".cruise/waits");
    until("the fixer", || waits.exists());
    stage.git(&["checkout", "--quiet", "user-auth"]);
    fs::write(stage.path("repo/mine.txt"), "by ann\n").unwrap();
    stage.git(&["add", "mine.txt"]);
    stage.git(&["commit", "--quiet", "--message=Mine"]);
    let theirs = tip(&stage);
    stage.git(&["checkout", "--quiet", "main"]);
    fs::write(sandbox(&stage).join(".cruise/go"), "").unwrap();
    until_quiet(&stage, 1);
    let said = fixes(said(&stage.pull_request()));
    assert_eq!(said.len(), 1, "{said:#?}");
    for commit in [theirs.as_str(), commit_of(&said[0])] {
        stage.git(&["merge-base", "--is-ancestor", commit, "user-auth"]);
    }
    let files = stage.git(&["ls-tree", "--name-only", "user-auth"]);
    assert_eq!(files, "README.md\nanswers.txt\nmine.txt\nplan.md");
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn a_checkout_of_a_pushed_branch_holds_nothing_up_and_is_told_how_to_follow() {
    let (simulator, stage, owner) = on_github("200ms");
    stage.git(&["checkout", "--quiet", "user-auth"]);
    let before = tip(&stage);
    simulator.comment(REPO, "ann", 1, "Thank you.");
    until_quiet(&stage, 1);
    let said = fixes(simulator.conversation(REPO, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    let fix = commit_of(&said[0]).to_owned();
    let remote = stage.git(&["ls-remote", "origin", "refs/heads/user-auth"]);
    assert!(remote.starts_with(&fix), "{remote}");
    assert_eq!(tip(&stage), before);
    assert!(is_clean(&stage));
    let warnings = status(&stage)["warnings"].to_string();
    assert!(
        warnings.contains(&format!("merge --ff-only {fix}")),
        "{warnings}"
    );
    // The next fix builds on the previous one, not on the checked out commit.
    simulator.comment(REPO, "ann", 1, "One more thing.");
    until_quiet(&stage, 2);
    stage.git(&["merge", "--quiet", "--ff-only", &fix]);
    let remote = stage.git(&["ls-remote", "origin", "refs/heads/user-auth"]);
    let second = remote.split('\t').next().unwrap();
    stage.git(&["merge-base", "--is-ancestor", &fix, second]);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn what_a_person_commits_to_a_local_branch_while_nothing_happens_is_never_reverted() {
    let (stage, owner) = on_local();
    stage.git(&["checkout", "--quiet", "user-auth"]);
    fs::write(stage.path("repo/mine.txt"), "by ann\n").unwrap();
    stage.git(&["add", "mine.txt"]);
    stage.git(&["commit", "--quiet", "--message=Mine"]);
    let theirs = tip(&stage);
    stage.git(&["checkout", "--quiet", "main"]);
    until("their commit", || status(&stage)["headSha"] == theirs);
    stage.drive(&["pr", "comment", "1", "See my commit."]);
    until_quiet(&stage, 1);
    stage.git(&["merge-base", "--is-ancestor", &theirs, "user-auth"]);
    assert_eq!(stage.git(&["show", "user-auth:mine.txt"]), "by ann");
    let said = fixes(said(&stage.pull_request()));
    assert_eq!(said.len(), 1, "{said:#?}");
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

const RESOLVES: &str = r#"
cat > /dev/null
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Plan user auth", "branch_name": "user-auth"}\n```\n' ;;
planner | fixer) printf 'The plan.\n\n```json tasks\n[{"id": "a", "title": "A", "description": "d", "acceptance": ["x"], "depends_on": [], "paths": []}]\n```\n' > plan.md; echo done ;;
esac
"#;

#[test]
fn a_base_that_conflicts_with_an_approved_plan_is_merged_by_a_fixer_round() {
    let stage = local();
    stage.script("primary", RESOLVES);
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let before = tip(&stage);
    fs::write(stage.path("repo/plan.md"), "An older plan.\n").unwrap();
    stage.git(&["add", "plan.md"]);
    stage.git(&["commit", "--quiet", "--message=Another plan"]);
    let main = stage.git(&["rev-parse", "main"]);
    assert_eq!(stage.drive(&["cruise", "approve"]).code, Some(0));
    until("the merge", || tip(&stage) != before);
    stage.git(&["merge-base", "--is-ancestor", &main, "user-auth"]);
    let merged = tip(&stage);
    until("what became of the approval", || {
        let said = said(&stage.pull_request()).join("\n");
        said.contains("so that approval does not count") && said.contains(&merged[..10])
    });
    until_quiet(&stage, 0);
    assert_eq!(stage.drive(&["cruise", "approve"]).code, Some(0));
    let over = ended(owner);
    assert_eq!(
        (&over.document["status"], &over.document["headSha"]),
        (&"succeeded".into(), &merged.into()),
        "{over:?}"
    );
}
