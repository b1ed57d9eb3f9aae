//! The Anthropic Messages protocol, as claude uses it.

use super::dialect::{Answer, Ask, Asked, Rendered, ToolResult, items, runs, text};
use super::script::{Call, Turn};
use serde_json::{Value, json};

pub(super) fn read(path: &str, body: &Value) -> Ask {
    if path.starts_with("/v1/messages/count_tokens") {
        return Ask::Side(json!({"input_tokens": body.to_string().len() / 4}));
    }
    let messages = items(&body["messages"]);
    if messages.is_empty() {
        return Ask::Unknown;
    }
    let streamed = body["stream"].as_bool().unwrap_or(false);
    if items(&body["tools"]).is_empty() {
        // Only helper calls have no tools: a title, a summary of a page, a test of the key.
        return Ask::SideText {
            text: side_text(body),
            streamed,
        };
    }
    let opening = messages.first().map(own_words).unwrap_or_default();
    let last = messages.last().unwrap_or(&Value::Null);
    Ask::Turn(Asked {
        opening,
        position: runs(
            messages
                .iter()
                .map(|message| message["role"] == "assistant"),
        ),
        prompt: own_words(last),
        tool_results: items(&last["content"])
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(tool_result)
            .collect(),
        streamed,
    })
}

pub(super) fn render(answer: &Answer) -> Rendered {
    let turn = &answer.turn;
    let mut rendered = Rendered::default();
    rendered.head.push(event(json!({
        "type": "message_start",
        "message": message(answer, &json!([]), &Value::Null),
    })));
    let mut index = 0;
    if !turn.text.is_empty() {
        rendered.head.push(event(json!({
            "type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""},
        })));
        rendered
            .tail
            .push(event(json!({"type": "content_block_stop", "index": 0})));
        index = 1;
    }
    for (number, call) in turn.calls.iter().enumerate() {
        let (name, input) = tool(call);
        rendered.tail.extend([
            event(json!({
                "type": "content_block_start", "index": index,
                "content_block": {"type": "tool_use", "id": call_id(answer, number), "name": name, "input": {}},
            })),
            event(json!({
                "type": "content_block_delta", "index": index,
                "delta": {"type": "input_json_delta", "partial_json": input.to_string()},
            })),
            event(json!({"type": "content_block_stop", "index": index})),
        ]);
        index += 1;
    }
    rendered.tail.extend([
        event(json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(turn), "stop_sequence": null},
            "usage": {"output_tokens": turn.usage.output},
        })),
        event(json!({"type": "message_stop"})),
    ]);
    rendered
}

pub(super) fn delta(text: &str) -> String {
    event(json!({
        "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text},
    }))
}

pub(super) fn whole(answer: &Answer) -> Value {
    let turn = &answer.turn;
    let mut content = Vec::new();
    if !turn.text.is_empty() {
        content.push(json!({"type": "text", "text": turn.text}));
    }
    for (number, call) in turn.calls.iter().enumerate() {
        let (name, input) = tool(call);
        content
            .push(json!({"type": "tool_use", "id": call_id(answer, number), "name": name, "input": input}));
    }
    message(answer, &json!(content), &json!(stop_reason(turn)))
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn message(answer: &Answer, content: &Value, stop_reason: &Value) -> Value {
    let usage = answer.turn.usage;
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        },
    })
}

fn tool(call: &Call) -> (&str, Value) {
    match call {
        Call::Write { path, text } => ("Write", json!({"file_path": path, "content": text})),
        Call::Run { command } => (
            "Bash",
            json!({"command": command, "description": "Runs a scripted command"}),
        ),
        Call::Tool { name, input } => (name, input.clone()),
        Call::Freeform { name, input } => (name, json!({"input": input})),
    }
}

fn stop_reason(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    }
}

fn call_id(answer: &Answer, number: usize) -> String {
    format!("toolu_{}_{number}", answer.id)
}

/// The person's text: the text blocks without the reminders that the CLI adds.
fn own_words(message: &Value) -> String {
    if let Some(content) = message["content"].as_str() {
        return content.to_owned();
    }
    let blocks = items(&message["content"]).iter();
    let words: Vec<&str> = blocks
        .filter(|block| block["type"] == "text")
        .map(|block| text(&block["text"]))
        .filter(|words| !words.starts_with("<system-reminder>"))
        .collect();
    words.join("\n")
}

fn tool_result(block: &Value) -> ToolResult {
    let content = &block["content"];
    let text = match content.as_str() {
        Some(content) => content.to_owned(),
        None => items(content)
            .iter()
            .map(|part| text(&part["text"]))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    ToolResult {
        call: self::text(&block["tool_use_id"]).to_owned(),
        text,
        is_error: block["is_error"].as_bool().unwrap_or(false),
    }
}

/// The answer to a helper call. Those that want JSON say so in their schema or system prompt.
fn side_text(body: &Value) -> String {
    let asks_for_json = body["output_config"]["format"]["type"] == "json_schema"
        || body["output_format"]["type"] == "json_schema"
        || body["system"].to_string().contains("JSON");
    if asks_for_json {
        json!({"title": "Scripted task", "isNewTopic": false}).to_string()
    } else {
        "Scripted answer".to_owned()
    }
}

fn event(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", text(&data["type"]))
}
