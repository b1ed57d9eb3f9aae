//! The acceptance criteria of a task, and how each is checked.

use serde::{Deserialize, Serialize};

/// One acceptance entry of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// The entry's id within the task: the given one, or `a1`, `a2`, … by its position.
    pub id: String,
    /// The criterion, in words.
    pub text: String,
    /// How the criterion is checked.
    #[serde(flatten)]
    pub check: Check,
}

/// How an entry is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Check {
    /// An agent decides, with evidence.
    Judge,
    /// drive runs a command and compares how it ends.
    Command(CheckCommand),
    /// drive runs a command that uses the program, and compares its output. Such a check always
    /// expects some text.
    Observe(CheckCommand),
}

/// The command of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCommand {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// The expected result.
    #[serde(default)]
    pub expect: Expect,
    /// Whether the command passes before the work and must keep passing. Every other command must
    /// fail before the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guard: bool,
}

/// What a command must do to pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The exit code, from 0 to 255.
    #[serde(default)]
    pub exit: i32,
    /// Text that the output must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

impl Acceptance {
    /// An entry that an agent judges.
    pub fn judged(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            check: Check::Judge,
        }
    }

    /// The default id of an entry, by its index.
    pub fn id_at(place: usize) -> String {
        format!("a{}", place + 1)
    }
}

impl Check {
    /// The command, if drive runs one; `None` if an agent judges.
    pub fn command(&self) -> Option<&CheckCommand> {
        match self {
            Self::Judge => None,
            Self::Command(command) | Self::Observe(command) => Some(command),
        }
    }

    /// The kind of check, as written in a plan.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Command(_) => "command",
            Self::Observe(_) => "observe",
        }
    }
}

/// Serializes entries as plans write them: as plain text if that contains everything.
pub(super) mod stored {
    use crate::plan::acceptance::{Acceptance, Check};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Written<'p> {
        Text(&'p str),
        Entry(&'p Acceptance),
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Text(String),
        Entry(Acceptance),
    }

    pub(in crate::plan) fn serialize<S: Serializer>(
        entries: &[Acceptance],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(entries.iter().enumerate().map(|(place, entry)| {
            if entry.check == Check::Judge && entry.id == Acceptance::id_at(place) {
                Written::Text(&entry.text)
            } else {
                Written::Entry(entry)
            }
        }))
    }

    pub(in crate::plan) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Acceptance>, D::Error> {
        let entries = Vec::<Read>::deserialize(deserializer)?;
        let read = |(place, entry)| match entry {
            Read::Text(text) => Acceptance::judged(Acceptance::id_at(place), text),
            Read::Entry(entry) => entry,
        };
        Ok(entries.into_iter().enumerate().map(read).collect())
    }
}
