//! Tests that drive's memory does not grow with an agent's output.

use crate::spawn::stops::ended;
use crate::spawn::support::{World, text, wait_for};
use std::fs;

/// An agent that prints this much, reports that, and ends when it is allowed to.
const TALKER: &str = r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
line='{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"'$(head -c 4000 /dev/zero | tr '\0' x)'"}],"usage":{"input_tokens":9,"output_tokens":2}}}'
yes "$line" | head -c BYTES
echo
echo said > said.txt
until [ -e go.txt ]; do sleep 0.05; done
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done"}'"#;

/// The peak memory of drive and its helpers after all output, in KiB.
fn peak(bytes: u64) -> u64 {
    let world = World::with_agent("");
    let claude = world.program("claude", &TALKER.replace("BYTES", &bytes.to_string()));
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n"
    ));
    let child = world.start(&["spawn", "Talk", "--json", "--agent", "claude-code"]);
    // What is not read yet fits into a pipe.
    let said = world.wait_for_file("said.txt");
    let peak = tree(child.id()).into_iter().map(peak_kib).sum();
    fs::write(said.with_file_name("go.txt"), "").unwrap();
    let ended = ended(child);
    assert_eq!(text(&ended.run()["status"]), "succeeded", "{ended:?}");
    peak
}

/// A process of drive's own program, with its children that run the same program.
fn tree(root: u32) -> Vec<u32> {
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let drive = program(root);
    wait_for("the helper", || {
        children(root).iter().any(|c| program(*c) == drive)
    });
    let mut all = vec![root];
    all.extend(children(root).into_iter().filter(|c| program(*c) == drive));
    all
}

fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
    }
    found
}

fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap()
}

#[test]
fn sixty_four_megabytes_of_events_take_no_more_memory_than_one() {
    const MIB: u64 = 1 << 20;
    let (few, many) = (peak(MIB), peak(64 * MIB));
    // This is a sixteenth of the output, and much more than the difference between two equal runs.
    assert!(many < few + 4 * 1024, "{few} KiB grew to {many} KiB");
}
