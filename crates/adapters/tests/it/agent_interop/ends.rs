use crate::agent_interop::lab::Lab;
use drive_core::agent::{Ending, Failure, Role};
use drive_core::process::TimeBound;
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Fault, Script, Turn};
use std::time::Duration;

/// Leaves the CLI's session, ignores every signal that can be ignored, and has its own child.
const STUBBORN: &str = "touch started; \
     setsid sh -c 'trap \"\" TERM HUP INT; sleep 86398; sleep 86398' & sleep 86398";

#[test]
fn the_stubborn_tools_of_claude_are_gone_after_its_limit() {
    ends_with_its_tools(Cli::Claude);
}

#[test]
fn the_stubborn_tools_of_gemini_are_gone_after_its_limit() {
    ends_with_its_tools(Cli::Gemini);
}

#[test]
fn the_stubborn_tools_of_codex_are_gone_after_its_limit() {
    ends_with_its_tools(Cli::Codex);
}

/// One of the CLIs exits with 0 here.
#[test]
fn an_answer_without_its_end_is_no_success_of_any() {
    for fault in [Fault::EndEarly, Fault::Malformed] {
        for cli in Cli::ALL {
            let Some(lab) = Lab::new(cli, |_| Script::new([Turn::fault(fault)])) else {
                return;
            };
            let played = lab.play(Role::Coder);
            assert!(
                !played.outcome().succeeded(),
                "{cli:?} with {fault:?}: {:#?}",
                played.events
            );
        }
    }
}

/// Every run of the lab checks that no process remains.
fn ends_with_its_tools(cli: Cli) {
    // One of the CLIs calls its model again while the tool still runs.
    let script = Script::new([Turn::run(STUBBORN), Turn::fault(Fault::HangBeforeHeaders)]);
    let Some(lab) = Lab::new(cli, |_| script) else {
        return;
    };
    let mut request = lab.request(Role::Coder);
    request.limits.wall = Duration::from_secs(15);
    let played = lab.play_request(&request);
    assert_eq!(lab.work_files(), ["started"], "{:#?}", played.events);
    assert_eq!(
        played.outcome().ending,
        Ending::Failed {
            reason: Failure::TimedOut {
                bound: TimeBound::Wall
            },
            message: String::new(),
        },
        "{:#?}",
        played.events
    );
}
