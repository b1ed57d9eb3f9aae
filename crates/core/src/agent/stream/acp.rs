use super::diagnosis::Tries;
use super::json_lines::{Dialect, JsonLines, Known, list, summary_of};
use super::progress::Progress;
use super::{AgentStream, StreamSetup};
use crate::agent::outcome::Failure;
use crate::agent::permission::Decision;
use crate::agent::role::Access;
use crate::agent::usage::{Cost, Scope, Usage};
use serde_json::{Value, json};

/// A job for an Agent Client Protocol agent.
#[derive(Clone, Debug)]
pub struct AcpJob {
    /// The absolute path of its working directory.
    pub cwd: String,
    /// The prompt.
    pub prompt: String,
    /// The model to select, if the agent supports that.
    pub model: Option<String>,
}

/// Conducts an Agent Client Protocol conversation: initialize, one session, one prompt.
///
/// The client offers no file system and no terminal, so the agent does everything itself, inside
/// its isolation.
pub fn acp_stream(setup: StreamSetup, job: AcpJob) -> Box<dyn AgentStream> {
    let mut progress = Progress::new(setup, Scope::Run, Scope::Session);
    let mut acp = Acp {
        job,
        step: Step::Initialize,
        next_id: 0,
        can_load: false,
        kinds: Vec::new(),
    };
    acp.call(
        "initialize",
        json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {
                "fs": {"readTextFile": false, "writeTextFile": false},
                "terminal": false,
            },
            "clientInfo": {"name": "drive", "version": env!("CARGO_PKG_VERSION")},
        }),
        &mut progress,
    );
    Box::new(JsonLines::new(acp, progress))
}

const PROTOCOL: u64 = 1;
/// The protocol's code for a missing login.
const AUTH_REQUIRED: i64 = -32000;
const METHOD_NOT_FOUND: i64 = -32601;
/// How many running tool calls are tracked.
const REMEMBERED: usize = 256;

/// The call whose answer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Initialize,
    Session,
    Model,
    Prompt,
    Over,
}

struct Acp {
    job: AcpJob,
    step: Step,
    next_id: u64,
    can_load: bool,
    /// The kind of each announced tool call.
    kinds: Vec<(String, String)>,
}

impl Dialect for Acp {
    fn event(&mut self, event: &Value, progress: &mut Progress) -> Known {
        let method = event["method"].as_str();
        let id = event.get("id").filter(|id| !id.is_null());
        match (method, id) {
            (Some("session/update"), _) => return self.update(event, progress),
            (Some("session/request_permission"), Some(id)) => {
                self.permission(id, &event["params"], progress);
            }
            (Some(method), Some(id)) => {
                let message = format!("`{method}` is not offered");
                progress.send(&json!({
                    "jsonrpc": "2.0",
                    "id": id,
                    "error": {"code": METHOD_NOT_FOUND, "message": message},
                }));
                return Known::No;
            }
            (Some(_), None) => return Known::No,
            (None, Some(id)) => self.response(id, event, progress),
            (None, None) => return Known::Garbage,
        }
        Known::Yes
    }
}

impl Acp {
    fn call(&mut self, method: &str, params: Value, progress: &mut Progress) {
        progress.send(&json!({
            "jsonrpc": "2.0",
            "id": self.next_id,
            "method": method,
            "params": params,
        }));
    }

    fn response(&mut self, id: &Value, event: &Value, progress: &mut Progress) {
        if id.as_u64() != Some(self.next_id) || self.step == Step::Over {
            return;
        }
        self.next_id += 1;
        if let Some(error) = event.get("error").filter(|e| !e.is_null()) {
            return self.refused(error, progress);
        }
        let result = &event["result"];
        match self.step {
            Step::Initialize => self.initialized(result, progress),
            Step::Session => self.opened(result, progress),
            Step::Model => self.prompt(progress),
            Step::Prompt => self.answered(result, progress),
            Step::Over => {}
        }
    }

