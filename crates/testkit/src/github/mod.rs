//! A GitHub to test against: REST and GraphQL with state, real git behind it, limits, faults on
//! demand, and GitHub's own description watching both sides.

mod actions;
mod apps;
mod arrange;
mod clock;
mod closing;
mod faults;
mod git;
mod graphql;
mod http;
mod interjections;
mod landing;
mod limits;
mod log;
mod merge_rules;
mod people;
mod people_checks;
mod renaming;
mod render;
mod rest;
mod rules;
mod schema;
mod server;
mod service;
mod state;
mod views;
mod webhooks;

pub use clock::SimClock;
pub use faults::{Fault, FaultKind};
pub use log::Logged;
pub use people::PullSeen;
pub use people_checks::SimCheckRun;
pub use views::SeenPull;
pub use webhooks::Delivery;

use drive_core::forge::CommentRef;
use drive_core::time::after;
use git::GitStore;
use schema::Schema;
use server::{Server, Shared};
use service::Service;
use state::World;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// The account of [`Simulator::TOKEN`].
pub const LOGIN: &str = "drive-bot";

/// A running GitHub. Dropping it ends it.
pub struct Simulator {
    service: Shared,
    server: Server,
    clock: SimClock,
    _folder: TempDir,
}

impl Simulator {
    /// A token that the simulator knows.
    pub const TOKEN: &'static str = "ghs_simulated";

    /// Starts one on a free loopback port, with no repository.
    pub fn start() -> Self {
        Self::start_at(SimClock::default())
    }

    /// Starts one that goes by `clock`.
    pub fn start_at(clock: SimClock) -> Self {
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => panic!("no temporary folder: {error}"),
        };
        let mut world = World::new(clock.clone());
        world.ensure_user(LOGIN);
        world
            .tokens
            .insert(Self::TOKEN.to_owned(), LOGIN.to_owned());
        let service = Arc::new(Mutex::new(Service {
            world,
            faults: Vec::new(),
            interjections: Vec::new(),
            limits: limits::Limits::default(),
            log: log::Log::default(),
            schema: Schema::load(),
            judging: true,
            git_root: folder.path().to_path_buf(),
        }));
        let server = match Server::start(Arc::clone(&service)) {
            Ok(server) => server,
            Err(error) => panic!("no loopback port: {error}"),
        };
        Self {
            service,
            server,
            clock,
            _folder: folder,
        }
    }

    /// Where it listens, such as `127.0.0.1:4711`.
    pub fn address(&self) -> String {
        self.server.address.to_string()
    }

    /// The base of its API, as github.com has it.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The base of its API, as an enterprise server has it.
    pub fn enterprise_api_url(&self) -> String {
        format!("http://{}/api/v3", self.address())
    }

    /// Where git clones from and pushes to.
    pub fn git_url(&self, repo: &str) -> String {
        format!("http://{}/{repo}.git", self.address())
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Lets GitHub's own clock run ahead (or behind) of everybody else's.
    pub fn skew(&self, seconds: i64) {
        self.lock().world.skew_seconds = seconds;
    }

    /// Lets no list show a comment for so long, as a cache that lags behind does.
    pub fn hide_for(&self, comment: CommentRef, time: Duration) {
        let mut service = self.lock();
        let until = after(service.world.now(), time);
        service.world.hidden.insert(comment.id.get(), until);
    }

    /// Gives every list in the reverse of the order that was asked for.
    pub fn reverse_lists(&self, reversed: bool) {
        self.lock().world.reversed = reversed;
    }

    /// Adds a failure that waits for its requests.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Failures that no request has met yet.
    pub fn pending_faults(&self) -> usize {
        self.lock().faults.len()
    }

    /// Requests an hour for one token.
    pub fn set_hourly_limit(&self, requests: u64) {
        self.lock().limits.hourly = requests;
    }

    /// One more token, of one more account.
    pub fn add_token(&self, token: &str, login: &str) {
        let mut service = self.lock();
        service.world.ensure_user(login);
        let tokens = &mut service.world.tokens;
        tokens.insert(token.to_owned(), login.to_owned());
    }

    /// A repository with real git and one commit on `main`.
    pub fn add_repo(&self, owner: &str, name: &str) {
        let mut service = self.lock();
        let git = GitStore::create(&service.git_root, owner, name);
        git.commit_file("main", "main", "README.md", "# A repository\n");
        service.world.add_repo(owner, name, git);
        let full_name = format!("{owner}/{name}");
        service.world.refresh_branches(&full_name);
        if let Some(repo) = service.world.repos.get_mut(&full_name) {
            repo.permissions.insert(LOGIN.to_owned(), "write");
        }
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Logged> {
        self.lock().log.requests.clone()
    }

    /// The operations of the REST API that were ever asked for, as GitHub's description names them.
    pub fn operations(&self) -> BTreeSet<String> {
        self.lock().log.operations.clone()
    }

    /// Stops holding both sides to GitHub's description, for measurements.
    pub fn stop_judging(&self) {
        self.lock().judging = false;
    }

    /// Forgets what was asked so far.
    pub fn forget_requests(&self) {
        self.lock().log.requests.clear();
    }

    /// Where a request or an answer did not keep to GitHub's description.
    pub fn violations(&self) -> Vec<String> {
        self.lock().log.violations.clone()
    }

    /// The deliveries that hooks have not been sent yet. Whoever takes them sends them: once, twice,
    /// late or never.
    pub fn take_deliveries(&self) -> Vec<Delivery> {
        webhooks::take(&mut self.lock().world)
    }

    fn lock(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compiles every validator of GitHub's description, and says how many there are.
pub fn compile_schema() -> usize {
    Schema::load().compile_all()
}
