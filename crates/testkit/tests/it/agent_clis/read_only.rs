//! Tests the arguments with which each CLI can read but not write, with all of its tools for writing.

use crate::agent_clis::bare::{Bench, Ran};
use drive_testkit::interop::{AgentHome, Cli};
use drive_testkit::model_server::{Call, Script, Turn};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Denies tools by name: those that write, that run programs, that start an agent without these
/// rules, and that leave the mode to which the rules apply.
const GEMINI_POLICY: &str = r#"
[[rule]]
toolName = [
  "write_file", "replace", "run_shell_command", "invoke_agent", "enter_plan_mode", "exit_plan_mode",
]
decision = "deny"
priority = 999
"#;

#[test]
fn claude_with_three_reading_tools_writes_nothing() {
    let Some((ran, tree)) = reviewed(Cli::Claude, claude_calls) else {
        return;
    };
    assert_eq!((ran.code(), tree), (0, untouched()), "{ran:#?}");
}

#[test]
fn gemini_with_a_denying_policy_writes_nothing() {
    let Some((ran, tree)) = reviewed(Cli::Gemini, gemini_calls) else {
        return;
    };
    assert_eq!((ran.code(), tree), (0, untouched()), "{ran:#?}");
}

#[test]
fn codex_in_its_read_only_sandbox_writes_nothing() {
    let Some((ran, tree)) = reviewed(Cli::Codex, codex_calls) else {
        return;
    };
    assert_eq!((ran.code(), tree), (0, untouched()), "{ran:#?}");
}

/// Lets the model try every call, one after the other, and returns the files afterwards.
fn reviewed(cli: Cli, calls: fn(&Path) -> Vec<Call>) -> Option<(Ran, BTreeMap<String, String>)> {
    let home = AgentHome::new().unwrap();
    let work = home.work();
    std::fs::write(work.join("kept.txt"), "kept\n").unwrap();
    std::fs::write(work.join("book.ipynb"), NOTEBOOK).unwrap();
    let policy = home.home().join("read-only.toml");
    std::fs::write(&policy, GEMINI_POLICY).unwrap();
    let calls = calls(&work);
    let tried = calls.len();
    // An editing tool requires that the file was read before.
    let first = match cli {
        Cli::Claude => Turn::call(Call::tool(
            "Read",
            json!({"file_path": work.join("kept.txt")}),
        )),
        Cli::Gemini => Turn::call(Call::tool(
            "read_file",
            json!({"file_path": work.join("kept.txt")}),
        )),
        Cli::Codex => Turn::run("cat kept.txt"),
    };
    let turns = std::iter::once(first).chain(calls.into_iter().map(Turn::call));
    let bench = Bench::with_home(cli, home, Script::new(turns))?;
    let ran = bench.run(&reviewer(&bench, &policy), b"review this");
    let asked = bench.server.turns();
    // All calls were answered: none ended the conversation.
    assert_eq!(asked.len(), tried + 2, "{ran:#?}");
    assert!(asked[1].tool_results[0].text.contains("kept"), "{asked:#?}");
    Some((ran, files(&bench.home.work())))
}

fn reviewer(bench: &Bench, policy: &Path) -> Vec<String> {
    let model = bench.cli.model();
    let policy = policy.to_str().unwrap();
    let args: Vec<&str> = match bench.cli {
        Cli::Claude => vec![
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--model",
            model,
            "--tools",
            "Read,Grep,Glob",
            "--setting-sources",
            "user",
            "--strict-mcp-config",
        ],
        Cli::Gemini => vec![
            "-m",
            model,
            "--skip-trust",
            "--approval-mode",
            "plan",
            "--policy",
            policy,
            "-o",
            "stream-json",
        ],
        Cli::Codex => vec![
            "exec",
            "--json",
            "-s",
            "read-only",
            "--skip-git-repo-check",
            "-",
        ],
    };
    args.into_iter().map(str::to_owned).collect()
}

