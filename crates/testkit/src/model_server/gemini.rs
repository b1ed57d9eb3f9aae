//! The protocol of Gemini's `generateContent` and `streamGenerateContent`, as gemini uses it.

use super::dialect::{Answer, Ask, Asked, Rendered, ToolResult, items, runs, text};
use super::script::{Call, Usage};
use serde_json::{Value, json};

pub(super) fn read(path: &str, body: &Value) -> Ask {
    let Some((_, method)) = path.rsplit_once(':') else {
        return Ask::Unknown;
    };
    let method = method.split('?').next().unwrap_or(method);
    let streamed = match method {
        "countTokens" => {
            return Ask::Side(json!({"totalTokens": body.to_string().len() / 4}));
        }
        "embedContent" => {
            return Ask::Side(json!({"embedding": {"values": [0.0, 0.0, 0.0]}}));
        }
        "streamGenerateContent" => true,
        "generateContent" => false,
        _ => return Ask::Unknown,
    };
    let contents = items(&body["contents"]);
    let config = &body["generationConfig"];
    if config["responseMimeType"] == "application/json" || items(&body["tools"]).is_empty() {
        // Routers, loop checks and summaries: each call has a schema, or no tools.
        let schema = [&config["responseJsonSchema"], &config["responseSchema"]]
            .into_iter()
            .find(|schema| !schema.is_null());
        let text = schema.map_or_else(
            || "Scripted answer".to_owned(),
            |schema| example(schema).to_string(),
        );
        return Ask::SideText { text, streamed };
    }
    if contents.is_empty() {
        return Ask::Unknown;
    }
    let last = contents.last().unwrap_or(&Value::Null);
    Ask::Turn(Asked {
        opening: contents.first().map(own_words).unwrap_or_default(),
        position: runs(contents.iter().map(|content| content["role"] == "model")),
        prompt: own_words(last),
        tool_results: items(&last["parts"])
            .iter()
            .filter(|part| !part["functionResponse"].is_null())
            .map(|part| tool_result(&part["functionResponse"]))
            .collect(),
        streamed,
    })
}

pub(super) fn render(answer: &Answer) -> Rendered {
    let calls = &answer.turn.calls;
    let mut tail: Vec<String> = calls
        .iter()
        .map(|call| event(chunk(answer, &[part(call)])))
        .collect();
    let mut last = chunk(answer, &[json!({"text": ""})]);
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = usage(answer.turn.usage);
    tail.push(event(last));
    Rendered {
        head: Vec::new(),
        tail,
    }
}

pub(super) fn delta(answer: &Answer, text: &str) -> String {
    event(chunk(answer, &[json!({"text": text})]))
}

pub(super) fn whole(answer: &Answer) -> Value {
    let turn = &answer.turn;
    let mut parts = Vec::new();
    if !turn.text.is_empty() {
        parts.push(json!({"text": turn.text}));
    }
    parts.extend(turn.calls.iter().map(part));
    let mut whole = chunk(answer, &parts);
    whole["candidates"][0]["finishReason"] = json!("STOP");
    whole["usageMetadata"] = usage(turn.usage);
    whole
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": kind}})
}

fn chunk(answer: &Answer, parts: &[Value]) -> Value {
    json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}],
        "modelVersion": answer.model,
        "responseId": answer.id,
    })
}

fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cached;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": prompt + usage.output,
    })
}

fn part(call: &Call) -> Value {
    let (name, args) = match call {
        Call::Write { path, text } => ("write_file", json!({"file_path": path, "content": text})),
        Call::Run { command } => (
            "run_shell_command",
            json!({"command": command, "description": "Runs a scripted command"}),
        ),
        Call::Tool { name, input } => (name.as_str(), input.clone()),
        Call::Freeform { name, input } => (name.as_str(), json!({"input": input})),
    };
    json!({"functionCall": {"name": name, "args": args}})
}

/// The person's text, without the session's context that gemini puts before it.
fn own_words(content: &Value) -> String {
    let parts = items(&content["parts"]).iter();
    let words: Vec<&str> = parts
        .map(|part| text(&part["text"]))
        .filter(|words| !words.is_empty() && !words.starts_with("<session_context>"))
        .collect();
    words.join("\n")
}

fn tool_result(response: &Value) -> ToolResult {
    let response_body = &response["response"];
    let error = text(&response_body["error"]);
    let output = text(&response_body["output"]);
    ToolResult {
        call: text(&response["name"]).to_owned(),
        text: if error.is_empty() { output } else { error }.to_owned(),
        is_error: !error.is_empty(),
    }
}

/// The smallest value of a schema, which is enough for a helper call.
fn example(schema: &Value) -> Value {
    if let Some(first) = items(&schema["enum"]).first() {
        return first.clone();
    }
    match text(&schema["type"]).to_ascii_lowercase().as_str() {
        "object" => schema["properties"].as_object().map_or_else(
            || json!({}),
            |properties| {
                properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), example(schema)))
                    .collect()
            },
        ),
        "array" => json!([]),
        "boolean" => json!(false),
        "integer" | "number" => json!(0),
        _ => json!("scripted"),
    }
}

fn event(data: Value) -> String {
    format!("data: {data}\n\n")
}
