//! The behaviour of children, line, verifier and people in a simulated cruise.

mod line;
mod listener;
mod offers;

use self::offers::Offer;
use crate::common::{at, cruise, problem, pull_request, request, team_request};
use crate::cruise_simulation::rng::Rng;
use drive_core::agent::Budget;
use drive_core::agent::answer::read_handoff;
use drive_core::forge::Surface;
use drive_core::ids::{BranchName, CommitSha, EffectKey, PrNumber, RunId, TaskId, TreeSha};
use drive_core::plan::Plan;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    AfterEnd, Ask, BuildTerms, ChildReport, ChildState, Effect, EffectResult, Event, FinishTerms,
    Flow, ForgeAct, ForgeAnswer, Landable, Level, LineTerms, Makes, OutcomeStatus, PerTask,
    PhaseTerms, PlanFrom, Published, Request, Run, RunKind, RunMessage, STATE_FORMAT, Spent,
    TaskState, Timer, WatchTerms, read_run, step, write_run,
};
use drive_core::settings::TeamMode;
use drive_core::time::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

/// The contents of a commit: attempts of tasks.
type Contents = BTreeSet<(TaskId, u64)>;

pub struct World {
    pub run: Run,
    rng: Rng,
    now: i64,
    /// The runs of tasks that have not ended: the task, and the commit at which the run began.
    children: BTreeMap<RunId, (TaskId, CommitSha)>,
    reports: BTreeMap<RunId, u32>,
    contents: BTreeMap<CommitSha, Contents>,
    line: CommitSha,
    /// Trees that passed verification.
    green: BTreeSet<TreeSha>,
    /// Tasks whose first attempts fail, and how many of them.
    bad: BTreeMap<TaskId, u64>,
    commits: u64,
    parallel: usize,
    /// The run that merges what landed into the base.
    whole: Option<RunId>,
    /// The run that reads comments while tasks are built, and whether it was asked to end.
    listener: Option<(RunId, bool)>,
    /// Whether each task has its own pull request, and what their runs did.
    per_task: bool,
    offers: BTreeMap<RunId, Offer>,
    /// Commits on which a person commented before they landed.
    refused: BTreeSet<CommitSha>,
    /// The tasks in the plan's file.
    planned: Vec<Value>,
    /// How often people may still amend it.
    amendments: u64,
}

fn name(text: &str) -> String {
    let mut out = String::new();
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    while out.len() < 40 {
        for byte in text.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        out.push_str(&format!("{state:016x}"));
    }
    out.truncate(40);
    out
}

fn parsed(tasks: &[Value]) -> Plan {
    let list = serde_json::to_string(tasks).unwrap();
    Plan::parse(&format!("```json tasks\n{list}\n```")).unwrap()
}

fn tree_of(contents: &Contents) -> TreeSha {
    TreeSha::parse(&name(&format!("tree {contents:?}"))).unwrap()
}

