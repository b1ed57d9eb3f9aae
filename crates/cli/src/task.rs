//! The task a command is given: its argument, or standard input for `-`.

use drive_core::Problem;
use drive_engine::spawn::LONGEST_TASK;
use std::io::Read;

/// The text of a `TASK` argument. Whether it is a task at all is for the engine to say.
pub(crate) fn load_task(argument: &str) -> Result<String, Problem> {
    match argument {
        "-" => read(std::io::stdin().lock()),
        text => Ok(text.to_owned()),
    }
}

fn read(input: impl Read) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    input
        .take(LONGEST_TASK as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Problem::environment("taskUnreadable", "cannot read the task from standard input")
                .because(error)
        })?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::usage("taskNotText", "the task on standard input is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_bounded_and_must_be_text() {
        assert_eq!(read("fix it\n".as_bytes()), Ok("fix it\n".to_owned()));
        assert_eq!(read(b"caf\xe9".as_slice()).unwrap_err().kind, "taskNotText");
        // One byte more than allowed is enough to be refused; the rest is never read.
        assert_eq!(read(std::io::repeat(b'x')).unwrap().len(), LONGEST_TASK + 1);
    }
}
