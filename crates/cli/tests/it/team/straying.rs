//! Tests agents that leave the sandbox on something else than the run's branch.

use crate::stage::{PRIMARY, Stage};
use crate::team::arena::{Arena, on_both_forges};
use serde_json::{Value, json};

/// Each leaves the sandbox on something else, with work that exists nowhere else.
const STRAYS: [(&str, &str); 7] = [
    (
        "other branch",
        "git checkout -q -b stray && echo stray > stray.txt && git add -A && git commit -qm stray",
    ),
    (
        "detached",
        "git checkout -q --detach && echo stray > stray.txt && git add -A && git commit -qm stray",
    ),
    (
        "detached in the past",
        "git checkout -q --detach HEAD~1 && echo stray > stray.txt",
    ),
    (
        "orphan branch",
        "git checkout -q --orphan stray && echo stray > stray.txt && git add -A && git commit -qm stray",
    ),
    (
        "half-done merge",
        "git branch side HEAD~1 && git checkout -q side && echo stray > greet.txt && git add -A && git commit -qm side && git checkout -q greet-by-name && ! git merge -q side > /dev/null 2>&1",
    ),
    (
        "half-done rebase",
        "git checkout -q --detach HEAD~1 && echo stray > greet.txt && git add -A && git commit -qm side && git branch side && git checkout -q greet-by-name && ! git rebase -q side > /dev/null 2>&1",
    ),
    (
        "changed files",
        "echo stray > greet.txt; echo stray > stray.txt",
    ),
];

fn unconfined(primary: &str, reviewer: &str) -> Stage {
    let stage = Stage::new(primary, reviewer);
    stage.unconfine();
    stage
}

/// The state that a reviewer must find: the branch, at its tip, and no other files.
const LOOKS: &str = "[ \"$(git symbolic-ref HEAD)\" = refs/heads/greet-by-name ] && [ -z \"$(git status --porcelain)\" ] && [ ! -e stray.txt ] && [ ! -e \"$(git rev-parse --git-path MERGE_HEAD)\" ] && [ ! -d \"$(git rev-parse --git-path rebase-merge)\" ]";

fn saved(stage: &Stage) -> String {
    stage.git(&["for-each-ref", "--format=%(refname)", "refs/drive/kept"])
}

fn reviews(document: &Value) -> Vec<(&Value, &Value)> {
    let reviews = document["record"]["reviews"].as_array().unwrap();
    reviews
        .iter()
        .map(|one| (&one["verdict"], &one["head"]))
        .collect()
}

#[test]
fn a_reviewer_that_strays_has_its_work_saved_and_the_next_one_finds_the_branch() {
    let strays = STRAYS.into_iter().chain([(
        "commits on the branch",
        "echo stray > stray.txt && git add -A && git commit -qm stray",
    ), (
        "commits on the branch and leaves it",
        "echo stray > stray.txt && git add -A && git commit -qm stray && git checkout -q --detach HEAD~1",
    )]);
    for (what, script) in strays {
        // The first review leaves the branch and approves; every later one approves if it finds the
        // right state.
        let reviewer = format!(
            "cat > /dev/null\nif [ \"$DRIVE_DOMAIN\" = Correctness ]; then {script}; echo '{{\"verdict\": \"approved\"}}'; exit; fi\n\
             if {LOOKS}; then echo '{{\"verdict\": \"approved\"}}'; else git status; fi\n"
        );
        let stage = unconfined(PRIMARY, &reviewer);
        let ended = stage.team("github");
        assert_eq!(
            (ended.code, &ended.document["verdict"]),
            (Some(0), &json!("approved")),
            "{what}: {ended:?}"
        );
        let tip = stage.git(&["rev-parse", "greet-by-name"]);
        let all = reviews(&ended.document);
        assert_eq!(all.len(), 6, "{what}");
        for review in all {
            assert_eq!(review, (&json!("approved"), &json!(tip)), "{what}");
        }
        assert_eq!(
            stage.git(&["log", "--format=%s", "main..greet-by-name"]),
            "Greet by name"
        );
        assert_ne!(saved(&stage), "", "{what}: nothing was saved");
        let warnings = ended.document["warnings"].to_string();
        assert!(
            warnings.contains("changed the sandbox"),
            "{what}: {warnings}"
        );
    }
}

