//! Tests `drive runs stop`, which stops a run from another terminal.

use crate::spawn::stops::ended;
use crate::spawn::support::{World, text};

/// The id of the newest run.
fn newest(world: &World) -> String {
    let shown = world.drive(&["runs", "show", "--json"]).document();
    text(&shown["runId"])
}

#[test]
fn a_spawn_stopped_from_another_terminal_keeps_its_work_and_goes_on() {
    let world = World::with_agent(
        "if [ -e ../../go ]; then echo whole > whole.txt; exit 0; fi\necho half > half.txt; sleep 300",
    );
    let owner = world.start(&["spawn", "Work long", "--json"]);
    world.wait_for_file("half.txt");
    let id = newest(&world);
    let stopped = world.drive(&["runs", "stop", &id]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let lines: Vec<&str> = stopped.stdout.lines().collect();
    assert_eq!(lines[0], format!("run {id} stopped (cancelled)"));
    let saved = format!("saved    refs/drive/kept/{id}/1 (`drive kept restore {id}`)");
    assert!(lines.contains(&saved.as_str()), "{stopped:?}");
    let next = format!("continue drive runs resume {id}");
    assert_eq!(lines.last(), Some(&next.as_str()), "{stopped:?}");
    // The owner ended by itself, like after an interrupt, and got no signal.
    let owner = ended(owner);
    let run = owner.run();
    assert_eq!(
        (
            owner.code,
            text(&run["status"]),
            text(&run["failure"]["kind"])
        ),
        (Some(130), "cancelled".into(), "interrupted".into()),
        "{run:#}"
    );
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
    world.assert_nothing_is_left();
    let again = world.drive(&["runs", "stop", &id, "--json"]);
    assert_eq!(again.failure(), (Some(2), "runOver".into()));
    assert!(
        text(&again.document()["failure"]["hint"]).contains(&format!("`drive runs resume {id}`"))
    );
    world.program("script", "cat > /dev/null\necho whole > whole.txt");
    let resumed = world.drive(&["runs", "resume", &id, "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(text(&resumed.run()["status"]), "succeeded");
}

#[test]
fn a_run_that_is_unknown_or_over_cannot_be_stopped() {
    let world = World::with_agent("echo x > x.txt");
    let unknown = world.drive(&["runs", "stop", "r0", "--json"]);
    assert_eq!(unknown.failure(), (Some(2), "unknownRun".into()));
    let (_, run) = world.spawn(&["Write"]);
    let id = text(&run["runId"]);
    let over = world.drive(&["runs", "stop", &id, "--json"]);
    assert_eq!(over.failure(), (Some(2), "runOver".into()));
    let hint = text(&over.document()["failure"]["hint"]);
    assert!(hint.contains(&format!("`drive runs show {id}`")), "{hint}");
}

#[test]
fn a_failed_spawn_is_repeated_as_a_new_run_and_a_good_one_is_not() {
    let world = World::with_agent("[ -e ok ] && echo x > x.txt");
    let (code, run) = world.spawn(&["Write"]);
    assert_eq!(code, Some(1), "{run:#}");
    let first = text(&run["runId"]);
    world.shell("cd repo && touch ok && git add -A && git commit -qm ok");
    let head = world.git("rev-parse HEAD");
    let retried = world.drive(&["runs", "retry", &first, "--json"]);
    let run = retried.run();
    assert_eq!(retried.code, Some(0), "{run:#}");
    let second = text(&run["runId"]);
    assert_ne!(second, first);
    assert_eq!(text(&run["task"]), "Write");
    // The base is the current commit of the branch.
    assert_eq!(text(&run["baseSha"]), head);
    let again = world.drive(&["runs", "retry", &second, "--json"]);
    assert_eq!(again.failure(), (Some(2), "runNotRetryable".into()));
}
