//! Turns signals into cancellation.

use drive_core::problem::{Kind, Problem};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Catches signals from now on. The first interrupt, termination or hangup requests a clean stop,
/// the second an immediate one, and the third ends this process by default, so that a person can
/// always stop it. A process that was started to outlive its terminal ignores the hangup.
pub fn cancel_on_signals(token: CancelToken) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(Kind::SignalsUnavailable, "cannot listen for signals").because(error)
    };
    let hangup = Some(SIGHUP).filter(|_| !ignores_hangup());
    let listened = [SIGINT, SIGTERM].into_iter().chain(hangup);
    let mut signals = Signals::new(listened).map_err(failed)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for (earlier, signal) in signals.forever().enumerate() {
                match earlier {
                    0 => token.cancel(Urgency::Graceful),
                    1 => token.cancel(Urgency::Now),
                    _ => {
                        // Ends the process. If that fails, the run is still cancelled.
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    }
                }
            }
        })
        .map_err(failed)?;
    Ok(())
}

/// Whether this process was started with hangups ignored.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

fn ignored(status: &str) -> Option<u64> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn ignored_signals_are_read_from_the_kernels_words() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert_eq!(ignored(status), Some(0x1001));
        assert_eq!(ignored(""), None);
    }

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
