//! Tests where a CLI that supports a schema for its last message reports the answer.

use crate::agent_clis::bare::{Bench, Ran};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Call, Script, Turn};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}},
        "required": ["a", "b"],
    })
}

fn claude(turns: impl IntoIterator<Item = Turn>) -> Option<(Bench, Ran)> {
    let bench = Bench::new(Cli::Claude, Script::new(turns))?;
    let mut args = bench.coder();
    args.extend(["--json-schema".to_owned(), schema().to_string()]);
    let ran = bench.run(&args, b"hello");
    Some((bench, ran))
}

#[test]
fn claude_offers_the_schema_as_a_tool_and_puts_its_input_into_the_result() {
    let wrong = Call::tool("StructuredOutput", json!({"a": 5}));
    let right = json!({"a": "x", "b": null});
    let turns = [wrong, Call::tool("StructuredOutput", right.clone())];
    let Some((bench, ran)) = claude(turns.map(Turn::call)) else {
        return;
    };
    let result = ran.event("result").unwrap();
    assert_eq!((ran.code(), &result["structured_output"]), (0, &right));
    let asked = bench.server.turns();
    let tools = asked[0].body["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "StructuredOutput");
    assert_eq!(tool.unwrap()["input_schema"], schema());
    assert!(asked[1].tool_results[0].is_error, "{:?}", asked[1]);
}

#[test]
fn claude_insists_once_on_the_form_and_then_takes_any_text() {
    let Some((bench, ran)) = claude([Turn::text("one"), Turn::text("two")]) else {
        return;
    };
    let result = ran.event("result").unwrap();
    assert_eq!(
        (ran.code(), &result["is_error"], &result["result"]),
        (0, &false.into(), &"two".into())
    );
    assert_eq!(result.get("structured_output"), None);
    assert_eq!(bench.server.turns().len(), 2);
}

#[test]
fn codex_asks_the_api_for_the_schema_and_its_last_message_is_the_answer() {
    let answer = "{\"a\":\"x\",\"b\":null}";
    let look = Call::Run {
        command: "true".to_owned(),
    };
    let script = Script::new([Turn::text("I look.").and(look), Turn::text(answer)]);
    let Some(bench) = Bench::new(Cli::Codex, script) else {
        return;
    };
    let file = bench.home.home().join("schema.json");
    std::fs::write(&file, schema().to_string()).unwrap();
    let mut args = bench.coder();
    args.insert(1, format!("--output-schema={}", file.display()));
    let ran = bench.run(&args, b"hello");
    let last = ran.event("item.completed").unwrap();
    assert_eq!((ran.code(), &last["item"]["text"]), (0, &answer.into()));
    for turn in bench.server.turns() {
        let format = &turn.body["text"]["format"];
        assert_eq!(
            (&format["type"], &format["schema"]),
            (&"json_schema".into(), &schema())
        );
    }
}