impl World {
    pub fn new(mut rng: Rng) -> Self {
        let count = 1 + rng.below(8);
        let mut tasks = Vec::new();
        let mut bad = BTreeMap::new();
        for number in 0..count {
            let before: Vec<String> = (0..number)
                .filter(|_| rng.percent(25))
                .map(|other| format!("t{other}"))
                .collect();
            let path = format!("src/{}.rs", rng.below(count + 2));
            tasks.push(serde_json::json!({
                "id": format!("t{number}"), "title": format!("Task {number}"),
                "acceptance": [{"id": "a", "kind": "command", "text": "it runs", "command": ["true"]}],
                "depends_on": before, "paths": [path],
            }));
            if rng.percent(25) {
                bad.insert(TaskId::new(format!("t{number}")), 1 + rng.below(4));
            }
        }
        let plan = parsed(&tasks);
        let RunKind::Team(task) = team_request(TeamMode::Github).kind else {
            panic!("no team");
        };
        let parallel = 1 + rng.below(4);
        let amendments = rng.below(4);
        let per_task = rng.percent(40);
        let watch = WatchTerms {
            poll_initial: Duration::from_secs(5),
            poll_max: Duration::from_secs(300),
            inactivity_timeout: Duration::from_secs(3600),
            max_rounds: 3,
        };
        let terms = BuildTerms {
            tasks: Vec::new(),
            max_parallel: NonZeroU32::new(u32::try_from(parallel).unwrap()).unwrap(),
            line: Some(Box::new(LineTerms {
                plan: if rng.percent(50) {
                    PlanFrom::File { plan }
                } else {
                    PlanFrom::Phase {
                        request: Box::new(cruise::request_with(cruise::terms())),
                    }
                },
                task,
                per_task: per_task.then_some(PerTask {
                    watch,
                    approve: false,
                }),
                named: false,
                slots: NonZeroU32::new(2).unwrap(),
                patience: Duration::from_secs(3600),
                max_age: Duration::from_secs(7 * 24 * 3600),
                level: Level::Functional,
                finish: rng.percent(50).then(|| FinishTerms {
                    watch,
                    auto_merge: rng.percent(50),
                    review: true,
                    land_plan: false,
                    max_waves: 1,
                }),
            })),
        };
        let request = Request {
            kind: RunKind::Build(Box::new(terms)),
            budget: Budget::default(),
            ..request(pull_request(), AfterEnd::Remove)
        };
        let base = request.base_sha.clone();
        let mut world = Self {
            run: Run::new(RunId::new("r1")),
            rng,
            now: 0,
            children: BTreeMap::new(),
            reports: BTreeMap::new(),
            contents: BTreeMap::from([(base.clone(), Contents::new())]),
            green: BTreeSet::from([tree_of(&Contents::new())]),
            line: base,
            bad,
            commits: 0,
            whole: None,
            listener: None,
            per_task,
            offers: BTreeMap::new(),
            refused: BTreeSet::new(),
            planned: tasks,
            amendments,
            parallel: usize::try_from(parallel).unwrap(),
        };
        world.deliver(Event::Requested {
            request: Box::new(request),
        });
        world
    }

    fn time(&self) -> Timestamp {
        at(self.now)
    }

    fn deliver(&mut self, event: Event) {
        let (run, _) = step(self.run.clone(), event, self.time()).expect("only what can happen");
        // The next owner reads what was written.
        let text = write_run(&run).unwrap();
        let again = read_run(STATE_FORMAT, &text).unwrap();
        assert_eq!(again, run);
        self.run = again;
    }

    /// Performs one random step: an effect ends, a child reports, a person requests something, or
    /// time passes.
    pub fn step(&mut self) {
        self.now += 1;
        let pending: Vec<EffectKey> = self.run.pending.keys().cloned().collect();
        let live: Vec<RunId> = self.children.keys().cloned().collect();
        let choices = pending.len() + live.len();
        if self.rng.percent(3) {
            return self.ask();
        }
        let only_listens = pending.is_empty() && self.listener.is_some() && live.len() == 1;
        if choices == 0 || (only_listens && self.rng.percent(50)) {
            return self.wake();
        }
        let choice = usize::try_from(self.rng.below(choices as u64)).unwrap();
        match pending.get(choice) {
            Some(key) => self.end(key.clone()),
            None => self.report(&live[choice - pending.len()]),
        }
    }

    fn wake(&mut self) {
        // The timer for its maximum age is no progress.
        let timers = self.run.timers.iter();
        let timers = timers.filter(|(timer, _)| **timer != Timer::Age);
        let first = timers.min_by_key(|(_, at)| **at);
        let only_listens = self.listener.is_some() && !self.children.is_empty();
        if first.is_none() && only_listens {
            return;
        }
        let (timer, due) = first
            .map(|(timer, at)| (*timer, *at))
            .unwrap_or_else(|| panic!("it waits for nothing: {:#?}", self.run.flow));
        self.now = self.now.max((due.as_second() - at(0).as_second()).max(0));
        if timer == Timer::Inactivity && self.rng.percent(50) {
            return self.ask();
        }
        self.deliver(Event::Woken { timer });
    }

