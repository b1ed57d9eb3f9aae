//! Tests that a cruise builds the tasks of a plan in parallel and lands only verified trees on its branch.

use crate::cruise::crew::{QUICK, status, until};
use crate::stage::{APPROVES, Stage, ended};
use serde_json::{Value, json};
use std::fs;

/// Performs the title of its task: `Write FILE WORD` writes a file, `Add WORD to FILE` adds a line.
/// A word after `then` is for the next attempt.
pub(super) const CODER: &str = r#"
prompt=$(cat)
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Plan", "branch_name": "plan-it"}\n```\n' ;;
planner) cat > plan.md <<'END'
@PLAN@
END
echo planned ;;
coder)
  title=$(sed -n 's/^ *"task": "\([^\\]*\)\\n.*/\1/p' "$DRIVE_INPUT")
  set -- $title
  again=$(printf '%s\n' "$prompt" | grep -c 'An earlier attempt at this task did not land' || true)
  case "$1" in
  Write) word=$3; if [ "$again" != 0 ] && [ "$4" = then ]; then word=$5; fi; echo "$word" > "$2" ;;
  Add)
    if [ "$again" != 0 ]; then
      head=$(printf '%s\n' "$prompt" | sed -n 's/.*`git merge \([0-9a-f]*\)`.*/\1/p')
      git merge "$head" > /dev/null 2>&1 || { sed -i -e '/^[<=>]\{7\}/d' "$4"; git add -A; git commit -qm resolved; }
    else
      grep -qx "$2" "$4" || echo "$2" >> "$4"
    fi ;;
  esac
  echo "Wrote $2." ;;
