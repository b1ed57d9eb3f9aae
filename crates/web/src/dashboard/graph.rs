//! Draws the graph of a cruise's tasks as SVG: a column for each dependency level, and a line for
//! each dependency. The style sheet defines the colours; every box also names its state.

use super::html::{Html, clip};
use drive_core::ids::TaskId;
use drive_core::run::{TaskLabel, TaskView};
use std::collections::BTreeMap;

const WIDTH: usize = 190;
const HEIGHT: usize = 46;
const GAP_X: usize = 48;
const GAP_Y: usize = 14;
/// The maximum number of characters in a box.
const NAME: usize = 24;
/// The maximum number of tasks in the graph.
const TASKS: usize = 120;

/// Draws the graph if there is more than one task.
pub(super) fn graph(html: &mut Html, tasks: &[TaskView]) {
    if tasks.len() < 2 {
        return;
    }
    let tasks = &tasks[..tasks.len().min(TASKS)];
    let places = places(tasks);
    let right = places.values().map(|place| place.0).max().unwrap_or(0);
    let bottom = places.values().map(|place| place.1).max().unwrap_or(0);
    html.raw(
        "<div class=\"graph\" role=\"region\" aria-label=\"Graph of the tasks\" tabindex=\"0\">\n",
    );
    html.raw("<svg role=\"img\" aria-label=\"Tasks and what they depend on; the table below lists them\"");
    html.attr("width", right + WIDTH + 4);
    html.attr("height", bottom + HEIGHT + 4).raw(">\n");
    for task in tasks {
        for before in &task.depends_on {
            edge(html, &places, before, &task.id);
        }
    }
    for task in tasks {
        if let Some(place) = places.get(&task.id) {
            node(html, task, *place);
        }
    }
    html.raw("</svg>\n</div>\n");
}

/// The upper left corner of each task. Tasks without dependencies are in the first column.
fn places(tasks: &[TaskView]) -> BTreeMap<TaskId, (usize, usize)> {
    let mut columns: BTreeMap<&TaskId, usize> = BTreeMap::new();
    // Plans have no cycles; the limit prevents an endless loop for an invalid one.
    for _ in 0..tasks.len() {
        let mut moved = false;
        for task in tasks {
            let before = task.depends_on.iter().filter_map(|id| columns.get(id));
            let column = before.max().map_or(0, |column| column + 1);
            moved |= columns.insert(&task.id, column) != Some(column);
        }
        if !moved {
            break;
        }
    }
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for task in tasks {
        let column = columns.get(&task.id).copied().unwrap_or(0);
        let row = rows.entry(column).or_default();
        let place = (2 + column * (WIDTH + GAP_X), 2 + *row * (HEIGHT + GAP_Y));
        places.insert(task.id.clone(), place);
        *row += 1;
    }
    places
}

fn edge(
    html: &mut Html,
    places: &BTreeMap<TaskId, (usize, usize)>,
    before: &TaskId,
    after: &TaskId,
) {
    let (Some(from), Some(to)) = (places.get(before), places.get(after)) else {
        return;
    };
    let (x1, y1) = (from.0 + WIDTH, from.1 + HEIGHT / 2);
    let (x2, y2) = (to.0, to.1 + HEIGHT / 2);
    let middle = usize::midpoint(x1, x2);
    let path = format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}");
    html.raw("<path class=\"edge\"").attr("d", path).raw("/>\n");
}

fn node(html: &mut Html, task: &TaskView, (x, y): (usize, usize)) {
    html.raw("<g class=\"").raw(colour(task.state)).raw("\">");
    html.raw("<rect rx=\"6\"").attr("x", x).attr("y", y);
    html.attr("width", WIDTH).attr("height", HEIGHT).raw("/>");
    html.raw("<text font-weight=\"600\"").attr("x", x + 10);
    html.attr("y", y + 19).raw(">");
    html.text(clip(task.id.as_str(), NAME)).raw("</text>");
    html.raw("<text").attr("x", x + 10).attr("y", y + 36);
    html.raw(">").text(task.state.as_str());
    if task.attempts > 1 {
        html.raw(", attempt ").text(task.attempts);
    }
    html.raw("</text></g>\n");
}

/// The CSS class of a state.
pub(super) fn colour(state: TaskLabel) -> &'static str {
    match state {
        TaskLabel::Pending | TaskLabel::Ready | TaskLabel::Skipped => "s-wait",
        TaskLabel::Running | TaskLabel::InReview | TaskLabel::Verifying => "s-work",
        TaskLabel::Landed => "s-good",
        TaskLabel::Blocked => "s-bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, depends_on: &[&str], state: TaskLabel) -> TaskView {
        TaskView {
            id: TaskId::new(id),
            title: id.to_owned(),
            state,
            depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
            run: None,
            branch: None,
            pull_request: None,
            attempts: 1,
            cost_usd: None,
            reason: None,
        }
    }

    #[test]
    fn a_task_stands_right_of_everything_it_depends_on() {
        let tasks = [
            task("last", &["middle", "first"], TaskLabel::Pending),
            task("middle", &["first"], TaskLabel::Running),
            task("first", &[], TaskLabel::Landed),
            task("other", &[], TaskLabel::Blocked),
        ];
        let places = places(&tasks);
        let of = |id: &str| places[&TaskId::new(id)];
        assert_eq!(of("first"), (2, 2));
        assert_eq!(of("other"), (2, 2 + HEIGHT + GAP_Y));
        assert_eq!(of("middle"), (2 + WIDTH + GAP_X, 2));
        assert_eq!(of("last"), (2 + 2 * (WIDTH + GAP_X), 2));
    }

    #[test]
    fn a_circle_ends_and_is_drawn_anyhow() {
        let tasks = [
            task("a", &["b"], TaskLabel::Pending),
            task("b", &["a"], TaskLabel::Pending),
        ];
        assert_eq!(places(&tasks).len(), 2);
    }

    #[test]
    fn every_state_is_written_and_a_hostile_name_stays_text() {
        let tasks = [
            task("<script>", &[], TaskLabel::Landed),
            task("b", &["<script>"], TaskLabel::InReview),
        ];
        let mut html = Html::default();
        graph(&mut html, &tasks);
        let svg = html.finish();
        assert!(svg.contains(">&lt;script&gt;</text>"), "{svg}");
        assert!(svg.contains(">landed</text>") && svg.contains(">in review</text>"));
        assert!(!svg.contains("<script") && !svg.contains("style="), "{svg}");
        assert_eq!(svg.matches("class=\"edge\"").count(), 1);
    }

    #[test]
    fn one_task_needs_no_graph() {
        let mut html = Html::default();
        graph(&mut html, &[task("a", &[], TaskLabel::Ready)]);
        assert_eq!(html.finish(), "");
    }
}
