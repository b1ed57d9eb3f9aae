//! Parses the acceptance entries of one task.

use super::words::{is_plain, word};
use crate::did_you_mean::suggestion;
use crate::plan::acceptance::{Acceptance, Check, CheckCommand, Expect};
use crate::plan::error::{PlanErrors, quote};
use crate::plan::model::{
    LONGEST_COMMAND, LONGEST_ENTRY, LONGEST_EXPECTED, LONGEST_ID, MOST_WORDS,
};
use crate::plan::places::Place;
use crate::verify::text::one_line;
use serde_json::{Map, Value};
use std::collections::HashMap;

const FIELDS: [&str; 6] = ["id", "kind", "text", "command", "expect", "guard"];
const EXPECT_FIELDS: [&str; 2] = ["exit", "contains"];
const KINDS: [&str; 3] = ["command", "observe", "judge"];
/// The fields that only an entry with a command may have.
const COMMAND_FIELDS: [&str; 3] = ["command", "expect", "guard"];

/// Whether an entry is empty text.
pub(super) fn is_blank(item: &Value) -> bool {
    item.as_str().is_some_and(|text| one_line(text).is_empty())
}

/// The entries of a task; errors are added to `wrong`.
pub(super) fn read_all(
    items: &[Value],
    task: &str,
    list: Option<&Place>,
    wrong: &mut PlanErrors,
) -> Vec<Acceptance> {
    let mut first: HashMap<String, usize> = HashMap::new();
    let mut entries = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let mut reader = Reader {
            name: format!("acceptance entry {} of task {task}", index + 1),
            place: list.and_then(|list| list.item(index)),
            wrong,
        };
        let entry = reader.entry(index, item);
        let earlier = *first.entry(entry.id.to_ascii_lowercase()).or_insert(index);
        if earlier != index {
            let earlier = earlier + 1;
            reader.wrong("id", |name| {
                format!(
                    "the id {} of {name} is taken by entry {earlier}",
                    quote(&entry.id)
                )
            });
        }
        entries.push(entry);
    }
    entries
}

struct Reader<'c> {
    name: String,
    place: Option<&'c Place>,
    wrong: &'c mut PlanErrors,
}

