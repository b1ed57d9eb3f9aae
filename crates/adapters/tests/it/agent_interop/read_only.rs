use crate::agent_interop::lab::Lab;
use drive_core::agent::{Ending, Role};
use drive_engine::ports::IsolationMode;
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Call, Script, Turn};
use serde_json::json;

/// A reviewer that is told to write with every tool of its CLI. Without the kernel's confinement,
/// so that the CLI's own flags are tested.
fn refuses(cli: Cli, calls: impl Fn(&str) -> Vec<Call>) {
    let lab = Lab::new(cli, |home| {
        let mut turns: Vec<Turn> = calls(&home.work().display().to_string())
            .into_iter()
            .map(Turn::call)
            .collect();
        turns.push(Turn::text("I could not write"));
        Script::new(turns)
    });
    let Some(lab) = lab else { return };
    std::fs::write(lab.home.work().join("old.txt"), "old\n").unwrap();
    for role in [Role::Reviewer, Role::Validator, Role::Namer] {
        let mut request = lab.request(role);
        request.isolation = IsolationMode::Off;
        request.max_escalations = 100;
        let played = lab.play_request(&request);
        assert_eq!(
            lab.work_files(),
            ["old.txt"],
            "{role}: {:#?}",
            played.events
        );
        let old = std::fs::read_to_string(lab.home.work().join("old.txt")).unwrap();
        assert_eq!(old, "old\n", "{role}: {:#?}", played.events);
        assert_eq!(
            played.outcome().ending,
            Ending::Succeeded,
            "{role}: {:#?}",
            played.events
        );
    }
}

#[test]
fn claude_refuses_to_write_by_each_of_its_tools() {
    refuses(Cli::Claude, |work| {
        let file = format!("{work}/new.txt");
        let old = format!("{work}/old.txt");
        vec![
            Call::tool("Write", json!({"file_path": file, "content": "x"})),
            Call::tool("Read", json!({"file_path": old})),
            Call::tool(
                "Edit",
                json!({"file_path": old, "old_string": "old", "new_string": "new"}),
            ),
            Call::tool(
                "NotebookEdit",
                json!({"notebook_path": format!("{work}/n.ipynb"), "new_source": "x", "edit_mode": "insert", "cell_type": "code"}),
            ),
            Call::tool(
                "Bash",
                json!({"command": format!("echo x > {file}"), "description": "d"}),
            ),
            Call::tool(
                "Task",
                json!({"description": "d", "prompt": format!("write {file}"), "subagent_type": "general-purpose"}),
            ),
            Call::tool("EnterWorktree", json!({"name": "w"})),
            Call::tool(
                "Monitor",
                json!({"command": format!("echo x > {file}"), "description": "d", "timeout_ms": 1000, "persistent": false}),
            ),
            Call::tool("Skill", json!({"skill": "update-config"})),
            Call::tool("Workflow", json!({"script": format!("echo x > {file}")})),
        ]
    });
}

#[test]
fn gemini_refuses_to_write_by_each_of_its_tools() {
    refuses(Cli::Gemini, |work| {
        let file = format!("{work}/new.txt");
        let old = format!("{work}/old.txt");
        vec![
            Call::tool("write_file", json!({"file_path": file, "content": "x"})),
            Call::tool(
                "replace",
                json!({"file_path": old, "old_string": "old", "new_string": "new", "instruction": "i"}),
            ),
            Call::tool(
                "run_shell_command",
                json!({"command": format!("echo x > {file}"), "description": "d"}),
            ),
            Call::tool("enter_plan_mode", json!({"reason": "r"})),
            Call::tool("exit_plan_mode", json!({"plan_path": old})),
            Call::tool("write_file", json!({"file_path": file, "content": "x"})),
            Call::tool(
                "invoke_agent",
                json!({"agent_name": "generalist", "prompt": format!("write {file}")}),
            ),
            Call::tool("save_memory", json!({"fact": "x"})),
        ]
    });
}

#[test]
fn codex_refuses_to_write_by_each_of_its_tools() {
    refuses(Cli::Codex, |work| {
        let file = format!("{work}/new.txt");
        vec![
            Call::Write {
                path: file.clone(),
                text: "x".to_owned(),
            },
            Call::tool("exec_command", json!({"cmd": format!("echo x > {file}")})),
            Call::tool(
                "exec_command",
                json!({"cmd": format!("echo x > {file}"), "sandbox_permissions": "require_escalated", "justification": "j"}),
            ),
            Call::tool(
                "exec_command",
                json!({"cmd": format!("git init {work}; echo x > {file}")}),
            ),
        ]
    });
}

/// The kernel confines the role even if an agent's own flags would not.
#[test]
fn the_kernel_refuses_what_a_reviewers_flags_let_through() {
    for cli in Cli::ALL {
        let lab = Lab::new(cli, |_| {
            Script::new([Turn::run("echo x > new.txt"), Turn::text("tried")])
        });
        let Some(lab) = lab else { return };
        let played = lab.play(Role::Reviewer);
        assert_eq!(
            lab.work_files(),
            Vec::<String>::new(),
            "{:#?}",
            played.events
        );
        assert_eq!(
            played.outcome().ending,
            Ending::Succeeded,
            "{:#?}",
            played.events
        );
    }
}
