use super::model::PlanTask;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// For each task, the indices of the tasks that it depends on. Unknown tasks and the task itself
/// are left out; of two tasks with the same id, the first one counts.
pub(super) fn edges(tasks: &[PlanTask]) -> Vec<Vec<usize>> {
    let mut places = HashMap::with_capacity(tasks.len());
    for (index, task) in tasks
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.id.as_str().is_empty())
    {
        places.entry(&task.id).or_insert(index);
    }
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.iter().enumerate() {
        let known = task.depends_on.iter();
        let mut one: Vec<usize> = known
            .filter_map(|id| places.get(id).copied())
            .filter(|place| *place != index)
            .collect();
        one.sort_unstable();
        one.dedup();
        edges.push(one);
    }
    edges
}

/// All tasks in an order in which each comes after its dependencies, and otherwise as in the plan;
/// and the tasks without a place in it: those in a cycle, and those that depend on one.
pub(super) fn sequence(edges: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut waits: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); edges.len()];
    for (index, needs) in edges.iter().enumerate() {
        for &need in needs {
            dependents[need].push(index);
        }
    }
    let free = (0..edges.len()).filter(|index| waits[*index] == 0);
    let mut free: BinaryHeap<Reverse<usize>> = free.map(Reverse).collect();
    let mut sequence = Vec::with_capacity(edges.len());
    while let Some(Reverse(next)) = free.pop() {
        sequence.push(next);
        for &dependent in &dependents[next] {
            waits[dependent] -= 1;
            if waits[dependent] == 0 {
                free.push(Reverse(dependent));
            }
        }
    }
    let stuck = (0..edges.len()).filter(|index| waits[*index] > 0);
    (sequence, stuck.collect())
}

/// Cycles of tasks: at least one in every knot, and no two with a common task. Each task depends on
/// the next, the last on the first.
pub(super) fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut edges = edges.to_vec();
    let mut cycles = Vec::new();
    loop {
        let (_, stuck) = sequence(&edges);
        let Some(&start) = stuck.first() else {
            return cycles;
        };
        let cycle = cycle_from(&edges, &stuck, start);
        for &index in &cycle {
            edges[index].clear();
        }
        cycles.push(cycle);
    }
}

/// A cycle reached from `start`. Every stuck task depends on a stuck one, so following the
/// dependencies must return to an earlier task.
fn cycle_from(edges: &[Vec<usize>], stuck: &[usize], start: usize) -> Vec<usize> {
    let mut walk: Vec<usize> = vec![start];
    loop {
        let here = walk[walk.len() - 1];
        let next = edges[here]
            .iter()
            .find(|need| stuck.binary_search(need).is_ok());
        let Some(&next) = next else {
            return walk;
        };
        if let Some(from) = walk.iter().position(|seen| *seen == next) {
            let mut cycle = walk.split_off(from);
            let first = cycle.iter().enumerate().min_by_key(|(_, index)| **index);
            let turn = first.map_or(0, |(at, _)| at);
            cycle.rotate_left(turn);
            return cycle;
        }
        walk.push(next);
    }
}
