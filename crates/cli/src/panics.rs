//! Reports a panic as a bug in drive, with an exit code like any other failure.
//!
//! The stack unwinds before the report, so that guards (a transient sandbox, a lease) run first.

use crate::answer::Outcome;
use crate::output::Output;
use drive_core::problem::{Kind, Problem};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

/// Runs a command; a panic becomes a problem.
pub(crate) fn caught(output: &Output, command: impl FnOnce() -> Outcome) -> Outcome {
    panic::set_hook(Box::new(tell));
    // After a panic, only the output is used again, and a panic cannot leave it in an invalid state.
    panic::catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|payload| {
        output.detail("the command panicked");
        Err(bug(text_of(&*payload)))
    })
}

fn bug(what: &str) -> Problem {
    Problem::new(Kind::Bug, format!("this is a bug in drive: {what}"))
        .hint("please report it with the line above; `RUST_BACKTRACE=1` adds a backtrace")
}

/// Prints the place of a panic. This hook runs on the panicking thread, and must not panic itself.
fn tell(info: &PanicHookInfo<'_>) {
    let place = info
        .location()
        .map_or_else(|| "an unknown location".to_owned(), ToString::to_string);
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(
        stderr,
        "panic in thread `{thread}` at {place}: {}",
        text_of(info.payload())
    );
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        let _ = writeln!(stderr, "{backtrace}");
    }
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global_args::ColorChoice;
    use crate::output::Format;
    use std::cell::Cell;

    #[test]
    fn a_panic_unwinds_and_becomes_a_problem() {
        struct Guard<'a>(&'a Cell<bool>);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let cleaned = Cell::new(false);
        let output = Output::plain(Format::Text, ColorChoice::Never);
        let outcome = caught(&output, || {
            let _guard = Guard(&cleaned);
            panic!("the unthinkable")
        });
        let problem = outcome.unwrap_err();
        assert!(cleaned.get());
        assert_eq!(problem.kind, Kind::Bug);
        assert_eq!(problem.exit_code(), 3);
        assert_eq!(problem.message, "this is a bug in drive: the unthinkable");
    }
}
