use crate::agent_streams::support::*;
use drive_core::agent::stream::{Phase, claude_stream, codex_stream, gemini_stream};
use drive_core::agent::{Ending, Failure, Ignored};
use drive_core::process::End;
use drive_core::process::Stream;

#[test]
fn exit_code_zero_without_a_terminal_event_is_no_success() {
    let no_verdict = |exit_code| Failure::NoVerdict {
        exit_code: Some(exit_code),
        signal: None,
    };
    let table: [(Reader, &str); 3] = [
        (claude_stream, r#"{"type":"system","subtype":"init"}"#),
        (gemini_stream, r#"{"type":"init"}"#),
        (codex_stream, r#"{"type":"thread.started"}"#),
    ];
    for (reader, only_a_start) in table {
        assert_eq!(
            outcome(reader, only_a_start, 0).ending,
            failed(no_verdict(0), "")
        );
    }
}

#[test]
fn a_terminal_event_with_its_error_flag_set_or_missing_is_no_success() {
    let table: [(Reader, &str); 6] = [
        (
            claude_stream,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"no"}"#,
        ),
        (
            claude_stream,
            r#"{"type":"result","subtype":"success","result":"no"}"#,
        ),
        (
            claude_stream,
            r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#,
        ),
        (
            gemini_stream,
            r#"{"type":"result","status":"error","error":{"message":"no"}}"#,
        ),
        (gemini_stream, r#"{"type":"result"}"#),
        (
            codex_stream,
            r#"{"type":"turn.failed","error":{"message":"no"}}"#,
        ),
    ];
    for (reader, terminal) in table {
        match outcome(reader, terminal, 0).ending {
            Ending::Failed { reason, .. } => assert_eq!(reason, Failure::Reported, "{terminal}"),
            Ending::Succeeded => panic!("success read from {terminal}"),
        }
    }
}

#[test]
fn success_stands_whatever_the_exit_code_says() {
    assert_eq!(
        outcome(claude_stream, CLAUDE_OK, 143).ending,
        Ending::Succeeded
    );
}

#[test]
fn a_bound_wins_over_the_last_word_of_an_agent_that_was_stopped() {
    let said = r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#;
    let (_, outcome) = play(&mut *claude_stream(setup()), said.as_bytes(), End::Aborted);
    assert_eq!(outcome.ending, failed(Failure::Cancelled, ""));
}

#[test]
fn gemini_that_never_asked_its_model_did_not_succeed() {
    let said = concat!(
        r#"{"type":"init","session_id":"s","model":"m"}"#,
        "\n",
        r#"{"type":"result","status":"success","stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0}}"#,
        "\n"
    );
    assert_eq!(
        outcome(gemini_stream, said, 0).ending,
        failed(
            Failure::Reported,
            "it finished without a request to its model"
        )
    );
}

#[test]
fn key_order_does_not_matter() {
    let forth = r#"{"type":"result","subtype":"success","is_error":false,"result":"x"}"#;
    let back = r#"{"result":"x","is_error":false,"subtype":"success","type":"result"}"#;
    assert_eq!(
        outcome(claude_stream, forth, 0),
        outcome(claude_stream, back, 0)
    );
}

#[test]
fn unknown_events_and_garbage_lines_are_counted_and_tolerated() {
    let stream = format!("oops\n{{\"type\":\"brand_new\"}}\n[1]\n\n{CLAUDE_OK}");
    let outcome = outcome(claude_stream, &stream, 0);
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(
        outcome.ignored,
        Ignored {
            garbage_lines: 2,
            unknown_events: 1,
        }
    );
}

#[test]
fn too_much_garbage_abandons_the_run() {
    let mut stream = claude_stream(setup());
    let events = stream.push(Stream::Stdout, "not json\n".repeat(200).as_bytes());
    assert_eq!(events.len(), 1, "one warning, not two hundred");
    assert_eq!(stream.phase(), Phase::Working);
    stream.push(Stream::Stdout, b"the last straw\n");
    assert_eq!(stream.phase(), Phase::Abandoned);
    let (_, outcome) = stream.finish(&End::Aborted);
    assert_eq!(outcome.ending, failed(Failure::Garbage, "the last straw"));
}

#[test]
fn a_program_that_is_no_agent_is_called_one() {
    let mut stream = codex_stream(setup());
    stream.push(Stream::Stderr, b"usage: cat [FILE]\n");
    let (_, outcome) = play(&mut *stream, b"hello\n", End::Exited { code: 2 });
    assert_eq!(
        outcome.ending,
        failed(Failure::Garbage, "usage: cat [FILE]")
    );
    assert_eq!(
        outcome.problem("mine").unwrap().hint.unwrap(),
        "check `kind` and `command` in `[agents.mine]`, then run `drive doctor`"
    );
}

#[test]
fn a_line_over_the_limit_is_dropped_and_the_stream_goes_on() {
    let mut stream = claude_stream(setup());
    let half = vec![b'x'; 9 * 1024 * 1024];
    stream.push(Stream::Stdout, &half);
    stream.push(Stream::Stdout, &half);
    stream.push(Stream::Stdout, b"\n");
    let (_, outcome) = play(&mut *stream, CLAUDE_OK.as_bytes(), End::Exited { code: 0 });
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(outcome.ignored.garbage_lines, 1);
}

#[test]
fn invalid_utf8_inside_an_event_does_not_lose_the_event() {
    let mut line = br#"{"type":"result","subtype":"success","is_error":false,"result":"a"#.to_vec();
    line.extend_from_slice(b"\xff\xfe");
    line.extend_from_slice(b"b\"}\n");
    let (_, outcome) = play(&mut *claude_stream(setup()), &line, End::Exited { code: 0 });
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(outcome.text, "a\u{fffd}\u{fffd}b");
}
