//! Tests resuming a spawn that was stopped, killed or used up its budget.

use crate::spawn::deaths::kill;
use crate::spawn::stops::{ended, signal};
use crate::spawn::support::{World, text};
use rustix::process::Signal;
use std::fs;

/// Writes a file, commits another one, and waits until it may end.
fn waits(world: &World) -> String {
    let (go, told) = (world.path("go"), world.path("told"));
    format!(
        "prompt=$(cat)\nif [ -e committed.txt ]; then printf '%s' \"$prompt\" > {told:?}; echo whole > whole.txt; exit 0; fi\n\
         echo committed > committed.txt; git add -A; git commit -qm 'by itself'\n\
         echo half > half.txt; until [ -e {go:?} ]; do sleep 0.05; done"
    )
}

fn world() -> World {
    let world = World::with_agent("");
    let script = waits(&world);
    world.program("script", &script);
    world.settings("[sandbox]\nisolation = \"off\"\n");
    world
}

fn assert_it_goes_on(world: &World, id: &str, kept: &str) {
    let resumed = world.drive(&["runs", "resume", id, "--json"]);
    let run = resumed.run();
    assert_eq!(resumed.code, Some(0), "{run:#}");
    assert_eq!(
        (
            text(&run["status"]),
            text(&run["runId"]),
            text(&run["branch"])
        ),
        ("succeeded".into(), id.into(), "mine".into())
    );
    assert_eq!(
        world.files("mine"),
        "a.txt committed.txt src/b.txt whole.txt"
    );
    // The agent knows what is on the branch and what is not.
    let told = fs::read_to_string(world.path("told")).unwrap();
    assert!(told.contains("\n\nWork long\n\n"), "{told}");
    let saved = world.git(&format!("rev-parse {kept}"));
    assert!(told.contains(&format!("`git show {saved}`")), "{told}");
    assert!(told.contains("..HEAD` lists them"), "{told}");
    world.assert_nothing_is_left();
}

#[test]
fn a_killed_spawn_goes_on_with_runs_resume() {
    let world = world();
    let mut child = world.start(&["spawn", "Work long", "--branch", "mine"]);
    world.wait_for_file("half.txt");
    kill(&mut child);
    let shown = world.drive(&["runs", "show", "--json"]).document();
    let id = text(&shown["runId"]);
    assert_eq!(text(&shown["failure"]["kind"]), "ownerLost", "{shown:#}");
    let hint = text(&shown["failure"]["hint"]);
    assert!(
        hint.contains(&format!("`drive runs resume {id}`")),
        "{hint}"
    );
    assert_it_goes_on(&world, &id, &format!("refs/drive/kept/{id}/1"));
}

#[test]
fn a_stopped_spawn_goes_on_with_runs_resume_and_can_be_stopped_again() {
    let world = world();
    let child = world.start(&["spawn", "Work long", "--branch", "mine", "--json"]);
    world.wait_for_file("half.txt");
    signal(&child, Signal::INT);
    let run = ended(child).run();
    let id = text(&run["runId"]);
    // The second attempt waits too.
    let script = waits(&world).replace("[ -e committed.txt ]", "[ -e second.txt ]");
    let second = script.replace("echo half > half.txt", "echo two > two.txt");
    world.program("script", &second);
    let child = world.start(&["runs", "resume", &id, "--json"]);
    world.wait_for_file("two.txt");
    signal(&child, Signal::INT);
    let stopped = ended(child);
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    world.program("script", &waits(&world));
    assert_it_goes_on(&world, &id, &format!("refs/drive/kept/{id}/2"));
}

#[test]
fn a_spawn_that_was_kept_goes_on_too() {
    let world = world();
    let child = world.start(&["spawn", "Work long", "--branch", "mine", "--keep", "--json"]);
    world.wait_for_file("half.txt");
    signal(&child, Signal::INT);
    let id = text(&ended(child).run()["runId"]);
    assert_eq!(world.sandboxes().len(), 1);
    let resumed = world.drive(&["runs", "resume", &id, "--json"]);
    let run = resumed.run();
    assert_eq!(resumed.code, Some(0), "{run:#}");
    assert_eq!(text(&run["kept"][0]), format!("refs/drive/kept/{id}/1"));
    assert_eq!(
        world.files("mine"),
        "a.txt committed.txt src/b.txt whole.txt"
    );
    assert_eq!(world.sandboxes().len(), 1);
}

