use super::calls::{Call, CallEffect, CallEnd, Calls};
use super::diagnosis::Tries;
use super::json_lines::{Dialect, JsonLines, Known, summary_of};
use super::progress::Progress;
use super::{AgentStream, StreamSetup};
use crate::agent::usage::{Scope, Usage};
use serde_json::Value;

/// Reads `gemini -o stream-json`.
pub fn gemini_stream(setup: StreamSetup) -> Box<dyn AgentStream> {
    let progress = Progress::new(setup, Scope::Run, Scope::Run);
    Box::new(JsonLines::new(Gemini::default(), progress))
}

/// The error types of tool calls that it refused.
const REFUSALS: [&str; 5] = [
    "tool_not_registered",
    "policy_violation",
    "permission_denied",
    "path_not_in_workspace",
    "sandbox_expansion_required",
];

#[derive(Default)]
struct Gemini {
    calls: Calls,
}

impl Dialect for Gemini {
    fn event(&mut self, event: &Value, progress: &mut Progress) -> Known {
        match event["type"].as_str() {
            Some("init") => {
                progress.started(event["session_id"].as_str(), event["model"].as_str());
            }
            Some("message") => message(event, progress),
            Some("tool_use") => self.tool_use(event, progress),
            Some("tool_result") => self.tool_result(event, progress),
            Some("error") => {
                let text = event["message"].as_str().unwrap_or("unnamed error");
                progress.trouble(text, None, Tries::default());
            }
            Some("result") => result(event, progress),
            Some(_) => return Known::No,
            None => return Known::Garbage,
        }
        Known::Yes
    }

    /// Gemini reports retries on standard error only.
    fn stderr(&mut self, line: &str, progress: &mut Progress) {
        let Some(rest) = line.strip_prefix("Attempt ") else {
            return;
        };
        let Some((number, rest)) = rest.split_once(" failed") else {
            return;
        };
        let tries = Tries {
            attempt: number.parse().ok(),
            ..Tries::default()
        };
        let status = rest
            .split_once("with status ")
            .and_then(|(_, rest)| rest.get(..3)?.parse().ok());
        let said = rest.split_once("Retrying").map_or(rest, |(said, _)| said);
        progress.trouble(&format!("API error: attempt failed{said}"), status, tries);
    }

    fn end(&mut self, progress: &mut Progress) {
        self.calls.end_all(progress);
    }
}

impl Gemini {
    fn tool_use(&mut self, event: &Value, progress: &mut Progress) {
        let tool = event["tool_name"].as_str().unwrap_or("unknown");
        let call = Call {
            id: event["tool_id"].as_str().unwrap_or_default().to_owned(),
            tool: tool.to_owned(),
            summary: summary_of(&event["parameters"]),
            effect: match tool {
                "run_shell_command" => CallEffect::Command,
                "write_file" | "replace" => CallEffect::FileChange,
                _ => CallEffect::Other,
            },
        };
        self.calls.begun(call, progress);
    }

    /// Handles a tool's result. A refused call has no event of its own; its result reports it.
    fn tool_result(&mut self, event: &Value, progress: &mut Progress) {
        let Some(id) = event["tool_id"].as_str() else {
            return;
        };
        let kind = event["error"]["type"].as_str().unwrap_or_default();
        let end = match event["status"].as_str() {
            Some("success") => CallEnd::Done { exit_code: None },
            Some(_) | None if REFUSALS.contains(&kind) => CallEnd::Refused {
                reason: event["error"]["message"].as_str().unwrap_or(kind),
            },
            Some(_) | None => CallEnd::Failed,
        };
        self.calls.ended(id, end, progress);
    }
}

fn message(event: &Value, progress: &mut Progress) {
    if event["role"].as_str() != Some("assistant") {
        return;
    }
    let text = event["content"].as_str().unwrap_or_default();
    match event["delta"].as_bool() {
        Some(true) => progress.text_piece(text),
        Some(false) | None => progress.text(text),
    }
}

fn result(event: &Value, progress: &mut Progress) {
    let usage = event.get("stats").map(tokens);
    match event["status"].as_str() {
        // If the input is too large, Gemini drops it silently, calls no model, and reports "success".
        Some("success")
            if !progress.has_said_something() && usage.is_none_or(|u| u == Usage::default()) =>
        {
            progress.fail("it finished without a request to its model", None);
        }
        Some("success") => progress.succeed(),
        Some(_) | None => {
            let message = event["error"]["message"]
                .as_str()
                .unwrap_or("no reason given");
            progress.fail(message, None);
        }
    }
    progress.usage(usage, None);
}

fn tokens(stats: &Value) -> Usage {
    let field = |name: &str| stats[name].as_u64().unwrap_or_default();
    let cached = field("cached");
    Usage {
        input: field("input_tokens").saturating_sub(cached),
        cached,
        output: field("output_tokens"),
    }
}
