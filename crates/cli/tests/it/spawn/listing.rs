//! Tests what `drive runs list` and `drive runs logs` show about runs and their agents.

use crate::spawn::support::{World, text};

#[test]
fn the_list_has_a_header_and_shows_the_runs_of_this_repository() {
    let world = World::with_agent("[ -n \"$FAIL\" ] && exit 1; echo x > x.txt");
    let (_, run) = world.spawn(&["Write x"]);
    let id = text(&run["runId"]);
    world.shell(
        "mkdir other && cd other && git init -q -b main && git commit -qm first --allow-empty",
    );
    let list = world.drive(&["runs", "list"]).stdout;
    let lines: Vec<&str> = list.lines().collect();
    let heads: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(heads, ["ID", "STATE", "AGE", "DURATION", "PR", "TASK"]);
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((cells[0], cells[1]), (id.as_str(), "succeeded"));
    assert!(lines[1].ends_with("#1  Write x"), "{list}");
    let other = world.path("other");
    let other = other.to_str().unwrap();
    let none = world.drive(&["runs", "list", "--repo", other]).stdout;
    assert_eq!(
        none,
        "no runs of this repository; `drive runs list --all` shows those of all\n"
    );
    let all = world
        .drive(&["runs", "list", "--all", "--repo", other])
        .stdout;
    assert!(all.lines().next().unwrap().contains("REPOSITORY"), "{all}");
    assert!(all.contains("  repo        Write x"), "{all}");
    // Outside of a repository there are no runs to select.
    let outside = world.path("home");
    let outside = ["runs", "list", "--repo", outside.to_str().unwrap()];
    assert!(world.drive(&outside).stdout.contains(&id));
    let ids = |args: &[&str]| {
        let args = [&["runs", "list", "--json"], args].concat();
        world.drive(&args).document()["runs"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(ids(&["--state", "succeeded", "--kind", "spawn"]), 1);
    assert_eq!(ids(&["--state", "failed"]), 0);
    assert_eq!(ids(&["--kind", "cruise"]), 0);
    // Output into a pipe is only coloured on request.
    assert!(!list.contains('\x1b'));
    let painted = world.drive(&["runs", "list", "--color", "always"]).stdout;
    assert!(painted.contains("\x1b[32msucceeded\x1b[0m"), "{painted:?}");
}

/// An agent with a known dialect.
const CLAUDE: &str = r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look.\u001b[2J"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"one two three"}]}}'
echo x > x.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.25,"usage":{"input_tokens":900,"output_tokens":200}}'
"#;

#[test]
fn a_log_is_told_by_agent_with_a_tool_call_on_one_line_and_the_cost_at_the_end() {
    let world = World::with_agent("true");
    let claude = world.program("claude", CLAUDE);
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n"
    ));
    let (code, run) = world.spawn(&["Look", "--agent", "claude-code"]);
    assert_eq!(code, Some(0), "{run:#}");
    let id = text(&run["runId"]);
    for args in [&["runs", "logs", &id][..], &["runs", "logs", "-f"]] {
        let log = world.drive(args).stdout;
        let lines: Vec<&str> = log.trim_end().lines().collect();
        assert!(
            lines[0].starts_with("== agent 1: claude-code, coder, round "),
            "{log}"
        );
        assert!(lines.contains(&"I look.\\u{1b}[2J"), "{log}");
        let calls = lines.iter().filter(|line| line.starts_with("  > "));
        assert_eq!(calls.count(), 1, "{log}");
        assert!(!log.contains("three") && !log.contains("tool_use"), "{log}");
        let last = lines.last().unwrap();
        assert!(
            last.starts_with("= done (") && last.contains("$0.25"),
            "{log}"
        );
    }
    let raw = world.drive(&["runs", "logs", "--raw"]).stdout;
    assert!(raw.contains("\"tool_use\""), "{raw}");
    let document = world.drive(&["runs", "logs", &id, "--json"]).document();
    let agent = &document["agents"][0];
    assert_eq!(
        (
            &agent["number"],
            &agent["agent"],
            &agent["role"],
            &agent["ended"]
        ),
        (
            &1.into(),
            &"claude-code".into(),
            &"coder".into(),
            &true.into()
        )
    );
    assert_eq!(agent["costUsd"], 0.25);
    let none = world.drive(&["runs", "logs", "--role", "reviewer", "--json"]);
    assert_eq!(none.failure(), (Some(2), "noLog".into()));
    assert_eq!(world.drive(&["runs", "logs", "--agent", "1"]).code, Some(0));
}