/// Reports its token usage, and ends successfully once it finds its earlier work.
const EXPENSIVE: &str = r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
case "$prompt" in *"An earlier attempt"*)
  echo whole > whole.txt
  echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{"input_tokens":900,"output_tokens":200}}'
  exit 0;;
esac
echo half > half.txt
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Thinking."}],"usage":{"input_tokens":900,"output_tokens":200}}}'
sleep 300
"#;

#[test]
fn a_spawn_over_its_budget_goes_on_with_runs_extend() {
    let world = World::with_agent("true");
    let claude = world.program("claude", EXPENSIVE);
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n[budget]\ntokens = 1000\n"
    ));
    let (code, run) = world.spawn(&["Spend it", "--agent", "claude-code"]);
    assert_eq!(
        (code, text(&run["failure"]["kind"])),
        (Some(1), "budgetExceeded".into()),
        "{run:#}"
    );
    let id = text(&run["runId"]);
    let hint = text(&run["failure"]["hint"]);
    let command = format!("`drive runs extend {id} --tokens 1000000`");
    assert!(hint.contains(&command), "{hint}");
    // It counts as waiting for a person, not as a failure.
    assert_eq!(text(&run["status"]), "needsHuman");
    assert!(text(&run["waitingFor"]).ends_with(&command), "{run:#}");
    for args in [&["runs", "list"][..], &["runs", "show", &id]] {
        let shown = world.drive(args).stdout;
        assert!(shown.contains("waiting for you"), "{shown}");
        assert!(shown.contains(&command), "{shown}");
        assert!(!shown.contains("fail"), "{shown}");
    }
    // No budget was granted.
    let refused = world.drive(&["runs", "resume", &id, "--json"]);
    assert_eq!(refused.failure(), (Some(1), "budgetExceeded".into()));
    let rounds = world.drive(&["runs", "extend", &id, "--rounds", "1", "--json"]);
    assert_eq!(rounds.failure(), (Some(2), "nothingToExtend".into()));
    let extended = world.drive(&["runs", "extend", &id, "--tokens", "5000", "--json"]);
    let run = extended.run();
    assert_eq!(
        (extended.code, text(&run["status"]), text(&run["runId"])),
        (Some(0), "succeeded".into(), id),
        "{run:#}"
    );
    assert_eq!(run["tokens"], 2200);
    assert!(run["waitingFor"].is_null(), "{run:#}");
    world.assert_nothing_is_left();
}

#[test]
fn a_budget_that_is_raised_while_a_spawn_works_is_there_for_its_next_agent() {
    let world = World::with_agent("true");
    let waits = "echo half > half.txt\nuntil [ -e go.txt ]; do sleep 0.05; done; rm go.txt\n";
    let script = EXPENSIVE.replace("echo half > half.txt\n", waits);
    assert_ne!(script, EXPENSIVE);
    let claude = world.program("claude", &script);
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n[budget]\ntokens = 1000\n"
    ));
    let child = world.start(&["spawn", "Spend it", "--agent", "claude-code", "--json"]);
    let half = world.wait_for_file("half.txt");
    let shown = world.drive(&["runs", "show", "--json"]).document();
    let id = text(&shown["runId"]);
    let rounds = world.drive(&["runs", "extend", &id, "--rounds", "1", "--json"]);
    assert_eq!(rounds.failure(), (Some(2), "nothingToExtend".into()));
    let extended = world.drive(&["runs", "extend", &id, "--tokens", "5000", "--json"]);
    assert_eq!(extended.code, Some(0), "{extended:?}");
    assert_eq!(extended.document()["pid"], child.id());
    fs::write(half.with_file_name("go.txt"), "").unwrap();
    let done = ended(child);
    let run = done.run();
    assert_eq!(
        (done.code, text(&run["status"]), text(&run["runId"])),
        (Some(0), "succeeded".into(), id),
        "{run:#}"
    );
    assert_eq!(run["tokens"], 2200);
    world.assert_nothing_is_left();
}