impl Reader<'_> {
    fn entry(&mut self, index: usize, item: &Value) -> Acceptance {
        let default_id = Acceptance::id_at(index);
        if let Some(text) = item.as_str() {
            return Acceptance::judged(default_id, self.text(text));
        }
        let Some(fields) = item.as_object() else {
            self.wrong("", |name| format!("{name} must be text or an object"));
            return Acceptance::judged(default_id, "");
        };
        self.keys(fields, &FIELDS, "");
        let id = self.id(fields).unwrap_or(default_id);
        let text = match given(fields, "text") {
            Some(Value::String(text)) => self.text(text),
            Some(_) => {
                self.wrong_type("text", "text");
                String::new()
            }
            None => {
                self.missing("text");
                String::new()
            }
        };
        let check = self.check(fields);
        Acceptance { id, text, check }
    }

    fn id(&mut self, fields: &Map<String, Value>) -> Option<String> {
        let Some(id) = word(given(fields, "id")?) else {
            self.wrong_type("id", "text");
            return None;
        };
        if !is_plain(&id) {
            self.wrong("id", |name| {
                format!(
                    "the id {} of {name} is not valid: use at most {LONGEST_ID} letters, digits, \
                     `-`, `_` and `.`, starting with a letter or digit",
                    quote(&id)
                )
            });
            return None;
        }
        Some(id)
    }

    fn text(&mut self, text: &str) -> String {
        if one_line(text).is_empty() {
            self.missing("text");
        }
        self.bounded("text", text.trim(), LONGEST_ENTRY)
    }

    fn check(&mut self, fields: &Map<String, Value>) -> Check {
        let kind = match given(fields, "kind") {
            Some(Value::String(kind)) => kind.trim(),
            Some(_) => {
                self.wrong_type("kind", "`command`, `observe` or `judge`");
                return Check::Judge;
            }
            None => {
                self.wrong("kind", |name| {
                    format!("{name} has no `kind`: use `command`, `observe` or `judge`")
                });
                return Check::Judge;
            }
        };
        match kind {
            "judge" => {
                self.runs_nothing(fields);
                Check::Judge
            }
            "command" => Check::Command(self.command(fields)),
            "observe" => {
                let command = self.command(fields);
                if command.expect.contains.is_none() {
                    self.wrong("expect", |name| {
                        format!(
                            "{name} has no `expect.contains`: an `observe` entry compares output"
                        )
                    });
                }
                Check::Observe(command)
            }
            unknown => {
                self.wrong("kind", |name| {
                    let meant = meant(unknown, &KINDS);
                    format!("{name} has the unknown kind {}{meant}", quote(unknown))
                });
                Check::Judge
            }
        }
    }

    /// Refuses the fields of a command in an entry that an agent judges: the command would silently
    /// never run.
    fn runs_nothing(&mut self, fields: &Map<String, Value>) {
        for field in COMMAND_FIELDS {
            let says_nothing = [
                Value::Bool(false),
                Value::Array(vec![]),
                Value::Object(Map::new()),
            ];
            if given(fields, field).is_some_and(|value| !says_nothing.contains(value)) {
                self.wrong(field, |name| {
                    format!("{name} has `{field}`, but its kind is `judge`: nothing is run for it")
                });
            }
        }
    }

    fn command(&mut self, fields: &Map<String, Value>) -> CheckCommand {
        let guard = given(fields, "guard").map(Value::as_bool);
        if guard == Some(None) {
            self.wrong_type("guard", "`true` or `false`");
        }
        CheckCommand {
            command: self.words(fields),
            expect: self.expect(fields),
            guard: guard.flatten().unwrap_or(false),
        }
    }

    fn words(&mut self, fields: &Map<String, Value>) -> Vec<String> {
        let Some(value) = given(fields, "command") else {
            self.missing("command");
            return Vec::new();
        };
        let words = value.as_array().and_then(|items| {
            let words = items.iter().map(|item| item.as_str().map(str::to_owned));
            words.collect::<Option<Vec<String>>>()
        });
        let Some(words) = words else {
            self.wrong_type(
                "command",
                "a list of texts, such as `[\"cargo\", \"test\"]`",
            );
            return Vec::new();
        };
        let bytes: usize = words.iter().map(String::len).sum();
        let count = words.len();
        if words
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            self.wrong("command", |name| {
                format!("the command of {name} has no program")
            });
        } else if count > MOST_WORDS {
            self.wrong("command", |name| {
                format!("the command of {name} has {count} words; the limit is {MOST_WORDS}")
            });
        } else if bytes > LONGEST_COMMAND {
            self.wrong("command", |name| {
                format!("the command of {name} has {bytes} bytes; the limit is {LONGEST_COMMAND}")
            });
        } else if words.iter().any(|word| word.contains('\0')) {
            self.wrong("command", |name| {
                format!("the command of {name} contains a null character")
            });
        }
        words
    }

    fn expect(&mut self, fields: &Map<String, Value>) -> Expect {
        let fields = match given(fields, "expect").map(Value::as_object) {
            None => return Expect::default(),
            Some(Some(fields)) => fields,
            Some(None) => {
                self.wrong_type("expect", "an object, such as `{\"exit\": 0}`");
                return Expect::default();
            }
        };
        let outer = self.place;
        self.place = outer.map(|place| place.key("expect").unwrap_or(place));
        self.keys(fields, &EXPECT_FIELDS, "expect.");
        let expect = Expect {
            exit: self.exit(fields),
            contains: self.contains(fields),
        };
        self.place = outer;
        expect
    }

    fn exit(&mut self, fields: &Map<String, Value>) -> i32 {
        let Some(value) = given(fields, "exit") else {
            return 0;
        };
        let exit = value.as_u64().and_then(|exit| u8::try_from(exit).ok());
        if exit.is_none() {
            self.wrong("exit", |name| {
                format!("`expect.exit` of {name} must be a whole number from 0 to 255")
            });
        }
        exit.map_or(0, i32::from)
    }

    fn contains(&mut self, fields: &Map<String, Value>) -> Option<String> {
        let Some(text) = given(fields, "contains")?.as_str() else {
            self.wrong("contains", |name| {
                format!("`expect.contains` of {name} must be text")
            });
            return Some(String::new());
        };
        if text.trim().is_empty() {
            self.wrong("contains", |name| {
                format!("`expect.contains` of {name} is empty: every output contains it")
            });
        }
        let chars = text.chars().count();
        if chars > LONGEST_EXPECTED {
            self.wrong("contains", |name| {
                format!(
                    "`expect.contains` of {name} has {chars} characters; the limit is \
                     {LONGEST_EXPECTED}"
                )
            });
        }
        Some(text.to_owned())
    }

    /// Refuses unknown keys, because they promise a check that nobody makes.
    fn keys(&mut self, fields: &Map<String, Value>, known: &[&str], prefix: &str) {
        let place = self.place;
        for key in place.into_iter().flat_map(Place::repeated) {
            self.wrong(key, |name| {
                format!(
                    "{name} has the key {} twice",
                    quote(&format!("{prefix}{key}"))
                )
            });
        }
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            let free = known.iter().filter(|known| !fields.contains_key(**known));
            let free: Vec<&str> = free.copied().collect();
            self.wrong(key, |name| {
                let meant = meant(key, &free);
                let key = quote(&format!("{prefix}{key}"));
                format!("{name} has the unknown key {key}{meant}")
            });
        }
    }

    fn bounded(&mut self, field: &str, text: &str, most: usize) -> String {
        let chars = text.chars().count();
        if chars > most {
            self.wrong(field, |name| {
                format!("`{field}` of {name} has {chars} characters; the limit is {most}")
            });
        }
        text.to_owned()
    }

    fn missing(&mut self, field: &str) {
        self.wrong(field, |name| format!("{name} has no `{field}`"));
    }

    fn wrong_type(&mut self, field: &str, wanted: &str) {
        self.wrong(field, |name| {
            format!("`{field}` of {name} must be {wanted}")
        });
    }

    fn wrong(&mut self, field: &str, message: impl FnOnce(&str) -> String) {
        let line = self.place.map(|place| place.line_of(field));
        self.wrong.add(line, || message(&self.name));
    }
}

/// The value of a field; `None` if it is missing or null.
fn given<'v>(fields: &'v Map<String, Value>, field: &str) -> Option<&'v Value> {
    fields.get(field).filter(|value| !value.is_null())
}

/// A suggestion for a misspelled or unknown name. Only short names are compared.
fn meant(written: &str, known: &[&str]) -> String {
    let is_short = written.len() <= LONGEST_ID;
    let text = is_short.then(|| suggestion(written, known.iter().copied()));
    text.flatten()
        .map_or(String::new(), |text| format!("; {text}"))
}
