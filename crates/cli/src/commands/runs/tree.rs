//! Orders the runs of a list as trees, with children below their parents.

use drive_core::ids::RunId;
use drive_core::run::{Child, ChildStage, ChildState, Run};
use drive_core::timeline::describe_status;
use std::collections::{BTreeMap, BTreeSet};

/// Every run once, with its depth. A child whose parent is not listed counts as a root.
pub(super) fn in_order(runs: &[Run]) -> Vec<(usize, &Run)> {
    let listed: BTreeSet<&RunId> = runs.iter().map(|run| &run.id).collect();
    let mut children: BTreeMap<&RunId, Vec<&Run>> = BTreeMap::new();
    let mut roots = Vec::new();
    for run in runs {
        match run.parent().map(|parent| &parent.run) {
            Some(parent) if listed.contains(parent) => {
                children.entry(parent).or_default().push(run);
            }
            Some(_) | None => roots.push(run),
        }
    }
    let mut order = Vec::new();
    let mut open: Vec<(usize, &Run)> = roots.into_iter().rev().map(|run| (0, run)).collect();
    while let Some((depth, run)) = open.pop() {
        order.push((depth, run));
        // The list is newest first and the stack reverses it, so the oldest child comes first.
        let below = children.remove(&run.id).unwrap_or_default();
        open.extend(below.into_iter().map(|child| (depth + 1, child)));
    }
    order
}

/// The runs of the newest trees, at most `limit` trees, from the newest runs of a store that pass
/// the filter. `None` if older runs that belong to them may be missing, unless these are all. A
/// cruise counts as one tree, like a run without children.
pub(super) fn newest(
    runs: &[Run],
    limit: usize,
    is_all: bool,
    wants: impl Fn(&Run) -> bool,
) -> Option<Vec<Run>> {
    let mut roots: Vec<&str> = Vec::new();
    let mut kept = Vec::new();
    for run in runs.iter().filter(|run| wants(run)) {
        let root = root_of(run);
        if !roots.contains(&root) {
            if roots.len() == limit {
                continue;
            }
            roots.push(root);
        }
        kept.push(run.clone());
    }
    let is_whole = |root: &&str| runs.iter().any(|run| run.id.as_str() == *root);
    let is_enough = is_all || (roots.len() == limit && roots.iter().all(is_whole));
    is_enough.then_some(kept)
}

fn root_of(run: &Run) -> &str {
    let id = run.id.as_str();
    id.split_once('+').map_or(id, |(root, _)| root)
}

/// The state of a child that its parent knows, in one line.
pub(crate) fn child_line(id: &RunId, child: &Child) -> String {
    let state = match child.report.as_ref().map(|report| &report.state) {
        None if child.stage == ChildStage::Starting => "starting".to_owned(),
        None | Some(ChildState::Working) => "working".to_owned(),
        Some(ChildState::NeedsBudget { .. }) if child.is_granted() => "working".to_owned(),
        Some(ChildState::NeedsBudget { why } | ChildState::NeedsPerson { why, .. }) => {
            format!("waiting for you: {why}")
        }
        Some(ChildState::Ended { status, .. }) => describe_status(*status).to_owned(),
    };
    format!("task     {:16} {state}  (run {id})", child.task.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::run::{Event, fold};
    use drive_core::time::Timestamp;

    fn run(id: &str, parent: Option<&str>) -> Run {
        let parent = parent.map(|run| serde_json::json!({ "run": run, "task": "t" }));
        let request = serde_json::json!({
            "kind": "spawn", "task": "x", "repo": "/r", "baseSha": "a".repeat(40), "baseBranch": null,
            "branch": "b", "agent": "a", "idleTimeout": { "secs": 1, "nanos": 0 },
            "totalTimeout": { "secs": 1, "nanos": 0 }, "budget": {}, "maxEscalations": 0,
            "publish": { "to": "branchOnly" }, "afterEnd": "remove", "copy": [], "seed": [],
            "parent": parent,
        });
        let request = serde_json::from_value(request).unwrap();
        let event = Event::Requested { request };
        fold(RunId::new(id), [(event, Timestamp::UNIX_EPOCH)]).unwrap()
    }

    #[test]
    fn a_cruise_with_many_children_is_listed() {
        let mut runs: Vec<Run> = (0..30)
            .map(|n| run(&format!("r2+t{n}"), Some("r2")))
            .collect();
        assert_eq!(newest(&runs, 1, false, |_| true), None, "its root is older");
        runs.extend([run("r2", None), run("r1+a", Some("r1")), run("r1", None)]);
        let ids = |limit| {
            let found = newest(&runs, limit, false, |_| true).unwrap();
            let last = found.last().map(|run| run.id.to_string());
            (found.len(), last.unwrap())
        };
        assert_eq!(ids(1), (31, "r2".to_owned()));
        assert_eq!(ids(2), (33, "r1".to_owned()));
        let roots = newest(&runs, 2, false, |run| run.parent().is_none()).unwrap();
        assert_eq!(roots.len(), 2);
    }

    #[test]
    fn children_stand_below_their_parents_oldest_first() {
        let newest_first = [
            run("r3", None),
            run("r1+b+x", Some("r1+b")),
            run("r1+b", Some("r1")),
            run("r1+a", Some("r1")),
            run("r2", None),
            run("r1", None),
            run("r0+z", Some("r0")),
        ];
        let order: Vec<String> = in_order(&newest_first)
            .iter()
            .map(|(depth, run)| format!("{}{}", "  ".repeat(*depth), run.id))
            .collect();
        assert_eq!(
            order,
            ["r3", "r2", "r1", "  r1+a", "  r1+b", "    r1+b+x", "r0+z"]
        );
    }
}
