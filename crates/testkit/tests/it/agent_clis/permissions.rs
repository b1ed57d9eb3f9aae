//! Tests how claude asks for a permission and accepts the answer.

use crate::agent_clis::bare::{Bench, Ran, WALL};
use drive_testkit::interop::{AgentHome, Cli};
use drive_testkit::model_server::{Script, Turn};
use serde_json::{Value, json};

#[test]
fn claude_asks_over_its_standard_output_and_obeys_the_answer() {
    let home = AgentHome::new().unwrap();
    let Some((bench, ran, asked)) = ask(home) else {
        return;
    };
    let file = |name: &str| bench.home.work().join(name).exists();
    assert_eq!(
        (ran.code(), asked, file("granted.txt"), file("refused.txt")),
        (0, vec![json!("Write"), json!("Bash")], true, false)
    );
    let result = ran.event("result").unwrap();
    assert_eq!(result["is_error"], false);
    let told = &bench.server.turns()[2].tool_results[0];
    // claude appends its own reminder to our text.
    assert!(
        told.is_error && told.text.starts_with("not today"),
        "{told:?}"
    );
}

/// Lets claude write one file, which is allowed, and run one command, which is refused.
pub(crate) fn ask(home: AgentHome) -> Option<(Bench, Ran, Vec<Value>)> {
    let granted = home.work().join("granted.txt").display().to_string();
    let script = Script::new([
        Turn::write(granted, "granted\n"),
        Turn::run("touch refused.txt"),
        Turn::text("one of two"),
    ]);
    let bench = Bench::with_home(Cli::Claude, home, script)?;
    let mut running = bench.start_open(&arguments());
    running
        .say(&json!({"type": "user", "message": {"role": "user", "content": "write and touch"}}));
    let mut asked = Vec::new();
    let mut heard = 0;
    for answer in [
        |request: &Value| json!({"behavior": "allow", "updatedInput": request["input"]}),
        |_: &Value| json!({"behavior": "deny", "message": "not today"}),
    ] {
        let (event, next) = running.hear(heard, |event| event["type"] == "control_request");
        let request = &event["request"];
        assert_eq!(request["subtype"], "can_use_tool", "{event}");
        asked.push(request["tool_name"].clone());
        running.say(&json!({"type": "control_response", "response": {
            "subtype": "success", "request_id": event["request_id"], "response": answer(request),
        }}));
        heard = next;
    }
    running.hear(heard, |event| event["type"] == "result");
    running.hang_up();
    let ran = running.finish(WALL);
    Some((bench, ran, asked))
}

fn arguments() -> Vec<String> {
    let args = [
        "-p",
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--verbose",
        "--model",
        Cli::Claude.model(),
        "--permission-prompt-tool",
        "stdio",
        "--setting-sources",
        "user",
        "--strict-mcp-config",
    ];
    args.map(str::to_owned).to_vec()
}
