//! The GitHub adapter with the simulator and a simulated clock, for tests.

pub mod operations;

use drive_adapters::forge::github::{
    Bounds, Endpoint, GitHub, HttpCache, MemoryBudgets, MemoryCache, Pause, Route, Surroundings,
    Token,
};
use drive_core::forge::{CommentRef, Permission, ReviewState};
use drive_core::ids::PrNumber;
use drive_engine::CancelToken;
use drive_engine::ports::{Forge, Reaction, StatusState};
use drive_testkit::forge_contract::ForgeFixture;
use drive_testkit::github::{Fault, FaultKind, SimClock, Simulator};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub const REPO: &str = "acme/widgets";

/// A pause that only advances the simulated clock.
pub struct SimPause(pub SimClock);

impl Pause for SimPause {
    fn pause(&self, wait: Duration, _: &CancelToken) {
        self.0.advance(wait);
    }
}

pub struct Hub {
    pub simulator: Simulator,
    pub forge: GitHub,
    pub cache: Arc<MemoryCache>,
}

impl Hub {
    /// A new simulator with one repository, and the adapter for it.
    pub fn start() -> Self {
        let simulator = Simulator::start();
        simulator.add_repo("acme", "widgets");
        let cache = Arc::new(MemoryCache::default());
        let forge = adapter(&simulator, &simulator.api_url(), cache.clone());
        Self {
            simulator,
            forge,
            cache,
        }
    }
}

/// The adapter with this cache.
pub fn adapter(simulator: &Simulator, api_url: &str, cache: Arc<dyn HttpCache>) -> GitHub {
    let clock = simulator.clock().clone();
    GitHub::new(
        Endpoint::new(api_url, REPO).unwrap(),
        Token::new(Simulator::TOKEN).unwrap(),
        Bounds {
            deadline: Duration::from_millis(1500),
            body_bytes: 8 * 1024 * 1024,
        },
        Route::Direct,
        Surroundings {
            cache,
            budgets: Arc::new(MemoryBudgets::default()),
            clock: Arc::new(clock.clone()),
            pause: Arc::new(SimPause(clock)),
            cancel: CancelToken::new(),
        },
    )
}

impl Drop for Hub {
    /// Checks for every test that both sides adhere to GitHub's own description.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.simulator.violations(), Vec::<String>::new());
            let mut unlisted = self.simulator.operations();
            unlisted.retain(|asked| !operations::CALLED.contains(&asked.as_str()));
            assert_eq!(unlisted, BTreeSet::new());
        }
    }
}

impl ForgeFixture for Hub {
    fn forge(&self) -> &dyn Forge {
        &self.forge
    }

    fn push(&self, branch: &str, path: &str, content: &str) -> String {
        self.simulator.push_file(REPO, branch, path, content)
    }

    fn add_person(&self, login: &str, permission: Permission) {
        self.simulator.add_person(REPO, login, permission);
    }

    fn comment(&self, by: &str, pr: PrNumber, body: &str) -> CommentRef {
        self.simulator.comment(REPO, by, pr.get(), body)
    }

    fn comment_on_line(
        &self,
        by: &str,
        pr: PrNumber,
        path: &str,
        line: u64,
        body: &str,
    ) -> CommentRef {
        self.simulator
            .comment_on_line(REPO, by, pr.get(), path, line, body)
    }

    fn review(&self, by: &str, pr: PrNumber, state: ReviewState, body: &str) -> CommentRef {
        self.simulator.review(REPO, by, pr.get(), state, body)
    }

    fn edit(&self, _: PrNumber, comment: CommentRef, body: &str) {
        self.simulator.edit(REPO, comment, body);
    }

    fn delete(&self, _: PrNumber, comment: CommentRef) {
        self.simulator.delete(REPO, comment);
    }

    fn pass_time(&self) {
        self.simulator.clock().advance(Duration::from_secs(600));
    }

    fn lose_next_answer(&self) {
        for method in ["POST", "PUT"] {
            let kind = FaultKind::BadGatewayAfterApplying;
            self.simulator.inject(Fault::next(method, "/repos/", kind));
        }
    }

    fn statuses(&self, sha: &str) -> Vec<(String, StatusState)> {
        let state = |word: &str| match word {
            "pending" => StatusState::Pending,
            "success" => StatusState::Success,
            "failure" => StatusState::Failure,
            _ => StatusState::Error,
        };
        let statuses = self.simulator.statuses(REPO, sha).into_iter();
        statuses.map(|(name, word)| (name, state(&word))).collect()
    }

    fn reactions(&self, _: PrNumber, comment: CommentRef) -> Vec<Reaction> {
        let words = self.simulator.reactions(REPO, comment);
        words
            .iter()
            .map(|word| match word.as_str() {
                "eyes" => Reaction::Eyes,
                "+1" => Reaction::ThumbsUp,
                _ => Reaction::Confused,
            })
            .collect()
    }

    fn is_resolved(&self, _: PrNumber, comment: CommentRef) -> bool {
        self.simulator.is_resolved(REPO, comment)
    }
}