#[test]
fn a_fixer_that_strays_has_its_work_saved_and_the_reviewer_finds_the_branch() {
    for (what, script) in STRAYS {
        let primary = PRIMARY.replace(
            "fixer) echo fixed >> greet.txt;",
            &format!("fixer) {script}; echo fixed >> fixes.txt;"),
        );
        let reviewer = format!(
            "cat > /dev/null\nif ! {LOOKS_ANY}; then git status; exit; fi\n\
             if [ \"$DRIVE_ROUND\" = 1 ] && [ \"$DRIVE_DOMAIN\" = Security ]; then\n\
             echo '{{\"verdict\": \"needs_changes\", \"suggestions\": [{{\"file\": \"greet.txt\", \"line\": 2, \"issue\": \"two is wrong\"}}]}}'\n\
             else echo '{{\"verdict\": \"approved\"}}'; fi\n"
        );
        let stage = unconfined(&primary, &reviewer);
        let ended = stage.team("github");
        assert_eq!(
            (ended.code, &ended.document["verdict"]),
            (Some(0), &json!("approved")),
            "{what}: {ended:?}"
        );
        let tip = stage.git(&["rev-parse", "greet-by-name"]);
        let all = reviews(&ended.document);
        assert_eq!(
            all.last(),
            Some(&(&json!("approved"), &json!(tip))),
            "{what}"
        );
        let is_brought = matches!(what, "other branch" | "detached" | "changed files");
        assert_eq!(saved(&stage).is_empty(), is_brought, "{what}");
    }
}

/// The same, but files of a fixer may exist.
const LOOKS_ANY: &str = "[ \"$(git symbolic-ref HEAD)\" = refs/heads/greet-by-name ] && [ -z \"$(git status --porcelain)\" ] && [ ! -e \"$(git rev-parse --git-path MERGE_HEAD)\" ] && [ ! -d \"$(git rev-parse --git-path rebase-merge)\" ]";

on_both_forges!(
    a_branch_that_a_person_moves_here_during_a_review_counts_where_it_is_what_is_merged
);

/// A person commits to the branch in their own repository while its first review approves the earlier commit.
/// Without a remote, that branch is the pull request's; with one, it is theirs until they push it.
fn a_branch_that_a_person_moves_here_during_a_review_counts_where_it_is_what_is_merged(
    arena: Arena,
) {
    let (moved, repo) = (arena.stage.path("agents/moved"), arena.stage.path("repo"));
    let ann = "GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com";
    let moves = "blob=$(echo hers | git hash-object -w --stdin) && \
         tree=$( (git ls-tree greet-by-name; printf '100644 blob %s\\thers.txt\\n' \"$blob\") | git mktree) && \
         commit=$(env $ann git commit-tree \"$tree\" -p greet-by-name -m hers) && \
         git update-ref refs/heads/greet-by-name \"$commit\"";
    let reviewer = format!(
        "cat > /dev/null\nann={ann:?}\nif [ ! -e {moved:?} ]; then : > {moved:?}; (cd {repo:?} && {moves}) || exit 1; fi\n\
         echo '{{\"verdict\": \"approved\"}}'\n"
    );
    arena.stage.unconfine();
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(
        (ended.code, &ended.document["verdict"]),
        (Some(0), &json!("approved")),
        "{ended:?}"
    );
    let log = ["log", "--format=%s", "main..greet-by-name"];
    assert_eq!(arena.stage.git(&log), "hers\nGreet by name");
    let hers = arena.stage.git(&["rev-parse", "greet-by-name"]);
    let published = arena.published("greet-by-name");
    assert_eq!(published == hers, arena.simulator.is_none());
    assert_eq!(ended.document["headSha"], json!(published));
    let all = reviews(&ended.document);
    assert_eq!(all.len(), 6);
    for review in all {
        assert_eq!(review, (&json!("approved"), &json!(published)));
    }
}
