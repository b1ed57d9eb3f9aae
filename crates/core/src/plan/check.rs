use super::block::Block;
use super::error::Collector;
use super::places::Places;
use super::{
    LONGEST_ID, LONGEST_PATH, LONGEST_TITLE, MOST_ENTRIES, MOST_TASKS, PlanErrors, PlanMistake,
    PlanTask, graph,
};
use crate::did_you_mean::nearest;
use crate::sandbox::BranchName;
use crate::verify::text::one_line;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

const FIELDS: [&str; 6] = [
    "id",
    "title",
    "description",
    "acceptance",
    "depends_on",
    "paths",
];

/// The tasks of a block, or everything that is wrong with them.
pub(super) fn tasks(block: &Block<'_>) -> Result<Vec<PlanTask>, PlanErrors> {
    let first_line = block.line + 1;
    let fail = |line, mistake| Err(PlanErrors::one(Some(line), mistake));
    let value: Value = match serde_json::from_str(block.body) {
        Ok(value) => value,
        Err(error) => {
            let line = block.line + error.line().max(1);
            return fail(line, PlanMistake::BadJson { why: why(&error) });
        }
    };
    let Value::Array(items) = value else {
        return fail(first_line, PlanMistake::NotAList);
    };
    if items.is_empty() {
        return fail(block.line, PlanMistake::NoTasks);
    }
    if items.len() > MOST_TASKS {
        let tasks = items.len();
        return fail(block.line, PlanMistake::TooManyTasks { tasks });
    }
    let mut check = Check {
        places: Places::of(block.body, first_line),
        wrong: Collector::default(),
    };
    let tasks: Vec<PlanTask> = items
        .iter()
        .enumerate()
        .map(|(index, item)| check.task(index, item))
        .collect();
    check.ids(&tasks);
    check.dependencies(&tasks);
    check.cycles(&tasks);
    check.wrong.or(tasks)
}

/// The parser's message without its position, which is reported relative to the whole plan.
fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

struct Check {
    places: Places,
    wrong: Collector,
}

impl Check {
    fn task(&mut self, index: usize, item: &Value) -> PlanTask {
        let Value::Object(fields) = item else {
            self.wrong
                .add(self.places.task(index), || PlanMistake::NotATask {
                    task: nameless(index),
                });
            return PlanTask {
                id: String::new(),
                title: String::new(),
                description: String::new(),
                acceptance: Vec::new(),
                depends_on: Vec::new(),
                paths: Vec::new(),
            };
        };
        let id = self.id(index, fields);
        let name = match id.as_str() {
            "" => nameless(index),
            id => id.to_owned(),
        };
        let mut reader = Reader {
            check: self,
            index,
            name,
            fields,
        };
        reader.keys();
        PlanTask {
            id,
            title: reader.title(),
            description: reader.text("description").unwrap_or_default(),
            acceptance: reader.acceptance(),
            depends_on: reader.list("depends_on").unwrap_or_default(),
            paths: reader.paths(),
        }
    }

    /// The id, or nothing when it is missing or of the wrong kind.
    fn id(&mut self, index: usize, fields: &Map<String, Value>) -> String {
        let line = self.places.key_of(index, "id");
        let Some(value) = fields.get("id") else {
            let task = nameless(index);
            self.wrong
                .add(line, || PlanMistake::Missing { task, field: "id" });
            return String::new();
        };
        let Some(id) = word(value) else {
            self.wrong.add(line, || PlanMistake::WrongType {
                task: nameless(index),
                field: "id",
                wanted: "text",
            });
            return String::new();
        };
        if id.is_empty() {
            let task = nameless(index);
            self.wrong
                .add(line, || PlanMistake::Missing { task, field: "id" });
        } else if !is_plain(&id) {
            self.wrong
                .add(line, || PlanMistake::BadId { id: id.clone() });
        }
        id
    }

    /// Branches and folders may be made of ids, and some disks do not tell cases apart.
    fn ids(&mut self, tasks: &[PlanTask]) {
        let mut first: HashMap<String, usize> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            if task.id.is_empty() {
                continue;
            }
            match first.entry(task.id.to_ascii_lowercase()) {
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(index);
                }
                std::collections::hash_map::Entry::Occupied(taken) => {
                    let earlier = self.places.key_of(*taken.get(), "id");
                    self.wrong.add(self.places.key_of(index, "id"), || {
                        PlanMistake::DuplicateId {
                            id: task.id.clone(),
                            first: earlier,
                        }
                    });
                }
            }
        }
    }

    fn dependencies(&mut self, tasks: &[PlanTask]) {
        let ids = tasks.iter().map(|task| task.id.as_str());
        let known: HashSet<&str> = ids.filter(|id| !id.is_empty()).collect();
        for (index, task) in tasks.iter().enumerate() {
            let line = self.places.key_of(index, "depends_on");
            let name = || match task.id.as_str() {
                "" => nameless(index),
                id => id.to_owned(),
            };
            for dependency in &task.depends_on {
                let is_known = known.contains(dependency.as_str());
                if is_known && *dependency == task.id {
                    self.wrong
                        .add(line, || PlanMistake::SelfDependency { task: name() });
                } else if !is_known {
                    self.wrong.add(line, || PlanMistake::UnknownDependency {
                        task: name(),
                        dependency: dependency.clone(),
                        nearest: meant(dependency, tasks, index),
                    });
                }
            }
        }
    }

    fn cycles(&mut self, tasks: &[PlanTask]) {
        for cycle in graph::cycles(&graph::edges(tasks)) {
            let line = cycle
                .first()
                .and_then(|first| self.places.key_of(*first, "depends_on"));
            self.wrong.add(line, || PlanMistake::Cycle {
                tasks: cycle.iter().map(|task| tasks[*task].id.clone()).collect(),
            });
        }
    }
}

