use super::{Plan, PlanTask, graph};
use crate::markdown::{cell, code_cell};
use std::fmt::Write;

/// What forges draw at most: the limits of Mermaid as it ships.
const MOST_EDGES: usize = 500;
const MOST_CHARS: usize = 50_000;
/// The longest label of the graph and the longest cell of the table, in characters of the plan.
const LABEL_CHARS: usize = 60;
const CELL_CHARS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    /// The id and the title.
    Titles,
    /// Only the id.
    Ids,
}

/// The tasks are numbered, so that no id is ever a word of Mermaid's own, such as `end`.
pub(super) fn mermaid(tasks: &[PlanTask], labels: Labels) -> String {
    let mut out = String::from("graph TD\n");
    for (index, task) in tasks.iter().enumerate() {
        let id = label(task.id.as_str());
        let _ = match labels {
            Labels::Titles => writeln!(out, "  t{index}[\"{id} - {}\"]", label(&task.title)),
            Labels::Ids => writeln!(out, "  t{index}[\"{id}\"]"),
        };
    }
    for (index, needs) in graph::edges(tasks).iter().enumerate() {
        for need in needs {
            let _ = writeln!(out, "  t{need} --> t{index}");
        }
    }
    out
}

/// Text as part of a quoted label: all but letters, digits and a few harmless signs is written by
/// its number.
fn label(text: &str) -> String {
    let text = crate::verify::text::one_line(text);
    let mut out = String::new();
    for c in text.chars().take(LABEL_CHARS) {
        if c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | ',' | '/') {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    if text.chars().count() > LABEL_CHARS {
        out.push('…');
    }
    out
}

pub(super) fn summary(plan: &Plan, room: usize) -> String {
    let mut page = Page {
        text: String::new(),
        room,
    };
    let graph = drawing(&plan.tasks);
    let too_large = || format!("{GRAPH}The graph is too large to draw here.\n\n");
    if !graph.is_some_and(|graph| page.add(&graph)) {
        page.add(&too_large());
    }
    let groups = groups(plan);
    if !page.add(&groups) {
        page.add(&format!("{GROUPS}Too many groups to show here.\n\n"));
    }
    table(&plan.tasks, &mut page);
    page.text.truncate(page.text.trim_end().len());
    page.text
}

const GRAPH: &str = "### Dependencies\n\n";
const GROUPS: &str = "### Groups that can run in parallel\n\n";
const TABLE: &str = "### Tasks\n\n| id | task | acceptance | depends on |\n|---|---|---|---|\n";

/// The graph as a forge draws it, with as much in its labels as fits; `None` when it is too large.
fn drawing(tasks: &[PlanTask]) -> Option<String> {
    let edges: usize = graph::edges(tasks).iter().map(Vec::len).sum();
    let fits = |text: &String| text.chars().count() <= MOST_CHARS;
    let text = [Labels::Titles, Labels::Ids]
        .into_iter()
        .map(|labels| mermaid(tasks, labels))
        .find(fits)
        .filter(|_| edges <= MOST_EDGES)?;
    Some(format!("{GRAPH}```mermaid\n{text}```\n\n"))
}

fn groups(plan: &Plan) -> String {
    let mut out = GROUPS.to_owned();
    for (index, group) in plan.groups().iter().enumerate() {
        let ids: Vec<String> = group.iter().map(|id| code_cell(id, LABEL_CHARS)).collect();
        let _ = writeln!(out, "{}. {}", index + 1, ids.join(", "));
    }
    out.push('\n');
    out
}

/// As many rows as fit, and how many did not.
fn table(tasks: &[PlanTask], page: &mut Page) {
    let more = |rows: usize| format!("\nThe plan has {rows} more tasks.\n");
    let reserved = more(tasks.len()).chars().count();
    if !page.has_room(TABLE.chars().count() + reserved) {
        return;
    }
    page.add(TABLE);
    for (index, task) in tasks.iter().enumerate() {
        let row = row(task);
        let is_last = index + 1 == tasks.len();
        let after = if is_last { 0 } else { reserved };
        if !page.has_room(row.chars().count() + after) {
            page.add(&more(tasks.len() - index));
            return;
        }
        page.add(&row);
    }
}

fn row(task: &PlanTask) -> String {
    let after: Vec<String> = task
        .depends_on
        .iter()
        .map(|id| code_cell(id.as_str(), LABEL_CHARS))
        .collect();
    format!(
        "| {} | {} | {} | {} |\n",
        code_cell(task.id.as_str(), LABEL_CHARS),
        cell(&task.title, CELL_CHARS),
        cell(&task.acceptance.join("; "), CELL_CHARS),
        after.join(", "),
    )
}

/// A text that never grows beyond its room.
struct Page {
    text: String,
    room: usize,
}

impl Page {
    fn has_room(&self, chars: usize) -> bool {
        chars <= self.room
    }

    /// Adds all of it or nothing, and tells which.
    fn add(&mut self, text: &str) -> bool {
        let chars = text.chars().count();
        let fits = self.has_room(chars);
        if fits {
            self.room -= chars;
            self.text.push_str(text);
        }
        fits
    }
}