    fn refused(&mut self, error: &Value, progress: &mut Progress) {
        let message = error["message"].as_str().unwrap_or("no reason given");
        if self.step == Step::Model {
            progress.warn(&format!("cannot select the model: {message}"));
            return self.prompt(progress);
        }
        self.step = Step::Over;
        let data = &error["data"];
        let details = data
            .as_str()
            .or_else(|| data["details"].as_str())
            .map_or(String::new(), |details| format!(": {details}"));
        match error["code"].as_i64() {
            Some(AUTH_REQUIRED) => {
                progress.trouble(
                    &format!("authentication required: {message}"),
                    None,
                    Tries::default(),
                );
                progress.fail(&format!("authentication required: {message}"), None);
            }
            code => {
                let status = code
                    .and_then(|c| u16::try_from(c).ok())
                    .filter(|c| (400..600).contains(c));
                progress.fail(&format!("{message}{details}"), status);
            }
        }
    }

    fn initialized(&mut self, result: &Value, progress: &mut Progress) {
        let spoken = result["protocolVersion"].as_u64();
        if spoken != Some(PROTOCOL) {
            let spoken = spoken.map_or("none".to_owned(), |v| v.to_string());
            self.step = Step::Over;
            let message = format!("protocol version {spoken} instead of {PROTOCOL}");
            return progress.abandon(Failure::Garbage, &message);
        }
        self.can_load = result["agentCapabilities"]["loadSession"] == true;
        self.step = Step::Session;
        let mut params = json!({"cwd": self.job.cwd, "mcpServers": []});
        match progress.session_id().map(str::to_owned) {
            Some(session) if self.can_load => {
                params["sessionId"] = json!(session);
                self.call("session/load", params, progress);
            }
            Some(_) => {
                progress.warn("this agent cannot resume a conversation; starting a new one");
                self.call("session/new", params, progress);
            }
            None => self.call("session/new", params, progress),
        }
    }

    fn opened(&mut self, result: &Value, progress: &mut Progress) {
        let session = result["sessionId"]
            .as_str()
            .or(progress.session_id())
            .map(str::to_owned);
        let Some(session) = session else {
            self.step = Step::Over;
            return progress.abandon(Failure::Garbage, "it opened a session without an id");
        };
        let model = result["models"]["currentModelId"].as_str();
        progress.started(Some(&session), model);
        match self.job.model.clone() {
            Some(wanted) if model != Some(wanted.as_str()) => {
                self.step = Step::Model;
                let params = json!({"sessionId": session, "modelId": wanted});
                self.call("session/set_model", params, progress);
            }
            Some(_) | None => self.prompt(progress),
        }
    }

    fn prompt(&mut self, progress: &mut Progress) {
        self.step = Step::Prompt;
        let params = json!({
            "sessionId": progress.session_id().unwrap_or_default(),
            "prompt": [{"type": "text", "text": std::mem::take(&mut self.job.prompt)}],
        });
        self.call("session/prompt", params, progress);
    }

    fn answered(&mut self, result: &Value, progress: &mut Progress) {
        self.step = Step::Over;
        match result["stopReason"].as_str() {
            Some("end_turn") => progress.succeed(),
            Some(other) => progress.fail(&format!("stopped early: {other}"), None),
            None => progress.fail("stopped without a reason", None),
        }
        let usage = result
            .get("usage")
            .or_else(|| result.get("_meta")?.get("quota")?.get("token_count"));
        progress.usage(usage.map(tokens), None);
    }

