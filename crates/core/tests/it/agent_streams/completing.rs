//! Tests a reviewer that reports that its review is complete.

use crate::agent_streams::answering::{acp_with, greeted};
use crate::agent_streams::support::*;
use drive_core::agent::answer::{Shown, Verdict, read_review};
use drive_core::agent::stream::{
    AgentStream, Phase, StreamSetup, claude_stream, codex_stream, gemini_stream, program_stream,
};
use drive_core::agent::{Budget, Ending, Failure, Role};
use drive_core::process::Stream;
use drive_core::process::{End, TimeBound};

const SAID: &str = "{\\\"verdict\\\": \\\"needs_changes\\\", \\\"suggestions\\\": [{\\\"issue\\\": \\\"x\\\"}]}\\n\\n";

fn as_role(role: Role) -> StreamSetup {
    StreamSetup { role, ..setup() }
}

fn push(stream: &mut dyn AgentStream, text: &str) -> Phase {
    stream.push(Stream::Stdout, text.as_bytes());
    stream.phase()
}

/// An agent with this protocol that is working.
fn opened_acp(setup: StreamSetup) -> Box<dyn AgentStream> {
    greeted(acp_with(setup))
}

/// A message with this end, as each agent prints it.
fn printed(end: &str) -> Vec<(Reader, String)> {
    let plain = SAID.replace("\\n", "\n").replace("\\\"", "\"");
    let end_of_line = end.replace("\\n", "\n");
    vec![
        (program_stream, format!("{plain}{end_of_line}\n")),
        (
            claude_stream,
            format!(
                r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{SAID}{end}"}}]}}}}"#
            ) + "\n",
        ),
        (
            codex_stream,
            format!(
                r#"{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":"{SAID}{end}"}}}}"#
            ) + "\n",
        ),
        (
            gemini_stream,
            [SAID, &end[..9], &end[9..]]
                .map(|piece| {
                    format!(
                        r#"{{"type":"message","role":"assistant","content":"{piece}","delta":true}}"#
                    ) + "\n"
                })
                .concat(),
        ),
        (
            opened_acp,
            [SAID, &end[..9], &end[9..]]
                .map(|piece| {
                    format!(
                        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{piece}"}}}}}}}}"#
                    ) + "\n"
                })
                .concat(),
        ),
    ]
}

#[test]
fn a_reviewer_that_is_complete_is_done_and_has_succeeded_however_it_ends() {
    for (reader, text) in printed("**[REVIEW COMPLETE]**") {
        let ends = [
            End::Aborted,
            End::Exited { code: 1 },
            End::TimedOut {
                bound: TimeBound::Idle,
            },
        ];
        for end in ends {
            let mut stream = reader(as_role(Role::Reviewer));
            assert_eq!(push(&mut *stream, &text), Phase::Done, "{text}");
            let (_, outcome) = stream.finish(&end);
            assert_eq!(outcome.ending, Ending::Succeeded, "{text}");
            let review = read_review(&outcome.text, &Shown::default()).unwrap();
            assert_eq!(review.verdict, Verdict::NeedsChanges);
        }
    }
}

#[test]
fn nobody_but_a_reviewer_ends_with_the_marker_and_nobody_by_speaking_of_it() {
    let cancelled = failed(Failure::Cancelled, "");
    for (role, end) in [
        (Role::Fixer, "[REVIEW COMPLETE]"),
        (Role::Reviewer, "I will end with [REVIEW COMPLETE]"),
        (Role::Reviewer, "[REVIEW COMPLETE] comes later"),
        (Role::Reviewer, "[review complete]"),
    ] {
        // A part of a longer line may look like the marker, so only whole messages are used here.
        for (reader, text) in printed(end).into_iter().take(3) {
            let mut stream = reader(as_role(role));
            assert_eq!(push(&mut *stream, &text), Phase::Working, "{text}");
            let (_, outcome) = stream.finish(&End::Aborted);
            assert_eq!(outcome.ending, cancelled, "{text}");
        }
    }
}

#[test]
fn a_program_need_not_end_the_line_of_the_marker() {
    let mut stream = program_stream(as_role(Role::Reviewer));
    assert_eq!(
        push(&mut *stream, "{\"verdict\": \"approved\"}\n[REVIEW"),
        Phase::Working
    );
    assert_eq!(push(&mut *stream, " COMPLETE]"), Phase::Done);
    let (_, outcome) = stream.finish(&End::Aborted);
    assert_eq!(outcome.ending, Ending::Succeeded);
    let review = read_review(&outcome.text, &Shown::default()).unwrap();
    assert_eq!(review.verdict, Verdict::Approved);
}

#[test]
fn a_marker_before_the_answer_does_not_cost_the_answer() {
    let mut stream = program_stream(as_role(Role::Reviewer));
    let said = "I will write this at the end:\n[REVIEW COMPLETE]\n";
    assert_eq!(push(&mut *stream, said), Phase::Working);
    let begun = "```json\n{\"verdict\": \"needs_changes\",\n\"suggestions\": [{\n";
    assert_eq!(push(&mut *stream, begun), Phase::Working);
    assert_eq!(push(&mut *stream, "\"issue\": \"x\"}]}\n"), Phase::Done);
    let (_, outcome) = stream.finish(&End::Aborted);
    let review = read_review(&outcome.text, &Shown::default()).unwrap();
    assert_eq!(review.verdict, Verdict::NeedsChanges);
}

#[test]
fn what_a_reviewer_uses_after_its_review_does_not_undo_it() {
    let mut setup = as_role(Role::Reviewer);
    setup.budget = Budget {
        tokens: Some(10),
        cost: None,
    };
    let mut stream = claude_stream(setup);
    let said = concat!(
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{\"verdict\": \"approved\"}\n[REVIEW COMPLETE]"}],"usage":{"input_tokens":50,"output_tokens":5}}}"#,
        "\n",
    );
    assert_eq!(push(&mut *stream, said), Phase::Done);
    let (_, outcome) = stream.finish(&End::Exited { code: 0 });
    assert_eq!(
        (outcome.ending, outcome.usage),
        (Ending::Succeeded, usage(50, 0, 5))
    );
}
