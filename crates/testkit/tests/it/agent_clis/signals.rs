//! Tests the effect of a signal on each CLI while its shell tool runs.

use crate::agent_clis::bare::{Bench, Ran, WALL};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Script, Turn};
use rustix::process::Signal;

/// Unlike every other command line on the machine, so that a survivor is certainly ours.
const TOOL: &str = "touch started; sleep 86399";

#[test]
fn claude_answers_term_with_143_and_hup_with_129() {
    let Some(term) = signalled(Cli::Claude, Signal::TERM) else {
        return;
    };
    let hup = signalled(Cli::Claude, Signal::HUP).unwrap();
    assert_eq!((term.code(), hup.code()), (143, 129));
}

#[test]
fn claude_answers_int_with_code_0_and_at_most_a_result_that_is_an_error() {
    let Some(ran) = signalled(Cli::Claude, Signal::INT) else {
        return;
    };
    let result = ran.event("result");
    // On a busy machine the result is lost.
    let claims_success = result.is_some_and(|result| result["is_error"] != true);
    assert_eq!((ran.code(), claims_success), (0, false), "{ran:#?}");
}

#[test]
fn gemini_answers_every_signal_with_code_0_no_result_and_a_running_tool() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let Some(ran) = signalled(Cli::Gemini, signal) else {
            return;
        };
        assert_eq!((ran.code(), ran.event("result")), (0, None), "{signal:?}");
        assert!(has_tool(&ran), "{signal:?}: {ran:#?}");
    }
}

#[test]
fn codex_answers_term_with_143_and_int_with_1_and_no_final_event() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 1)] {
        let Some(ran) = signalled(Cli::Codex, signal) else {
            return;
        };
        let ended = (ran.event("turn.completed"), ran.event("turn.failed"));
        assert_eq!((ran.code(), ended), (code, (None, None)), "{signal:?}");
    }
}

#[test]
fn killing_a_cli_leaves_its_tool_running() {
    // Not codex: its own sandbox ends the tool with it, a moment sooner or later.
    for cli in [Cli::Claude, Cli::Gemini] {
        let Some(ran) = signalled(cli, Signal::KILL) else {
            return;
        };
        assert_eq!(ran.code(), 137);
        assert!(has_tool(&ran), "{cli:?}: {ran:#?}");
    }
}

fn signalled(cli: Cli, signal: Signal) -> Option<Ran> {
    let bench = Bench::new(cli, Script::new([Turn::run(TOOL)]))?;
    let mut running = bench.start(&bench.coder(), b"wait");
    running.wait_for(&bench.home.work().join("started"));
    running.signal(signal);
    Some(running.finish(WALL))
}

fn has_tool(ran: &Ran) -> bool {
    ran.left.iter().any(|command| command.contains("86399"))
}
