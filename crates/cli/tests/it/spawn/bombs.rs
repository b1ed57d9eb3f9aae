//! Tests agents that use up the machine, within small limits. Each has a control: under larger
//! limits the same agent does its work.

use crate::spawn::support::{World, text};

const MEMORY: &str = r#"perl -e 'my $x = "x" x (200 << 20); sleep PATIENCE'"#;
const PROCESSES: &str =
    r#"perl -e 'for (1..60) { next if fork; sleep PATIENCE; exit 0 } 1 while wait > 0'"#;
const DISK: &str = r#"for n in $(seq 40); do head -c 1M /dev/zero > "f$n"; done; sleep PATIENCE"#;
const FILES: &str = r#"mkdir d; for n in $(seq 3000); do : > "d/$n"; done; sleep PATIENCE"#;

/// The agent writes something worth saving, then exceeds its limit.
fn spawn(bomb: &str, limits: &str, patience: &str) -> (World, Option<i32>, serde_json::Value) {
    let bomb = bomb.replace("PATIENCE", patience);
    let world = World::with_agent(&format!("echo work > precious.txt; {bomb} || exit 1"));
    world.settings(&format!("[agents.script.limits]\n{limits}\n"));
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    (world, code, run)
}

fn ends_at_its_limit(bomb: &str, limit: &str, kind: &str, message: &str, hint: &str) {
    let (world, code, run) = spawn(bomb, limit, "50");
    assert_eq!(code, Some(1), "{run:#}");
    let failure = &run["failure"];
    assert_eq!(text(&failure["kind"]), kind, "{run:#}");
    let agent = "agent `script`";
    assert_eq!(text(&failure["message"]), format!("{agent} {message}"));
    assert!(text(&failure["hint"]).starts_with(hint), "{run:#}");
    let saved = world.git("log --all --format= --name-only -- precious.txt");
    assert_eq!(saved, "precious.txt", "{run:#}");
    assert_eq!(world.survivors(), Vec::<String>::new());
    let (control, code, run) = spawn(bomb, "", "0");
    assert_eq!(code, Some(0), "{run:#}");
    assert!(control.files("mine").contains("precious.txt"), "{run:#}");
}

#[test]
fn a_memory_bomb_of_a_coder_ends_at_its_limit_and_its_work_is_saved() {
    ends_at_its_limit(
        MEMORY,
        "memory = \"64MiB\"",
        "agentMemoryLimit",
        "reached its memory limit",
        "raise `memory` in `[agents.script.limits]`",
    );
}

#[test]
fn a_fork_bomb_of_a_coder_ends_at_its_limit_and_its_work_is_saved() {
    ends_at_its_limit(
        PROCESSES,
        "processes = 32",
        "agentProcessLimit",
        "reached its process limit",
        "raise `processes` in `[agents.script.limits]`",
    );
}

#[test]
fn a_disk_bomb_of_a_coder_ends_at_its_limit_and_its_work_is_saved() {
    ends_at_its_limit(
        DISK,
        "disk = \"20MiB\"",
        "agentDiskLimit",
        "used more than 20MiB of disk",
        "raise `disk` in `[agents.script.limits]`",
    );
}

#[test]
fn an_inode_bomb_of_a_coder_ends_at_its_limit_and_its_work_is_saved() {
    ends_at_its_limit(
        FILES,
        "files = 2000",
        "agentDiskLimit",
        "made more than 2000 files",
        "raise `files` in `[agents.script.limits]`",
    );
}