fixer)
  if printf '%s\n' "$prompt" | grep -q 'other agents build its tasks now'; then
    sed -n 's/.*EDIT(\([^)]*\)).*/\1/p' "$DRIVE_INPUT" | while read -r edit; do sed -i "$edit" plan.md; done
    if grep -q 'ADD c' "$DRIVE_INPUT"; then
      sed -i '/^\]$/s/.*/,{"id": "c", "title": "Write c.txt three", "description": "d", "acceptance": ["c"], "depends_on": [], "paths": ["c.txt"]}]/' plan.md
    fi
    if grep -q 'STRAY' "$DRIVE_INPUT"; then echo x > other.txt; fi
  else
  if printf '%s\n' "$prompt" | grep -q 'Merged.*it did not pass verification'; then
    for file in $(grep -lx bad ./*.txt); do echo good > "$file"; done
  fi
  word=good
  if grep -q 'Please break' "$DRIVE_INPUT" && ! printf '%s\n' "$prompt" | grep -q 'did not pass verification'; then word=bad; fi
  echo "$word" > fixed.txt
  fi
  list=
  for id in $(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$DRIVE_INPUT"); do list="$list${list:+, }{\"id\": \"$id\", \"action\": \"fixed\", \"note\": \"done\"}"; done
  printf '```json\n{"comments": [%s]}\n```\n' "$list" ;;
esac
"#;

/// Fails for a file with the word `bad`, and if both `left.txt` and `right.txt` exist.
pub(super) const CHECK: &str = "targeted_tests = [\"/bin/sh\", \"-c\", \"! grep -rqx bad --include=*.txt . && ! [ -e left.txt -a -e right.txt ]\"]";

pub(super) fn task(id: &str, title: &str, after: &[&str], file: &str) -> Value {
    json!({
        "id": id, "title": title, "description": "d", "depends_on": after, "paths": [file],
        "acceptance": [
            {"id": "there", "kind": "command", "text": format!("{file} is there"),
             "command": ["/bin/sh", "-c", format!("test -s {file} && echo found")],
             "expect": {"exit": 0, "contains": "found"}},
        ],
    })
}

/// A plan with these tasks.
pub(super) fn plan_of(tasks: &[Value]) -> String {
    let list = serde_json::to_string_pretty(tasks).unwrap();
    format!("The plan.\n\n```json tasks\n{list}\n```\n")
}

/// A repository on the local forge whose base defines the verification, with a coder that writes this plan.
pub(super) fn stage(tasks: &[Value]) -> Stage {
    let plan = plan_of(tasks);
    let stage = Stage::new(&CODER.replace("@PLAN@", &plan), APPROVES);
    commit_rules(&stage, |settings| format!("{QUICK}{settings}"));
    fs::write(stage.path("plan.md"), plan).unwrap();
    stage
}

/// Commits the settings with this change, and with the rules of verification.
pub(super) fn commit_rules(stage: &Stage, change: impl FnOnce(&str) -> String) {
    let path = stage.path("repo/drive.toml");
    let settings = change(&fs::read_to_string(&path).unwrap());
    let rule =
        format!("[verify]\nbaseline = \"off\"\n[[verify.routes]]\npaths = [\"**\"]\n{CHECK}\n");
    fs::write(path, format!("{settings}\n{rule}")).unwrap();
    stage.git(&["add", "drive.toml"]);
    stage.git(&["commit", "--quiet", "--message=Rules"]);
}

/// A cruise that needs no person: it plans, builds and merges.
pub(super) const ALONE: [&str; 6] = [
    "cruise",
    "run",
    "Build it all",
    "--auto-approve",
    "--merge",
    "auto",
];

pub(super) fn args(stage: &Stage) -> [String; 8] {
    let plan = stage.path("plan.md").to_string_lossy().into_owned();
    [
        "cruise",
        "run",
        "Build it all",
        "--build-only",
        "--plan-file",
        &plan,
        "--merge",
        "auto",
    ]
    .map(str::to_owned)
}

fn build(stage: &Stage) -> crate::stage::Ended {
    let args = args(stage);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    stage.drive(&args)
}

/// The `id state` of every task.
pub(super) fn states(document: &Value) -> Vec<String> {
    let Some(tasks) = document["tasks"].as_array() else {
        return Vec::new();
    };
    let line = |task: &Value| {
        format!(
            "{} {}",
            task["id"].as_str().unwrap(),
            task["state"].as_str().unwrap()
        )
    };
    tasks.iter().map(line).collect()
}

pub(super) fn report(stage: &Stage) -> Value {
    let ended = stage.drive(&["cruise", "report"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.document
}

#[test]
fn tasks_land_in_order_as_verified_trees_with_a_receipt_for_each_entry() {
    let stage = stage(&[
        task("a", "Write a.txt one", &[], "a.txt"),
        task("b", "Write b.txt two", &[], "b.txt"),
        task("c", "Write c.txt three", &["a", "b"], "c.txt"),
    ]);
    let ended = build(&stage);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["status"], "succeeded");
    let branch = ended.document["branch"].as_str().unwrap().to_owned();
    for (file, word) in [("a", "one"), ("b", "two"), ("c", "three")] {
        assert_eq!(stage.git(&["show", &format!("{branch}:{file}.txt")]), word);
    }
    let trees =
        ["main^{tree}", &format!("{branch}^{{tree}}")].map(|rev| stage.git(&["rev-parse", rev]));
    assert_eq!(trees[0], trees[1], "what was verified is what landed");
    let now = status(&stage);
    assert_eq!(states(&now), ["a landed", "b landed", "c landed"]);
    let audit = report(&stage);
    assert_eq!(audit["commit"], ended.document["headSha"]);
    for task in audit["tasks"].as_array().unwrap() {
        assert_eq!(task["status"], "implemented", "{task}");
        assert_eq!(task["evidence"][0]["result"], "proven", "{task}");
    }
    let pr = stage.pull_request();
    let body = pr["body"].as_str().unwrap();
    assert!(body.contains("3 of 3 tasks implemented."), "{body}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_task_that_does_not_pass_is_built_again_with_the_reason() {
    let stage = stage(&[
        task("a", "Write a.txt bad then good", &[], "a.txt"),
        task("b", "Write b.txt two", &[], "b.txt"),
    ]);
    let ended = build(&stage);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let branch = ended.document["branch"].as_str().unwrap().to_owned();
    assert_eq!(stage.git(&["show", &format!("{branch}:a.txt")]), "good");
    let now = status(&stage);
    assert_eq!(now["tasks"][0]["attempts"], 2, "{now}");
    assert_eq!(now["tasks"][1]["attempts"], 1, "{now}");
    assert_eq!(trees_that_fail(&stage, &branch), Vec::<String>::new());
}

#[test]
fn two_tasks_that_conflict_both_land() {
    let stage = stage(&[
        task("a", "Add one to list.txt", &[], "a.txt"),
        task("b", "Add two to list.txt", &[], "b.txt"),
    ]);
    let ended = stage.drive(
        &args(&stage)
            .iter()
            .map(String::as_str)
            .chain(["--level", "basic"])
            .collect::<Vec<_>>(),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let branch = ended.document["branch"].as_str().unwrap().to_owned();
    let list = stage.git(&["show", &format!("{branch}:list.txt")]);
    let mut words: Vec<&str> = list.lines().collect();
    words.sort_unstable();
    assert_eq!(words, ["one", "two"]);
}

#[test]
fn tasks_that_pass_alone_and_break_each_other_do_not_both_land() {
    let stage = stage(&[
        task("left", "Write left.txt one", &[], "left.txt"),
        task("right", "Write right.txt two", &[], "right.txt"),
    ]);
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    // The task that is reviewed first lands first.
    let is_in = |state: &str| {
        let now = states(&status(&stage)).into_iter();
        let found = now.filter_map(|line| Some(line.strip_suffix(state)?.trim().to_owned()));
        found.collect::<Vec<_>>()
    };
    until("the block", || {
        is_in("landed").len() == 1 && is_in("blocked").len() == 1
    });
    let (landed, blocked) = (is_in("landed").remove(0), is_in("blocked").remove(0));
    let waiting = status(&stage);
    let waits = waiting["waitingFor"].as_str().unwrap();
    assert!(
        waits.contains(&format!("task `{blocked}` is blocked"))
            && waits.contains(&format!("drive cruise skip {blocked}")),
        "{waits}"
    );
    let left = report(&stage)["decisions"].to_string();
    assert!(
        left.contains(&format!("drive cruise skip {blocked}")),
        "{left}"
    );
    let unknown = stage.drive(&["cruise", "skip", "rigth"]);
    assert_eq!(
        unknown.document["failure"]["kind"], "unknownTask",
        "{unknown:?}"
    );
    let refused = stage.drive(&["cruise", "retry", &landed]);
    assert_eq!(
        refused.document["failure"]["kind"], "taskNotBlocked",
        "{refused:?}"
    );
    let skipped = stage.drive(&["cruise", "skip", &blocked]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    // The command of the verification names both files, so a change of one needs a person's approval.
    wait_for_a_person(&stage);
    let waits = status(&stage)["waitingFor"].as_str().unwrap().to_owned();
    assert!(
        waits.contains(&format!("`{landed}.txt` changed, and no person approved")),
        "{waits}"
    );
    assert_eq!(is_in("skipped").join(" "), blocked);
    let audit = report(&stage);
    assert_eq!(
        audit["gaps"],
        json!([format!("task `{blocked}` did not land")])
    );
    let closed = stage.drive(&["pr", "close", "1"]);
    assert_eq!(closed.code, Some(0), "{closed:?}");
    assert_eq!(ended(cruise).code, Some(1));
}

#[test]
fn a_cruise_builds_the_plan_that_was_approved_on_one_pull_request() {
    let stage = stage(&[
        task("a", "Write a.txt one", &[], "a.txt"),
        task("b", "Write b.txt two", &["a"], "b.txt"),
    ]);
    let cruise = stage.start(&["cruise", "run", "Build it all"]);
    until("the plan", || {
        let now = status(&stage);
        now["phase"] == "planning" && now["state"] == "polling" && now["prNumber"] == 1
    });
    assert_eq!(states(&status(&stage)), Vec::<String>::new());
    let approved = stage.drive(&["cruise", "approve"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    wait_for_a_person(&stage);
    assert_eq!(states(&status(&stage)), ["a landed", "b landed"]);
    let pr = stage.pull_request();
    let head = pr["headSha"].as_str().unwrap().to_owned();
    let body = pr["body"].as_str().unwrap();
    assert!(body.contains("2 of 2 tasks implemented."), "{body}");
    let said = crate::stage::said(&pr);
    let last = said.last().unwrap();
    assert!(
        last.contains(&format!(
            "2 of 2 tasks landed. The branch is at {}.",
            &head[..10]
        )) && last.contains("it passed verification. Merge this pull request when you agree."),
        "{last}"
    );
    let late = stage.drive(&["cruise", "approve"]);
    assert_eq!(late.code, Some(2), "{late:?}");
    let merged = stage.drive(&["pr", "merge", "1"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["headSha"], head);
    assert_eq!(report(&stage)["commit"], head);
    assert_eq!(stage.git(&["show", "main:b.txt"]), "two");
    let plan = stage.try_git(&["show", "main:plan.md"]);
    assert!(plan.is_err(), "the plan does not land: {plan:?}");
    let pulls = stage.drive(&["pr", "list", "--state", "all"]).document;
    assert_eq!(pulls["pullRequests"].as_array().unwrap().len(), 1);
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

/// Waits until the cruise needs a person to merge what it built.
pub(super) fn wait_for_a_person(stage: &Stage) {
    until("the wait for a person", || {
        let now = status(stage);
        let waits = now["waitingFor"].as_str().unwrap_or_default();
        now["phase"] == "validating" && waits.contains("merge or close the pull request")
    });
}

/// The first-parent commits of a branch whose trees fail.
pub(super) fn trees_that_fail(stage: &Stage, branch: &str) -> Vec<String> {
    let log = stage.git(&["log", "--format=%H", "--first-parent", branch]);
    that_fail(stage, log.lines())
}

/// The commits among these whose trees fail [`CHECK`].
pub(super) fn that_fail<'a>(
    stage: &Stage,
    commits: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let has = |commit: &str, file: &str| {
        let files = stage.git(&["ls-tree", "--name-only", commit, "--", file]);
        !files.is_empty()
    };
    let fails = |commit: &&str| {
        let bad = stage.try_git(&["grep", "-qx", "bad", commit, "--", "*.txt"]);
        bad.is_ok() || has(commit, "left.txt") && has(commit, "right.txt")
    };
    commits
        .into_iter()
        .filter(fails)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_comment_after_the_tasks_landed_gets_a_verified_commit_and_one_reply() {
    let stage = stage(&[task("a", "Write a.txt one", &[], "a.txt")]);
    let args = args(&stage).map(|arg| arg.replace("auto", "manual"));
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for_a_person(&stage);
    let branch = stage.pull_request()["branch"].as_str().unwrap().to_owned();
    // The fixer's first commit fails, so people never see it.
    let told = stage.drive(&["pr", "comment", "1", "Please break it."]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let useless = stage.drive(&["runs", "extend", &id, "--rounds", "2"]);
    assert_eq!(useless.code, Some(2), "{useless:?}");
    let failure = &useless.document["failure"];
    assert_eq!(failure["kind"], "nothingToExtend");
    assert!(
        failure["hint"].as_str().is_some_and(
            |hint| hint.contains(&format!("`drive runs extend {id}++validate --rounds 3`"))
        ),
        "{failure}"
    );
    until("the fix", || {
        assert_eq!(trees_that_fail(&stage, &branch), Vec::<String>::new());
        stage
            .try_git(&["show", &format!("{branch}:fixed.txt")])
            .is_ok()
    });
    wait_for_a_person(&stage);
    assert_eq!(stage.git(&["show", &format!("{branch}:fixed.txt")]), "good");
    let said = crate::stage::said(&stage.pull_request());
    let replies = said.iter().filter(|body| body.contains("Fixed in "));
    assert_eq!(replies.count(), 1, "{said:#?}");
    let head = stage.git(&["rev-parse", &branch]);
    assert_eq!(
        report(&stage)["commit"],
        head,
        "the receipts are about what would land"
    );
    let merged = stage.drive(&["pr", "merge", "1"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:fixed.txt"]), "good");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn an_entry_that_is_not_met_is_fixed_before_anybody_is_asked_to_merge() {
    let mut odd = task("a", "Write a.txt one", &[], "a.txt");
    odd["acceptance"][0]["command"] = json!(["/bin/sh", "-c", "test -s fixed.txt && echo found"]);
    let stage = stage(&[odd]);
    let ended = build(&stage);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:fixed.txt"]), "good");
    assert_eq!(
        ended.document["mergedSha"],
        stage.git(&["rev-parse", "main"])
    );
    assert_eq!(ended.document["rounds"], 1, "{ended:?}");
    let audit = report(&stage);
    assert_eq!(
        audit["tasks"][0]["evidence"][0]["result"], "proven",
        "{audit}"
    );
}

#[test]
fn an_entry_that_nobody_can_meet_is_never_merged_by_drive() {
    let mut odd = task("a", "Write a.txt one", &[], "a.txt");
    odd["acceptance"][0]["command"] = json!(["/bin/sh", "-c", "false"]);
    let stage = stage(&[odd]);
    let main = stage.git(&["rev-parse", "main"]);
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for_a_person(&stage);
    let waits = status(&stage)["waitingFor"].as_str().unwrap().to_owned();
    assert!(
        waits.contains("an acceptance entry of task `a` is not met"),
        "{waits}"
    );
    assert_eq!(stage.git(&["rev-parse", "main"]), main);
    let closed = stage.drive(&["pr", "close", "1"]);
    assert_eq!(closed.code, Some(0), "{closed:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.document["failure"]["kind"], "pullRequestClosed",
        "{ended:?}"
    );
    assert_eq!(stage.git(&["rev-parse", "main"]), main);
}

#[test]
fn an_entry_that_passes_before_the_work_waits_for_a_person_before_anything_is_built() {
    let mut odd = task("a", "Write a.txt one", &[], "a.txt");
    odd["acceptance"][0]["command"] = json!(["/bin/sh", "-c", "echo found"]);
    let stage = stage(&[odd]);
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    until("the doubt", || status(&stage)["state"] == "waiting");
    let now = status(&stage);
    let waits = now["waitingFor"].as_str().unwrap();
    assert!(
        waits.contains("acceptance entry `there` of task `a` passes on the base already")
            && waits.contains("drive cruise approve "),
        "{waits}"
    );
    assert_eq!(now["tasks"][0]["attempts"], 0, "{now}");
    let accepted = stage.drive(&["cruise", "approve"]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:a.txt"]), "one");
}

#[test]
fn a_task_that_changes_the_files_of_its_own_checks_does_not_land() {
    let mut cheat = task("a", "Write kept.txt mine", &[], "a.txt");
    cheat["checks"] = json!(["kept.txt"]);
    let honest = task("b", "Write b.txt two", &[], "b.txt");
    let stage = stage(&[cheat, honest]);
    fs::write(stage.path("repo/kept.txt"), "theirs\n").unwrap();
    stage.git(&["add", "kept.txt"]);
    stage.git(&["commit", "--quiet", "--message=Checks"]);
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    until("the block", || {
        let now = states(&status(&stage));
        now.contains(&"a blocked".to_owned()) && now.contains(&"b landed".to_owned())
    });
    let branch = status(&stage)["branch"].as_str().unwrap().to_owned();
    assert_eq!(
        stage.git(&["show", &format!("{branch}:kept.txt")]),
        "theirs"
    );
    let skipped = stage.drive(&["cruise", "skip", "a"]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    assert_eq!(ended(cruise).code, Some(0));
}
