//! Exit codes of the program.
//!
//! A closed pipe (`drive config show | head -1`) is not a failure: the command keeps its own exit
//! code and prints nothing.

use drive_core::Class;

/// An exit code that people and scripts may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The work did not succeed: the agent failed, the review did not approve, verification failed.
    NotSucceeded = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// The environment failed: git, forge, disk, an agent that is not installed; or drive itself.
    Environment = 3,
    /// Interrupted by a person or a signal.
    Interrupted = 130,
}

impl Exit {
    /// The number that the shell gets.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Self {
        match class {
            Class::Work => Exit::NotSucceeded,
            Class::Usage => Exit::Usage,
            Class::Environment => Exit::Environment,
            Class::Interrupted => Exit::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_problem_ends_with_its_documented_code() {
        for class in [
            Class::Work,
            Class::Usage,
            Class::Environment,
            Class::Interrupted,
        ] {
            assert_eq!(Exit::from(class).code(), class.exit_code(), "{class:?}");
        }
    }
}
