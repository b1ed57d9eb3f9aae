//! A GitHub for tests: REST and GraphQL with state, backed by real git, with limits, injected
//! faults, and checks of both sides against GitHub's own description.

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

/// The login of the account of [`Simulator::TOKEN`].
pub const LOGIN: &str = "drive-bot";

/// A running GitHub simulator. Dropping it stops it.
pub struct Simulator {
    service: Shared,
    server: Server,
    clock: SimClock,
    _folder: TempDir,
}

impl Simulator {
    /// A token that the simulator accepts.
    pub const TOKEN: &'static str = "ghs_simulated";

    /// Starts a simulator without repositories on a free loopback port.
    pub fn start() -> Self {
        Self::start_at(SimClock::default())
    }

    /// Starts a simulator that uses `clock`.
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

    /// The address on which it listens, such as `127.0.0.1:4711`.
    pub fn address(&self) -> String {
        self.server.address.to_string()
    }

    /// The base URL of its API, in the form of github.com.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The base URL of its API, in the form of an enterprise server.
    pub fn enterprise_api_url(&self) -> String {
        format!("http://{}/api/v3", self.address())
    }

    /// The URL for git clones and pushes.
    pub fn git_url(&self, repo: &str) -> String {
        format!("http://{}/{repo}.git", self.address())
    }

    /// The clock that it uses.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Makes GitHub's own clock run ahead of (or behind) all others.
    pub fn skew(&self, seconds: i64) {
        self.lock().world.skew_seconds = seconds;
    }

    /// Hides a comment from all lists for this time, like a stale cache.
    pub fn hide_for(&self, comment: CommentRef, time: Duration) {
        let mut service = self.lock();
        let until = after(service.world.now(), time);
        service.world.hidden.insert(comment.id.get(), until);
    }

    /// Makes every list use the reverse of the requested order.
    pub fn reverse_lists(&self, reversed: bool) {
        self.lock().world.reversed = reversed;
    }

    /// Adds a failure that waits for its requests.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// The number of failures that no request has hit yet.
    pub fn pending_faults(&self) -> usize {
        self.lock().faults.len()
    }

    /// Sets the number of requests per hour for one token.
    pub fn set_hourly_limit(&self, requests: u64) {
        self.lock().limits.hourly = requests;
    }

    /// Adds a token for another account.
    pub fn add_token(&self, token: &str, login: &str) {
        let mut service = self.lock();
        service.world.ensure_user(login);
        let tokens = &mut service.world.tokens;
        tokens.insert(token.to_owned(), login.to_owned());
    }

    /// Adds a repository with real git and one commit on `main`.
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

    /// The requests so far.
    pub fn requests(&self) -> Vec<Logged> {
        self.lock().log.requests.clone()
    }

    /// The operations of the REST API that were requested, by their names in GitHub's description.
    pub fn operations(&self) -> BTreeSet<String> {
        self.lock().log.operations.clone()
    }

    /// Stops checking both sides against GitHub's description, for measurements.
    pub fn stop_judging(&self) {
        self.lock().judging = false;
    }

    /// Clears the request log.
    pub fn forget_requests(&self) {
        self.lock().log.requests.clear();
    }

    /// Violations of GitHub's description in requests or answers.
    pub fn violations(&self) -> Vec<String> {
        self.lock().log.violations.clone()
    }

    /// Takes the webhook deliveries that were not sent yet. The caller sends them: once, twice,
    /// late or never.
    pub fn take_deliveries(&self) -> Vec<Delivery> {
        webhooks::take(&mut self.lock().world)
    }

    fn lock(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compiles every validator of GitHub's description, and returns their number.
pub fn compile_schema() -> usize {
    Schema::load().compile_all()
}
