//! Tests the limits of a token, the cost of requests, and what is never shown.

use crate::github_support::{Hub, REPO, SimPause, adapter};
use drive_adapters::forge::github::{
    Bounds, Endpoint, GitHub, MemoryBudgets, MemoryCache, Route, Surroundings, Token,
};
use drive_adapters::store::{Database, SqliteForgeMemory};
use drive_core::forge::{Permission, PullRequest, ReviewState};
use drive_core::ids::{BranchName, PrNumber};
use drive_core::problem::Kind;
use drive_engine::CancelToken;
use drive_engine::ports::{Clock, Forge, NewPullRequest, Post, Since};
use drive_testkit::forge_contract::ForgeFixture;
use drive_testkit::github::{Fault, FaultKind, Simulator};
use std::sync::Arc;
use std::time::Duration;

fn open(hub: &Hub, branch: &str) -> PullRequest {
    hub.push(branch, "src/lib.rs", "one\ntwo\nthree\n");
    let new = NewPullRequest {
        title: "Work".to_owned(),
        body: "What it does.".to_owned(),
        branch: BranchName::parse(branch).unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: false,
    };
    hub.forge.open(&new).unwrap()
}

fn of_repo(simulator: &Simulator, repo: &str, token: &str, around: Surroundings) -> GitHub {
    GitHub::new(
        Endpoint::new(&simulator.api_url(), repo).unwrap(),
        Token::new(token).unwrap(),
        Bounds::default(),
        Route::Direct,
        around,
    )
}

fn around(simulator: &Simulator) -> Surroundings {
    let clock = simulator.clock().clone();
    Surroundings {
        cache: Arc::new(MemoryCache::default()),
        budgets: Arc::new(MemoryBudgets::default()),
        clock: Arc::new(clock.clone()),
        pause: Arc::new(SimPause(clock)),
        cancel: CancelToken::new(),
    }
}

#[test]
fn a_write_that_will_wait_longer_than_a_moment_is_known_before_it_is_sent() {
    let hub = Hub::start();
    let around = around(&hub.simulator);
    let (budgets, clock) = (around.budgets.clone(), hub.simulator.clock().clone());
    let forge = of_repo(&hub.simulator, REPO, Simulator::TOKEN, around);
    let identity = Token::new(Simulator::TOKEN).unwrap().fingerprint();
    let book = || budgets.book_write(&identity, clock.now()).unwrap();
    assert_eq!(forge.writes_wait_until(), None);
    // Five are sent at once, and two more within two seconds: the next one waits three seconds.
    for _ in 0..7 {
        book();
    }
    assert_eq!(forge.writes_wait_until(), None);
    for _ in 0..5 {
        book();
    }
    let turn = forge.writes_wait_until().expect("a wait");
    assert_eq!(turn.as_second() - clock.now().as_second(), 8);
    clock.advance(Duration::from_secs(60));
    assert_eq!(forge.writes_wait_until(), None);
}

/// The requests of one more poll that count, after everything was read.
fn idle_poll(simulator: &Simulator, repo: &str, pulls: u64) -> (usize, usize) {
    let forge = of_repo(simulator, repo, Simulator::TOKEN, around(simulator));
    let watched: Vec<PrNumber> = (1..=pulls).map(PrNumber::new).collect();
    let since = Since(Some(simulator.clock().now()));
    let mut polled = forge.poll(&watched, since).unwrap();
    simulator.clock().advance(Duration::from_secs(300));
    polled = forge.poll(&watched, polled.next).unwrap();
    simulator.clock().advance(Duration::from_secs(300));
    simulator.forget_requests();
    forge.poll(&watched, polled.next).unwrap();
    let requests = simulator.requests();
    let counted = requests.iter().filter(|request| request.counts()).count();
    (requests.len(), counted)
}

#[test]
fn a_hundred_watched_pull_requests_cost_as_many_requests_as_one_and_idle_ones_nothing() {
    let simulator = Simulator::start();
    simulator.add_quiet_repo("acme", "one", 1);
    simulator.add_quiet_repo("acme", "hundred", 100);
    simulator.clock().advance(Duration::from_secs(3600));
    assert_eq!(idle_poll(&simulator, "acme/one", 1), (3, 0));
    assert_eq!(idle_poll(&simulator, "acme/hundred", 100), (3, 0));
    assert_eq!(simulator.violations(), Vec::<String>::new());
}

#[test]
fn answers_are_kept_across_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let memory = || {
        let database = Database::open(&dir.path().join("drive.sqlite3")).unwrap();
        Arc::new(SqliteForgeMemory::new(Arc::new(database)))
    };
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    hub.comment("wim", pr, "please fix");
    hub.review("wim", pr, ReviewState::Approved, "fine");
    hub.pass_time();
    let start = Since(Some(hub.simulator.clock().now()));
    let url = hub.simulator.api_url();
    let before = adapter(&hub.simulator, &url, memory()).poll(&[pr], start);
    hub.simulator.forget_requests();
    let after = adapter(&hub.simulator, &url, memory()).poll(&[pr], start);
    assert_eq!(before, after);
    let statuses: Vec<u16> = hub.simulator.requests().iter().map(|r| r.status).collect();
    assert_eq!(statuses, [304, 304, 304]);
}

