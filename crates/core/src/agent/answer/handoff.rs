//! The handoff of a task: notes of its agent for the tasks that build on it.

use super::block::last_json;
use super::fields::Fields;
use crate::fences::fenced_blocks;
use crate::forge::text::fit;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many items of one list are stored.
const MOST_ITEMS: usize = 20;
/// How many characters of one item are stored.
const ITEM_CHARS: usize = 300;
/// How many bytes of an answer without a block are stored.
const SAID_BYTES: usize = 4 << 10;
/// The lists of a handoff; a block without any of them is not a handoff.
const LISTS: [&str; 5] = ["added", "decisions", "commands", "undone", "notes"];

/// The notes of a task's agent for the tasks that build on it. None of it is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, from = "StoredHandoff")]
pub struct Handoff {
    /// Things that it added, with their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Added>,
    /// Decisions that it made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Commands that passed, according to the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Work that it left undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// Notes for every agent of the cruise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its message, if it wrote no such lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// A thing that an agent added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Added {
    /// Its name in the code.
    pub name: String,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

/// A handoff as it is stored; older ones are plain text.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredHandoff {
    Said(String),
    #[serde(rename_all = "camelCase")]
    Listed {
        #[serde(default)]
        added: Vec<Added>,
        #[serde(default)]
        decisions: Vec<String>,
        #[serde(default)]
        commands: Vec<String>,
        #[serde(default)]
        undone: Vec<String>,
        #[serde(default)]
        notes: Vec<String>,
        #[serde(default)]
        said: Option<String>,
    },
}

impl From<StoredHandoff> for Handoff {
    fn from(stored: StoredHandoff) -> Self {
        match stored {
            StoredHandoff::Said(said) => Self {
                said: Some(said),
                ..Self::default()
            },
            StoredHandoff::Listed {
                added,
                decisions,
                commands,
                undone,
                notes,
                said,
            } => Self {
                added,
                decisions,
                commands,
                undone,
                notes,
                said,
            },
        }
    }
}

/// An agent's handoff; `None` if it wrote nothing. The lists of its last JSON block count; without
/// such a block, its text.
pub fn read_handoff(text: &str) -> Option<Handoff> {
    let block = last_json(text).ok().map(|object| object.value);
    if let Some(value) = block.filter(is_handoff) {
        let fields = Fields::new(&value);
        let handoff = Handoff {
            added: added(&fields),
            decisions: texts(&fields, "decisions"),
            commands: texts(&fields, "commands"),
            undone: texts(&fields, "undone"),
            notes: texts(&fields, "notes"),
            said: None,
        };
        return (handoff != Handoff::default()).then_some(handoff);
    }
    let said = fit(text.trim(), SAID_BYTES);
    (!said.is_empty()).then(|| Handoff {
        said: Some(said),
        ..Handoff::default()
    })
}

/// The text without a fenced handoff block at its end, if there is one.
pub fn without_handoff(text: &str) -> &str {
    let text = text.trim_end();
    let blocks = fenced_blocks(text);
    let Some(block) = blocks.last() else {
        return text;
    };
    let is_note = serde_json::from_str(block.body).is_ok_and(|value| is_handoff(&value));
    let before: usize = text
        .split_inclusive('\n')
        .take(block.line - 1)
        .map(str::len)
        .sum();
    let end = block.body.as_ptr() as usize - text.as_ptr() as usize + block.body.len();
    let is_last = text[end..].lines().count() <= 1;
    if is_note && is_last {
        text[..before].trim_end()
    } else {
        text
    }
}

fn is_handoff(value: &Value) -> bool {
    let fields = Fields::new(value);
    LISTS.iter().any(|name| fields.list(name).is_some())
}

fn added(fields: &Fields<'_>) -> Vec<Added> {
    let items = fields.list("added").unwrap_or_default().iter();
    let read = items.filter_map(|item| {
        let own = Fields::new(item);
        let (name, what) = match item.as_str() {
            Some(name) => (name.trim().to_owned(), None),
            None => (own.text("name")?, own.text("what")),
        };
        let what = what.map_or_else(String::new, |what| line(&what));
        let name = line(&name);
        (!name.is_empty()).then_some(Added { name, what })
    });
    read.take(MOST_ITEMS).collect()
}

fn texts(fields: &Fields<'_>, name: &str) -> Vec<String> {
    let items = fields.list(name).unwrap_or_default().iter();
    let items = items.filter_map(Value::as_str).map(line);
    let items = items.filter(|text| !text.is_empty());
    items.take(MOST_ITEMS).collect()
}

/// A text on one line, shortened.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(ITEM_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOTED: &str = "I added a parser.\n\n```json\n{\"added\": [{\"name\": \"parse\", \"what\": \
        \"reads\\n a line\"}, \"Token\", {\"what\": \"no name\"}], \"decisions\": [\"no regex\", 3, \
        \" \"], \"Commands\": [\"cargo test\"], \"undone\": [], \"notes\": [\"run `make gen` \
        first\"]}\n```\n";

    #[test]
    fn the_lists_of_the_last_block_are_read_and_bounded() {
        let handoff = read_handoff(NOTED).unwrap();
        let added = |name: &str, what: &str| Added {
            name: name.to_owned(),
            what: what.to_owned(),
        };
        let expected = Handoff {
            added: vec![added("parse", "reads a line"), added("Token", "")],
            decisions: vec!["no regex".to_owned()],
            commands: vec!["cargo test".to_owned()],
            notes: vec!["run `make gen` first".to_owned()],
            ..Handoff::default()
        };
        assert_eq!(handoff, expected);
        let many = json!({"undone": vec!["x".repeat(1_000); 100]}).to_string();
        let handoff = read_handoff(&many).unwrap();
        assert_eq!(handoff.undone.len(), MOST_ITEMS);
        assert_eq!(handoff.undone[0].len(), ITEM_CHARS);
    }

    #[test]
    fn an_answer_without_lists_is_kept_as_it_was_said() {
        for text in [
            "Done.",
            "Done.\n```json\n{\"a\": 1}\n```",
            "```json\n{broken\n```",
        ] {
            let handoff = read_handoff(text).unwrap();
            assert_eq!(handoff.said.as_deref(), Some(text));
        }
        assert_eq!(read_handoff(" \n"), None);
        assert_eq!(read_handoff("{\"notes\": []}"), None);
    }

    #[test]
    fn people_read_the_text_without_the_note() {
        assert_eq!(without_handoff(NOTED), "I added a parser.");
        for text in [
            "I added a parser.",
            "See:\n```json\n{\"notes\": [\"x\"]}\n```\nThat is all,\nreally.",
            "See:\n```json\n{\"a\": 1}\n```",
        ] {
            assert_eq!(without_handoff(text), text);
        }
    }

    #[test]
    fn a_note_that_was_stored_as_a_text_is_read() {
        let old: Handoff = serde_json::from_value(json!("It is in src.")).unwrap();
        assert_eq!(old.said.as_deref(), Some("It is in src."));
        let handoff = read_handoff(NOTED).unwrap();
        let stored = serde_json::to_value(&handoff).unwrap();
        assert_eq!(serde_json::from_value::<Handoff>(stored).unwrap(), handoff);
    }
}
