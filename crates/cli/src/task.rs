//! Reads the task from its argument, or from standard input for `-`.

use drive_core::problem::{Kind, Problem};
use drive_engine::CancelToken;
use drive_engine::start::LONGEST_TASK;
use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The interval of cancellation checks while waiting for input.
const GLANCE: Duration = Duration::from_millis(50);

/// The text of a `TASK` argument. The engine checks whether it is a valid task.
pub(crate) fn load_task(argument: &str, cancel: &CancelToken) -> Result<String, Problem> {
    match argument {
        "-" => read_unless(cancel, || read(std::io::stdin().lock())),
        text => Ok(text.to_owned()),
    }
}

/// Waits for input until cancelled. A blocked read cannot be interrupted, so its thread keeps it.
fn read_unless(
    cancel: &CancelToken,
    read: impl FnOnce() -> Result<String, Problem> + Send + 'static,
) -> Result<String, Problem> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(read()));
    loop {
        match receiver.recv_timeout(GLANCE) {
            Ok(task) => return task,
            Err(RecvTimeoutError::Timeout) if cancel.asked().is_none() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(
                    Problem::new(Kind::Interrupted, "interrupted while reading the task")
                        .hint("no run was started"),
                );
            }
        }
    }
}

fn read(input: impl Read) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    input
        .take(LONGEST_TASK as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Problem::new(
                Kind::TaskUnreadable,
                "cannot read the task from standard input",
            )
            .because(error)
        })?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::new(Kind::TaskNotText, "the task on standard input is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_bounded_and_must_be_text() {
        assert_eq!(read("fix it\n".as_bytes()), Ok("fix it\n".to_owned()));
        assert_eq!(
            read(b"caf\xe9".as_slice()).unwrap_err().kind,
            Kind::TaskNotText
        );
        // One byte beyond the limit is enough for a refusal; the rest is never read.
        assert_eq!(read(std::io::repeat(b'x')).unwrap().len(), LONGEST_TASK + 1);
    }
}
