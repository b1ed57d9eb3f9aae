//! Tests an invalid plan of an agent, and what `status` shows about a plan.

use crate::cruise::crew::{APPROVES, PRIMARY, kill, local, on_local, status, until, until_quiet};
use crate::stage::{Stage, said};
use std::fs;

/// Writes a plan without tasks, until a comment explains how.
fn bungler() -> String {
    let empty = "printf 'The plan.\\n\\n```json tasks\\n[]\\n```\\n' > plan.md; echo planned ;;\n";
    let (before, rest) = PRIMARY.split_once("planner) ").unwrap();
    let (good, after) = rest.split_once("fixer)\n").unwrap();
    let good = good.trim_end().trim_end_matches(";;");
    format!(
        "{before}planner) {empty}fixer)\n  if grep -q 'Make it sound' \"$DRIVE_INPUT\"; then {good}; \
         else echo again >> notes.txt; fi\n{after}"
    )
}

/// Runs a command that drive printed.
fn paste(stage: &Stage, command: &str) {
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let ended = stage.drive(&words);
    assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
}

#[test]
fn the_advice_about_an_unsound_plan_works_as_it_is_printed() {
    let stage = local();
    stage.script("primary", &bungler());
    let owner = stage.start(&["cruise", "run", "Add user auth"]);
    let waits = || {
        status(&stage)["waitingFor"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    until("the wait", || {
        waits().starts_with("you: the plan has the same errors")
    });
    let now = status(&stage);
    assert_eq!(now["rounds"], 2, "{now}");
    let id = now["id"].as_str().unwrap();
    let refused = stage.drive(&["cruise", "approve"]);
    let hint = refused.document["failure"]["hint"].to_string();
    assert!(hint.contains("drive cruise fix"), "{hint}");
    let told = said(&stage.pull_request()).pop().unwrap();
    let fix = format!("drive cruise fix {id}");
    assert!(told.contains(&format!("`{fix}`")), "{told}");
    paste(&stage, &fix);
    until("one more round", || {
        status(&stage)["rounds"] == 3 && waits().starts_with("you: ")
    });
    assert!(
        waits().contains(&format!("`{fix} --comment TEXT`")),
        "{}",
        waits()
    );
    let words = ["cruise", "fix", id, "--comment", "Make it sound."];
    assert_eq!(stage.drive(&words).code, Some(0));
    until_quiet(&stage, 4);
    assert_eq!(stage.sandboxes().len(), 1);
    let cleanup = format!("drive cruise cleanup {id}");
    assert!(told.contains(&format!("`{cleanup}`")), "{told}");
    paste(&stage, &cleanup);
    kill(owner);
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_that_builds_names_a_command_that_raises_the_round_limit_of_its_plan() {
    let stage = local();
    let file = stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        settings.replacen("[cruise]\n", "[cruise]\nmax_rounds = 1\n", 1),
    )
    .unwrap();
    let owner = stage.start(&["cruise", "run", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    stage.drive(&["pr", "comment", "1", "One."]);
    until_quiet(&stage, 1);
    stage.drive(&["pr", "comment", "1", "Two."]);
    let limit = || {
        let said = said(&stage.pull_request());
        said.into_iter()
            .find(|text| text.starts_with("Waiting for a person: "))
    };
    until("the limit", || limit().is_some());
    let limit = limit().unwrap();
    let (_, command) = limit.split_once("raise the limit with `").unwrap();
    paste(&stage, command.split_once('`').unwrap().0);
    until_quiet(&stage, 2);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

/// Objects until every comment was answered.
const STRICT: &str = r#"
cat > /dev/null
if [ "$DRIVE_DOMAIN" = Security ]; then
  echo '{"verdict": "needs_changes", "suggestions": [{"file": "plan.md", "line": 1, "issue": "no owner", "severity": "high", "confidence": 95}]}'
else echo '{"verdict": "approved"}'; fi
"#;

#[test]
fn status_shows_open_comments_first_and_the_verdict_of_each_domain() {
    let stage = local();
    stage.script("reviewer", STRICT);
    let args = [
        "cruise",
        "run",
        "--plan-only",
        "--max-iterations",
        "1",
        "Add user auth",
    ];
    let owner = stage.start(&args);
    until("the reviews", || {
        let now = status(&stage);
        now["state"] == "polling" && now["domain"].is_null() && now["nextPollAt"].is_string()
    });
    stage.drive(&["pr", "comment", "1", "Who owns the login?"]);
    until("the answer", || status(&stage)["rounds"] == 1);
    until("the quiet", || status(&stage)["state"] == "polling");
    let now = status(&stage);
    let life = |at: usize| now["comments"][at]["life"]["life"].clone();
    assert_eq!(
        (life(0), life(1)),
        ("left".into(), "replied".into()),
        "{now}"
    );
    let of = |domain: &str| {
        let reviews = now["reviews"].as_array().unwrap().clone();
        reviews
            .into_iter()
            .find(|one| one["domain"] == domain)
            .unwrap()
    };
    assert_eq!(of("Security")["verdict"], "needsChanges");
    assert_eq!(of("TaskGranularity")["verdict"], "approved");
    assert_eq!(of("TaskGranularity")["current"], false);
    let shown = stage
        .command(env!("CARGO_BIN_EXE_drive"))
        .args(["cruise", "status"])
        .output();
    let text = String::from_utf8(shown.unwrap().stdout).unwrap();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("waiting  for ") < at("comment  "), "{text}");
    assert!(at(" open ") < at("review   Security"), "{text}");
    assert!(
        at("review   Security               requests changes") < at(" replied "),
        "{text}"
    );
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

/// Asks a question about vague comments.
fn asker() -> String {
    let ask = "  if grep -q 'Be nicer' \"$DRIVE_INPUT\"; then id=$(sed -n 's/.*\"id\": \"\\([^\"]*\\)\".*/\\1/p' \"$DRIVE_INPUT\"); printf '```json\\n{\"comments\": [{\"id\": \"%s\", \"action\": \"question\", \"note\": \"Nicer how?\"}]}\\n```\\n' \"$id\"; exit; fi\n";
    PRIMARY.replacen("fixer)\n", &format!("fixer)\n{ask}"), 1)
}

#[test]
fn a_question_of_the_fixer_stays_open_until_somebody_answers_it() {
    let (stage, owner) = on_local();
    stage.script("primary", &asker());
    stage.script("reviewer", APPROVES);
    stage.drive(&["pr", "comment", "1", "Be nicer."]);
    until("the question", || {
        said(&stage.pull_request())
            .join("\n")
            .contains("Question: Nicer how?")
    });
    until("the wait", || {
        status(&stage)["waitingFor"]
            .to_string()
            .contains("to answer a question")
    });
    let now = status(&stage);
    assert_eq!(now["pendingComments"], 1, "{now}");
    assert_eq!(now["comments"][0]["life"]["life"], "asked", "{now}");
    stage.drive(&["pr", "comment", "1", "With a greeting."]);
    until_quiet(&stage, 2);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}
