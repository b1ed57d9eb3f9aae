//! Signals become cancellation.

use drive_core::Problem;
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// From now on the first interrupt or termination asks for a clean end, the second for an end at
/// once, and the third ends this process as if nobody had listened: a person can always get out.
pub fn cancel_on_signals(token: CancelToken) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::environment("signalsUnavailable", "cannot listen for signals").because(error)
    };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for (earlier, signal) in signals.forever().enumerate() {
                match earlier {
                    0 => token.cancel(Urgency::Graceful),
                    1 => token.cancel(Urgency::Now),
                    _ => {
                        // Ends the process; an error leaves us where we were, still cancelled.
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    }
                }
            }
        })
        .map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn the_first_signal_asks_and_the_second_insists() {
        const HANG: Duration = Duration::from_secs(30);
        let token = CancelToken::new();
        let (sender, receiver) = mpsc::channel();
        let _guard = token.on_cancel(move |urgency| sender.send(urgency).unwrap());
        cancel_on_signals(token.clone()).unwrap();
        raise(SIGTERM).unwrap();
        assert_eq!(receiver.recv_timeout(HANG), Ok(Urgency::Graceful));
        raise(SIGINT).unwrap();
        assert_eq!(receiver.recv_timeout(HANG), Ok(Urgency::Now));
        assert_eq!(token.asked(), Some(Urgency::Now));
    }
}
