//! Tests names, prompts, the requirements of a mode, and settings that change a review.

use crate::stage::{APPROVES, PRIMARY, Stage, TASK};
use crate::team::arena::{Arena, on_both_forges};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

on_both_forges!(
    the_callers_prompt_for_the_coder_is_used,
    the_record_is_published_as_the_settings_say,
    another_agent_refutes_where_the_settings_name_one,
    a_reviewer_that_says_it_is_complete_is_not_waited_for,
    the_terminal_lists_what_is_open,
);

#[test]
fn a_taken_branch_name_gets_a_suffix_and_a_useless_namer_does_not_block() {
    let stage = Stage::new(PRIMARY, APPROVES);
    stage.git(&["branch", "greet-by-name"]);
    let ended = stage.team("sequential");
    assert_eq!(ended.document["branch"], "greet-by-name-2", "{ended:?}");
    assert_eq!(stage.pull_request()["title"], "Greet by name");
    let useless = PRIMARY.replace("namer)", "namer) exit 1;;\nnobody)");
    stage.script("primary", &useless);
    let ended = stage.team("sequential");
    assert_eq!(
        ended.document["branch"], "greet-people-by-name",
        "{ended:?}"
    );
}

#[test]
fn github_mode_without_a_pull_request_is_refused_before_anything_is_made() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let ended = stage.drive(&["spawn-team", "Greet", "--no-pr"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.document["failure"]["kind"], "modeNeedsPullRequest");
    let ended = stage.drive(&["spawn-team", "Greet", "--no-pr", "--mode", "pingpong"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["prNumber"], json!(null));
}

#[test]
fn a_prompt_of_the_callers_checkout_is_used_and_one_in_the_sandbox_is_not() {
    let reviewer =
        "case \"$(cat)\" in OURS*) echo '{\"verdict\": \"approved\"}';; *) echo no;; esac\n";
    let writes_own = PRIMARY.replace(
        "echo \"A greeting.\"",
        "mkdir -p .drive/prompts; echo THEIRS > .drive/prompts/review.md",
    );
    let stage = Stage::new(&writes_own, reviewer);
    let prompts = stage.path("repo/.drive/prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(
        prompts.join("review.md"),
        "OURS {{task}} {{earlier}} {{diff}}",
    )
    .unwrap();
    let ended = stage.team("pingpong");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}

#[test]
fn a_limit_of_reviews_is_refused_where_a_mode_reviews_once() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let args = ["spawn-team", "Greet", "--max-iterations", "2", "--mode"];
    let ended = stage.drive(&[&args[..], &["sequential"]].concat());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.document["failure"]["kind"], "usage", "{ended:?}");
    assert_eq!(stage.git(&["branch", "--list"]), "* main");
}

fn the_callers_prompt_for_the_coder_is_used(arena: Arena) {
    let prompts = arena.stage.path("repo/.drive/prompts");
    fs::create_dir_all(&prompts).unwrap();
    fs::write(prompts.join("code.md"), "OURS\n\n{{task}}\n").unwrap();
    let is_ours = format!("case \"$prompt\" in *OURS*'{TASK}'*) ;; *) exit 1;; esac");
    let primary = PRIMARY.replace("coder)", &format!("coder) {is_ours};"));
    let ended = arena.team("sequential", &primary, APPROVES);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}

fn the_record_is_published_as_the_settings_say(arena: Arena) {
    let path = arena.stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let home = arena.stage.home().display().to_string();
    let mut number = 0;
    for (publish, is_shown, has_paths) in [
        ("none", false, false),
        ("redacted", true, false),
        ("full", true, true),
    ] {
        let own = format!("{settings}[observability]\npublish = \"{publish}\"\n");
        fs::write(&path, own).unwrap();
        let primary = PRIMARY.replace("greet-by-name", &format!("greet-{publish}"));
        let ended = arena.team("sequential", &primary, APPROVES);
        assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
        number += 1;
        let body = arena.body_of(number);
        assert_eq!(
            body.contains("Agent commands:"),
            is_shown,
            "{publish}: {body}"
        );
        assert_eq!(body.contains(&home), has_paths, "{publish}: {body}");
    }
}

fn another_agent_refutes_where_the_settings_name_one(arena: Arena) {
    let path = arena.stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let refuting = "refute = true\nrefuter_llm = \"second\"";
    let refuting = settings.replace("refute = false", refuting);
    assert_ne!(refuting, settings);
    fs::write(path, refuting + &arena.stage.scripted("second")).unwrap();
    let refutes = json!({"findings": [{"id": "finding-1", "holds": false, "why": "it is two"}]});
    let second = format!("cat > /dev/null\necho '{refutes}'\n");
    arena.stage.script("second", &second);
    let found = json!({"file": "greet.txt", "line": 2, "issue": "two is wrong"});
    let answer = json!({"verdict": "needs_changes", "suggestions": [found]});
    let reviewer = format!("cat > /dev/null\necho '{answer}'\n");
    let ended = arena.team("pingpong", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let jobs = ended.document["record"]["jobs"].as_array().unwrap();
    let agents: Vec<_> = jobs.iter().skip(2).map(|job| &job["agent"]).collect();
    assert_eq!(agents, ["reviewer", "second"], "{ended:?}");
}

fn a_reviewer_that_says_it_is_complete_is_not_waited_for(arena: Arena) {
    let path = arena.stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    fs::write(path, settings + "[spawn]\nidle_timeout = \"9m\"\n").unwrap();
    let reviewer = format!("{APPROVES}echo '[REVIEW COMPLETE]'\nsleep 600\n");
    let begun = Instant::now();
    let ended = arena.team("sequential", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(5 * 60));
}

fn the_terminal_lists_what_is_open(arena: Arena) {
    let found = json!({"file": "greet.txt", "line": 2, "issue": "two is wrong"});
    let answer = json!({"verdict": "needs_changes", "suggestions": [found]});
    let objects = format!("cat > /dev/null; echo '{answer}'; exit");
    let reviewer = format!("if [ \"$DRIVE_DOMAIN\" = Security ]; then {objects}; fi\n{APPROVES}");
    arena.cast(PRIMARY, &reviewer);
    let mut drive = arena.stage.command(env!("CARGO_BIN_EXE_drive"));
    drive.args(["spawn-team", TASK, "--max-iterations", "1"]);
    let output = drive.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let line = "\nopen     Security, major: greet.txt:2: two is wrong\n";
    assert!(told.contains(line), "{told}");
}
