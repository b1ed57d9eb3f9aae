//! The requests of a forest's runs.

use super::*;

impl Forest {
    pub(super) fn root_request(&mut self) -> Request {
        let count = self.rng.weighed(&[(3, 3), (3, 6), (2, 12), (1, 20)]);
        let mut request = self.build(count, 0);
        request.budget = match self.rng.below(4) {
            0 => Budget::default(),
            1 => Budget {
                tokens: Some(self.rng.below(30_000)),
                cost: None,
            },
            2 => Budget {
                tokens: None,
                cost: Some(Cost::from_micro_usd(self.rng.below(5_000_000))),
            },
            _ => Budget {
                tokens: Some(self.rng.below(200_000)),
                cost: Some(Cost::from_micro_usd(self.rng.below(20_000_000))),
            },
        };
        request
    }

    /// A root with this number of tasks, which randomly depend on earlier ones.
    fn build(&mut self, count: u64, depth: u32) -> Request {
        let mut tasks: Vec<TaskOrder> = Vec::new();
        for n in 0..count {
            let mut after = Vec::new();
            for earlier in &tasks {
                if self.rng.percent(20) && after.len() < 3 {
                    after.push(earlier.id.clone());
                }
            }
            tasks.push(TaskOrder {
                id: TaskId::new(format!("t{n}")),
                after,
                request: self.task_request(depth),
            });
        }
        self.rng.shuffle(&mut tasks);
        let most = self.rng.weighed(&[(1, 1), (3, 3), (2, 8), (1, 20)]);
        Request {
            kind: RunKind::Build(Box::new(BuildTerms {
                tasks,
                max_parallel: NonZeroU32::new(most).unwrap(),
                line: None,
            })),
            ..common::request(Publish::BranchOnly, AfterEnd::Remove)
        }
    }

    fn task_request(&mut self, depth: u32) -> Request {
        match self.rng.below(10) {
            0 if depth == 0 => {
                self.grown.is_nested = true;
                let count = 1 + self.rng.below(3);
                self.build(count, depth + 1)
            }
            0..=4 => common::request(Publish::BranchOnly, AfterEnd::Remove),
            5 | 6 => common::team_request(TeamMode::Pingpong),
            _ => {
                let mut terms = common::cruise::terms();
                terms.makes = Makes::Plan {
                    given: None,
                    approval: PlanApproval {
                        auto_approve: true,
                        plan_only: false,
                    },
                };
                common::cruise::request_with(terms)
            }
        }
    }
}
