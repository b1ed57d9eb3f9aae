use super::claims::Claims;
use super::model::PlanTask;
use super::task_set::TaskSet;
use super::{graph, width};
use crate::ids::TaskId;
use std::collections::HashMap;

/// The order of a plan's tasks: what each waits for, and which cannot run at the same time.
///
/// It expects a checked plan. In any other plan, a dependency that is part of a cycle is left out,
/// so that an order never contains one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The tasks, each after all that it waits for. The fields below use the indices of this list.
    tasks: Vec<TaskId>,
    places: HashMap<TaskId, usize>,
    /// The index of each task in the plan.
    in_plan: Vec<usize>,
    waits_for: Vec<Vec<TaskId>>,
    waits: Vec<Vec<usize>>,
    /// For each task, all tasks that end before it starts.
    before: Vec<TaskSet>,
    collisions: Vec<TaskSet>,
    implied: Vec<Implied>,
    alone: Vec<TaskId>,
}

/// A wait that the plan does not state: two tasks may change the same files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implied {
    /// The task that runs first.
    pub earlier: TaskId,
    /// The task that waits for it.
    pub later: TaskId,
    /// The reason, such as "both change `src/a.rs`", in one line of Markdown in which the plan's
    /// text is code.
    pub reason: String,
}

impl Order {
    pub(super) fn of(tasks: &[PlanTask]) -> Self {
        let needs = graph::edges(tasks);
        let (mut in_plan, stuck) = graph::sequence(&needs);
        in_plan.extend(stuck);
        let mut place_of = vec![0; tasks.len()];
        for (place, &index) in in_plan.iter().enumerate() {
            place_of[index] = place;
        }
        let claims = Claims::of(in_plan.iter().map(|index| &tasks[*index]));
        let mut waits: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
        let mut before: Vec<TaskSet> = Vec::with_capacity(tasks.len());
        let mut collisions = Vec::with_capacity(tasks.len());
        let mut implied = Vec::new();
        for (place, &index) in in_plan.iter().enumerate() {
            let needs = needs[index].iter().map(|need| place_of[*need]);
            let mut after: Vec<usize> = needs.filter(|need| *need < place).collect();
            let mut earlier = all_before(&after, &before);
            let colliding = claims.collisions(place);
            let first_implied = after.len();
            // From the last one on: tasks that it waits for need no edge of their own.
            let mut open = colliding.clone();
            open.keep_below(place);
            open.remove_all(&earlier);
            while let Some(other) = open.pop_last() {
                after.push(other);
                earlier.add_all(&all_before(&[other], &before));
                open.remove_all(&earlier);
            }
            let of = |place: usize| (place, &tasks[in_plan[place]].id);
            let edge = |other: &usize| Implied::new(&claims, of(*other), of(place));
            implied.extend(after[first_implied..].iter().map(edge));
            after.sort_unstable();
            waits.push(after);
            before.push(earlier);
            collisions.push(colliding);
        }
        let ids = in_plan.iter().map(|index| tasks[*index].id.clone());
        let ids: Vec<TaskId> = ids.collect();
        let mut places = HashMap::with_capacity(ids.len());
        for (place, id) in ids.iter().enumerate() {
            places.entry(id.clone()).or_insert(place);
        }
        let waits_for = waits.iter().map(|waits| {
            let ids = waits.iter().map(|place| ids[*place].clone());
            ids.collect()
        });
        let is_alone = |(index, _): &(usize, &PlanTask)| !claims.is_known(place_of[*index]);
        let alone = tasks.iter().enumerate().filter(is_alone);
        Self {
            waits_for: waits_for.collect(),
            alone: alone.map(|(_, task)| task.id.clone()).collect(),
            tasks: ids,
            places,
            in_plan,
            waits,
            before,
            collisions,
            implied,
        }
    }

    /// All tasks, each after those that it waits for, and otherwise in the order of the plan.
    pub fn tasks(&self) -> &[TaskId] {
        &self.tasks
    }

    /// The tasks that a task waits for: its dependencies, and implied waits that no other wait covers.
    pub fn waits_for(&self, task: &TaskId) -> &[TaskId] {
        let place = self.places.get(task);
        place.map_or(&[], |place| self.waits_for[*place].as_slice())
    }

    /// Whether two tasks may change the same files, so that they must never run at the same time.
    pub fn collide(&self, one: &TaskId, other: &TaskId) -> bool {
        match (self.places.get(one), self.places.get(other)) {
            (Some(one), Some(other)) => one != other && self.collisions[*one].has(*other),
            (None, _) | (_, None) => false,
        }
    }

    /// Whether a task must end before another starts, directly or through other tasks.
    pub fn is_before(&self, earlier: &TaskId, later: &TaskId) -> bool {
        match (self.places.get(earlier), self.places.get(later)) {
            (Some(earlier), Some(later)) => self.before[*later].has(*earlier),
            (None, _) | (_, None) => false,
        }
    }

    /// The implied waits, ordered by the waiting tasks.
    pub fn implied(&self) -> &[Implied] {
        &self.implied
    }

    /// The tasks that run alone because they name no `paths`, in the order of the plan.
    pub fn alone(&self) -> &[TaskId] {
        &self.alone
    }

    /// The tasks that can be worked on at the same time: each group waits only for earlier ones.
    pub fn groups(&self) -> Vec<Vec<&TaskId>> {
        let mut group_of: Vec<usize> = Vec::with_capacity(self.tasks.len());
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (place, waits) in self.waits.iter().enumerate() {
            let group = waits.iter().map(|wait| group_of[*wait] + 1).max();
            let group = group.unwrap_or(0);
            group_of.push(group);
            if groups.len() <= group {
                groups.push(Vec::new());
            }
            groups[group].push(place);
        }
        let named = |mut group: Vec<usize>| {
            group.sort_unstable_by_key(|place| self.in_plan[*place]);
            group.into_iter().map(|place| &self.tasks[place]).collect()
        };
        groups.into_iter().map(named).collect()
    }

    /// The longest chain of tasks that wait for each other, first to last.
    pub fn critical_path(&self) -> Vec<&TaskId> {
        // For each task, the length of the longest chain that ends with it, and its predecessor in the chain.
        let mut chains: Vec<(usize, Option<usize>)> = Vec::with_capacity(self.tasks.len());
        for waits in &self.waits {
            let mut longest = (1, None);
            for &wait in waits {
                if chains[wait].0 + 1 > longest.0 {
                    longest = (chains[wait].0 + 1, Some(wait));
                }
            }
            chains.push(longest);
        }
        let length = chains.iter().map(|chain| chain.0).max().unwrap_or(0);
        let mut next = chains.iter().position(|chain| chain.0 == length);
        let mut path = Vec::with_capacity(length);
        while let Some(place) = next {
            path.push(&self.tasks[place]);
            next = chains[place].1;
        }
        path.reverse();
        path
    }

    /// The maximum number of tasks that can run at the same time.
    pub fn width(&self) -> usize {
        width::of(&self.before)
    }
}

impl Implied {
    fn new(claims: &Claims, earlier: (usize, &TaskId), later: (usize, &TaskId)) -> Self {
        Self {
            earlier: earlier.1.clone(),
            later: later.1.clone(),
            reason: claims.reason(earlier, later),
        }
    }
}

/// These tasks and all tasks before them.
fn all_before(tasks: &[usize], before: &[TaskSet]) -> TaskSet {
    let mut all = TaskSet::default();
    for &task in tasks {
        all.add(task);
        all.add_all(&before[task]);
    }
    all
}
