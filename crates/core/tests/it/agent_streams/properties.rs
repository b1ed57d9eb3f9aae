use crate::agent_streams::support::*;
use drive_core::agent::Role;
use drive_core::agent::stream::{
    AgentStream, claude_stream, codex_stream, gemini_stream, program_stream,
};
use drive_core::process::End;
use drive_core::process::Stream;
use proptest::prelude::*;
use serde_json::json;

use crate::agent_streams::answering::opened;
fn readers() -> Vec<Box<dyn AgentStream>> {
    vec![
        claude_stream(setup()),
        gemini_stream(setup()),
        codex_stream(setup()),
        program_stream(setup()),
        opened(Role::Coder),
    ]
}

fn chunked(bytes: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().copied().cycle();
    while !rest.is_empty() {
        let take = sizes.next().unwrap_or(1).clamp(1, rest.len());
        chunks.push(rest[..take].to_vec());
        rest = &rest[take..];
    }
    chunks
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_change_events_or_outcome(
        sizes in proptest::collection::vec(1usize..400, 1..20),
        which in 0usize..8,
    ) {
        let recorded: [(Reader, &str); 8] = [
            (claude_stream, CLAUDE_OK),
            (claude_stream, CLAUDE_429),
            (claude_stream, CLAUDE_401),
            (gemini_stream, GEMINI_OK),
            (gemini_stream, GEMINI_401),
            (codex_stream, CODEX_OK),
            (codex_stream, CODEX_DROPPED),
            (program_stream, CODEX_OK),
        ];
        let (reader, text) = recorded[which];
        let end = End::Exited { code: 0 };
        let whole = play(&mut *reader(setup()), text.as_bytes(), end.clone());
        let mut stream = reader(setup());
        let mut events = Vec::new();
        for chunk in chunked(text.as_bytes(), &sizes) {
            events.extend(stream.push(Stream::Stdout, &chunk));
        }
        let (last, outcome) = stream.finish(&end);
        events.extend(last);
        prop_assert_eq!((events, outcome), whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        chunks in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..20),
    ) {
        for mut stream in readers() {
            for (is_stderr, bytes) in &chunks {
                let source = if *is_stderr { Stream::Stderr } else { Stream::Stdout };
                stream.push(source, bytes);
            }
            stream.finish(&End::Exited { code: 0 });
        }
    }

    #[test]
    fn events_with_fields_of_any_shape_never_panic(
        kind in prop_oneof![
            Just("system"), Just("assistant"), Just("user"), Just("result"), Just("message"), Just("init"),
            Just("control_request"), Just("rate_limit_event"), Just("tool_use"), Just("tool_result"),
            Just("error"), Just("item.completed"), Just("turn.completed"), Just("turn.failed"),
        ],
        key in prop_oneof![
            Just("message"), Just("subtype"), Just("usage"), Just("item"), Just("request"), Just("stats"),
            Just("result"), Just("error"), Just("rate_limit_info"), Just("total_cost_usd"), Just("params"),
        ],
        shape in 0usize..8,
    ) {
        let shapes = [
            json!(null), json!(-1), json!(1e300), json!("text"), json!([[]]), json!({"content": [{"type": "text"}]}),
            json!({"content": {"a": []}, "usage": [], "id": 3}), json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX}),
        ];
        let mut event = json!({"type": kind, "subtype": "init", "method": "session/update", "id": 2});
        event[key] = shapes[shape].clone();
        for mut stream in readers() {
            play(&mut *stream, event.to_string().as_bytes(), End::Exited { code: 0 });
        }
    }
}
