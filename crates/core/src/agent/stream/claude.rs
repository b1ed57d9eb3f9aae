use super::calls::{Call, CallEffect, CallEnd, Calls};
use super::diagnosis::epoch_seconds;
use super::json_lines::{Dialect, JsonLines, Known, list_at, number_at, summary_of, text_at};
use super::progress::{Progress, Tries};
use super::{AgentStream, StreamSetup};
use crate::agent::event::Wait;
use crate::agent::permission::Decision;
use crate::agent::usage::{Cost, Scope, Usage};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Reads `claude -p --output-format stream-json`, and answers its permission requests.
///
/// After a resume its tokens are of the run, its money of the whole conversation.
pub fn claude_stream(setup: StreamSetup) -> Box<dyn AgentStream> {
    let progress = Progress::new(setup, Scope::Run, Scope::Session);
    Box::new(JsonLines::new(Claude::default(), progress))
}

/// The frame that asks it something, for `--input-format stream-json`.
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

/// How many messages are remembered until their end is seen.
const REMEMBERED: usize = 256;

/// Prefixes of messages about an unknown tool or invalid input.
const NOT_CALLED: &str = "<tool_use_error>";

#[derive(Default)]
struct Claude {
    /// Tokens of each message; every block of a message repeats them.
    messages: VecDeque<(String, Usage)>,
    forgotten: Usage,
    calls: Calls,
}