#[test]
fn another_token_never_gets_the_answers_of_the_first() {
    let hub = Hub::start();
    let pr = open(&hub, "feat/x").number;
    hub.forge.fetch(pr).unwrap();
    hub.simulator.add_token("ghs_other", "rita");
    let shared = Surroundings {
        cache: hub.cache.clone(),
        ..around(&hub.simulator)
    };
    let other = of_repo(&hub.simulator, REPO, "ghs_other", shared);
    hub.simulator.forget_requests();
    other.fetch(pr).unwrap();
    let statuses: Vec<u16> = hub.simulator.requests().iter().map(|r| r.status).collect();
    assert_eq!(statuses, [200]);
}

#[test]
fn a_hundred_posts_keep_the_pace_and_are_never_refused() {
    let hub = Hub::start();
    let pr = open(&hub, "feat/x").number;
    let start = hub.simulator.clock().now();
    for n in 0..100 {
        let marker = format!("<!-- drive:{n} -->");
        let post = Post {
            body: "words",
            marker: &marker,
        };
        hub.forge.post(pr, post).unwrap();
    }
    let refused = hub.simulator.requests();
    let refused = refused.iter().filter(|r| r.status == 403).count();
    assert_eq!(refused, 0);
    let took = hub.simulator.clock().now().duration_since(start);
    // The first few are sent at once: opening the pull request was one of them.
    assert!(took.as_secs() >= 95, "{took:?}");
}

#[test]
fn a_secondary_limit_is_waited_for_and_nothing_is_sent_meanwhile() {
    let hub = Hub::start();
    let pr = open(&hub, "feat/x").number;
    hub.simulator.forget_requests();
    let kind = FaultKind::SecondaryLimit(45);
    hub.simulator.inject(Fault::next("POST", "/comments", kind));
    let start = hub.simulator.clock().now();
    let post = Post {
        body: "words",
        marker: "<!-- drive:1 -->",
    };
    hub.forge.post(pr, post).unwrap();
    let took = hub.simulator.clock().now().duration_since(start);
    assert!(took.as_secs() >= 45, "{took:?}");
    let sent: Vec<(String, u16)> = hub
        .simulator
        .requests()
        .into_iter()
        .map(|request| (request.method, request.status))
        .collect();
    let expected = [("GET", 200), ("POST", 403), ("POST", 201)];
    assert_eq!(
        sent,
        expected.map(|(method, status)| (method.to_owned(), status))
    );
}

#[test]
fn an_empty_budget_of_the_other_api_keeps_no_comment_away_and_is_not_asked_against() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    let since = hub.forge.poll(&[pr], Since(None)).unwrap().next;
    hub.pass_time();
    let talk = hub.comment("wim", pr, "please fix");
    let review = hub.review("wim", pr, ReviewState::Commented, "all in all");
    hub.simulator
        .inject(Fault::next("POST", "/graphql", FaultKind::PrimaryLimit));
    hub.simulator.forget_requests();
    let poll = |since| {
        let polled = hub.forge.poll(&[pr], since).unwrap();
        let found = polled.comments.iter().map(|c| c.key.comment());
        (found.collect::<Vec<_>>(), polled.next)
    };
    assert_eq!(poll(since), (vec![talk], since));
    assert_eq!(poll(since), (vec![talk], since));
    let queries = hub.simulator.requests();
    let queries = queries
        .iter()
        .filter(|one| one.target == "/graphql")
        .count();
    assert_eq!(queries, 1);
    hub.simulator.clock().advance(Duration::from_secs(3601));
    let (found, next) = poll(since);
    assert_eq!(found, [talk, review]);
    assert!(next.0 > since.0);
}

#[test]
fn an_empty_budget_is_a_typed_problem_that_all_processes_share() {
    let hub = Hub::start();
    let dir = tempfile::tempdir().unwrap();
    let process = || {
        let database = Database::open(&dir.path().join("drive.sqlite3")).unwrap();
        let memory = Arc::new(SqliteForgeMemory::new(Arc::new(database)));
        let shared = Surroundings {
            cache: memory.clone(),
            budgets: memory,
            ..around(&hub.simulator)
        };
        of_repo(&hub.simulator, REPO, Simulator::TOKEN, shared)
    };
    let pr = open(&hub, "feat/x").number;
    let (one, other) = (process(), process());
    one.fetch(pr).unwrap();
    let budget = other.budget().unwrap().unwrap();
    assert_eq!(budget.limit, 5000);
    assert!((4980..5000).contains(&budget.remaining), "{budget:?}");

    hub.simulator
        .inject(Fault::next("GET", "/pulls/1", FaultKind::PrimaryLimit));
    assert_eq!(one.fetch(pr).unwrap_err().kind, Kind::RateLimited);
    hub.simulator.forget_requests();
    assert_eq!(other.fetch(pr).unwrap_err().kind, Kind::RateLimited);
    assert_eq!(hub.simulator.requests(), []);
    assert_eq!(other.budget().unwrap().unwrap().remaining, 0);

    hub.simulator.clock().advance(Duration::from_secs(3601));
    other.fetch(pr).unwrap();
    assert_eq!(one.budget().unwrap().unwrap().paused_until, None);
}

