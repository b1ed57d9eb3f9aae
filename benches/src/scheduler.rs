//! The time that the core needs to choose the next step in a cruise of 1,000 tasks. A plan may have
//! 200: the run is given a larger one that was not checked.

use crate::common::{at, pull_request, request, team_request};
use crate::table::Row;
use drive_core::agent::Budget;
use drive_core::ids::{BranchName, CommitSha, RunId, TaskId};
use drive_core::plan::{Plan, PlanTask};
use drive_core::run::{
    AfterEnd, Ask, BuildTerms, ChildReport, ChildState, Effect, EffectResult, Event, Landable,
    Level, LineAct, LineAnswer, LineTerms, OutcomeStatus, PlanFrom, Request, Run, RunKind, Spent,
    step,
};
use drive_core::settings::TeamMode;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

const TASKS: usize = 1_000;
/// Tasks in a layer; each waits for two of the layer before.
const WIDTH: usize = 20;
const SIDE_BY_SIDE: u32 = 4;
/// The number of measured steps of one kind.
const STEPS: usize = 400;

/// Measures adopting the plan, and one step of either kind.
pub(crate) fn run() -> Vec<Row> {
    let mut left_out = Scheduler::new(true);
    let taken = left_out.longest;
    let skips = (0..STEPS)
        .map(|number| left_out.leave_out(number))
        .collect();
    let mut wide = Scheduler::new(false);
    let ends = (0..STEPS).map(|_| wide.end_one()).collect();
    let shown = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    vec![
        Row {
            what: format!("a plan of {TASKS} tasks taken over and its first tasks started"),
            plain: "–".into(),
            ours: shown(taken),
            result: shown(taken),
            bound: "–".into(),
        },
        row("a task has ended, the next one starts", ends, shown),
        row("a task is through, those after it start", skips, shown),
    ]
}

fn row(which: &str, mut times: Vec<Duration>, shown: impl Fn(Duration) -> String) -> Row {
    times.sort();
    let at = |percent: usize| shown(times[(times.len() - 1) * percent / 100]);
    Row {
        what: format!("a step of the scheduler, {TASKS} tasks: {which}"),
        plain: "–".into(),
        ours: at(50),
        result: format!("p99 {}, most {}", at(99), at(100)),
        bound: "≤ 10 ms".into(),
    }
}

struct Scheduler {
    run: Run,
    now: i64,
    /// The longest step so far.
    longest: Duration,
    commits: u32,
}

impl Scheduler {
    /// A cruise that has begun to build.
    fn new(in_layers: bool) -> Self {
        let mut new = Self {
            run: Run::new(RunId::new("r1")),
            now: 0,
            longest: Duration::ZERO,
            commits: 0,
        };
        let request = Box::new(request_of(plan(in_layers)));
        new.step(Event::Requested { request });
        new.settle();
        new
    }

    fn step(&mut self, event: Event) -> Duration {
        self.now += 1;
        let run = std::mem::replace(&mut self.run, Run::new(RunId::new("r1")));
        let start = Instant::now();
        let (run, _) = step(run, event, at(self.now)).expect("only what can happen");
        let took = start.elapsed();
        self.run = run;
        self.longest = self.longest.max(took);
        took
    }

    /// Completes everything that needs no task; nothing lands.
    fn settle(&mut self) {
        loop {
            let mut pending = self.run.pending.iter();
            let next = pending.find_map(|(key, effect)| Some((key.clone(), answer(effect)?)));
            let Some((key, result)) = next else {
                return;
            };
            self.step(Event::EffectEnded { key, result });
        }
    }

    /// The first living run has made its commit.
    fn end_one(&mut self) -> Duration {
        let mut children = self.run.children.iter();
        let live = children.find(|(_, child)| child.is_live());
        let child = live.map(|(id, _)| id.clone()).expect("somebody works");
        self.commits += 1;
        let head = CommitSha::new(format!("{:040x}", self.commits));
        let report = Box::new(ChildReport {
            number: 1,
            state: ChildState::Ended {
                status: OutcomeStatus::Succeeded,
                failure: None,
            },
            budget: Budget::default(),
            spent: Spent::default(),
            rounds: 0,
            open_comments: 0,
            branch: BranchName::parse("b").ok(),
            head_sha: Some(head),
            pull_request: None,
            handoff: None,
            plan: None,
            checked: None,
            outside: Vec::new(),
            tests: Vec::new(),
            landable: Landable::default(),
            merged: None,
        });
        let took = self.step(Event::ChildReported { child, report });
        self.settle();
        took
    }

    /// A person leaves the next task out.
    fn leave_out(&mut self, number: usize) -> Duration {
        let task = id(number);
        let ask = Ask::SkipTask { task };
        let took = self.step(Event::Asked { ask });
        self.settle();
        took
    }
}

/// The result of an effect that only creates the line or reaches another run.
fn answer(effect: &Effect) -> Option<EffectResult> {
    if let Effect::ChooseBranch { wanted, .. } = effect {
        let branch = wanted.clone();
        return Some(EffectResult::BranchChosen { branch });
    }
    if let Effect::ToRun { .. } = effect {
        return Some(EffectResult::Delivered);
    }
    let begins = matches!(
        effect,
        Effect::OnLine {
            act: LineAct::BeginLine { .. }
        }
    );
    let answer = LineAnswer::LineBegun;
    begins.then_some(EffectResult::OnLine { answer })
}

fn id(number: usize) -> TaskId {
    TaskId::new(format!("t{number:04}"))
}

fn plan(in_layers: bool) -> Plan {
    let task = |number: usize| PlanTask {
        id: id(number),
        title: format!("Task {number}"),
        description: "What it is about.".into(),
        acceptance: Vec::new(),
        depends_on: match number.checked_sub(WIDTH).filter(|_| in_layers) {
            None => Vec::new(),
            Some(above) => vec![id(above), id(above / WIDTH * WIDTH + (above + 1) % WIDTH)],
        },
        paths: vec![format!("src/{number}.rs")],
        checks: Vec::new(),
    };
    Plan {
        tasks: (0..TASKS).map(task).collect(),
    }
}

fn request_of(plan: Plan) -> Request {
    let RunKind::Team(task) = team_request(TeamMode::Github).kind else {
        unreachable!("it is a team's");
    };
    let terms = BuildTerms {
        tasks: Vec::new(),
        max_parallel: NonZeroU32::new(SIDE_BY_SIDE).unwrap_or(NonZeroU32::MIN),
        line: Some(Box::new(LineTerms {
            plan: PlanFrom::File { plan },
            task,
            per_task: None,
            named: false,
            slots: NonZeroU32::MIN,
            patience: Duration::from_secs(3600),
            max_age: Duration::from_secs(7 * 24 * 3600),
            level: Level::Basic,
            finish: None,
        })),
    };
    Request {
        kind: RunKind::Build(Box::new(terms)),
        budget: Budget::default(),
        ..request(pull_request(), AfterEnd::Remove)
    }
}