    fn ask(&mut self) {
        let Flow::Cruise { build } = &self.run.flow else {
            return;
        };
        let tasks: Vec<TaskId> = build.tasks.keys().cloned().collect();
        if tasks.is_empty() {
            return;
        }
        let task = tasks[usize::try_from(self.rng.below(tasks.len() as u64)).unwrap()].clone();
        let head = self.line.clone();
        let ask = match self.rng.below(6) {
            5 => Ask::Approve {
                by: "ann".into(),
                head,
            },
            0 => Ask::SkipTask { task },
            1 | 2 => Ask::RetryTask { task },
            3 => Ask::Pause,
            _ => Ask::Unpause,
        };
        let is_pause = ask == Ask::Pause;
        self.deliver(Event::Asked { ask });
        if is_pause {
            self.deliver(Event::Asked { ask: Ask::Unpause });
        }
    }

    fn end(&mut self, key: EffectKey) {
        let effect = self.run.pending[&key].clone();
        let is_message = matches!(effect, Effect::ToRun { .. });
        let result = if !is_message && self.rng.percent(5) {
            EffectResult::Failed { problem: problem() }
        } else {
            self.perform(&effect)
        };
        self.deliver(Event::EffectEnded { key, result });
    }

    fn perform(&mut self, effect: &Effect) -> EffectResult {
        match effect {
            Effect::ChooseBranch { wanted, .. } => EffectResult::BranchChosen {
                branch: wanted.clone(),
            },
            Effect::OnLine { act } => EffectResult::OnLine {
                answer: self.on_line(act),
            },
            Effect::OpenPullRequest { .. } => EffectResult::PullRequestOpened {
                pull_request: Published {
                    number: PrNumber::new(7),
                    url: "local:7".into(),
                },
            },
            Effect::OnForge { act, .. } => EffectResult::OnForge {
                answer: match act {
                    ForgeAct::PostComment { .. } => ForgeAnswer::Posted {
                        comment: crate::common::comment_ref(Surface::Conversation, 9),
                    },
                    _ => ForgeAnswer::Done,
                },
            },
            Effect::ToRun { run, message } => {
                self.told(run, message);
                EffectResult::Delivered
            }
            other => panic!("{}", other.name()),
        }
    }

    fn told(&mut self, child: &RunId, message: &RunMessage) {
        match message {
            RunMessage::StartRun { request } => {
                let task = request.parent.as_ref().unwrap().task.clone();
                // The run begins with everything that landed before.
                assert!(self.contents.contains_key(&request.base_sha));
                if let Some(whole) = request.kind.phase_terms().and_then(PhaseTerms::whole) {
                    self.is_all(&whole.head);
                    self.whole = Some(child.clone());
                }
                if let Some(PhaseTerms {
                    makes: Makes::Amendments { .. },
                    ..
                }) = request.kind.phase_terms()
                {
                    assert!(self.listener.is_none(), "one listens at a time");
                    self.listener = Some((child.clone(), false));
                }
                self.children
                    .insert(child.clone(), (task, request.base_sha.clone()));
            }
            RunMessage::StopRun => {
                self.listener.take_if(|(id, _)| id == child);
                if self.children.remove(child).is_some() {
                    let state = ChildState::Ended {
                        status: OutcomeStatus::Cancelled,
                        failure: Some(problem()),
                    };
                    self.tell(child, state, None);
                }
            }
            RunMessage::AskRun { ask } if self.offers.contains_key(child) => {
                self.asked(child, ask);
            }
            RunMessage::AskRun { ask: Ask::Conclude } => {
                // It may have ended meanwhile.
                if let Some((_, is_asked)) = &mut self.listener {
                    *is_asked = true;
                }
            }
            RunMessage::AskRun { .. } | RunMessage::ReportToParent { .. } => {}
        }
    }

