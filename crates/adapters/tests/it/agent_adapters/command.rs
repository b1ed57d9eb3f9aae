use crate::agent_adapters::stage::{Stage, command, holds, of_kind};
use drive_core::agent::answer::{
    CommentAction, CommentAnswer, FixerAnswer, Shown, Verdict, read_fixer, read_review,
};
use drive_core::agent::{AgentEvent, AgentKind, Ending, Role};
use drive_core::process::LayerName;
use drive_engine::ports::Agent;
use std::time::{Duration, Instant};

#[test]
fn a_program_is_told_its_job_by_environment_and_input_and_answers_with_its_last_block() {
    let stage = Stage::new();
    stage.program(
        "robot",
        "#!/bin/sh\n\
         env | sort\n\
         echo \"cwd $(pwd)\"\n\
         echo \"prompt $(cat)\"\n\
         echo \"input $(cat \"$DRIVE_INPUT\")\"\n\
         echo work > made.txt\n\
         printf '```json\\n{\"comments\":[{\"id\":7,\"action\":\"fixed\",\"note\":\"done\"}]}\\n```\\n'\n",
    );
    let mut request = stage.request(Role::Fixer);
    request.domain = Some("security".to_owned());
    request.input = Some("{\"task\":\"x\"}".to_owned());
    let played = stage.play(&command("robot"), &request);
    let outcome = played.outcome();
    assert_eq!(outcome.ending, Ending::Succeeded);
    let at = |name: &str| stage.root.join(name).display().to_string();
    let tmp = if holds(LayerName::View) {
        "/tmp".to_owned()
    } else {
        at("run/tmp")
    };
    for line in [
        "DRIVE_ROLE=fixer".to_owned(),
        "DRIVE_RUN_ID=r1".to_owned(),
        "DRIVE_ROUND=2".to_owned(),
        "DRIVE_DOMAIN=security".to_owned(),
        format!("DRIVE_INPUT={}", at("run/input.json")),
        format!("HOME={}", at("run/home")),
        format!("TMPDIR={tmp}"),
        format!("cwd {}", at("sandbox")),
        "prompt please do it".to_owned(),
        "input {\"task\":\"x\"}".to_owned(),
    ] {
        assert!(
            outcome.text.lines().any(|l| l == line),
            "no `{line}` in {}",
            outcome.text
        );
    }
    assert_eq!(
        read_fixer(&outcome.text),
        Ok(FixerAnswer {
            comments: vec![CommentAnswer {
                id: "7".to_owned(),
                action: CommentAction::Fixed,
                note: "done".to_owned(),
            }],
            unclear: 0,
        })
    );
    assert_eq!(stage.files(&stage.sandbox()), ["made.txt"]);
}

#[test]
fn only_the_listed_variables_reach_a_program_and_the_forge_token_never_does() {
    let mut stage = Stage::new();
    stage.program("robot", "#!/bin/sh\nenv | cut -d= -f1 | sort\n");
    for name in [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "MY_SETTING",
    ] {
        stage
            .variables
            .push((name.to_owned(), "value-of-it".to_owned()));
    }
    let mut config = command("robot");
    config.env = vec!["MY_SETTING".to_owned()];
    let played = stage.play(&config, &stage.request(Role::Coder));
    let of_the_shell = ["OLDPWD", "PWD", "SHLVL", "_"];
    let names: Vec<&str> = played
        .outcome()
        .text
        .lines()
        .filter(|name| !of_the_shell.contains(name))
        .collect();
    assert_eq!(
        names,
        [
            "DRIVE_ROLE",
            "DRIVE_ROUND",
            "DRIVE_RUN_ID",
            "GIT_AUTHOR_EMAIL",
            "GIT_AUTHOR_NAME",
            "GIT_COMMITTER_EMAIL",
            "GIT_COMMITTER_NAME",
            "HOME",
            "MY_SETTING",
            "PATH",
            "TMPDIR"
        ]
    );
}