impl Dialect for Claude {
    fn event(&mut self, event: &Value, progress: &mut Progress) -> Known {
        match text_at(event, &["type"]) {
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
        match text_at(event, &["subtype"]) {
            Some("init") => {
                progress.started(text_at(event, &["session_id"]), text_at(event, &["model"]));
            }
            Some("api_retry") => {
                let message = text_at(event, &["error"]).unwrap_or("the model did not answer");
                let tries = Tries {
                    attempt: small(event, "attempt"),
                    attempts: small(event, "max_retries"),
                    retry_in_ms: event
                        .get("retry_delay_ms")
                        .and_then(Value::as_f64)
                        .map(|ms| ms.max(0.0) as u64),
                };
                let status =
                    number_at(event, &["error_status"]).and_then(|s| u16::try_from(s).ok());
                // Every retry is a wait, also one whose cause has no number and no known word.
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
        // A sub-agent's words are not the agent's answer.
        let own = event.get("parent_tool_use_id").is_none_or(Value::is_null);
        for block in list_at(event, &["message", "content"]) {
            match text_at(block, &["type"]) {
                Some("text") if own => progress.text(text_at(block, &["text"]).unwrap_or_default()),
                Some("thinking") if own => {
                    progress.thinking(text_at(block, &["thinking"]).unwrap_or_default());
                }
                Some("tool_use") => self.tool_use(block, progress),
                Some(_) | None => {}
            }
        }
        if let (Some(id), Some(usage)) = (
            text_at(event, &["message", "id"]),
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
        let tool = text_at(block, &["name"]).unwrap_or("unknown");
        let call = Call {
            id: text_at(block, &["id"]).unwrap_or_default().to_owned(),
            tool: tool.to_owned(),
            summary: summary_of(block.get("input").unwrap_or(&Value::Null)),
            effect: match tool {
                "Bash" => CallEffect::Command,
                "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => CallEffect::FileChange,
                _ => CallEffect::Other,
            },
        };
        self.calls.begun(call, progress);
    }

    /// It refused a call by its own rules, and names the call it was.
    fn denied(&mut self, event: &Value, progress: &mut Progress) {
        let call = text_at(event, &["tool_use_id"]).and_then(|id| self.calls.take(id));
        let detail = call.map_or_else(
            || summary_of(event.get("tool_input").unwrap_or(&Value::Null)),
            |call| call.summary,
        );
        let reason = text_at(event, &["message"])
            .or_else(|| text_at(event, &["decision_reason"]))
            .unwrap_or("not allowed in this role");
        let tool = text_at(event, &["tool_name"]).unwrap_or("unknown");
        progress.denied(tool, &detail, reason);
    }

    fn tool_results(&mut self, event: &Value, progress: &mut Progress) {
        let meta = list_at(event, &["tool_result_meta"]);
        for block in list_at(event, &["message", "content"]) {
            let Some(id) = text_at(block, &["tool_use_id"]) else {
                continue;
            };
            let said = text_at(block, &["content"]).unwrap_or_default();
            let was_run = !meta.iter().any(|one| {
                text_at(one, &["id"]) == Some(id) && text_at(one, &["non_execution_kind"]).is_some()
            });
            let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            let end = match (failed, was_run && !said.starts_with(NOT_CALLED)) {
                (false, _) => CallEnd::Done { exit_code: None },
                (true, true) => CallEnd::Failed,
                (true, false) => CallEnd::Refused { reason: said },
            };
            self.calls.ended(id, end, progress);
        }
    }

    fn control_request(&mut self, event: &Value, progress: &mut Progress) {
        let id = text_at(event, &["request_id"]).unwrap_or_default();
        let request = event.get("request").unwrap_or(&Value::Null);
        let response = match text_at(request, &["subtype"]) {
            Some("can_use_tool") => {
                let input = request.get("input").unwrap_or(&Value::Null);
                let tool = text_at(request, &["tool_name"]).unwrap_or("unknown");
                let decision = progress.ask(tool, &summary_of(input));
                if decision != Decision::Grant {
                    // Told just now.
                    text_at(request, &["tool_use_id"]).map(|id| self.calls.take(id));
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
                // A question only a person could answer: nobody is there, and the agent is told so.
                progress.wait(Wait::Permission {
                    tool: other.unwrap_or("unknown").to_owned(),
                });
                json!({"subtype": "error", "request_id": id, "error": "no person is available to answer"})
            }
        };
        progress.send(&json!({"type": "control_response", "response": response}));
    }

    fn count(&mut self, id: &str, usage: Usage) {
        match self.messages.iter_mut().find(|(known, _)| known == id) {
            Some((_, known)) => *known = usage,
            None => {
                if let Some((_, old)) = remember(&mut self.messages, (id.to_owned(), usage)) {
                    self.forgotten = self.forgotten.plus(old);
                }
            }
        }
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) -> Option<T> {
    list.push_back(item);
    match list.len() > REMEMBERED {
        true => list.pop_front(),
        false => None,
    }
}

fn result(event: &Value, progress: &mut Progress) {
    if let Some(session) = text_at(event, &["session_id"])
        && progress.session_id() != Some(session)
    {
        progress.started(Some(session), None);
    }
    let text = text_at(event, &["result"]).unwrap_or_default();
    let is_error = event.get("is_error").and_then(Value::as_bool);
    let subtype = text_at(event, &["subtype"]).unwrap_or_default();
    let cost = event
        .get("total_cost_usd")
        .and_then(Value::as_f64)
        .and_then(Cost::from_usd);
    if is_error == Some(false) && subtype == "success" {
        if !text.is_empty() && !progress.just_said(text) {
            progress.text(text);
        }
        progress.succeed();
    } else {
        let status = number_at(event, &["api_error_status"]).and_then(|s| u16::try_from(s).ok());
        let errors: Vec<&str> = list_at(event, &["errors"])
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
    let info = event.get("rate_limit_info").unwrap_or(&Value::Null);
    if text_at(info, &["status"]) == Some("rejected") {
        progress.wait(Wait::UsageLimit {
            resets_at: info
                .get("resetsAt")
                .and_then(Value::as_i64)
                .and_then(epoch_seconds),
            message: text_at(info, &["rateLimitType"])
                .unwrap_or("usage limit")
                .to_owned(),
        });
    }
}

fn tokens(usage: &Value) -> Usage {
    let field = |name: &str| number_at(usage, &[name]).unwrap_or_default();
    Usage {
        input: field("input_tokens").saturating_add(field("cache_creation_input_tokens")),
        cached: field("cache_read_input_tokens"),
        output: field("output_tokens"),
    }
}

fn small(event: &Value, key: &str) -> Option<u32> {
    number_at(event, &[key]).and_then(|n| u32::try_from(n).ok())
}
