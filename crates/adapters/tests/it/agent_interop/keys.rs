//! Tests that keys stay with drive: the real programs work with a dummy, and drive counts their usage.

use crate::agent_interop::lab::Lab;
use drive_core::agent::{Budget, Ending, Failure, Overrun, Role, Usage};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{self, Script, Turn};
use std::time::Duration;

const KEY: &str = "sk-the-real-key-of-the-user";

/// Searches for the key wherever an agent can search, with patterns that do not match themselves.
const LOOK: &str = r#"{ env; cat /proc/*/environ /proc/*/cmdline; } 2> /dev/null | tr '\0' '\n' |
    grep -q 'sk-the-[r]eal-key-of-the-user' && echo FOUND-IN-PROCESSES
grep -rqs 'sk-the-[r]eal-key-of-the-user' ~ "${TMPDIR:-/tmp}" && echo FOUND-IN-FILES
{ env; cat /proc/*/environ; } 2> /dev/null | tr '\0' '\n' |
    grep -q 'drive-[0-9a-f]\{32\}' && echo SAW-THE-DUMMY
echo LOOKED"#;

fn variable(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => "ANTHROPIC_API_KEY",
        Cli::Gemini => "GEMINI_API_KEY",
        Cli::Codex => "SCRIPTED_API_KEY",
    }
}

fn lab(cli: Cli, turns: impl IntoIterator<Item = Turn>) -> Option<Lab> {
    let script = Script::new(turns).only_with_key(KEY);
    let mut lab = Lab::new(cli, |_| script)?;
    lab.set(variable(cli), KEY);
    Some(lab)
}

fn seen(lab: &Lab) -> String {
    let turns = lab.server.turns();
    let results = turns.iter().map(|turn| format!("{:?}", turn.tool_results));
    results.collect()
}

/// The agent reaches its model only through the broker, and finds the key nowhere.
fn works_without_its_key(cli: Cli) {
    let turns = [Turn::run(LOOK), Turn::text("done")];
    let Some(lab) = lab(cli, turns.clone()) else {
        return;
    };
    let mut config = lab.config();
    config.allow_hosts.clear();
    let played = lab.play_as(&config, &lab.request(Role::Coder));
    assert_eq!(
        played.outcome().ending,
        Ending::Succeeded,
        "{:#?}\n{}",
        played.events,
        lab.log()
    );
    let found = seen(&lab);
    assert!(found.contains("LOOKED"), "{found}");
    assert!(found.contains("SAW-THE-DUMMY"), "{found}");
    assert!(!found.contains("FOUND"), "{found}");
    assert!(!found.contains(KEY), "{found}");
    let log = lab.log() + &format!("{:?}", played.events);
    assert!(!log.contains(KEY), "{log}");

    // The control: started by hand, the same program has the key.
    let Some(lab) = self::lab(cli, turns) else {
        return;
    };
    lab.by_hand();
    let found = seen(&lab);
    assert!(found.contains("FOUND-IN-PROCESSES"), "{found}");
}

#[test]
fn claude_works_by_a_key_that_it_does_not_have() {
    works_without_its_key(Cli::Claude);
}

#[test]
fn gemini_works_by_a_key_that_it_does_not_have() {
    works_without_its_key(Cli::Gemini);
}

#[test]
fn codex_works_by_a_key_that_it_does_not_have() {
    works_without_its_key(Cli::Codex);
}

#[test]
fn a_key_that_the_model_refuses_is_a_missing_login() {
    for cli in Cli::ALL {
        let Some(mut lab) = lab(cli, [Turn::text("done")]) else {
            return;
        };
        lab.set(variable(cli), "sk-another-key-of-the-user");
        let played = lab.play(Role::Coder);
        let is_login = matches!(
            played.outcome().ending,
            Ending::Failed {
                reason: Failure::LoginExpired,
                ..
            }
        );
        assert!(is_login, "{cli:?}: {:#?}", played.outcome().ending);
    }
}

/// The run is stopped although its model has further turns.
fn stops_at_its_budget(cli: Cli) {
    let usage = model_server::Usage {
        input: 1000,
        cached: 50,
        output: 10,
    };
    let Some(lab) = lab(
        cli,
        [
            Turn::run("echo one").usage(usage),
            Turn::run("echo two").usage(usage),
            Turn::text("never said").held_until("/nowhere"),
        ],
    ) else {
        return;
    };
    let mut request = lab.request(Role::Coder);
    request.limits.wall = Duration::from_secs(40);
    request.budget = Budget {
        tokens: Some(1500),
        cost: None,
    };
    let played = lab.play_request(&request);
    let outcome = played.outcome();
    let Ending::Failed {
        reason:
            Failure::Budget {
                overrun:
                    Overrun::Tokens {
                        allowed: 1500,
                        used,
                    },
            },
        ..
    } = outcome.ending
    else {
        panic!("{:#?}\n{:#?}\n{}", outcome.ending, played.events, lab.log());
    };
    assert!(used >= 2020, "{used}");
    assert_ne!(outcome.usage, Usage::default());
    assert!(outcome.usage.counted() <= used, "{:?}", outcome.usage);
}

#[test]
fn claude_is_stopped_in_the_middle_by_its_token_budget() {
    stops_at_its_budget(Cli::Claude);
}

#[test]
fn gemini_is_stopped_in_the_middle_by_its_token_budget() {
    stops_at_its_budget(Cli::Gemini);
}

#[test]
fn codex_is_stopped_in_the_middle_by_its_token_budget() {
    stops_at_its_budget(Cli::Codex);
}
