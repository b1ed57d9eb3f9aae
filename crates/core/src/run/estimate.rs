//! Estimates the cost of a plan's tasks from earlier tasks.

use super::model::{Flow, Run, TaskCosts, TaskState};
use crate::agent::Cost;

/// The costs of the landed tasks of these runs; `None` with fewer than four costs.
pub fn task_costs<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Option<TaskCosts> {
    let mut costs: Vec<u64> = runs.into_iter().flat_map(of_run).collect();
    costs.sort_unstable();
    // Fewer than four costs are too few for an estimate.
    let last = costs.len().checked_sub(1).filter(|last| *last >= 3)?;
    // Half of the tasks cost between the first and the third quartile.
    let at = |quarters: usize| costs.get((last * quarters).div_ceil(4)).copied();
    Some(TaskCosts {
        tasks: u32::try_from(costs.len()).unwrap_or(u32::MAX),
        low: Cost::from_micro_usd(at(1)?),
        high: Cost::from_micro_usd(at(3)?),
    })
}

/// The cost of each landed task of a cruise, over all its attempts.
fn of_run(run: &Run) -> Vec<u64> {
    let Flow::Cruise { build } = &run.flow else {
        return Vec::new();
    };
    let landed = build.tasks.values();
    let landed = landed.filter(|task| matches!(task.state, TaskState::Landed { .. }));
    let costs = landed.filter_map(|task| {
        let runs = task.runs.iter().filter_map(|id| run.children.get(id));
        let costs: Vec<u64> = runs
            .filter_map(|child| Some(child.spent().cost?.micro_usd()))
            .collect();
        (!costs.is_empty()).then(|| costs.iter().sum())
    });
    costs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Budget;
    use crate::ids::{CommitSha, RunId, TaskId};
    use crate::run::model::{
        Build, Child, ChildReport, ChildStage, ChildState, Landable, Spent, TaskRecord,
    };

    /// A cruise with tasks of these costs, in millionths of a dollar. The tasks of the second list
    /// are blocked.
    fn cruise(landed: &[u64], blocked: &[u64]) -> Run {
        let mut run = Run::new(RunId::new("r1"));
        let mut build = Build::default();
        let all = landed.iter().map(|cost| (cost, true));
        let all = all.chain(blocked.iter().map(|cost| (cost, false)));
        for (number, (cost, is_landed)) in all.enumerate() {
            let (id, task) = (
                RunId::new(format!("r1+{number}")),
                TaskId::new(format!("t{number}")),
            );
            let spent = Spent {
                cost: Some(Cost::from_micro_usd(*cost)),
                ..Spent::default()
            };
            let report = ChildReport {
                number: 1,
                state: ChildState::Working,
                budget: Budget::default(),
                spent,
                rounds: 0,
                open_comments: 0,
                branch: None,
                head_sha: None,
                pull_request: None,
                handoff: None,
                plan: None,
                checked: None,
                outside: Vec::new(),
                tests: Vec::new(),
                landable: Landable::NotYet,
                merged: None,
            };
            let child = Child {
                task: task.clone(),
                stage: ChildStage::Ended,
                granted: Budget::default(),
                granted_for: 0,
                report: Some(report),
            };
            run.children.insert(id.clone(), child);
            let state = if is_landed {
                let commit = CommitSha::new("c".repeat(40));
                TaskState::Landed { commit }
            } else {
                TaskState::Skipped
            };
            let record = TaskRecord {
                state,
                runs: vec![id],
                ..TaskRecord::new(String::new(), Vec::new())
            };
            build.tasks.insert(task, record);
        }
        run.flow = Flow::Cruise {
            build: Box::new(build),
        };
        run
    }

    #[test]
    fn half_of_the_tasks_that_landed_cost_something_between_the_two_bounds() {
        let runs = [cruise(&[5, 1, 3], &[900]), cruise(&[2, 4], &[])];
        let costs = task_costs(&runs).unwrap();
        assert_eq!(costs.tasks, 5);
        assert_eq!((costs.low.micro_usd(), costs.high.micro_usd()), (2, 4));
        assert_eq!(
            task_costs(&[cruise(&[1, 9, 5], &[7])]),
            None,
            "of three nobody can tell"
        );
    }
}
