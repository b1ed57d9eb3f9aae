//! A world with a small repository, well-behaved agents and a person, and the invariants after any crash.

mod checks;
mod requests;

pub use checks::{assert_nothing_is_lost, assert_recovered, posts};
pub use requests::{cruise_request, spawn_request, team_request};

use drive_core::agent::Role;
use drive_core::forge::webhook::Nudge;
use drive_core::ids::RunId;
use drive_core::problem::Problem;
use drive_core::run::{EffectResult, Request, Run};
use drive_core::time::Timestamp;
use drive_engine::cancel::Urgency;
use drive_engine::cruise::CruiseService;
use drive_engine::executor::{Performer, Task};
use drive_engine::fakes::{AgentTurn, AgentWork, CrashPoint, FakeOwner, FakeWorld, Files};
use drive_engine::perform::World;
use drive_engine::ports::{Nudges, Store};
use drive_engine::{CancelToken, recovery, resume, start};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The text that the first agent writes, and that the security reviewer rejects.
pub const BUGGY: &str = "one\nbug\n";
/// The text after the fixer.
pub const FIXED: &str = "one\nfixed\n";
/// The file that the coder and the fixer write.
pub const FILE: &str = "login.txt";
/// The path of the plan.
pub const PLAN_FILE: &str = "plan.md";
/// A plan with one task.
pub const PLAN: &str = "One step.\n\n```json tasks\n[{\"id\": \"a\", \"title\": \"A\", \"description\": \"do a\", \"acceptance\": [\"a is done\"], \"depends_on\": [], \"paths\": []}]\n```\n";
/// The text that the person adds to the plan by hand.
pub const HERS: &str = "By Ann.\n";
/// The request of the person.
pub const WISH: &str = "Please mention the tests.";

/// The maximum number of idle waits before a run that does not end is given up.
const MOST_WAITS: u32 = 300;

/// A world, and how often an agent began to write in it.
pub struct Scene {
    pub world: FakeWorld,
    pub writers: Arc<AtomicU32>,
}

/// The moment of a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    BeforeAppend,
    AfterAppend,
    AfterClaim,
}

impl Crashes {
    pub fn at(self, number: u32) -> CrashPoint {
        match self {
            Crashes::BeforeAppend => CrashPoint::BeforeAppend(number),
            Crashes::AfterAppend => CrashPoint::AfterAppend(number),
            Crashes::AfterClaim => CrashPoint::AfterClaim(number),
        }
    }
}

pub fn run_id() -> RunId {
    RunId::new("r20261116-0900-aaaaa")
}

