use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// The answers of the model, by conversation.
#[derive(Clone, Debug, Default)]
pub struct Script {
    turns: Vec<Turn>,
    marked: Vec<(String, Vec<Turn>)>,
    key: Option<String>,
}

impl Script {
    /// A script for all conversations. At its end, the model says "done" and stops.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            turns: turns.into_iter().collect(),
            marked: Vec::new(),
            key: None,
        }
    }

    /// Refuses requests without this key.
    #[must_use]
    pub fn only_with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Whether the value of a header contains the key.
    pub(crate) fn opens_for(&self, mut shown: impl Iterator<Item = String>) -> bool {
        let Some(key) = &self.key else { return true };
        shown.any(|value| value.strip_prefix("Bearer ").unwrap_or(&value) == key)
    }

    /// Other turns for conversations whose first prompt contains `marker`; the first match counts.
    #[must_use]
    pub fn when(
        mut self,
        marker: impl Into<String>,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        self.marked
            .push((marker.into(), turns.into_iter().collect()));
        self
    }

    /// The turn at `position` of the conversation that began with `opening`.
    pub(crate) fn turn(&self, opening: &str, position: usize) -> Turn {
        let marked = self
            .marked
            .iter()
            .find(|(marker, _)| opening.contains(marker.as_str()));
        let turns = marked.map_or(&self.turns, |(_, turns)| turns);
        let mut turn = turns
            .get(position)
            .cloned()
            .unwrap_or_else(|| Turn::text("done"));
        if turn.text.contains(FIXED) {
            turn.text = turn
                .text
                .replace(FIXED, &all_answered(opening, "fixed", None));
        }
        if turn.text.contains(DECLINED) {
            let answer = all_answered(opening, "declined", Some(WHY_DECLINED));
            turn.text = turn.text.replace(DECLINED, &answer);
        }
        turn
    }
}

/// A placeholder for the answer that every comment in the prompt is fixed.
pub const FIXED: &str = "{{fixed}}";

/// A placeholder for the answer that every comment in the prompt is declined.
pub const DECLINED: &str = "{{declined}}";
/// The reason for declining.
pub const WHY_DECLINED: &str = "Two is what the task says.";

/// Such an answer, for the comments in lines such as ``Comment `inline-7` by ann, ...``.
fn all_answered(prompt: &str, action: &str, note: Option<&str>) -> String {
    let after = prompt.split("Comment `").skip(1);
    let ids = after
        .filter_map(|rest| rest.split_once("` by "))
        .map(|(id, _)| id);
    let is_id = |id: &&str| !id.is_empty() && !id.contains(char::is_whitespace);
    let answer = |id: &str| match note {
        None => serde_json::json!({"id": id, "action": action}),
        Some(note) => serde_json::json!({"id": id, "action": action, "note": note}),
    };
    let comments: Vec<serde_json::Value> = ids.filter(is_id).map(answer).collect();
    serde_json::json!({ "comments": comments }).to_string()
}

/// One answer of the model: text, then calls, possibly preceded by a fault.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) fault: Option<(Fault, Times)>,
    pub(crate) held_until: Option<PathBuf>,
}

impl Turn {
    /// The model answers with this text. For a huge answer, pass a huge text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The model requests this call.
    pub fn call(call: Call) -> Self {
        Self::default().and(call)
    }

    /// The model writes a file with the CLI's own tool. Some tools accept only absolute paths.
    pub fn write(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self::call(Call::Write {
            path: path.into(),
            text: text.into(),
        })
    }

    /// The model runs a shell command with the CLI's own tool.
    pub fn run(command: impl Into<String>) -> Self {
        Self::call(Call::Run {
            command: command.into(),
        })
    }

    /// Every request that reaches this point of the script gets the fault.
    pub fn fault(fault: Fault) -> Self {
        Self::text("after the fault").behind(fault, Times::Always)
    }

    /// Adds a call to the same answer.
    #[must_use]
    pub fn and(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// The answer, preceded by a fault this many times.
    #[must_use]
    pub fn behind(mut self, fault: Fault, times: Times) -> Self {
        self.fault = Some((fault, times));
        self
    }

    /// Delays the answer until this path exists.
    #[must_use]
    pub fn held_until(mut self, path: impl Into<PathBuf>) -> Self {
        self.held_until = Some(path.into());
        self
    }

    /// Sets the token counts that the answer reports.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// A tool call, either abstract, so that each protocol uses its own tool, or exact.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Write a file: `Write`, `write_file`, or an `apply_patch` that adds it.
    Write {
        /// The file to write.
        path: String,
        /// The whole content.
        text: String,
    },
    /// Run a shell command: `Bash`, `run_shell_command`, `exec_command`.
    Run {
        /// The command line.
        command: String,
    },
    /// Exactly this tool with this input.
    Tool {
        /// The tool's name on the wire.
        name: String,
        /// The tool's arguments.
        input: Value,
    },
    /// A tool with plain text input, which only the Responses protocol has.
    Freeform {
        /// The tool's name on the wire.
        name: String,
        /// The tool's input.
        input: String,
    },
}

impl Call {
    /// Exactly this tool with this input.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::Tool {
            name: name.into(),
            input,
        }
    }
}

/// The token counts of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens from the cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input: 100,
            cached: 0,
            output: 10,
        }
    }
}

/// How often a fault precedes its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Each time.
    Always,
    /// For the first requests; then the turn is answered.
    First(u32),
}

/// A failure of the model server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error answer: 401, 429, 500 and the like.
    Status {
        /// The HTTP status.
        code: u16,
        /// Seconds in a `retry-after` header.
        retry_after: Option<u32>,
    },
    /// The request is read, and no answer ever comes.
    HangBeforeHeaders,
    /// The headers come, and no event ever does.
    HangAfterHeaders,
    /// The first events come, and then nothing.
    HangMidStream,
    /// The connection breaks in the middle of an event.
    DropMidEvent,
    /// The stream ends cleanly, but before the answer is complete.
    EndEarly,
    /// An event that is not JSON.
    Malformed,
    /// This much text at this speed, then the rest of the turn.
    Flood {
        /// The total size of the text, in bytes.
        bytes: u64,
        /// The pause between pieces of 1 KiB.
        pause: Duration,
    },
    /// The right answer, with this pause after each byte.
    Drip {
        /// The pause after each byte.
        pause: Duration,
    },
}

impl Fault {
    /// An error answer without `retry-after`.
    pub const fn status(code: u16) -> Self {
        Self::Status {
            code,
            retry_after: None,
        }
    }
}
