//! Tests what an exit code and a last event mean together, where either alone would mislead.

use crate::agent_clis::bare::{Bench, Ran};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Fault, Script, Times, Turn};

#[test]
fn claude_calls_an_api_failure_a_success_that_is_an_error() {
    for code in [401, 429, 500] {
        let Some(ran) = faulty(Cli::Claude, Fault::status(code)) else {
            return;
        };
        let result = ran.event("result").unwrap();
        assert_eq!(
            (
                ran.code(),
                &result["subtype"],
                &result["is_error"],
                &result["api_error_status"]
            ),
            (1, &"success".into(), &true.into(), &code.into())
        );
    }
}

#[test]
fn gemini_exits_with_the_http_status_modulo_256() {
    for code in [401, 429, 500] {
        let Some(ran) = faulty(Cli::Gemini, Fault::status(code)) else {
            return;
        };
        let result = ran.event("result").unwrap();
        assert_eq!(
            (ran.code(), &result["status"]),
            (i32::from(code) % 256, &"error".into())
        );
    }
}

#[test]
fn gemini_exits_with_0_when_the_stream_had_no_finish_reason() {
    let Some(ran) = faulty(Cli::Gemini, Fault::EndEarly) else {
        return;
    };
    let result = ran.event("result").unwrap();
    assert_eq!((ran.code(), &result["status"]), (0, &"error".into()));
}

#[test]
fn gemini_without_skip_trust_exits_with_55() {
    let Some(bench) = Bench::new(Cli::Gemini, Script::default()) else {
        return;
    };
    let mut args = bench.coder();
    args.retain(|arg| arg != "--skip-trust");
    assert_eq!(bench.run(&args, b"hello").code(), 55);
}

#[test]
fn codex_exits_with_1_and_a_failed_turn_after_an_api_failure() {
    for code in [401, 429, 500] {
        let Some(ran) = faulty(Cli::Codex, Fault::status(code)) else {
            return;
        };
        let last = ran.events().pop().unwrap();
        assert_eq!((ran.code(), &last["type"]), (1, &"turn.failed".into()));
    }
}

#[test]
fn claude_needs_verbose_to_stream_events() {
    let Some(bench) = Bench::new(Cli::Claude, Script::default()) else {
        return;
    };
    let mut args = bench.coder();
    args.retain(|arg| arg != "--verbose");
    let ran = bench.run(&args, b"hello");
    assert_eq!((ran.code(), ran.stdout.as_str()), (1, ""));
}

#[test]
fn a_limit_that_passes_is_survived_by_each() {
    let limit = Fault::Status {
        code: 429,
        retry_after: Some(1),
    };
    for cli in Cli::ALL {
        let script = Script::new([Turn::text("all is well").behind(limit, Times::First(1))]);
        let Some(bench) = Bench::new(cli, script) else {
            return;
        };
        let ran = bench.run(&bench.coder(), b"hello");
        assert_eq!((ran.code(), bench.server.turns().len()), (0, 2), "{cli:?}");
    }
}

fn faulty(cli: Cli, fault: Fault) -> Option<Ran> {
    let bench = Bench::new(cli, Script::new([Turn::fault(fault)]))?;
    Some(bench.run(&bench.coder(), b"hello"))
}