impl Scene {
    pub fn new() -> Self {
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let files = Files::from([("readme.txt".to_owned(), "hello\n".to_owned())]);
        let world = FakeWorld::new(now, files);
        let writers = Arc::new(AtomicU32::new(0));
        let counted = |work: fn(&AgentTurn) -> AgentWork| {
            let writers = writers.clone();
            move |turn: &AgentTurn| {
                writers.fetch_add(1, Ordering::SeqCst);
                work(turn)
            }
        };
        let agents = &world.agents;
        agents.script(Role::Namer, |_| {
            AgentWork::answer(r#"{"pr_title": "Fix the login", "branch_name": "fix-login"}"#)
        });
        agents.script(
            Role::Coder,
            counted(|_| AgentWork::answer("Done.").write(FILE, BUGGY)),
        );
        agents.script(
            Role::Planner,
            counted(|_| AgentWork::answer("Done.").write(PLAN_FILE, PLAN)),
        );
        agents.script(Role::Reviewer, review);
        agents.script(Role::Fixer, counted(fix));
        Self { world, writers }
    }

    /// A scene in which Ann pushes a conflicting change of the plan while the fixer works.
    pub fn with_conflict() -> Self {
        let scene = Self::new();
        let repository = scene.world.repository.clone();
        let writers = scene.writers.clone();
        scene.world.agents.script(Role::Fixer, move |turn| {
            writers.fetch_add(1, Ordering::SeqCst);
            let plan = |head: Option<String>| {
                let files = head.and_then(|head| repository.files_of(&head));
                files
                    .unwrap_or_default()
                    .remove(PLAN_FILE)
                    .unwrap_or_default()
            };
            if !turn.input.conflicts.is_empty() {
                let ours = plan(repository.branch("fix-login"));
                return AgentWork::answer("Resolved.").write(PLAN_FILE, &format!("{HERS}{ours}"));
            }
            let theirs = plan(repository.remote_branch("origin", "fix-login"));
            if !theirs.contains(HERS) {
                let text = format!("{HERS}{theirs}");
                repository.person_pushes("origin", "fix-login", PLAN_FILE, &text);
            }
            fix(turn)
        });
        scene
    }

    /// Starts a spawn or a team in a new process. `None` if the process died.
    pub fn execute(&self, request: Request, crash: Option<CrashPoint>) -> Option<Run> {
        let owner = self.world.start_owner(crash);
        let cancel = CancelToken::new();
        let performer = Idle::new(&owner, &self.world, &cancel);
        let (journal, who) = (owner.journal(), &owner.process);
        let run = start::execute(request, &run_id(), journal, who, &performer, &cancel);
        ended(&owner, run)
    }

    /// Runs the recovery of the next command.
    pub fn recover(&self, crash: Option<CrashPoint>) -> Option<()> {
        let owner = self.world.start_owner(crash);
        let cancel = CancelToken::new();
        let performer = Idle::new(&owner, &self.world, &cancel);
        let recovered = recovery::sweep(owner.journal(), &owner.process, &performer, &cancel);
        if !owner.process.is_alive() {
            return None;
        }
        let recovered = recovered.expect("the journal can be read");
        assert!(recovered.failed.is_empty(), "{:?}", recovered.failed);
        Some(())
    }

    /// Continues the run as a person, in a new process. `None` if the process died.
    pub fn resume(&self, crash: Option<CrashPoint>) -> Option<Run> {
        let owner = self.world.start_owner(crash);
        let cancel = CancelToken::new();
        let performer = Idle::new(&owner, &self.world, &cancel);
        let (journal, who) = (owner.journal(), &owner.process);
        let run = resume::resume(&run_id(), None, journal, who, &performer, &cancel);
        ended(&owner, run)
    }

    /// Gives the ended run another task as a person, in a new process. `None` if the process died.
    pub fn give_more(&self, crash: Option<CrashPoint>) -> Option<Run> {
        let owner = self.world.start_owner(crash);
        let cancel = CancelToken::new();
        let performer = Idle::new(&owner, &self.world, &cancel);
        let (journal, who) = (owner.journal(), &owner.process);
        let task = "Mention the tests".to_owned();
        let run = resume::give_more(&run_id(), task, journal, who, &performer, &cancel);
        ended(&owner, run)
    }

    /// Enters a cruise unless it exists, and owns it in a new process until it ends. `None` if the
    /// process died.
    pub fn cruise(&self, request: &Request, crash: Option<CrashPoint>) -> Option<Run> {
        let owner = self.world.start_owner(crash);
        let cancel = CancelToken::new();
        let performer = Idle::new(&owner, &self.world, &cancel);
        let service = service(&owner, &performer, &cancel);
        let run = service
            .enter(&run_id(), request.clone())
            .and_then(|()| service.resume(&run_id()));
        ended(&owner, run)
    }

    /// The run according to the journal.
    pub fn run(&self) -> Option<Run> {
        self.world.store.load(&run_id()).unwrap()
    }
}

pub fn service<'a>(
    owner: &'a FakeOwner,
    performer: &'a dyn Performer,
    cancel: &'a CancelToken,
) -> CruiseService<'a> {
    CruiseService {
        journal: owner.journal(),
        whoami: &owner.process,
        performer,
        cancel,
        hints: None,
    }
}

fn ended(owner: &FakeOwner, run: Result<Run, Problem>) -> Option<Run> {
    if owner.process.is_alive() {
        Some(run.expect("a living owner brings its run to its end"))
    } else {
        assert!(run.is_err(), "a dead process reports nothing");
        None
    }
}

