//! Tests stops by a person, a timeout and a budget.

use crate::spawn::support::{Ended, World, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub(crate) fn ended(child: Child) -> Ended {
    Ended::from(child.wait_with_output().unwrap())
}

/// Waits until the first interrupt is in the journal of the newest run.
pub(crate) fn wait_for_cancel(world: &World) {
    wait_for("the first interrupt", || {
        let shown = world.drive(&["runs", "show", "--json"]).document();
        let journal = shown["journal"].as_array().cloned().unwrap_or_default();
        journal
            .iter()
            .any(|entry| entry["event"]["event"] == "cancelAsked")
    });
}

#[test]
fn one_interrupt_ends_it_cleanly_and_keeps_the_work() {
    let world = World::with_agent("echo half > half.txt; sleep 300");
    for ask in [Signal::INT, Signal::TERM, Signal::HUP] {
        let child = world.start(&["spawn", "Work long", "--json"]);
        world.wait_for_file("half.txt");
        signal(&child, ask);
        let ended = ended(child);
        let run = ended.run();
        assert_eq!(ended.code, Some(130), "{run:#}");
        assert_eq!(
            (text(&run["status"]), text(&run["failure"]["kind"])),
            ("cancelled".into(), "interrupted".into())
        );
        assert_eq!(
            (&run["branch"], &run["prNumber"]),
            (&serde_json::Value::Null, &serde_json::Value::Null)
        );
        let kept = text(&run["kept"][0]);
        assert_eq!(world.files(&kept), "a.txt half.txt src/b.txt");
        assert_eq!(world.branches(), Vec::<String>::new());
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    let world = World::with_agent(
        "echo half > half.txt; until [ -e go.txt ]; do sleep 0.05; done; rm go.txt",
    );
    // A shell that ignores the signal makes its children ignore it too, like `nohup`.
    let mut command = world.command("sh");
    let drive = env!("CARGO_BIN_EXE_drive");
    command
        .current_dir(world.path("repo"))
        .args([
            "-c",
            &format!("trap '' HUP; exec {drive} spawn 'Work long' --json"),
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let half = world.wait_for_file("half.txt");
    signal(&child, Signal::HUP);
    std::fs::write(half.with_file_name("go.txt"), "").unwrap();
    let ended = ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    world.assert_nothing_is_left();
}

#[test]
fn two_interrupts_end_it_at_once_and_still_keep_the_work() {
    // It would outlive any grace period that a person accepts.
    let world =
        World::with_agent("trap '' TERM INT; echo half > half.txt; while :; do sleep 300; done");
    let child = world.start(&["spawn", "Work long", "--json"]);
    world.wait_for_file("half.txt");
    signal(&child, Signal::INT);
    wait_for_cancel(&world);
    signal(&child, Signal::INT);
    let ended = ended(child);
    let run = ended.run();
    assert_eq!(
        (ended.code, text(&run["status"])),
        (Some(130), "cancelled".into()),
        "{run:#}"
    );
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_person_who_interrupts_is_told_where_the_work_is() {
    let world = World::with_agent("echo half > half.txt; sleep 300");
    let child = world.start(&["spawn", "Work long"]);
    world.wait_for_file("half.txt");
    signal(&child, Signal::INT);
    let ended = ended(child);
    assert_eq!(ended.code, Some(130));
    let heard = "] stopping and saving work (Ctrl-C again to stop now)\n";
    assert_eq!(ended.stderr.matches(heard).count(), 1, "{ended:?}");
    let kept = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("saved    refs/drive/kept/"));
    assert!(
        kept.is_some_and(|line| line.contains("`drive kept restore ")),
        "{ended:?}"
    );
}

#[test]
fn an_agent_that_commits_before_it_is_interrupted_has_its_branch_named() {
    let world = World::with_agent(
        "echo x > x.txt; git add -A; git -c user.name=x -c user.email=x@y commit -qm 'by itself'; echo dirty > dirty.txt; sleep 300",
    );
    let child = world.start(&["spawn", "Work long", "--branch", "mine", "--json"]);
    world.wait_for_file("dirty.txt");
    signal(&child, Signal::INT);
    let run = ended(child).run();
    assert_eq!(
        (text(&run["status"]), text(&run["branch"])),
        ("cancelled".into(), "mine".into())
    );
    assert_eq!(run["commits"][0]["subject"], "by itself");
    assert_eq!(world.files("mine"), "a.txt src/b.txt x.txt");
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt dirty.txt src/b.txt x.txt"
    );
    world.assert_nothing_is_left();
}

#[test]
fn an_agent_that_ignores_every_signal_is_gone_with_all_it_started() {
    let world = World::with_agent(
        "trap '' TERM INT HUP
(setsid sh -c 'trap \"\" TERM HUP; (sleep 301 &) ; sleep 302' > /dev/null 2>&1 &)
echo half > half.txt
while :; do sleep 303; done",
    );
    let limits = ["--idle-timeout", "1s", "--total-timeout", "2s"];
    let (code, run) = world.spawn(&[&["Work for ever"], &limits[..]].concat());
    assert_eq!(
        (code, text(&run["status"])),
        (Some(1), "timedOut".into()),
        "{run:#}"
    );
    assert_eq!(text(&run["failure"]["kind"]), "agentTimedOut");
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_clock_that_ran_out_is_named_with_the_setting_that_moves_it_and_the_work_is_kept() {
    let clocks = [
        (
            "while :; do echo still here; sleep 0.1; done",
            "agent `script` ran for too long (total_timeout)",
            "raise `total_timeout` or pass `--total-timeout`; the work so far is saved",
        ),
        (
            "sleep 300",
            "agent `script` produced no output for too long (idle_timeout)",
            "raise `idle_timeout` or pass `--idle-timeout`; the work so far is saved",
        ),
    ];
    for (script, message, hint) in clocks {
        let world = World::with_agent(&format!("echo half > half.txt; {script}"));
        // Both are far from the limit that ends the other agent.
        let limits = if script.starts_with("sleep") {
            ["--idle-timeout", "1s", "--total-timeout", "1h"]
        } else {
            ["--idle-timeout", "5s", "--total-timeout", "6s"]
        };
        let (code, run) = world.spawn(&[&["Work for ever"], &limits[..]].concat());
        assert_eq!(
            (code, text(&run["status"])),
            (Some(1), "timedOut".into()),
            "{run:#}"
        );
        assert_eq!(
            run["failure"],
            serde_json::json!({"kind": "agentTimedOut", "message": message, "hint": hint, "causes": []})
        );
        assert_eq!(
            world.files(&text(&run["kept"][0])),
            "a.txt half.txt src/b.txt"
        );
        world.assert_nothing_is_left();
    }
}

/// Reports its token usage like the recorded streams.
const EXPENSIVE_CLAUDE: &str = r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo half > half.txt
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Thinking."}],"usage":{"input_tokens":900,"output_tokens":200}}}'
exec sleep 300"#;

#[test]
fn an_agent_that_passes_its_budget_is_stopped_and_its_work_kept() {
    let world = World::with_agent("");
    let claude = world.program("claude", EXPENSIVE_CLAUDE);
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n[budget]\ntokens = 1000\n"
    ));
    let (code, run) = world.spawn(&["Spend it", "--agent", "claude-code"]);
    assert_eq!(
        (code, text(&run["status"])),
        (Some(1), "needsHuman".into()),
        "{run:#}"
    );
    assert_eq!(
        (text(&run["failure"]["kind"]), &run["tokens"]),
        ("budgetExceeded".into(), &1100.into())
    );
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
    world.assert_nothing_is_left();
}

/// Whether a process catches interrupts now.
fn catches_interrupts(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & 0b10 != 0
}

#[test]
fn an_interrupt_ends_the_wait_for_a_task() {
    let world = World::with_agent("true");
    let mut command = world.drive_command(&["spawn", "-", "--json"]);
    command.stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It stays open until the end.
    let input = child.stdin.take();
    wait_for("its handlers", || catches_interrupts(&child));
    signal(&child, Signal::INT);
    let ended = ended(child);
    assert_eq!(ended.failure(), (Some(130), "interrupted".into()));
    drop(input);
    world.assert_nothing_is_left();
}

#[test]
fn who_follows_a_log_leaves_with_its_reader() {
    let world = World::with_agent("touch half.txt; while :; do echo more; sleep 0.05; done");
    let run = world.start(&["spawn", "Work long"]);
    world.wait_for_file("half.txt");
    let mut follower = world.start(&["runs", "logs", "--follow"]);
    let mut read = BufReader::new(follower.stdout.take().unwrap());
    read.read_line(&mut String::new()).unwrap();
    drop(read);
    let pid = follower.id();
    let stat = move || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    wait_for("the follower's end", || stat().contains(") Z "));
    assert_eq!(follower.wait().unwrap().code(), Some(0));
    signal(&run, Signal::INT);
    ended(run);
}
