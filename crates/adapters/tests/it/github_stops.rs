//! Tests that a forge does not delay a stop: after the first stop nothing is retried, after the
//! second no answer is awaited.

use crate::github_support::REPO;
use drive_adapters::forge::github::{
    Bounds, Endpoint, GitHub, MemoryBudgets, MemoryCache, Route, Surroundings, ThreadPause, Token,
};
use drive_core::forge::PullRequest;
use drive_core::ids::BranchName;
use drive_core::problem::{Kind, Problem};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::ports::{Forge, NewPullRequest};
use drive_testkit::github::{Fault, FaultKind, Simulator};
use std::sync::Arc;
use std::thread::scope;
use std::time::{Duration, Instant};

/// The maximum wait of a test; reaching it is a failure.
const HANG: Duration = Duration::from_secs(120);
/// A time that no test reaches.
const NEVER: Duration = Duration::from_secs(100_000);

struct Scene {
    simulator: Simulator,
    forge: GitHub,
    cancel: CancelToken,
}

impl Scene {
    /// A repository with a branch for a pull request, and a forge that really waits.
    fn new(deadline: Duration) -> Self {
        let simulator = Simulator::start();
        simulator.add_repo("acme", "widgets");
        simulator.push_file(REPO, "feat/x", "src/lib.rs", "one\n");
        let cancel = CancelToken::new();
        let forge = GitHub::new(
            Endpoint::new(&simulator.api_url(), REPO).unwrap(),
            Token::new(Simulator::TOKEN).unwrap(),
            Bounds {
                deadline,
                ..Bounds::default()
            },
            Route::Direct,
            Surroundings {
                cache: Arc::new(MemoryCache::default()),
                budgets: Arc::new(MemoryBudgets::default()),
                clock: Arc::new(simulator.clock().clone()),
                pause: Arc::new(ThreadPause),
                cancel: cancel.clone(),
            },
        );
        Self {
            simulator,
            forge,
            cancel,
        }
    }

    fn open(&self) -> Result<PullRequest, Problem> {
        self.forge.open(&NewPullRequest {
            title: "Work".to_owned(),
            body: String::new(),
            branch: BranchName::parse("feat/x").unwrap(),
            base: BranchName::parse("main").unwrap(),
            draft: false,
        })
    }

    /// Opens a pull request, which meets this fault, and stops after that.
    fn stopped_at(&self, kind: FaultKind, urgency: Urgency) -> Problem {
        self.simulator.inject(Fault {
            times: 100,
            ..Fault::next("POST", "/pulls", kind)
        });
        scope(|threads| {
            let opening = threads.spawn(|| self.open());
            let begun = Instant::now();
            while self.posts() == 0 {
                assert!(begun.elapsed() < HANG, "it was never asked for");
                std::thread::sleep(Duration::from_millis(5));
            }
            self.cancel.cancel(urgency);
            opening.join().unwrap().unwrap_err()
        })
    }

    fn posts(&self) -> usize {
        let all = self.simulator.requests();
        all.iter().filter(|one| one.method == "POST").count()
    }
}

#[test]
fn an_answer_that_never_comes_is_not_waited_for_by_whoever_stops_at_once() {
    let scene = Scene::new(NEVER);
    let problem = scene.stopped_at(FaultKind::HangAfterApplying, Urgency::Now);
    let expected = Problem::new(
        Kind::Interrupted,
        format!(
            "interrupted while waiting for `{}`",
            scene.simulator.address()
        ),
    )
    .hint("the request may have been carried out: check the forge");
    assert_eq!(problem, expected);
    assert_eq!(scene.posts(), 1);
    // From then on no further request is sent.
    let asked = scene.simulator.requests().len();
    assert_eq!(scene.open().unwrap_err().kind, Kind::Interrupted);
    assert_eq!(scene.simulator.requests().len(), asked);
}

#[test]
fn whoever_stops_once_waits_for_the_answer_under_way_and_nothing_is_tried_again() {
    let scene = Scene::new(Duration::from_millis(1500));
    let problem = scene.stopped_at(FaultKind::HangAfterApplying, Urgency::Graceful);
    assert_eq!(problem.kind, Kind::ForgeTimeout);
    assert_eq!(scene.posts(), 1);
}

#[test]
fn a_pause_that_the_forge_asked_for_ends_with_a_stop() {
    let scene = Scene::new(Duration::from_secs(30));
    let problem = scene.stopped_at(FaultKind::SecondaryLimit(100), Urgency::Graceful);
    let expected = Problem::new(Kind::Interrupted, "interrupted while waiting for the forge")
        .hint("run the command again");
    assert_eq!(problem, expected);
    assert_eq!(scene.posts(), 1);
}
