mod entry;
mod words;

use self::words::{is_plain, word};
use super::acceptance::Acceptance;
use super::error::{PlanErrors, quote};
use super::graph;
use super::model::{LONGEST_ID, LONGEST_PATH, LONGEST_TITLE, MOST_ENTRIES, MOST_TASKS, PlanTask};
use super::places::Place;
use crate::did_you_mean::nearest;
use crate::fences::Block;
use crate::ids::TaskId;
use crate::markdown::code;
use crate::verify::text::one_line;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

const FIELDS: [&str; 7] = [
    "id",
    "title",
    "description",
    "acceptance",
    "depends_on",
    "paths",
    "checks",
];

/// The tasks of a block, or all of its errors.
pub(super) fn tasks(block: &Block<'_>) -> Result<Vec<PlanTask>, PlanErrors> {
    let first_line = block.line + 1;
    let value: Value = serde_json::from_str(block.body).map_err(|error| {
        let line = block.line + error.line().max(1);
        let why = code(&why(&error), 200);
        PlanErrors::one(Some(line), format!("the task block is not JSON: {why}"))
    })?;
    let Value::Array(items) = value else {
        let message = "the task block must be a list: `[{\"id\": …}, …]`";
        return Err(PlanErrors::one(Some(first_line), message));
    };
    let number = items.len();
    if number == 0 {
        let message = "the list of tasks is empty";
        return Err(PlanErrors::one(Some(block.line), message));
    }
    if number > MOST_TASKS {
        let message = format!(
            "the plan has {number} tasks; the limit is {MOST_TASKS}: make them larger, or plan less"
        );
        return Err(PlanErrors::one(Some(block.line), message));
    }
    let mut check = Checker {
        places: Place::of(block.body, first_line),
        wrong: PlanErrors::default(),
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

struct Checker {
    places: Place,
    wrong: PlanErrors,
}

impl Checker {
    fn task(&mut self, index: usize, item: &Value) -> PlanTask {
        let Value::Object(fields) = item else {
            let message = || format!("task {} is not an object", name_of("", index));
            self.wrong
                .add(self.places.item(index).map(Place::line), message);
            return PlanTask {
                id: TaskId::new(""),
                title: String::new(),
                description: String::new(),
                acceptance: Vec::new(),
                depends_on: Vec::new(),
                paths: Vec::new(),
                checks: Vec::new(),
            };
        };
        let mut reader = Reader {
            name: name_of("", index),
            check: self,
            index,
            fields,
        };
        let id = reader.id();
        reader.name = name_of(&id, index);
        reader.keys();
        PlanTask {
            id: TaskId::new(id),
            title: reader.title(),
            description: reader.text("description").unwrap_or_default(),
            acceptance: reader.acceptance(),
            depends_on: reader.dependencies(),
            paths: reader.paths("paths"),
            checks: reader.paths("checks"),
        }
    }

    /// The line of a task's key, or of the task if it lacks the key.
    fn line_of(&self, index: usize, key: &str) -> Option<usize> {
        self.places.item(index).map(|task| task.line_of(key))
    }

    /// Checks that ids are unique, ignoring case: branches and directories are named after them,
    /// and some file systems ignore case.
    fn ids(&mut self, tasks: &[PlanTask]) {
        let mut first: HashMap<String, usize> = HashMap::new();
        let ids = tasks.iter().map(|task| task.id.as_str()).enumerate();
        for (index, id) in ids.filter(|(_, id)| !id.is_empty()) {
            let earlier = *first.entry(id.to_ascii_lowercase()).or_insert(index);
            if earlier != index {
                let line = |index| self.line_of(index, "id");
                let taken_by = match line(earlier) {
                    Some(line) => format!("the task on line {line}"),
                    None => "an earlier task".to_owned(),
                };
                self.wrong.add(line(index), || {
                    format!("the id {} is taken by {taken_by}", quote(id))
                });
            }
        }
    }

    fn dependencies(&mut self, tasks: &[PlanTask]) {
        let ids = tasks.iter().map(|task| &task.id);
        let known: HashSet<&TaskId> = ids.filter(|id| !id.as_str().is_empty()).collect();
        for (index, task) in tasks.iter().enumerate() {
            let line = self.line_of(index, "depends_on");
            let name = || name_of(task.id.as_str(), index);
            for dependency in &task.depends_on {
                if !known.contains(dependency) {
                    self.wrong.add(line, || {
                        let written = dependency.as_str();
                        let meant = meant(written, tasks, index);
                        format!(
                            "task {} depends on {}, which does not exist{}",
                            name(),
                            quote(written),
                            meant.map_or(String::new(), |id| format!(
                                "; did you mean {}?",
                                quote(id)
                            ))
                        )
                    });
                } else if *dependency == task.id {
                    self.wrong
                        .add(line, || format!("task {} depends on itself", name()));
                }
            }
        }
    }

    fn cycles(&mut self, tasks: &[PlanTask]) {
        for cycle in graph::cycles(&graph::edges(tasks)) {
            let first = cycle.first();
            let line = first.and_then(|first| self.line_of(*first, "depends_on"));
            self.wrong.add(line, || {
                let around = cycle.iter().chain(first);
                let ids: Vec<&str> = around.map(|task| tasks[*task].id.as_str()).collect();
                format!("circular dependency: {}", code(&ids.join(" -> "), 2000))
            });
        }
    }
}

/// Reads the fields of one task.
struct Reader<'c, 'v> {
    check: &'c mut Checker,
    index: usize,
    name: String,
    fields: &'v Map<String, Value>,
}

impl<'v> Reader<'_, 'v> {
    fn wrong(&mut self, field: &str, message: impl FnOnce(&str) -> String) {
        let line = self.check.line_of(self.index, field);
        self.check.wrong.add(line, || message(&self.name));
    }

    fn id(&mut self) -> String {
        match self.fields.get("id").map(word) {
            Some(None) => self.wrong_type("id", "text"),
            Some(Some(id)) if !id.is_empty() => {
                if !is_plain(&id) {
                    self.wrong("id", |_| {
                        format!(
                            "{} is not a valid id: use at most {LONGEST_ID} letters, digits, \
                             `-`, `_` and `.`, starting with a letter or digit",
                            quote(&id)
                        )
                    });
                }
                return id;
            }
            Some(Some(_)) | None => self.missing("id"),
        }
        String::new()
    }

    /// Reports unknown and repeated keys. A key similar to a known one is probably a typo; any
    /// other has no effect.
    fn keys(&mut self) {
        let task = self.check.places.item(self.index);
        let repeated = task.into_iter().flat_map(Place::repeated);
        for key in repeated.map(str::to_owned).collect::<Vec<_>>() {
            let shown = quote(&key);
            self.wrong(&key, |task| {
                format!("task {task} has the key {shown} twice")
            });
        }
        let fields = self.fields;
        let free = FIELDS
            .into_iter()
            .filter(|field| !fields.contains_key(*field));
        let unknown = fields.keys().filter(|key| !FIELDS.contains(&key.as_str()));
        for key in unknown.filter(|key| key.len() <= LONGEST_ID) {
            if let Some(known) = nearest(key, free.clone()) {
                let shown = quote(key);
                self.wrong(key, |task| {
                    format!("task {task} has the unknown key {shown}; did you mean `{known}`?")
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
            self.wrong("title", |task| {
                format!(
                    "the title of task {task} has {chars} characters; the limit is {LONGEST_TITLE}"
                )
            });
        }
        title
    }

    /// The trimmed text of a field. Only the description may be missing.
    fn text(&mut self, field: &str) -> Option<String> {
        match self.given(field) {
            None if field == "description" => {}
            None => self.missing(field),
            Some(Value::String(text)) => return Some(text.trim().to_owned()),
            Some(_) => self.wrong_type(field, "text"),
        }
        None
    }

    fn acceptance(&mut self) -> Vec<Acceptance> {
        let items = match self.given("acceptance").map(Value::as_array) {
            Some(None) => {
                self.wrong_type("acceptance", "a list of texts and objects");
                return Vec::new();
            }
            Some(Some(items)) if !items.iter().all(entry::is_blank) => items,
            Some(Some(_)) | None => {
                self.missing("acceptance");
                return Vec::new();
            }
        };
        if self.has_too_many("acceptance", items) {
            return Vec::new();
        }
        let task = self.check.places.item(self.index);
        let list = task.and_then(|task| task.key("acceptance"));
        entry::read_all(items, &self.name, list, &mut self.check.wrong)
    }

    fn dependencies(&mut self) -> Vec<TaskId> {
        let ids = self.list("depends_on").unwrap_or_default();
        ids.into_iter().map(TaskId::new).collect()
    }

    /// The entries of a list of texts; a missing list is empty. `None` for anything else.
    fn list(&mut self, field: &str) -> Option<Vec<String>> {
        let Some(value) = self.given(field) else {
            return Some(Vec::new());
        };
        let items = value.as_array();
        if items.is_some_and(|items| self.has_too_many(field, items)) {
            return None;
        }
        let words = items.and_then(|items| items.iter().map(word).collect());
        if words.is_none() {
            self.wrong_type(field, "a list of texts");
        }
        words
    }

    fn has_too_many(&mut self, field: &str, items: &[Value]) -> bool {
        let entries = items.len();
        let has_too_many = entries > MOST_ENTRIES;
        if has_too_many {
            self.wrong(field, |task| {
                format!(
                    "`{field}` of task {task} has {entries} entries; the limit is {MOST_ENTRIES}"
                )
            });
        }
        has_too_many
    }

    fn paths(&mut self, field: &str) -> Vec<String> {
        let paths = self.list(field).unwrap_or_default();
        for path in &paths {
            if let Some(why) = not_inside(path) {
                let shown = quote(path);
                self.wrong(field, |task| {
                    format!("the path {shown} of task {task} {why}")
                });
            }
        }
        paths
    }

    /// The value of a field; `None` if it is missing or null.
    fn given(&self, field: &str) -> Option<&'v Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    fn missing(&mut self, field: &str) {
        self.wrong(field, |task| format!("task {task} has no `{field}`"));
    }

    fn wrong_type(&mut self, field: &str, wanted: &str) {
        self.wrong(field, |task| {
            format!("`{field}` of task {task} must be {wanted}")
        });
    }
}

/// A task's name in messages: its id, or `#3` for the third task if it has none.
fn name_of(id: &str, index: usize) -> String {
    match id {
        "" => quote(&format!("#{}", index + 1)),
        id => quote(id),
    }
}

/// The task that a dependency probably means.
fn meant<'t>(written: &str, tasks: &'t [PlanTask], asker: usize) -> Option<&'t str> {
    let others = tasks.iter().enumerate();
    let ids = others
        .filter(|(index, task)| *index != asker && is_plain(task.id.as_str()))
        .map(|(_, task)| task.id.as_str());
    let is_short = written.len() <= LONGEST_ID;
    is_short.then(|| nearest(written, ids)).flatten()
}

/// Why a path is not inside the repository, if so.
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
