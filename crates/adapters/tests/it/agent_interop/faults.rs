use crate::agent_interop::lab::Lab;
use drive_core::agent::{AgentEvent, Ending, Failure, Role, Wait};
use drive_core::process::TimeBound;
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Fault, Script, Times, Turn};
use std::time::Duration;

/// Runs with a model that always fails in this way; the idle timeout ends a run that would hang.
fn meets(cli: Cli, fault: Fault) -> Option<(Vec<AgentEvent>, Failure)> {
    let lab = Lab::new(cli, |_| Script::new([Turn::fault(fault)]))?;
    let mut request = lab.request(Role::Coder);
    request.limits.wall = Duration::from_secs(40);
    let played = lab.play_request(&request);
    match &played.outcome().ending {
        Ending::Succeeded => panic!("{} succeeded with {fault:?}", cli.name()),
        Ending::Failed { reason, .. } => Some((played.events.clone(), reason.clone())),
    }
}

fn timed_out(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::TimedOut {
            bound: TimeBound::Wall
        }
    )
}

fn waits(events: &[AgentEvent]) -> Vec<&Wait> {
    events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Waiting { wait } => Some(wait),
            _ => None,
        })
        .collect()
}

/// An error answer ends as a failure of the model, and each earlier retry was reported as a wait.
fn overloaded(cli: Cli, code: u16) {
    let Some((events, failure)) = meets(cli, Fault::status(code)) else {
        return;
    };
    let named = matches!(failure, Failure::Model { .. }) || timed_out(&failure);
    assert!(named, "{failure:?}\n{events:#?}");
    let waited = waits(&events);
    assert!(
        waited
            .iter()
            .any(|wait| matches!(wait, Wait::Overloaded { .. })),
        "{events:#?}"
    );
}

fn locked_out(cli: Cli) {
    let Some((events, failure)) = meets(cli, Fault::status(401)) else {
        return;
    };
    assert_eq!(failure, Failure::LoginExpired, "{events:#?}");
}

fn hangs(cli: Cli, fault: Fault) {
    let lab = Lab::new(cli, |_| Script::new([Turn::fault(fault)]));
    let Some(lab) = lab else { return };
    let mut request = lab.request(Role::Coder);
    request.limits.wall = Duration::from_secs(15);
    let played = lab.play_request(&request);
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

/// A stream that breaks once is retried, and the run continues.
fn recovers(cli: Cli, fault: Fault) {
    let lab = Lab::new(cli, |home| {
        let file = home.work().join("a.txt").display().to_string();
        Script::new([
            Turn::write(file, "hi\n").behind(fault, Times::First(1)),
            Turn::text("done"),
        ])
    });
    let Some(lab) = lab else { return };
    let played = lab.play(Role::Coder);
    assert_eq!(
        played.outcome().ending,
        Ending::Succeeded,
        "{:#?}",
        played.events
    );
    assert_eq!(lab.work_files(), ["a.txt"]);
}

macro_rules! for_each_cli {
    ($($cli:ident: $which:expr;)*) => { $(
        mod $cli {
            use super::*;

            #[test]
            fn tells_a_rate_limit_from_its_own_failure() {
                overloaded($which, 429);
            }

            #[test]
            fn tells_a_broken_model_from_its_own_failure() {
                overloaded($which, 500);
            }

            #[test]
            fn says_that_it_is_not_logged_in() {
                locked_out($which);
            }

            #[test]
            fn that_hangs_before_headers_ends_on_time() {
                hangs($which, Fault::HangBeforeHeaders);
            }

            #[test]
            fn that_hangs_after_headers_ends_on_time() {
                hangs($which, Fault::HangAfterHeaders);
            }

            #[test]
            fn survives_one_rate_limit() {
                let retry_after = Some(1);
                recovers($which, Fault::Status { code: 429, retry_after });
            }

            #[test]
            fn survives_one_server_error() {
                recovers($which, Fault::status(500));
            }
        }
    )* };
}

for_each_cli! {
    claude: Cli::Claude;
    gemini: Cli::Gemini;
    codex: Cli::Codex;
}

#[test]
fn claude_survives_a_dropped_stream() {
    recovers(Cli::Claude, Fault::DropMidEvent);
}

#[test]
fn codex_survives_a_dropped_stream() {
    recovers(Cli::Codex, Fault::DropMidEvent);
}

/// It does not retry, and it reports the failure.
#[test]
fn gemini_ends_with_a_dropped_stream_and_blames_the_model() {
    if let Some((events, failure)) = meets(Cli::Gemini, Fault::DropMidEvent) {
        assert_eq!(failure, Failure::Model { status: None }, "{events:#?}");
    }
}