fn claude_calls(work: &Path) -> Vec<Call> {
    let path = |name: &str| work.join(name).display().to_string();
    vec![
        Call::tool(
            "Write",
            json!({"file_path": path("new.txt"), "content": "new"}),
        ),
        Call::tool(
            "Edit",
            json!({"file_path": path("kept.txt"), "old_string": "kept", "new_string": "lost"}),
        ),
        Call::tool(
            "MultiEdit",
            json!({"file_path": path("kept.txt"), "edits": [{"old_string": "kept", "new_string": "lost"}]}),
        ),
        Call::tool(
            "NotebookEdit",
            json!({"notebook_path": path("book.ipynb"), "cell_id": "a", "new_source": "lost"}),
        ),
        Call::tool("Bash", json!({"command": "touch new.txt"})),
        Call::tool("Bash", json!({"command": "git log --output=new.txt"})),
        Call::tool(
            "Monitor",
            json!({"command": "touch new.txt", "description": "watches"}),
        ),
        Call::tool("EnterWorktree", json!({"name": "aside"})),
        Call::tool(
            "Task",
            json!({"description": "write", "prompt": "write", "subagent_type": "general-purpose"}),
        ),
        Call::tool(
            "Agent",
            json!({"description": "write", "prompt": "write", "subagent_type": "general-purpose"}),
        ),
        Call::tool(
            "Workflow",
            json!({"script": "export const meta = {name: 'w'}"}),
        ),
        Call::tool(
            "CronCreate",
            json!({"cron": "* * * * *", "prompt": "write"}),
        ),
        Call::tool("Skill", json!({"skill": "run"})),
        Call::tool("ExitPlanMode", json!({"plan": "write"})),
    ]
}

fn gemini_calls(work: &Path) -> Vec<Call> {
    let path = |name: &str| work.join(name).display().to_string();
    let replace: Value = json!({
        "file_path": path("kept.txt"), "old_string": "kept", "new_string": "lost",
        "instruction": "Replaces a word", "expected_replacements": 1,
    });
    vec![
        Call::tool(
            "write_file",
            json!({"file_path": path("new.txt"), "content": "new"}),
        ),
        Call::tool("replace", replace.clone()),
        Call::tool("run_shell_command", json!({"command": "touch new.txt"})),
        Call::tool(
            "exit_plan_mode",
            json!({"plan_path": "plan.md", "plan_filename": "plan.md"}),
        ),
        Call::tool(
            "write_file",
            json!({"file_path": path("new.txt"), "content": "new"}),
        ),
        Call::tool("enter_plan_mode", json!({"reason": "again"})),
        Call::tool(
            "invoke_agent",
            json!({"agent_name": "generalist", "prompt": "write"}),
        ),
        Call::tool("replace", replace),
        Call::tool(
            "run_shell_command",
            json!({"command": "touch new.txt", "is_background": true}),
        ),
    ]
}

fn codex_calls(work: &Path) -> Vec<Call> {
    let patch = |path: String| Call::Freeform {
        name: "apply_patch".to_owned(),
        input: format!("*** Begin Patch\n*** Add File: {path}\n+new\n*** End Patch\n"),
    };
    vec![
        patch("new.txt".to_owned()),
        patch(work.join("new.txt").display().to_string()),
        Call::tool("exec_command", json!({"cmd": "touch new.txt"})),
        Call::tool("exec_command", json!({"cmd": "echo lost > kept.txt"})),
        Call::tool("exec_command", json!({"cmd": "rm kept.txt"})),
        Call::tool(
            "exec_command",
            json!({
                "cmd": "touch new.txt", "sandbox_permissions": "require_escalated", "justification": "May I?",
            }),
        ),
        Call::tool(
            "exec_command",
            json!({"cmd": "touch /tmp/drive-codex-wrote-this && rm -v /tmp/drive-codex-wrote-this >&2 && touch new.txt"}),
        ),
    ]
}

const NOTEBOOK: &str = r#"{"cells":[{"cell_type":"code","id":"a","metadata":{},"source":["kept"],"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;

fn untouched() -> BTreeMap<String, String> {
    BTreeMap::from([
        ("book.ipynb".to_owned(), NOTEBOOK.to_owned()),
        ("kept.txt".to_owned(), "kept\n".to_owned()),
    ])
}

/// Everything below the folder: files with their content, other entries with their kind.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let content = std::fs::read_to_string(entry.path());
            (
                name,
                content.unwrap_or_else(|error| error.kind().to_string()),
            )
        })
        .collect()
}