/// The security review requests a fix while there is something to fix; all others approve.
fn review(turn: &AgentTurn) -> AgentWork {
    let is_buggy = turn.files.get(FILE).is_some_and(|text| text == BUGGY);
    if turn.domain.as_deref() != Some("Security") || !is_buggy {
        return AgentWork::answer(r#"{"verdict": "approved", "suggestions": []}"#);
    }
    AgentWork::answer(format!(
        r#"{{"verdict": "needs_changes", "suggestions": [{{"file": "{FILE}", "line": 2, "issue": "a bug", "severity": "major", "confidence": 95}}]}}"#
    ))
}

/// Fixes the file, or adds a line to the plan for each comment that is not in it yet.
fn fix(turn: &AgentTurn) -> AgentWork {
    let comments = &turn.input.comments;
    let answers: Vec<String> = comments
        .iter()
        .map(|one| {
            format!(
                r#"{{"id": "{}", "action": "fixed", "note": "done"}}"#,
                one.id
            )
        })
        .collect();
    let work = AgentWork::answer(format!(r#"{{"comments": [{}]}}"#, answers.join(", ")));
    let Some(plan) = turn.files.get(PLAN_FILE) else {
        return work.write(FILE, FIXED);
    };
    let lines = comments.iter().map(|one| format!("Re {}.\n", one.id));
    let new: String = lines.filter(|line| !plan.contains(line)).collect();
    // The agent commits itself: a crash afterwards must neither lose nor repeat the commit.
    work.write(PLAN_FILE, &format!("{new}{plan}")).commit()
}

/// Performs effects, and advances the time whenever its run only waits.
pub struct Idle<'a> {
    inner: World<'a>,
    world: &'a FakeWorld,
    cancel: &'a CancelToken,
    waits: AtomicU32,
    /// The repository for which hints arrive instead of the time advancing.
    repository: Option<&'a str>,
}

impl<'a> Idle<'a> {
    pub fn new(owner: &'a FakeOwner, world: &'a FakeWorld, cancel: &'a CancelToken) -> Self {
        Self {
            inner: owner.performer(),
            world,
            cancel,
            waits: AtomicU32::new(0),
            repository: None,
        }
    }

    /// The same, but whenever its run only waits, a hint of the forge arrives and the time stands still.
    #[must_use]
    pub fn with_hints(mut self, repository: &'a str) -> Self {
        self.repository = Some(repository);
        self
    }

    fn nudge(&self, repository: &str, run: &Run) {
        if let Some(pr) = &run.work.pull_request {
            let nudge = Nudge {
                repository: repository.to_owned(),
                pr: pr.number,
            };
            self.world.nudges.nudge(nudge).unwrap();
        }
    }
}

impl Performer for Idle<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        self.inner.perform(task)
    }

    fn changed(&self, run: &Run) {
        self.inner.changed(run);
        let next = run.timers.values().min().copied();
        // A root that waits for its children is idle too, but they work.
        let is_idle = run.is_active() && run.pending.is_empty() && !run.has_live_children();
        if let (true, Some(next)) = (is_idle, next) {
            person_acts(self.world);
            if self.waits.fetch_add(1, Ordering::SeqCst) > MOST_WAITS {
                self.cancel.cancel(Urgency::Graceful);
            }
            match self.repository {
                Some(repository) => self.nudge(repository, run),
                None => self.world.clock.advance_to(next),
            }
        }
    }
}

/// Ann requests one change on each pull request, and approves after she got her answer.
pub fn person_acts(world: &FakeWorld) {
    let forge = &world.forge;
    for pr in forge.pull_requests() {
        let comments = forge.comments();
        let mut hers = comments
            .iter()
            .filter(|one| one.pr == pr.number && one.author.login.as_deref() == Some("ann"));
        let Some(wish) = hers.clone().find(|one| one.body == WISH) else {
            forge.person_comments("ann", pr.number, WISH);
            continue;
        };
        let is_answered = !forge.replies_to(wish.key.comment()).is_empty();
        let is_approved =
            hers.any(|one| one.review.is_some() && one.commit.as_ref() == Some(&pr.head_sha));
        if is_answered && !is_approved {
            forge.person_approves("ann", pr.number);
        }
    }
}
