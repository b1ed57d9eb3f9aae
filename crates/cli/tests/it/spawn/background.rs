//! Runs and verifications that another process works on, and what they leave.

use crate::document;
use crate::spawn::support::{World, text};
use serde_json::Value;
use std::time::{Duration, Instant};

/// No wait of a test is longer; reaching it is a failure.
const HANG: Duration = Duration::from_secs(120);

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < HANG, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn shown(world: &World, id: &str) -> Value {
    world.drive(&["runs", "show", id, "--json"]).document()
}

#[test]
fn a_detached_spawn_names_its_run_and_goes_on_in_the_background() {
    let world = World::with_agent("");
    let go = world.path("go");
    world.program(
        "script",
        &format!("cat > /dev/null; while [ ! -e {go:?} ]; do sleep 0.1; done; echo x > x.txt"),
    );
    world.settings("[sandbox]\nisolation = \"off\"\n");
    let detached = world.drive(&["spawn", "Write x", "--branch", "mine", "--detach", "--json"]);
    assert_eq!(detached.code, Some(0), "{}", detached.stderr);
    let run = detached.document();
    let id = text(&run["runId"]);
    assert_eq!(
        (&run["status"], &run["kind"]),
        (&Value::Null, &"spawn".into())
    );
    assert!(run["pid"].is_u64(), "{run:#}");
    assert_eq!(shown(&world, &id)["state"], "running");
    // It takes part in every list, and can be followed and stopped by its id.
    let list = world.drive(&["runs", "list", "--state", "running"]);
    assert!(list.stdout.contains(&id), "{}", list.stdout);
    std::fs::write(&go, "").unwrap();
    let ended = until("the run does not end", || {
        let run = shown(&world, &id);
        (!run["status"].is_null()).then_some(run)
    });
    assert_eq!(ended["status"], "succeeded", "{ended:#}");
    assert_eq!(ended["branch"], "mine");
}

#[test]
fn a_detached_spawn_that_cannot_begin_fails_at_once() {
    let world = World::with_agent("true");
    let refused = world.drive(&["spawn", "x", "--agent", "nobody", "--detach", "--json"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_eq!(refused.document()["failure"]["kind"], "settingsInvalid");
    let runs = world.drive(&["runs", "list", "--json"]).document();
    assert_eq!(runs["runs"], serde_json::json!([]));
}

#[test]
fn a_verification_that_runs_is_listed_and_stopped_by_its_id() {
    let world = World::with_agent("true");
    std::fs::write(
        world.path("repo/drive.toml"),
        "[[verify.routes]]\npaths = [\"**\"]\ncompile = [\"sleep\", \"600\"]\ntargeted_tests = [\"true\"]\nstartup_smoke = [\"true\"]\n",
    )
    .unwrap();
    world.shell("cd repo && git add -A && git commit -qm rules");
    let mut verify = world.start(&["verify", "HEAD", "--json"]);
    let running = until("the verification is not listed", || {
        let list = world.drive(&["runs", "list", "--json"]).document();
        let one = list["runningVerifications"][0].clone();
        (one["stage"] != "starting" && one.is_object()).then_some(one)
    });
    assert_eq!(running["what"], "HEAD");
    let id = text(&running["runId"]);
    let list = world.drive(&["runs", "list"]).stdout;
    assert!(list.contains("verifying"), "{list}");
    assert!(
        list.contains(&format!("stop it with `drive runs stop {id}`")),
        "{list}"
    );
    let stopped = world.drive(&["runs", "stop", &id]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert_eq!(stopped.stdout, format!("verification {id} stopped\n"));
    let output = verify.wait().unwrap();
    assert_ne!(output.code(), Some(0));
    let list = world.drive(&["runs", "list", "--json"]).document();
    assert_eq!(list["runningVerifications"], serde_json::json!([]));
}

#[test]
fn pruning_shows_the_sandboxes_of_ended_runs_with_their_sizes_and_asks_first() {
    let world = World::with_agent("echo x > x.txt");
    let (code, run) = world.spawn(&["Write x", "--keep"]);
    assert_eq!(code, Some(0), "{run:#}");
    let id = text(&run["runId"]);
    let sandbox = std::path::PathBuf::from(text(&run["sandbox"]));
    let would = world
        .drive(&["sandbox", "prune", "--dry-run", "--json"])
        .document();
    assert_eq!(would["pruned"][0]["runId"], id.as_str());
    assert!(would["bytes"].as_u64().unwrap() > 0, "{would:#}");
    let young = world.drive(&["sandbox", "prune", "--older-than", "1d", "--yes", "--json"]);
    assert_eq!(young.document()["pruned"], serde_json::json!([]));
    let asked = world.drive(&["sandbox", "prune"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.stderr.contains("SIZE"), "{}", asked.stderr);
    assert!(sandbox.is_dir());
    let pruned = world.drive(&["sandbox", "prune", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(
        pruned.stdout.starts_with(&format!("removed  {id}\n")),
        "{}",
        pruned.stdout
    );
    assert!(!sandbox.exists());
    let _ = document::read(&world.drive(&["sandbox", "prune", "--yes", "--json"]).stdout);
}
