use crate::agent_streams::support::*;
use drive_core::agent::stream::{Phase, StreamSetup, claude_stream, codex_stream, gemini_stream};
use drive_core::agent::{AgentEvent, Budget, Cost, Failure, Overrun, Session, SessionTotals};
use drive_core::process::End;
use drive_core::process::Stream;

#[test]
fn a_resumed_conversation_is_not_billed_twice() {
    let before = SessionTotals {
        usage: usage(1000, 100, 50),
        cost: Cost::from_micro_usd(2_000_000),
    };
    let resumed = StreamSetup {
        resume: Some(Session {
            id: "s".to_owned(),
            totals: before,
        }),
        ..setup()
    };
    let claude = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"x","total_cost_usd":2.5,"usage":{"input_tokens":10,"cache_read_input_tokens":1,"output_tokens":2}}"#;
    let codex = r#"{"type":"turn.completed","usage":{"input_tokens":1213,"cached_input_tokens":103,"output_tokens":57}}"#;
    let of_run = |reader: Reader, line: &str| {
        let mut stream = reader(resumed.clone());
        let outcome = play(&mut *stream, line.as_bytes(), End::Exited { code: 0 }).1;
        (outcome.usage, outcome.cost, outcome.session.unwrap().totals)
    };
    assert_eq!(
        of_run(claude_stream, claude),
        (
            usage(10, 1, 2),
            Some(Cost::from_micro_usd(500_000)),
            SessionTotals {
                usage: usage(1010, 101, 52),
                cost: Cost::from_micro_usd(2_500_000),
            }
        )
    );
    assert_eq!(
        of_run(codex_stream, codex),
        (
            usage(110, 3, 7),
            None,
            SessionTotals {
                usage: usage(1110, 103, 57),
                cost: Cost::from_micro_usd(2_000_000),
            }
        )
    );
}

#[test]
fn a_run_that_passes_its_budget_is_stopped_in_the_middle() {
    let mut stream = claude_stream(StreamSetup {
        budget: Budget {
            tokens: Some(200),
            cost: None,
        },
        ..setup()
    });
    for line in CLAUDE_OK.split_inclusive('\n') {
        stream.push(Stream::Stdout, line.as_bytes());
        if stream.phase() != Phase::Working {
            break;
        }
    }
    assert_eq!(stream.phase(), Phase::Abandoned);
    let (_, outcome) = stream.finish(&End::Aborted);
    let overrun = Overrun::Tokens {
        allowed: 200,
        used: 222,
    };
    assert_eq!(outcome.ending, failed(Failure::Budget { overrun }, ""));
    assert_eq!(
        outcome.problem("claude-code").unwrap().message,
        "agent `claude-code` used 222 tokens (limit 200)"
    );
}

#[test]
fn tokens_counted_on_the_way_to_the_model_stop_a_run_that_passes_its_budget() {
    let budget = Budget {
        tokens: Some(200),
        cost: None,
    };
    for reader in [codex_stream as Reader, gemini_stream, claude_stream] {
        let mut stream = reader(StreamSetup { budget, ..setup() });
        assert_eq!(stream.counted(usage(0, 0, 0)), []);
        let event = |usage| AgentEvent::Usage { usage, cost: None };
        assert_eq!(
            stream.counted(usage(150, 900, 50)),
            [event(usage(150, 900, 50))]
        );
        assert_eq!(stream.counted(usage(150, 900, 50)), []);
        assert_eq!(stream.phase(), Phase::Working);
        stream.counted(usage(151, 900, 50));
        assert_eq!(stream.phase(), Phase::Abandoned);
        let (_, outcome) = stream.finish(&End::Aborted);
        let overrun = Overrun::Tokens {
            allowed: 200,
            used: 201,
        };
        assert_eq!(outcome.ending, failed(Failure::Budget { overrun }, ""));
        assert_eq!(outcome.usage, usage(151, 900, 50));
    }
}

#[test]
fn the_higher_of_what_an_agent_reports_and_what_was_counted_is_used() {
    for (reader, text) in [
        (codex_stream as Reader, CODEX_OK),
        (gemini_stream, GEMINI_OK),
    ] {
        let reported = outcome(reader, text, 0).usage;
        assert!(reported.counted() > 0);
        let (more, less) = (usage(7_000_000, 1, 1), usage(1, 0, 0));
        for (counted, expected) in [(more, more), (less, reported)] {
            let mut stream = reader(setup());
            stream.counted(counted);
            let (_, outcome) = play(&mut *stream, text.as_bytes(), End::Exited { code: 0 });
            assert_eq!(outcome.usage, expected);
        }
    }
}

#[test]
fn an_amount_below_a_cent_is_not_shown_as_nothing() {
    for (micros, shown) in [
        (0, "$0.00"),
        (5, "$0.000005"),
        (340, "$0.00034"),
        (3_400, "$0.0034"),
        (10_000, "$0.01"),
        (52_000, "$0.05"),
        (5_000_000, "$5.00"),
    ] {
        assert_eq!(Cost::from_micro_usd(micros).to_string(), shown);
    }
}

#[test]
fn an_overrun_by_less_than_a_cent_shows_the_difference() {
    let told = |allowed, used| {
        let (allowed, used) = (Cost::from_micro_usd(allowed), Cost::from_micro_usd(used));
        Overrun::Cost { allowed, used }.to_string()
    };
    assert_eq!(told(5_000, 6_200), "spent $0.0062 (limit $0.0050)");
    assert_eq!(told(5_000_000, 5_004_000), "spent $5.004000 (limit $5.00)");
    assert_eq!(told(5_000_000, 5_400_000), "spent $5.40 (limit $5.00)");
    assert_eq!(told(0, 4), "spent $0.000004 (limit $0.00)");
}
