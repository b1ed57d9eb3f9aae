//! The run that reads comments while tasks are built, and the requests of people.

use super::{World, name, parsed, tree_of};
use crate::common::problem;
use drive_core::ids::{CommitSha, RunId, TaskId};
use drive_core::plan::Plan;
use drive_core::run::{ChildState, OutcomeStatus};

impl World {
    /// Records that this commit contains everything that landed, whatever people did to the plan since.
    pub(super) fn is_all(&self, commit: &CommitSha) {
        let tasks = |commit: &CommitSha| {
            let all = self.contents[commit].iter();
            let all = all.filter(|(task, _)| !matches!(task.as_str(), "plan" | "person"));
            all.cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            tasks(commit),
            tasks(&self.line),
            "all of it, and nothing else"
        );
    }

    /// The listener amends the plan, or ends.
    pub(super) fn hear(&mut self, child: &RunId, is_asked: bool) {
        let tip = Some(self.line.clone());
        if self.rng.percent(3) {
            self.listener = None;
            self.children.remove(child);
            let state = ChildState::Ended {
                status: OutcomeStatus::Failed,
                failure: Some(problem()),
            };
            return self.tell(child, state, tip);
        }
        let is_news = self.amendments > 0 && self.rng.percent(30);
        if is_news {
            self.amendments -= 1;
            self.amend();
        }
        if !is_news && !is_asked {
            return;
        }
        let plan = Some(parsed(&self.planned));
        if is_asked && self.rng.percent(60) {
            self.listener = None;
            self.children.remove(child);
            let state = ChildState::Ended {
                status: OutcomeStatus::Succeeded,
                failure: None,
            };
            return self.say(child, state, tip, plan);
        }
        self.say(child, ChildState::Working, tip, plan);
    }

    /// A person changes, removes or adds a task; the plan's file moves the line.
    fn amend(&mut self) {
        let count = self.planned.len() as u64;
        let one = usize::try_from(self.rng.below(count)).unwrap();
        match self.rng.below(3) {
            0 if count > 1 => {
                let gone = self.planned.remove(one);
                for task in &mut self.planned {
                    let needs = task["depends_on"].as_array_mut().unwrap();
                    needs.retain(|need| *need != gone["id"]);
                }
            }
            1 => {
                let needs = [self.planned[one]["id"].clone()];
                self.commits += 1;
                self.planned.push(serde_json::json!({
                    "id": format!("n{}", self.commits), "title": "Another one",
                    "acceptance": ["it is there"], "depends_on": needs, "paths": ["src/n.rs"],
                }));
            }
            _ => {
                self.commits += 1;
                let text = format!("As ann says, {}.", self.commits);
                self.planned[one]["description"] = text.into();
            }
        }
        self.commits += 1;
        let mut contents = self.contents[&self.line].clone();
        contents.insert((TaskId::new("plan"), self.commits));
        self.green.insert(tree_of(&contents));
        let tip = CommitSha::new(name(&format!("plan {}", self.commits)));
        self.contents.insert(tip.clone(), contents);
        self.line = tip;
    }

    /// The plan in its file now.
    pub fn plan(&self) -> Plan {
        parsed(&self.planned)
    }
}
