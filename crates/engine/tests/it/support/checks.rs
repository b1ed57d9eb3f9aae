use super::{FILE, PLAN_FILE, Scene, run_id};
use drive_core::forge::Surface;
use drive_core::problem::Kind;
use drive_core::run::{OutcomeStatus, fold};
use drive_engine::fakes::FakeAgents;
use drive_engine::ports::Store;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Asserts what must be true for every run that has ended, whatever happened before.
pub fn assert_nothing_is_lost(scene: &Scene, when: &str) {
    let (world, repository) = (&scene.world, &scene.world.repository);
    assert_eq!(world.machine.overlaps(), Vec::<String>::new(), "{when}");
    assert_eq!(
        world.machine.running_agents(),
        0,
        "{when}: an agent was left running"
    );
    assert_eq!(
        repository.sandboxes(),
        Vec::new(),
        "{when}: a sandbox was left"
    );
    assert_eq!(repository.lost_commits(), Vec::<String>::new(), "{when}");
    assert!(
        world.forge.pull_requests().len() <= 1,
        "{when}: two pull requests"
    );
    if scene.writers.load(Ordering::SeqCst) > 0 {
        let mut saved = repository.versions_of(FILE);
        saved.extend(repository.versions_of(PLAN_FILE));
        assert!(
            !saved.is_empty(),
            "{when}: what the agent wrote is saved nowhere"
        );
    }
    for (branch, sha) in branches(scene) {
        let files = repository.files_of(&sha).unwrap_or_default();
        let half = files
            .iter()
            .find(|(_, text)| FakeAgents::is_half_written(text));
        assert_eq!(half, None, "{when}: `{branch}` holds half of a file");
    }
    for (post, count) in posts(scene) {
        // A run that stops and continues several times says so each time.
        if post.1.contains("`drive runs resume") || post.1.contains("` continues") {
            continue;
        }
        assert_eq!(count, 1, "{when}: posted more than once: {post:?}");
    }
    for comment in world.forge.comments() {
        let replies = world.forge.replies_to(comment.key.comment());
        assert!(replies.len() <= 1, "{when}: answered twice: {replies:?}");
    }
    assert_journal_is_the_state(scene, when);
}

/// Asserts that the state matches the journal, and that an ended run has nothing left to do.
fn assert_journal_is_the_state(scene: &Scene, when: &str) {
    let store = &scene.world.store;
    let Some(run) = scene.run() else {
        return;
    };
    let entries = store.journal(&run_id()).unwrap();
    let events = entries.into_iter().map(|entry| (entry.event, entry.at));
    assert_eq!(fold(run_id(), events).unwrap(), run, "{when}");
    assert!(!run.is_active(), "{when}: the run did not end");
    assert_eq!(store.outbox(&run_id()), BTreeMap::new(), "{when}");
    assert_eq!(store.timers(&run_id()), BTreeMap::new(), "{when}");
}

/// Every branch, local and remote.
fn branches(scene: &Scene) -> Vec<(String, String)> {
    let repository = &scene.world.repository;
    let names = ["main", "fix-login"];
    let here = names.map(|name| (name.to_owned(), repository.branch(name)));
    let there = names.map(|name| {
        (
            format!("origin/{name}"),
            repository.remote_branch("origin", name),
        )
    });
    let all = here.into_iter().chain(there);
    all.filter_map(|(name, sha)| Some((name, sha?))).collect()
}

/// How often drive posted each visible text, by where it was posted.
pub fn posts(scene: &Scene) -> BTreeMap<(Surface, String), u32> {
    let mut posts = BTreeMap::new();
    for comment in scene.world.forge.comments() {
        if comment.author.login.as_deref() == Some("me") {
            let visible = comment.body.split("<!-- drive").next().unwrap_or_default();
            *posts
                .entry((comment.key.surface, visible.to_owned()))
                .or_default() += 1;
        }
    }
    posts
}

/// Asserts that recovery ended a run at its last state, or as it was about to end.
pub fn assert_recovered(scene: &Scene, when: &str) {
    assert_nothing_is_lost(scene, when);
    let Some(run) = scene.run() else {
        let journal = scene.world.store.journal(&run_id()).unwrap();
        assert_eq!(journal, [], "{when}");
        assert_eq!(scene.world.agents.turns().len(), 0, "{when}");
        return;
    };
    let outcome = run.outcome.unwrap();
    let failure = outcome.failure.map(|problem| problem.kind);
    let expected = if outcome.status == OutcomeStatus::Succeeded {
        None
    } else {
        Some(Kind::OwnerLost)
    };
    assert_eq!(failure, expected, "{when}: {:?}", outcome.status);
}