#[test]
fn a_secret_is_in_no_event_no_outcome_and_no_log_even_when_it_comes_in_pieces() {
    let mut stage = Stage::new();
    stage
        .variables
        .push(("MY_API_KEY".to_owned(), "hunter2-hunter2".to_owned()));
    stage.program(
        "robot",
        "#!/bin/sh\n\
         printf 'plain %s, ' \"$MY_API_KEY\"\n\
         printf 'base64 %s, ' \"$(printf %s \"$MY_API_KEY\" | base64)\"\n\
         printf 'hunter2-'; sleep 0.2; printf 'hunter2\\n'\n\
         echo \"$MY_API_KEY\" >&2\n\
         echo \"token ghp_0123456789abcdefghijABCDEFGHIJ0123456789\"\n\
         exit 1\n",
    );
    let mut config = command("robot");
    config.env = vec!["MY_API_KEY".to_owned()];
    let played = stage.play(&config, &stage.request(Role::Coder));
    let shown = format!(
        "{:?} {:?} {:?} {}",
        played.events,
        played.result,
        played.outcome().problem("mine"),
        stage.log()
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!shown.contains("aHVudGVyMi1odW50ZXI"), "{shown}");
    assert!(!shown.contains("ghp_"), "{shown}");
    assert!(
        played
            .outcome()
            .text
            .starts_with("plain [redacted], base64 [redacted]"),
        "{}",
        played.outcome().text
    );
}

#[test]
fn what_it_prints_comes_as_events_while_it_runs() {
    let stage = Stage::new();
    // It waits for a file that is only created after its first line was read.
    stage.program(
        "robot",
        "#!/bin/sh\necho first\nfor i in $(seq 300); do [ -e heard ] && break; sleep 0.1; done\ncat heard\n",
    );
    let heard = stage.sandbox().join("heard");
    let mut lines = Vec::new();
    let outcome = drive_engine::ports::Agent::run(
        &stage.agent(&command("robot")),
        &stage.request(Role::Coder),
        &drive_engine::CancelToken::new(),
        &mut |_| Ok(()),
        &mut |event| {
            if let AgentEvent::Text { text } = event {
                std::fs::write(&heard, "second\n").unwrap();
                lines.push(text);
            }
        },
    )
    .unwrap();
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(lines, ["first\n", "second\n"]);
}

#[test]
fn a_reviewer_that_is_complete_and_does_not_exit_is_ended_and_has_succeeded() {
    let stage = Stage::new();
    stage.program(
        "robot",
        "#!/bin/sh\n\
         cat > /dev/null\n\
         echo '{\"verdict\": \"approved\"}'\n\
         printf '[REVIEW COMPLETE]'\n\
         exec sleep 1000\n",
    );
    let mut request = stage.request(Role::Reviewer);
    request.limits.wall = Duration::from_secs(300);
    let begun = Instant::now();
    let played = stage.play(&command("robot"), &request);
    let outcome = played.outcome();
    assert_eq!(outcome.ending, Ending::Succeeded);
    let review = read_review(&outcome.text, &Shown::default()).unwrap();
    assert_eq!(review.verdict, Verdict::Approved);
    assert!(
        begun.elapsed() < request.limits.wall,
        "it was ended by its limit"
    );
}

/// Their reviewers get the repository's rules in the prompt, which the engine writes.
#[test]
fn agents_without_a_file_for_instructions_say_so() {
    let stage = Stage::new();
    for (kind, takes) in [
        (AgentKind::ClaudeCode, true),
        (AgentKind::GeminiCli, true),
        (AgentKind::Codex, true),
        (AgentKind::Acp, false),
        (AgentKind::Command, false),
    ] {
        let agent = stage.agent(&of_kind(kind, "program"));
        assert_eq!(agent.takes_instructions(), takes, "{kind}");
    }
}
