//! The OpenAI Responses protocol, as codex uses it with `wire_api = "responses"`.

use super::dialect::{Answer, Ask, Asked, Rendered, ToolResult, items, runs, text};
use super::script::Call;
use serde_json::{Value, json};

pub(super) fn read(path: &str, body: &Value) -> Ask {
    let path = path.split('?').next().unwrap_or(path);
    if path == "/v1/models" {
        return Ask::Side(json!({"object": "list", "data": [], "models": []}));
    }
    if path == "/v1/responses/compact" {
        return Ask::Side(json!({"output": []}));
    }
    let input = items(&body["input"]);
    if path != "/v1/responses" || input.is_empty() {
        return Ask::Unknown;
    }
    let streamed = body["stream"].as_bool().unwrap_or(false);
    if items(&body["tools"]).is_empty() {
        return Ask::SideText {
            text: "Scripted answer".to_owned(),
            streamed,
        };
    }
    let words: Vec<String> = input
        .iter()
        .filter(|item| item["type"] == "message" && item["role"] == "user")
        .map(own_words)
        .filter(|words| !words.is_empty())
        .collect();
    let new = input.iter().rev().take_while(|item| !is_of_model(item));
    let mut tool_results: Vec<ToolResult> = new.filter_map(tool_result).collect();
    tool_results.reverse();
    Ask::Turn(Asked {
        opening: words.first().cloned().unwrap_or_default(),
        position: runs(input.iter().map(is_of_model)),
        prompt: words.last().cloned().unwrap_or_default(),
        tool_results,
        streamed,
    })
}

pub(super) fn render(answer: &Answer) -> Rendered {
    let mut rendered = Rendered::default();
    rendered.head.push(event(json!({
        "type": "response.created",
        "response": {"id": response_id(answer), "object": "response", "status": "in_progress", "output": []},
    })));
    let output = output(answer);
    if !answer.turn.text.is_empty() {
        rendered.head.push(event(json!({
            "type": "response.output_item.added", "output_index": 0, "item": message(answer, ""),
        })));
    }
    for (index, item) in output.iter().enumerate() {
        rendered.tail.push(event(json!({
            "type": "response.output_item.done", "output_index": index, "item": item,
        })));
    }
    rendered.tail.push(event(json!({
        "type": "response.completed",
        "response": response(answer, &output),
    })));
    rendered
}

pub(super) fn delta(answer: &Answer, text: &str) -> String {
    event(json!({
        "type": "response.output_text.delta",
        "item_id": message_id(answer), "output_index": 0, "content_index": 0, "delta": text,
    }))
}

pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, &output(answer))
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    json!({"error": {"message": message, "type": kind, "code": kind, "param": null}})
}

fn response(answer: &Answer, output: &[Value]) -> Value {
    let usage = answer.turn.usage;
    let input = usage.input + usage.cached;
    json!({
        "id": response_id(answer), "object": "response", "status": "completed", "model": answer.model, "output": output,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + usage.output,
        },
    })
}

fn message(answer: &Answer, text: &str) -> Value {
    json!({
        "type": "message", "id": message_id(answer), "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn output(answer: &Answer) -> Vec<Value> {
    let mut output = Vec::new();
    if !answer.turn.text.is_empty() {
        output.push(message(answer, &answer.turn.text));
    }
    for (number, call) in answer.turn.calls.iter().enumerate() {
        let id = format!("call_{}_{number}", answer.id);
        output.push(item(call, &id, &answer.offered));
    }
    output
}

fn item(call: &Call, id: &str, offered: &[String]) -> Value {
    match call {
        Call::Write { path, text } => {
            let patch = patch(path, text);
            if offered.iter().any(|name| name == "apply_patch") {
                freeform("apply_patch", &patch, id)
            } else {
                // Models without the patch tool call it through the shell, where codex intercepts it.
                run(
                    &format!("apply_patch <<'PATCH'\n{patch}PATCH\n"),
                    id,
                    offered,
                )
            }
        }
        Call::Run { command } => run(command, id, offered),
        Call::Tool { name, input } => function(name, input, id),
        Call::Freeform { name, input } => freeform(name, input, id),
    }
}

fn run(command: &str, id: &str, offered: &[String]) -> Value {
    if offered.iter().any(|name| name == "exec_command") {
        function("exec_command", &json!({"cmd": command}), id)
    } else {
        function("shell_command", &json!({"command": command}), id)
    }
}

fn function(name: &str, input: &Value, id: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "status": "completed",
        "call_id": id, "name": name, "arguments": input.to_string(),
    })
}

fn freeform(name: &str, input: &str, id: &str) -> Value {
    json!({
        "type": "custom_tool_call", "id": format!("ctc_{id}"), "status": "completed",
        "call_id": id, "name": name, "input": input,
    })
}

fn response_id(answer: &Answer) -> String {
    format!("resp_{}", answer.id)
}

fn message_id(answer: &Answer) -> String {
    format!("msg_{}", answer.id)
}

/// A patch that adds one file.
fn patch(path: &str, text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn is_of_model(item: &Value) -> bool {
    match text(&item["type"]) {
        "message" => item["role"] == "assistant",
        "reasoning" | "function_call" | "custom_tool_call" | "local_shell_call"
        | "web_search_call" => true,
        _ => false,
    }
}

/// The person's text, without the context that codex puts before it.
fn own_words(item: &Value) -> String {
    let parts = items(&item["content"]).iter();
    let words: Vec<&str> = parts
        .map(|part| text(&part["text"]))
        .filter(|words| !words.starts_with("<environment_context>"))
        .collect();
    words.join("\n")
}

fn tool_result(item: &Value) -> Option<ToolResult> {
    if !matches!(
        text(&item["type"]),
        "function_call_output" | "custom_tool_call_output"
    ) {
        return None;
    }
    let output = &item["output"];
    let text = match output.as_str() {
        Some(output) => output.to_owned(),
        None => items(output)
            .iter()
            .map(|part| self::text(&part["text"]))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    Some(ToolResult {
        call: self::text(&item["call_id"]).to_owned(),
        text,
        is_error: false,
    })
}

fn event(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", text(&data["type"]))
}