#[test]
fn an_enterprise_server_works_below_its_own_path() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let url = hub.simulator.enterprise_api_url();
    let forge = adapter(&hub.simulator, &url, Arc::new(MemoryCache::default()));
    let pr = open(&hub, "feat/x").number;
    for n in 0..150 {
        hub.comment("wim", pr, &format!("remark {n}"));
    }
    hub.review("wim", pr, ReviewState::Approved, "fine");
    let polled = forge.poll(&[pr], Since(None)).unwrap();
    assert_eq!(polled.comments.len(), 151);
    let post = Post {
        body: "words",
        marker: "<!-- drive:1 -->",
    };
    forge.post(pr, post).unwrap();
}

#[test]
fn a_comment_of_a_deleted_account_still_arrives() {
    let hub = Hub::start();
    hub.add_person("gone", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    hub.comment("gone", pr, "please fix");
    hub.comment_on_line("gone", pr, "src/lib.rs", 1, "this");
    hub.review("gone", pr, ReviewState::Commented, "all in all");
    hub.simulator.delete_account("gone");
    let polled = hub.forge.poll(&[pr], Since(None)).unwrap();
    let authors: Vec<_> = polled
        .comments
        .into_iter()
        .map(|c| c.author.login)
        .collect();
    assert_eq!(authors, [None, None, None]);
}

#[test]
fn a_bot_has_the_same_name_on_every_surface() {
    let hub = Hub::start();
    hub.add_person("robot[bot]", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    hub.comment("robot[bot]", pr, "one");
    hub.comment_on_line("robot[bot]", pr, "src/lib.rs", 1, "two");
    hub.review("robot[bot]", pr, ReviewState::Commented, "three");
    let polled = hub.forge.poll(&[pr], Since(None)).unwrap();
    let authors: Vec<_> = polled
        .comments
        .into_iter()
        .map(|c| (c.author.login.unwrap(), c.author.is_bot))
        .collect();
    assert_eq!(authors, vec![("robot[bot]".to_owned(), true); 3]);
}

#[test]
fn a_line_that_a_push_moved_away_is_outdated_and_still_told() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x");
    hub.comment_on_line("wim", pr.number, "src/lib.rs", 3, "this");
    hub.push("feat/x", "src/lib.rs", "one\n");
    let polled = hub.forge.poll(&[pr.number], Since(None)).unwrap();
    let seen: Vec<_> = polled
        .comments
        .into_iter()
        .map(|c| (c.path.unwrap(), c.line, c.commit.unwrap()))
        .collect();
    assert_eq!(seen, [("src/lib.rs".to_owned(), None, pr.head_sha)]);
}

#[test]
fn an_outdated_comment_on_lines_tells_both_ends_and_the_hunk_it_was_written_on() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    hub.simulator
        .comment_on_lines(REPO, "wim", pr.get(), "src/lib.rs", 2..=3, "these");
    hub.push("feat/x", "src/lib.rs", "one\n");
    let polled = hub.forge.poll(&[pr], Since(None)).unwrap();
    let comment = &polled.comments[0];
    let origin = comment.origin.as_ref().unwrap();
    assert_eq!(
        (comment.line, origin.first_line, origin.line),
        (None, Some(2), 3)
    );
    let hunk = origin.hunk.as_deref().unwrap();
    assert!(hunk.starts_with("@@ ") && hunk.ends_with("three"), "{hunk}");
}

#[test]
fn the_token_is_in_no_problem_and_no_debug_output() {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    let secret = "ghp_top_secret";
    let forge = of_repo(&simulator, REPO, secret, around(&simulator));
    let problem = forge.fetch(PrNumber::new(1)).unwrap_err();
    assert_eq!(problem.kind, Kind::ForgeToken);
    assert!(!format!("{problem:?}").contains("top_secret"));
    let nowhere = GitHub::new(
        Endpoint::new("http://127.0.0.1:1", REPO).unwrap(),
        Token::new(secret).unwrap(),
        Bounds::default(),
        Route::Direct,
        around(&simulator),
    );
    let problem = nowhere.fetch(PrNumber::new(1)).unwrap_err();
    assert_eq!(problem.kind, Kind::ForgeUnreachable);
    assert!(!format!("{problem:?}").contains("top_secret"));
}