/// Reads the fields of one task.
struct Reader<'c, 'v> {
    check: &'c mut Check,
    index: usize,
    name: String,
    fields: &'v Map<String, Value>,
}

impl Reader<'_, '_> {
    fn wrong(&mut self, field: &str, mistake: impl FnOnce(String) -> PlanMistake) {
        let line = self.check.places.key_of(self.index, field);
        self.check.wrong.add(line, || mistake(self.name.clone()));
    }

    /// A key that is nearly a known one was meant to be it; any other says something we do not use.
    fn keys(&mut self) {
        let repeated: Vec<String> = self
            .check
            .places
            .repeated(self.index)
            .map(|(key, _)| key.to_owned())
            .collect();
        for key in repeated {
            self.wrong(&key, |task| PlanMistake::RepeatedKey {
                task,
                key: key.clone(),
            });
        }
        let fields = self.fields;
        let free = FIELDS
            .into_iter()
            .filter(|field| !fields.contains_key(*field));
        let unknown = fields.keys().filter(|key| !FIELDS.contains(&key.as_str()));
        for key in unknown.filter(|key| key.len() <= LONGEST_ID) {
            if let Some(known) = nearest(key, free.clone()) {
                self.wrong(key, |task| PlanMistake::MisspeltKey {
                    task,
                    key: key.clone(),
                    known,
                });
            }
        }
    }

    fn title(&mut self) -> String {
        let Some(title) = self.text("title") else {
            return String::new();
        };
        let title = one_line(&title);
        let chars = title.chars().count();
        if title.is_empty() {
            self.missing("title");
        } else if chars > LONGEST_TITLE {
            self.wrong("title", |task| PlanMistake::LongTitle { task, chars });
        }
        title
    }

    /// Text, trimmed. Only a description may be left out.
    fn text(&mut self, field: &'static str) -> Option<String> {
        match self.fields.get(field) {
            None | Some(Value::Null) => {
                if field != "description" {
                    self.missing(field);
                }
                None
            }
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                self.wrong_type(field, "text");
                None
            }
        }
    }

    fn acceptance(&mut self) -> Vec<String> {
        if matches!(self.fields.get("acceptance"), None | Some(Value::Null)) {
            self.missing("acceptance");
            return Vec::new();
        }
        let Some(given) = self.list("acceptance") else {
            return Vec::new();
        };
        if given.iter().all(|entry| one_line(entry).is_empty()) {
            self.missing("acceptance");
        }
        given
    }

    /// The entries of a list of text; a list that is left out has none. `None` for anything else.
    fn list(&mut self, field: &'static str) -> Option<Vec<String>> {
        let items = match self.fields.get(field) {
            None | Some(Value::Null) => return Some(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                self.wrong_type(field, "a list of texts");
                return None;
            }
        };
        if items.len() > MOST_ENTRIES {
            let entries = items.len();
            self.wrong(field, |task| PlanMistake::TooManyEntries {
                task,
                field,
                entries,
            });
            return None;
        }
        let words: Option<Vec<String>> = items.iter().map(word).collect();
        if words.is_none() {
            self.wrong_type(field, "a list of texts");
        }
        words
    }

    fn paths(&mut self) -> Vec<String> {
        let paths = self.list("paths").unwrap_or_default();
        for path in &paths {
            if let Some(why) = not_inside(path) {
                self.wrong("paths", |task| PlanMistake::BadPath {
                    task,
                    path: path.clone(),
                    why,
                });
            }
        }
        paths
    }

    fn missing(&mut self, field: &'static str) {
        self.wrong(field, |task| PlanMistake::Missing { task, field });
    }

    fn wrong_type(&mut self, field: &'static str, wanted: &'static str) {
        self.wrong(field, |task| PlanMistake::WrongType {
            task,
            field,
            wanted,
        });
    }
}

/// How a task without an id is called.
fn nameless(index: usize) -> String {
    format!("#{}", index + 1)
}

/// Text, or a whole number as text: ids come as both.
fn word(value: &Value) -> Option<String> {
    match value.as_u64() {
        Some(number) => Some(number.to_string()),
        None => value.as_str().map(|text| text.trim().to_owned()),
    }
}

/// Whether an id can be a part of a branch and of a folder's name.
fn is_plain(id: &str) -> bool {
    id.len() <= LONGEST_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && BranchName::parse(id).is_ok()
}

/// The task that was most likely meant by a dependency.
fn meant(written: &str, tasks: &[PlanTask], asker: usize) -> Option<String> {
    let others = tasks.iter().enumerate();
    let ids = others
        .filter(|(index, task)| *index != asker && is_plain(&task.id))
        .map(|(_, task)| task.id.as_str());
    let is_short = written.len() <= LONGEST_ID;
    let found = is_short.then(|| nearest(written, ids)).flatten();
    found.map(str::to_owned)
}

/// Why a path cannot be one inside the repository.
fn not_inside(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.len() > LONGEST_PATH {
        return Some("is too long");
    }
    if path.starts_with(['/', '\\', '~']) {
        return Some("is not relative to the repository");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Some("leads out of the repository");
    }
    let is_hidden = path.chars().any(char::is_control);
    is_hidden.then_some("contains a control character")
}
