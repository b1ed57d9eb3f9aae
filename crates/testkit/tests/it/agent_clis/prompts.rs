//! Tests how large and how small a prompt may be.

use crate::agent_clis::bare::{Bench, Ran};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::Script;

const MIB: usize = 1024 * 1024;

#[test]
fn claude_takes_1_mib_of_prompt() {
    let Some((bench, ran)) = prompted(Cli::Claude, MIB) else {
        return;
    };
    assert_eq!((ran.code(), prompt_sizes(&bench)), (0, vec![MIB]));
}

#[test]
fn claude_takes_5_mib_of_prompt() {
    let Some((bench, ran)) = prompted(Cli::Claude, 5 * MIB) else {
        return;
    };
    assert_eq!((ran.code(), prompt_sizes(&bench)), (0, vec![5 * MIB]));
}

#[test]
fn claude_refuses_more_than_10_mb_of_prompt() {
    let Some((bench, ran)) = prompted(Cli::Claude, 11 * MIB) else {
        return;
    };
    assert_eq!((ran.code(), prompt_sizes(&bench)), (1, vec![]));
}

#[test]
fn gemini_takes_3_mib_of_prompt() {
    let Some((bench, ran)) = prompted(Cli::Gemini, 3 * MIB) else {
        return;
    };
    assert_eq!((ran.code(), prompt_sizes(&bench)), (0, vec![3 * MIB]));
}

#[test]
fn gemini_asks_no_model_and_claims_success_when_the_prompt_exceeds_the_context() {
    // It counts four bytes as a token. Above 8 MiB it also cuts the prompt.
    for size in [4 * MIB, 8 * MIB + 1] {
        let Some((bench, ran)) = prompted(Cli::Gemini, size) else {
            return;
        };
        let result = ran.event("result").unwrap();
        assert_eq!(
            (
                ran.code(),
                &result["status"],
                &result["stats"]["total_tokens"],
                prompt_sizes(&bench)
            ),
            (0, &"success".into(), &0.into(), vec![])
        );
    }
}

#[test]
fn gemini_refuses_an_empty_prompt_with_42() {
    let Some((_, ran)) = prompted(Cli::Gemini, 0) else {
        return;
    };
    assert_eq!(ran.code(), 42);
}

#[test]
fn codex_takes_1048576_characters_and_not_one_more() {
    let Some((bench, ran)) = prompted(Cli::Codex, MIB) else {
        return;
    };
    assert_eq!((ran.code(), prompt_sizes(&bench)), (0, vec![MIB]));
    let (bench, ran) = prompted(Cli::Codex, MIB + 1).unwrap();
    assert_eq!((ran.code(), prompt_sizes(&bench)), (1, vec![]));
}

fn prompted(cli: Cli, size: usize) -> Option<(Bench, Ran)> {
    let bench = Bench::new(cli, Script::default())?;
    let ran = bench.run(
        &bench.coder(),
        &"abcdefg\n".repeat(size / 8 + 1).as_bytes()[..size],
    );
    Some((bench, ran))
}

fn prompt_sizes(bench: &Bench) -> Vec<usize> {
    let turns = bench.server.turns();
    turns.iter().map(|turn| turn.prompt.len()).collect()
}
