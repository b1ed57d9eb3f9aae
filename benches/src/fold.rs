//! Events folded a second, for cruises with few and with many comments.
//!
//! The journal is made by the fold itself: every effect gets a good result, people write ten comments
//! between two polls, and each of them is fixed and answered.

use crate::common;
use crate::table::{Row, median};
use drive_core::agent::{Budget, Role};
use drive_core::forge::PrState;
use drive_core::ids::CommitSha;
use drive_core::run::{
    AgentJob, CommitSummary, Effect, EffectResult, Event, ForgeAct, PollResult, Run, Timer, fold,
    phase_state, step,
};
use drive_core::time::Timestamp;
use std::time::Duration;

const COMMENTS: [u64; 3] = [10, 100, 1_000];
/// Comments that people write between two polls.
const AT_ONCE: u64 = 10;
/// The number of events that are folded for one measurement.
const EVENTS: usize = 200_000;
const MOST_STEPS: u32 = 100_000;

type Journal = Vec<(Event, Timestamp)>;

/// A figure for each number of comments, and how far they are apart.
pub(crate) fn run() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut costs = Vec::new();
    for comments in COMMENTS {
        let journal = Cruise::with_comments(comments);
        let cost = cost_per_event(&journal);
        costs.push(cost);
        rows.push(Row {
            what: format!("events folded a second, cruise with {comments} comments"),
            plain: "–".into(),
            ours: format!("{:.0}/s", 1.0 / cost),
            result: format!("{:.2} µs an event, {} events", cost * 1e6, journal.len()),
            bound: "–".into(),
        });
    }
    let most = costs.iter().copied().fold(0.0, f64::max);
    let least = costs.iter().copied().fold(f64::MAX, f64::min);
    let ratio = most / least;
    rows.push(Row {
        what: "… the dearest of these events against the cheapest".into(),
        plain: "–".into(),
        ours: "–".into(),
        result: format!("{ratio:.2}"),
        bound: "≤ 2".into(),
    });
    rows
}

/// Seconds that one event takes.
fn cost_per_event(journal: &Journal) -> f64 {
    const PARTS: usize = 5;
    let times = (EVENTS / PARTS / journal.len()).max(1);
    // Copies are made before the measurement: a real caller passes events that it has just read.
    let mut copies: Vec<Vec<Journal>> = (0..=PARTS)
        .map(|_| (0..times).map(|_| journal.clone()).collect())
        .collect();
    let took = median(PARTS, || {
        for journal in copies.pop().expect("one for each call") {
            let run = fold(common::run_id(), journal).expect("it happened like this");
            assert!(run.outcome.is_none(), "it still waits");
        }
    });
    took.as_secs_f64() / (times * journal.len()) as f64
}

struct Cruise {
    run: Run,
    journal: Journal,
    now: Timestamp,
    comments: u64,
    written: u64,
    commits: Vec<CommitSummary>,
}

impl Cruise {
    /// The journal of a cruise that answered so many comments and waits for more.
    fn with_comments(comments: u64) -> Journal {
        let mut request = common::cruise::request_with(common::cruise::terms_with_rounds(10_000));
        request.budget = Budget::default();
        let mut cruise = Self {
            run: Run::new(common::run_id()),
            journal: Vec::new(),
            now: common::at(0),
            comments,
            written: 0,
            commits: Vec::new(),
        };
        cruise.deliver(Event::Requested {
            request: Box::new(request),
        });
        for _ in 0..MOST_STEPS {
            if cruise.is_done() {
                return cruise.journal;
            }
            cruise.turn();
        }
        panic!("the cruise does not come to rest");
    }

    fn is_done(&self) -> bool {
        let state = phase_state(&self.run);
        let is_idle = self.run.pending.is_empty() && self.run.timers.contains_key(&Timer::Poll);
        is_idle && self.written == self.comments && state.is_some()
    }

    fn turn(&mut self) {
        self.now += Duration::from_millis(10);
        let Some((key, effect)) = self.run.pending.pop_first() else {
            let timers = self.run.timers.iter();
            let first = timers.min_by_key(|(_, due)| **due);
            let (timer, due) = first.map(|(timer, due)| (*timer, *due)).expect("a timer");
            self.now = self.now.max(due);
            return self.deliver(Event::Woken { timer });
        };
        self.run.pending.insert(key.clone(), effect.clone());
        if let Effect::RunAgent { .. } = effect {
            self.deliver(Event::ProcessStarted {
                key: key.clone(),
                identity: common::identity(4_711),
            });
        }
        let result = self.result(&effect);
        self.deliver(Event::EffectEnded { key, result });
    }

    fn deliver(&mut self, event: Event) {
        self.journal.push((event.clone(), self.now));
        let run = std::mem::replace(&mut self.run, Run::new(common::run_id()));
        let (run, _) = step(run, event, self.now).expect("a legal event");
        self.run = run;
    }

    fn result(&mut self, effect: &Effect) -> EffectResult {
        if let Effect::RunAgent { job, .. } = effect {
            return common::agent_said(&said(job));
        }
        if let Effect::CommitWork { .. } = effect {
            return self.committed();
        }
        if let Effect::OnForge {
            act: ForgeAct::Poll { .. },
            ..
        } = effect
        {
            return self.polled();
        }
        common::good(effect)
    }

    fn committed(&mut self) -> EffectResult {
        let number = self.commits.len();
        let head_sha = CommitSha::new(format!("{number:040x}"));
        self.commits.push(CommitSummary {
            sha: head_sha.clone(),
            subject: format!("Round {number}"),
        });
        EffectResult::WorkCommitted {
            head_sha,
            commits: self.commits.clone(),
            warnings: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn polled(&mut self) -> EffectResult {
        let from = self.written;
        self.written = (from + AT_ONCE).min(self.comments);
        let comments = (from + 1..=self.written)
            .map(|id| common::comment(id, "please mention the tests as well"))
            .collect();
        common::cruise::looked(PollResult {
            state: Some(PrState::Open),
            comments,
            ..PollResult::default()
        })
    }
}

fn said(job: &AgentJob) -> String {
    match job.role {
        Role::Fixer => {
            let answers = job.input.comments.iter().map(|one| {
                serde_json::json!({"id": one.id, "action": "fixed", "note": "done as you asked"})
            });
            let answers: Vec<serde_json::Value> = answers.collect();
            format!(
                "```json\n{}\n```",
                serde_json::json!({ "comments": answers })
            )
        }
        Role::Reviewer => "```json\n{\"verdict\": \"approved\"}\n```".to_owned(),
        Role::Namer | Role::Planner | Role::Coder | Role::Validator => {
            "```json\n{\"pr_title\": \"X\", \"branch_name\": \"x\"}\n```".to_owned()
        }
    }
}