    /// Ends a child, successfully or not.
    fn report(&mut self, child: &RunId) {
        if let Some((_, is_asked)) = self.listener.clone().filter(|(id, _)| id == child) {
            return self.hear(child, is_asked);
        }
        let is_task = !child.as_str().ends_with("++plan") && self.whole.as_ref() != Some(child);
        if self.per_task && is_task {
            let (task, base) = self.children[child].clone();
            return self.offer(child, task, &base);
        }
        let (task, base) = self.children.remove(child).unwrap();
        if child.as_str().ends_with("++plan") {
            let state = ChildState::Ended {
                status: OutcomeStatus::Succeeded,
                failure: None,
            };
            let plan = Some(self.plan());
            return self.say(child, state, Some(self.line.clone()), plan);
        }
        if self.rng.percent(15) {
            // The model is unavailable, or the work itself failed.
            let failure = if self.rng.percent(50) {
                problem()
            } else {
                Problem::new(Kind::NotApproved, "the reviewer requests changes")
            };
            let state = ChildState::Ended {
                status: OutcomeStatus::Failed,
                failure: Some(failure),
            };
            return self.tell(child, state, None);
        }
        if self.whole.as_ref() == Some(child) {
            let state = ChildState::Ended {
                status: OutcomeStatus::Succeeded,
                failure: None,
            };
            return self.tell(child, state, Some(self.line.clone()));
        }
        self.commits += 1;
        let mut contents = self.contents[&base].clone();
        contents.insert((task, self.commits));
        let head = CommitSha::new(name(&format!("head {}", self.commits)));
        self.contents.insert(head.clone(), contents);
        let state = ChildState::Ended {
            status: OutcomeStatus::Succeeded,
            failure: None,
        };
        self.tell(child, state, Some(head));
    }

    fn tell(&mut self, child: &RunId, state: ChildState, head_sha: Option<CommitSha>) {
        self.say(child, state, head_sha, None);
    }

    fn say(
        &mut self,
        child: &RunId,
        state: ChildState,
        head_sha: Option<CommitSha>,
        plan: Option<Plan>,
    ) {
        let number = self.reports.entry(child.clone()).or_default();
        *number += 1;
        let report = Box::new(ChildReport {
            number: *number,
            state,
            budget: Budget::default(),
            spent: Spent::default(),
            rounds: 0,
            open_comments: 0,
            branch: head_sha.as_ref().map(|_| BranchName::parse("b").unwrap()),
            head_sha,
            pull_request: (plan.is_some() || self.offers.contains_key(child)).then(|| Published {
                number: PrNumber::new(7),
                url: "local:7".into(),
            }),
            handoff: read_handoff(r#"{"notes": ["it is in src"], "undone": ["the docs"]}"#),
            plan,
            checked: None,
            outside: Vec::new(),
            tests: Vec::new(),
            landable: match self.offers.get(child).and_then(|one| one.head.clone()) {
                Some(head) => Landable::Ready { head },
                None => Landable::NotYet,
            },
            merged: None,
        });
        let child = child.clone();
        self.deliver(Event::ChildReported { child, report });
    }

    /// Checks the invariants.
    pub fn check(&self) {
        // Runs that wait for the train, or that handle comments on their pull request, do not count.
        let at_work = self.children.keys();
        let at_work = at_work.filter(|id| !self.offers.contains_key(id)).count();
        assert!(at_work <= self.parallel + 2, "too many at once");
        let Flow::Cruise { build } = &self.run.flow else {
            return;
        };
        for (id, task) in &build.tasks {
            if let TaskState::Landed { .. } = task.state {
                let mut on_line = self.contents[&self.line].iter();
                assert!(on_line.any(|(one, _)| one == id), "{id} is not on the line");
            }
            if let TaskState::Landing { head } = &task.state {
                assert!(
                    !self.refused.contains(head),
                    "{id} lands though somebody objects"
                );
            }
            if let TaskState::Building { .. } = task.state {
                // A landed task may land again, with changes because of comments.
                let is_through =
                    |id: &TaskId| build.tasks[id].is_through() || build.tasks[id].landed.is_some();
                assert!(task.after.iter().all(is_through), "{id} began too early");
            }
        }
    }
}
