use super::acceptance::Acceptance;
use super::model::{Plan, PlanTask};
use super::order::Order;
use crate::ids::TaskId;
use crate::markdown::{cell, code_cell};
use std::collections::HashMap;
use std::fmt::Write;

/// The default limits of Mermaid, beyond which forges draw no graph.
const MOST_EDGES: usize = 500;
const MOST_CHARS: usize = 50_000;
/// The longest label of the graph and the longest cell of the table, in characters of the plan's text.
const LABEL_CHARS: usize = 60;
const CELL_CHARS: usize = 200;
/// How many implied waits, and how many ids in one line, are shown at most.
const MOST_IMPLIED: usize = 10;
const MOST_IDS: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    /// The id and the title.
    Titles,
    /// Only the id.
    Ids,
}

/// The graph in Mermaid's syntax. Tasks are numbered, so that no id is a keyword of Mermaid, such as `end`.
pub(super) fn mermaid(tasks: &[PlanTask], order: &Order, labels: Labels) -> String {
    let mut out = String::from("graph TD\n");
    for (index, task) in tasks.iter().enumerate() {
        let id = label(task.id.as_str());
        let _ = match labels {
            Labels::Titles => writeln!(out, "  t{index}[\"{id} - {}\"]", label(&task.title)),
            Labels::Ids => writeln!(out, "  t{index}[\"{id}\"]"),
        };
    }
    let places: HashMap<&TaskId, usize> = tasks.iter().map(|task| &task.id).zip(0..).collect();
    for (index, task) in tasks.iter().enumerate() {
        let mut waits: Vec<_> = order.waits_for(&task.id).iter().collect();
        waits.sort_unstable_by_key(|id| places[id]);
        for id in waits {
            let arrow = if task.depends_on.contains(id) {
                "-->"
            } else {
                "-.->"
            };
            let _ = writeln!(out, "  t{} {arrow} t{index}", places[id]);
        }
    }
    out
}

/// Text for a quoted label: everything but letters, digits and a few harmless signs is written as a
/// character code.
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
    let order = plan.order();
    let graph = drawing(&plan.tasks, &order);
    let too_large = || format!("{GRAPH}The graph is too large to draw here.\n\n");
    if !graph.is_some_and(|graph| page.add(&graph)) {
        page.add(&too_large());
    }
    // A single task has no order.
    if plan.tasks.len() > 1 && !page.add(&in_words(&order)) {
        page.add(&format!("{ORDER}Too many tasks to show here.\n\n"));
    }
    table(&plan.tasks, &mut page);
    page.text.truncate(page.text.trim_end().len());
    page.text
}

const GRAPH: &str = "### Dependencies\n\n";
const ORDER: &str = "### Order\n\n";
const TABLE: &str = "### Tasks\n\n| id | task | acceptance | depends on |\n|---|---|---|---|\n";

/// The graph for a forge, with labels as long as they fit; `None` if it is too large.
pub(super) fn drawing(tasks: &[PlanTask], order: &Order) -> Option<String> {
    let waits = tasks.iter().map(|task| order.waits_for(&task.id).len());
    let edges: usize = waits.sum();
    let fits = |text: &String| text.chars().count() <= MOST_CHARS;
    let text = [Labels::Titles, Labels::Ids]
        .into_iter()
        .map(|labels| mermaid(tasks, order, labels))
        .find(fits)
        .filter(|_| edges <= MOST_EDGES)?;
    Some(format!("{GRAPH}```mermaid\n{text}```\n\n"))
}

/// The order in words: how many tasks run at the same time, and the longest chain.
fn in_words(order: &Order) -> String {
    let mut out = ORDER.to_owned();
    let path = order.critical_path();
    let count = order.tasks().len();
    let _ = writeln!(
        out,
        "{} in {}, at most {} at the same time. The longest chain has {}: {}.\n",
        counted(count, "task"),
        counted(order.groups().len(), "group"),
        order.width(),
        counted(path.len(), "task"),
        named(&path, " → "),
    );
    for (index, group) in order.groups().iter().enumerate() {
        let ids: Vec<String> = group.iter().map(|id| shown(id)).collect();
        let _ = writeln!(out, "{}. {}", index + 1, ids.join(", "));
    }
    out.push('\n');
    let alone: Vec<&TaskId> = order.alone().iter().collect();
    if !alone.is_empty() {
        let names = if alone.len() == 1 { "names" } else { "name" };
        let runs = if alone.len() == 1 { "runs" } else { "each run" };
        let _ = writeln!(
            out,
            "{} {names} no `paths` and {runs} alone: {}.\n",
            counted(alone.len(), "task"),
            named(&alone, ", "),
        );
    }
    out + &implied(order)
}

/// The implied waits, as text. Those of tasks that run alone are summed up.
fn implied(order: &Order) -> String {
    let is_alone = |id: &TaskId| order.alone().contains(id);
    let waits = order.implied().iter();
    let waits: Vec<_> = waits
        .filter(|implied| !is_alone(&implied.earlier) && !is_alone(&implied.later))
        .collect();
    let mut out = String::new();
    if waits.is_empty() {
        return out;
    }
    out.push_str("Tasks that change the same files wait for each other (dotted in the graph):\n\n");
    for implied in waits.iter().take(MOST_IMPLIED) {
        let _ = writeln!(
            out,
            "- {} waits for {}: {}",
            shown(&implied.later),
            shown(&implied.earlier),
            implied.reason,
        );
    }
    if let Some(more) = waits
        .len()
        .checked_sub(MOST_IMPLIED)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(out, "- and {more} more");
    }
    out.push('\n');
    out
}

fn shown(id: &TaskId) -> String {
    code_cell(id.as_str(), LABEL_CHARS)
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The first ids of a list, with a mark if there are more.
fn named(ids: &[&TaskId], between: &str) -> String {
    let first = ids.iter().take(MOST_IDS);
    let mut shown: Vec<String> = first.map(|id| self::shown(id)).collect();
    if ids.len() > MOST_IDS {
        shown.push("…".to_owned());
    }
    shown.join(between)
}

/// Adds as many rows of the table as fit, and the number of the others.
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
    let after: Vec<String> = task.depends_on.iter().map(shown).collect();
    let acceptance: Vec<String> = task.acceptance.iter().map(entry).collect();
    format!(
        "| {} | {} | {} | {} |\n",
        shown(&task.id),
        cell(&task.title, CELL_CHARS),
        cell(&acceptance.join("; "), CELL_CHARS),
        after.join(", "),
    )
}

/// An entry as text, with its kind if drive checks it.
fn entry(entry: &Acceptance) -> String {
    let Acceptance { text, check, .. } = entry;
    match check.command() {
        None => text.clone(),
        Some(command) if command.guard => format!("{text} ({}, guard)", check.kind()),
        Some(_) => format!("{text} ({})", check.kind()),
    }
}

/// A text with a limited length.
struct Page {
    text: String,
    room: usize,
}

impl Page {
    fn has_room(&self, chars: usize) -> bool {
        chars <= self.room
    }

    /// Adds the text if all of it fits. Returns whether it did.
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
