use super::calls::{Call, CallEffect, CallEnd, Calls};
use super::diagnosis::Tries;
use super::json_lines::{Dialect, JsonLines, Known, list, summary_of};
use super::progress::Progress;
use super::{AgentStream, StreamSetup};
use crate::agent::usage::{Scope, Usage};
use serde_json::Value;

/// Reads `codex exec --json`.
///
/// After a resume it reports the tokens of the whole conversation. It reports no cost.
pub fn codex_stream(setup: StreamSetup) -> Box<dyn AgentStream> {
    let progress = Progress::new(setup, Scope::Session, Scope::Session);
    Box::new(JsonLines::new(Codex::default(), progress))
}

#[derive(Default)]
struct Codex {
    calls: Calls,
}

impl Dialect for Codex {
    fn event(&mut self, event: &Value, progress: &mut Progress) -> Known {
        match event["type"].as_str() {
            Some("thread.started") => progress.started(event["thread_id"].as_str(), None),
            Some("item.started") => return self.item(event, Moment::Started, progress),
            Some("item.completed") => return self.item(event, Moment::Completed, progress),
            Some("turn.completed") => {
                progress.succeed();
                progress.usage(event.get("usage").map(tokens), None);
            }
            Some("turn.failed") => {
                let message = event["error"]["message"]
                    .as_str()
                    .unwrap_or("no reason given");
                progress.fail(message, None);
            }
            Some("error") => {
                let message = event["message"].as_str().unwrap_or("unnamed error");
                progress.trouble(message, None, tries(message));
            }
            Some("turn.started" | "item.updated") => {}
            Some(_) => return Known::No,
            None => return Known::Garbage,
        }
        Known::Yes
    }

    fn end(&mut self, progress: &mut Progress) {
        self.calls.end_all(progress);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Started,
    Completed,
}

impl Codex {
    fn item(&mut self, event: &Value, moment: Moment, progress: &mut Progress) -> Known {
        let item = &event["item"];
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match (text("type"), moment) {
            ("agent_message", Moment::Completed) => {
                progress.text(text("text"));
                progress.answered(text("text"));
            }
            ("reasoning", Moment::Completed) => progress.thinking(text("text")),
            ("command_execution", Moment::Started) => self.calls.begun(command(item), progress),
            ("command_execution", Moment::Completed) => self.command_ended(item, progress),
            ("file_change", Moment::Completed) if text("status") == "completed" => {
                for change in list(&item["changes"]) {
                    progress.file_change(change["path"].as_str().unwrap_or_default());
                }
            }
            ("file_change", Moment::Completed) => progress.warn("a file change was refused"),
            ("mcp_tool_call", Moment::Started) => progress.tool(
                &format!("{}.{}", text("server"), text("tool")),
                &summary_of(&item["arguments"]),
            ),
            ("web_search", Moment::Completed) => progress.tool("web_search", text("query")),
            ("collab_tool_call", Moment::Started) => progress.tool(text("tool"), text("prompt")),
            ("error", Moment::Completed) => progress.warn(text("message")),
            (
                "agent_message" | "reasoning" | "file_change" | "mcp_tool_call" | "web_search"
                | "collab_tool_call" | "todo_list" | "error",
                _,
            ) => {}
            _ => return Known::No,
        }
        Known::Yes
    }

    fn command_ended(&mut self, item: &Value, progress: &mut Progress) {
        let command = command(item);
        let code = item["exit_code"].as_i64();
        let exit_code = code.and_then(|code| i32::try_from(code).ok());
        let end = match item["status"].as_str() {
            Some("declined") => CallEnd::Refused {
                reason: "declined by the agent's own rules",
            },
            Some(_) | None => CallEnd::Done { exit_code },
        };
        // A call without a start event is reported completely now.
        if !self.calls.ended(&command.id, end, progress) {
            let id = command.id.clone();
            self.calls.begun(command, progress);
            self.calls.ended(&id, end, progress);
        }
    }
}

fn command(item: &Value) -> Call {
    let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    Call {
        id: text("id"),
        tool: "command".to_owned(),
        summary: text("command"),
        effect: CallEffect::Command,
    }
}

/// The counts in a message such as `Reconnecting... 2/5 (why)`.
fn tries(message: &str) -> Tries {
    let counts = message
        .strip_prefix("Reconnecting... ")
        .and_then(|rest| rest.split([' ', '(']).next())
        .and_then(|count| count.split_once('/'));
    Tries {
        attempt: counts.and_then(|(n, _)| n.parse().ok()),
        attempts: counts.and_then(|(_, of)| of.parse().ok()),
        retry_in_ms: None,
    }
}

fn tokens(usage: &Value) -> Usage {
    let field = |name: &str| usage[name].as_u64().unwrap_or_default();
    let cached = field("cached_input_tokens");
    Usage {
        input: field("input_tokens").saturating_sub(cached),
        cached,
        output: field("output_tokens"),
    }
}
