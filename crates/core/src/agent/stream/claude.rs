use super::calls::{Call, CallEffect, CallEnd, Calls};
use super::diagnosis::{Tries, epoch_seconds};
use super::json_lines::{Dialect, JsonLines, Known, list, summary_of};
use super::progress::Progress;
use super::{AgentStream, StreamSetup};
use crate::agent::event::Wait;
use crate::agent::permission::Decision;
use crate::agent::usage::{Cost, Scope, Usage};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Reads `claude -p --output-format stream-json`, and answers its permission requests.
///
/// After a resume it reports the tokens of the run, but the cost of the whole conversation.
pub fn claude_stream(setup: StreamSetup) -> Box<dyn AgentStream> {
    let progress = Progress::new(setup, Scope::Run, Scope::Session);
    Box::new(JsonLines::new(Claude::default(), progress))
}

/// The prompt as a frame for `--input-format stream-json`.
pub fn claude_user_message(prompt: &str) -> Vec<u8> {
    let message = json!({
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": null,
        "session_id": "",
    });
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// How many messages are tracked until they end.
const REMEMBERED: usize = 256;

/// Prefixes of messages about an unknown tool or invalid input.
const NOT_CALLED: &str = "<tool_use_error>";

#[derive(Default)]
struct Claude {
    /// Token counts of each message; every block of a message repeats them.
    messages: VecDeque<(String, Usage)>,
    forgotten: Usage,
    calls: Calls,
}

impl Dialect for Claude {
    fn event(&mut self, event: &Value, progress: &mut Progress) -> Known {
        match event["type"].as_str() {
            Some("system") => return self.system(event, progress),
            Some("assistant") => self.assistant(event, progress),
            Some("user") => self.tool_results(event, progress),
            Some("result") => result(event, progress),
            Some("control_request") => self.control_request(event, progress),
            Some("rate_limit_event") => rate_limit(event, progress),
            Some("control_response" | "control_cancel_request" | "stream_event" | "keep_alive") => {
            }
            Some(_) => return Known::No,
            None => return Known::Garbage,
        }
        Known::Yes
    }

    fn end(&mut self, progress: &mut Progress) {
        self.calls.end_all(progress);
    }
}

impl Claude {
    fn system(&mut self, event: &Value, progress: &mut Progress) -> Known {
        match event["subtype"].as_str() {
            Some("init") => {
                progress.started(event["session_id"].as_str(), event["model"].as_str());
            }
            Some("api_retry") => {
                let message = event["error"]
                    .as_str()
                    .unwrap_or("the model did not answer");
                let tries = Tries {
                    attempt: small(event, "attempt"),
                    attempts: small(event, "max_retries"),
                    retry_in_ms: event["retry_delay_ms"]
                        .as_f64()
                        .map(|ms| ms.max(0.0) as u64),
                };
                let status = event["error_status"]
                    .as_u64()
                    .and_then(|s| u16::try_from(s).ok());
                // Every retry is a wait, even without a status number or a known word.
                progress.trouble(&format!("API error: {message}"), status, tries);
            }
            Some("permission_denied") => self.denied(event, progress),
            Some(
                "status"
                | "compact_boundary"
                | "hook_started"
                | "hook_progress"
                | "hook_response"
                | "task_started"
                | "task_progress"
                | "task_updated"
                | "task_notification"
                | "informational"
                | "session_state_changed"
                | "files_persisted",
            ) => {}
            Some(_) | None => return Known::No,
        }
        Known::Yes
    }

    fn assistant(&mut self, event: &Value, progress: &mut Progress) {
        // Text of a sub-agent is not the agent's answer.
        let own = event.get("parent_tool_use_id").is_none_or(Value::is_null);
        for block in list(&event["message"]["content"]) {
            match block["type"].as_str() {
                Some("text") if own => progress.text(block["text"].as_str().unwrap_or_default()),
                Some("thinking") if own => {
                    progress.thinking(block["thinking"].as_str().unwrap_or_default());
                }
                Some("tool_use") => self.tool_use(block, progress),
                Some(_) | None => {}
            }
        }
        if let (Some(id), Some(usage)) = (
            event["message"]["id"].as_str(),
            event.get("message").and_then(|m| m.get("usage")),
        ) {
            self.count(id, tokens(usage));
            let sum = self
                .messages
                .iter()
                .fold(self.forgotten, |sum, (_, usage)| sum.plus(*usage));
            progress.usage(Some(sum), None);
        }
    }

    fn tool_use(&mut self, block: &Value, progress: &mut Progress) {
        let tool = block["name"].as_str().unwrap_or("unknown");
        let call = Call {
            id: block["id"].as_str().unwrap_or_default().to_owned(),
            tool: tool.to_owned(),
            summary: summary_of(&block["input"]),
            effect: match tool {
                "Bash" => CallEffect::Command,
                "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => CallEffect::FileChange,
                _ => CallEffect::Other,
            },
        };
        self.calls.begun(call, progress);
    }

    /// Handles a call that the agent refused by its own rules, and finds the call it names.
    fn denied(&mut self, event: &Value, progress: &mut Progress) {
        let call = event["tool_use_id"]
            .as_str()
            .and_then(|id| self.calls.take(id));
        let detail = call.map_or_else(|| summary_of(&event["tool_input"]), |call| call.summary);
        let reason = event["message"]
            .as_str()
            .or_else(|| event["decision_reason"].as_str())
            .unwrap_or("not allowed in this role");
        let tool = event["tool_name"].as_str().unwrap_or("unknown");
        progress.denied(tool, &detail, reason);
    }

    fn tool_results(&mut self, event: &Value, progress: &mut Progress) {
        let meta = list(&event["tool_result_meta"]);
        for block in list(&event["message"]["content"]) {
            let Some(id) = block["tool_use_id"].as_str() else {
                continue;
            };
            let said = block["content"].as_str().unwrap_or_default();
            let was_run = !meta.iter().any(|one| {
                one["id"].as_str() == Some(id) && one["non_execution_kind"].as_str().is_some()
            });
            let failed = block["is_error"].as_bool() == Some(true);
            let end = match (failed, was_run && !said.starts_with(NOT_CALLED)) {
                (false, _) => CallEnd::Done { exit_code: None },
                (true, true) => CallEnd::Failed,
                (true, false) => CallEnd::Refused { reason: said },
            };
            self.calls.ended(id, end, progress);
        }
    }

    fn control_request(&mut self, event: &Value, progress: &mut Progress) {
        let id = event["request_id"].as_str().unwrap_or_default();
        let request = &event["request"];
        let response = match request["subtype"].as_str() {
            Some("can_use_tool") => {
                let input = &request["input"];
                let tool = request["tool_name"].as_str().unwrap_or("unknown");
                let decision = progress.ask(tool, &summary_of(input));
                if decision != Decision::Grant {
                    // The request above was already reported.
                    request["tool_use_id"]
                        .as_str()
                        .map(|id| self.calls.take(id));
                }
                let answer = match decision {
                    Decision::Grant => json!({"behavior": "allow", "updatedInput": input}),
                    Decision::Deny { reason } => json!({"behavior": "deny", "message": reason}),
                    Decision::Exhausted { .. } => json!({
                        "behavior": "deny",
                        "message": "no more permissions are granted in this run",
                        "interrupt": true,
                    }),
                };
                json!({"subtype": "success", "request_id": id, "response": answer})
            }
            other => {
                // Only a person could answer this question, and none is there; the agent is told so.
                progress.wait(Wait::Permission {
                    tool: other.unwrap_or("unknown").to_owned(),
                });
                json!({"subtype": "error", "request_id": id, "error": "no person is available to answer"})
            }
        };
        progress.send(&json!({"type": "control_response", "response": response}));
    }

    fn count(&mut self, id: &str, usage: Usage) {
        if let Some((_, known)) = self.messages.iter_mut().find(|(known, _)| known == id) {
            *known = usage;
            return;
        }
        self.messages.push_back((id.to_owned(), usage));
        if self.messages.len() > REMEMBERED
            && let Some((_, old)) = self.messages.pop_front()
        {
            self.forgotten = self.forgotten.plus(old);
        }
    }
}

fn result(event: &Value, progress: &mut Progress) {
    if let Some(session) = event["session_id"].as_str()
        && progress.session_id() != Some(session)
    {
        progress.started(Some(session), None);
    }
    let text = event["result"].as_str().unwrap_or_default();
    let is_error = event["is_error"].as_bool();
    let subtype = event["subtype"].as_str().unwrap_or_default();
    let cost = event["total_cost_usd"].as_f64().and_then(Cost::from_usd);
    if is_error == Some(false) && subtype == "success" {
        if !text.is_empty() && !progress.just_said(text) {
            progress.text(text);
        }
        if let Some(answer) = event.get("structured_output") {
            progress.answered(&answer.to_string());
        }
        progress.succeed();
    } else {
        let status = event["api_error_status"]
            .as_u64()
            .and_then(|s| u16::try_from(s).ok());
        let errors: Vec<&str> = list(&event["errors"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let message = match (text.is_empty(), errors.is_empty()) {
            (false, _) => text.to_owned(),
            (true, false) => errors.join("; "),
            (true, true) => subtype.to_owned(),
        };
        progress.fail(&message, status);
    }
    progress.usage(event.get("usage").map(tokens), cost);
}

fn rate_limit(event: &Value, progress: &mut Progress) {
    let info = &event["rate_limit_info"];
    if info["status"].as_str() == Some("rejected") {
        progress.wait(Wait::UsageLimit {
            resets_at: info["resetsAt"].as_i64().and_then(epoch_seconds),
            message: info["rateLimitType"]
                .as_str()
                .unwrap_or("usage limit")
                .to_owned(),
        });
    }
}

fn tokens(usage: &Value) -> Usage {
    let field = |name: &str| usage[name].as_u64().unwrap_or_default();
    Usage {
        input: field("input_tokens").saturating_add(field("cache_creation_input_tokens")),
        cached: field("cache_read_input_tokens"),
        output: field("output_tokens"),
    }
}

fn small(event: &Value, key: &str) -> Option<u32> {
    event[key].as_u64().and_then(|n| u32::try_from(n).ok())
}