    fn update(&mut self, event: &Value, progress: &mut Progress) -> Known {
        let update = &event["params"]["update"];
        // A loaded session replays its history, which is not this run's work.
        if self.step != Step::Prompt {
            return Known::Yes;
        }
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                progress.text_piece(update["content"]["text"].as_str().unwrap_or_default());
            }
            Some("agent_thought_chunk") => {
                progress.thinking(update["content"]["text"].as_str().unwrap_or_default());
            }
            Some("tool_call") => self.tool_call(update, progress),
            Some("tool_call_update") => self.tool_update(update, progress),
            Some("usage_update") => {
                let amount = update["cost"]["amount"].as_f64();
                let dollars = amount.filter(|_| update["cost"]["currency"] == "USD");
                progress.usage(None, dollars.and_then(Cost::from_usd));
            }
            Some(
                "plan"
                | "user_message_chunk"
                | "available_commands_update"
                | "current_mode_update"
                | "config_option_update"
                | "session_info_update",
            ) => {}
            Some(_) | None => return Known::No,
        }
        Known::Yes
    }

    fn tool_call(&mut self, update: &Value, progress: &mut Progress) {
        let kind = update["kind"].as_str().unwrap_or("other");
        let title = update["title"].as_str().unwrap_or_default();
        match kind {
            "execute" => progress.command(title, None),
            _ => progress.tool(kind, title),
        }
        if let Some(id) = update["toolCallId"].as_str() {
            if self.kinds.len() >= REMEMBERED {
                self.kinds.remove(0);
            }
            self.kinds.push((id.to_owned(), kind.to_owned()));
        }
        self.tool_update(update, progress);
    }

    fn tool_update(&mut self, update: &Value, progress: &mut Progress) {
        if update["status"].as_str() != Some("completed") {
            return;
        }
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let Some(at) = self.kinds.iter().position(|(known, _)| known == id) else {
            return;
        };
        let (_, kind) = self.kinds.remove(at);
        if !matches!(kind.as_str(), "edit" | "delete" | "move") {
            return;
        }
        for path in changed_paths(update) {
            progress.file_change(path);
        }
    }

    fn permission(&mut self, id: &Value, params: &Value, progress: &mut Progress) {
        let call = &params["toolCall"];
        let known = call["toolCallId"]
            .as_str()
            .and_then(|id| self.kinds.iter().find(|(known, _)| known == id))
            .map(|(_, kind)| kind.clone());
        let kind = call["kind"]
            .as_str()
            .map(str::to_owned)
            .or(known)
            .unwrap_or_else(|| "other".to_owned());
        let detail = call["title"]
            .as_str()
            .map_or_else(|| summary_of(&call["rawInput"]), str::to_owned);
        let is_routine =
            routine(&kind, progress.access()) && !progress.is_denied_by_rule(&kind, &detail);
        if is_routine {
            progress.granted_by_role(&kind, &detail);
        }
        let granted = is_routine || progress.ask(&kind, &detail) == Decision::Grant;
        let wanted = if granted { "allow_once" } else { "reject_once" };
        let option = list(&params["options"])
            .iter()
            .find(|option| option["kind"].as_str() == Some(wanted))
            .and_then(|option| option["optionId"].as_str());
        let outcome = match option {
            Some(option) => json!({"outcome": "selected", "optionId": option}),
            None => json!({"outcome": "cancelled"}),
        };
        progress.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}));
    }
}

/// Whether a role needs no rule for this: all roles may read, and writing roles may change and run.
/// The kernel confines them to the sandbox.
fn routine(kind: &str, access: Access) -> bool {
    match access {
        Access::ReadOnly => matches!(kind, "read" | "search" | "think"),
        Access::Write => matches!(
            kind,
            "read" | "search" | "think" | "edit" | "delete" | "move" | "execute"
        ),
    }
}

fn changed_paths(update: &Value) -> Vec<&str> {
    let diffs = list(&update["content"])
        .iter()
        .filter(|block| block["type"].as_str() == Some("diff"))
        .filter_map(|block| block["path"].as_str());
    let mut paths: Vec<&str> = diffs.collect();
    if paths.is_empty() {
        paths = list(&update["locations"])
            .iter()
            .filter_map(|place| place["path"].as_str())
            .collect();
    }
    paths.dedup();
    paths
}

fn tokens(usage: &Value) -> Usage {
    let field = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| usage[name].as_u64())
            .unwrap_or_default()
    };
    let cached = field(["cachedReadTokens", "cached_tokens"]);
    Usage {
        input: field(["inputTokens", "input_tokens"]).saturating_sub(cached),
        cached,
        output: field(["outputTokens", "output_tokens"]),
    }
}
