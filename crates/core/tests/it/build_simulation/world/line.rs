//! The branch on which tasks land, and the verifier.

use super::{Contents, World, name, tree_of};
use crate::common::line::proven;
use crate::common::verification;
use drive_core::cruise::train::{Conflict, Coupled};
use drive_core::ids::{CommitSha, TaskId};
use drive_core::run::{ContractCheck, Flow, LineAct, LineAnswer, Receipt, ReceiptResult};
use drive_core::verify::{FailureCategory, RulesFrom};

impl World {
    pub(super) fn on_line(&mut self, act: &LineAct) -> LineAnswer {
        match act {
            LineAct::BeginLine { .. } => LineAnswer::LineBegun,
            LineAct::Assemble { onto, cars } => {
                let mut merged = self.contents[onto].clone();
                let (mut coupled, mut with) = (Vec::new(), Vec::new());
                for car in cars {
                    if self.rng.percent(5) {
                        let conflict = Conflict {
                            task: car.task.clone(),
                            files: vec!["src/a.rs".into()],
                            with,
                        };
                        return LineAnswer::Assembled {
                            cars: coupled,
                            conflict: Some(conflict),
                        };
                    }
                    merged.extend(self.contents[&car.head].iter().cloned());
                    let commit = CommitSha::new(name(&format!("{onto} {merged:?}")));
                    self.contents.insert(commit.clone(), merged.clone());
                    with.push(car.task.clone());
                    coupled.push(Coupled {
                        task: car.task.clone(),
                        head: car.head.clone(),
                        commit,
                        tree: tree_of(&merged),
                    });
                }
                LineAnswer::Assembled {
                    cars: coupled,
                    conflict: None,
                }
            }
            LineAct::VerifyTrain {
                onto,
                commit,
                tree,
                rules,
            } => {
                assert_eq!(*tree, tree_of(&self.contents[commit]));
                let luck = self.rng.below(100);
                let mut report = if luck < 5 {
                    verification::not_shown(commit, onto, FailureCategory::Timeout)
                } else if luck < 10 {
                    verification::not_shown(commit, onto, FailureCategory::Infra)
                } else if self.passes(&self.contents[commit].clone()) {
                    self.green.insert(tree.clone());
                    verification::passed(commit, onto)
                } else {
                    verification::failed(commit, onto)
                };
                report.candidate.merged_tree_sha = Some(tree.clone());
                report.candidate.rules_from = Some(RulesFrom::Commit(rules.clone()));
                LineAnswer::TrainVerified {
                    report: Box::new(report),
                }
            }
            LineAct::Land {
                from,
                commit,
                tree,
                offers,
                ..
            } => {
                assert!(self.green.contains(tree), "an unverified tree lands");
                assert_eq!(*tree, tree_of(&self.contents[commit]));
                self.require_read(commit, from, offers);
                if let Some(held) = self.somebody_objects(offers) {
                    return LineAnswer::Unheard { tasks: vec![held] };
                }
                if self.rng.percent(10) {
                    // Another person pushes a good commit.
                    self.commits += 1;
                    let mut contents = self.contents[&self.line].clone();
                    contents.insert((TaskId::new("person"), self.commits));
                    let tip = CommitSha::new(name(&format!("person {}", self.commits)));
                    self.contents.insert(tip.clone(), contents);
                    self.line = tip;
                }
                if self.line != *from {
                    return LineAnswer::LineMoved {
                        tip: Some(self.line.clone()),
                        is_rewritten: false,
                    };
                }
                self.line = commit.clone();
                LineAnswer::CarsLanded
            }
            LineAct::CheckContract {
                commit,
                checks,
                base,
            } => {
                if commit == base {
                    // Some entries of some plans have no evidence.
                    let odd = self.rng.percent(10);
                    let one = |(at, check)| {
                        if odd && at == 0 {
                            proven(check)
                        } else {
                            unmet(check)
                        }
                    };
                    return LineAnswer::ContractChecked {
                        receipts: checks.iter().enumerate().map(one).collect(),
                    };
                }
                self.is_all(commit);
                LineAnswer::ContractChecked {
                    receipts: checks.iter().map(proven).collect(),
                }
            }
        }
    }

    /// Whether the contents pass: the first attempts of some tasks fail.
    fn passes(&self, contents: &Contents) -> bool {
        let Flow::Cruise { build } = &self.run.flow else {
            return true;
        };
        self.bad.iter().all(|(task, times)| {
            let record = build.tasks.get(task);
            let runs = record.map_or(0, |task| task.runs.len() as u64);
            !contents.iter().any(|(one, _)| one == task) || runs > *times
        })
    }
}

/// A check that fails, as all do before the work.
fn unmet(check: &ContractCheck) -> Receipt {
    Receipt {
        result: ReceiptResult::Failed,
        ..proven(check)
    }
}
