use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What the model says, by conversation.
#[derive(Clone, Debug, Default)]
pub struct Script {
    turns: Vec<Turn>,
    marked: Vec<(String, Vec<Turn>)>,
    key: Option<String>,
}

impl Script {
    /// A script every conversation follows. When it ran out, the model says "done" and stops.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            turns: turns.into_iter().collect(),
            marked: Vec::new(),
            key: None,
        }
    }

    /// Nobody is answered without this key.
    #[must_use]
    pub fn only_with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Whether the value of a header lets its sender in.
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

/// Stands in a text for the answer that every comment of the prompt is fixed.
pub const FIXED: &str = "{{fixed}}";

/// Stands in a text for the answer that every comment of the prompt is declined, for one reason.
pub const DECLINED: &str = "{{declined}}";
/// That reason.
pub const WHY_DECLINED: &str = "Two is what the task says.";

/// Such an answer, to the comments of lines such as ``Comment `inline-7` by ann, ...``.
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

/// One answer of the model: text, then calls, with a fault in the way perhaps.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) fault: Option<(Fault, Times)>,
    pub(crate) held_until: Option<PathBuf>,
}

impl Turn {
    /// The model says this. For a huge answer give a huge text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The model asks for this call.
    pub fn call(call: Call) -> Self {
        Self::default().and(call)
    }

    /// The model writes a file with the CLI's own tool. Some tools take only absolute paths.
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

    /// Every request that reaches this point of the script meets the fault.
    pub fn fault(fault: Fault) -> Self {
        Self::text("after the fault").behind(fault, Times::Always)
    }

    /// One more call in the same answer.
    #[must_use]
    pub fn and(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// The answer, with a fault in its way that many times.
    #[must_use]
    pub fn behind(mut self, fault: Fault, times: Times) -> Self {
        self.fault = Some((fault, times));
        self
    }

    /// The answer, once there is something at this path.
    #[must_use]
    pub fn held_until(mut self, path: impl Into<PathBuf>) -> Self {
        self.held_until = Some(path.into());
        self
    }

    /// The token counts the answer reports.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

/// A tool call, as a wish the protocol words in its own way or as an exact call.
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
    /// A tool that takes plain text, which only the Responses protocol has.
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
    /// Tokens read anew.
    pub input: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// Tokens written.
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

/// How often a fault stands in the way of its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Each time.
    Always,
    /// For the first requests, then the turn is answered.
    First(u32),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error answer: 401, 429, 500 and the like.
    Status {
        /// The HTTP status.
        code: u16,
        /// Seconds in a `retry-after` header.
        retry_after: Option<u32>,
    },
    /// The request is read and nothing ever comes back.
    HangBeforeHeaders,
    /// The headers come back, and no event ever does.
    HangAfterHeaders,
    /// The first events come, and then nothing.
    HangMidStream,
    /// The connection breaks in the middle of an event.
    DropMidEvent,
    /// The stream ends cleanly, but before the answer does.
    EndEarly,
    /// An event that is not JSON.
    Malformed,
    /// Text without end: this much, as fast or as slow as said, then the rest of the turn.
    Flood {
        /// Bytes of text in all.
        bytes: u64,
        /// The pause between pieces of 1 KiB.
        pause: Duration,
    },
    /// The right answer, byte for byte with this pause between.
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
