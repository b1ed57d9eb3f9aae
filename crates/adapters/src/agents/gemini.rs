use super::files::{make_private, write_private};
use super::home::Entry;
use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe, args, variable};
use drive_core::agent::stream::gemini_stream;
use drive_core::agent::{Access, AgentKind};
use drive_core::problem::{Kind, Problem};
use serde_json::{Value, json};

/// Gemini CLI.
pub(super) struct Gemini;

/// Over 8 MiB it drops the prompt, calls no model, and reports success; over what it takes for its
/// model's window it ends without a word.
const MAX_PROMPT: usize = 1024 * 1024;

/// What a writer may use without being asked: everything, inside what the kernel allows.
const WRITER: &str = r#"[[rule]]
toolName = "*"
decision = "allow"
priority = 900

[[rule]]
toolName = "run_shell_command"
decision = "allow"
allowRedirection = true
priority = 901
"#;

/// What a reader may use. Plan mode is no help: it is left without asking anybody.
const READER: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 900

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search"]
decision = "allow"
priority = 901

[[rule]]
toolName = ["write_file", "replace", "run_shell_command", "invoke_agent", "enter_plan_mode", "exit_plan_mode"]
decision = "deny"
priority = 902
"#;

impl Recipe for Gemini {
    fn kind(&self) -> AgentKind {
        AgentKind::GeminiCli
    }

    fn own_home(&self) -> &'static [Entry<'static>] {
        &[Entry::Without(".gemini", "settings.json")]
    }

    fn own_settings(&self) -> &'static [&'static str] {
        &[
            ".gemini/settings.json",
            ".gemini/GEMINI.md",
            ".gemini/commands",
            ".gemini/extensions",
            ".gemini/policies",
            ".gemini/trustedFolders.json",
        ]
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    fn verified(&self) -> &'static [&'static str] {
        &["0.61.0"]
    }

    fn recognises(&self, version_text: &str) -> bool {
        // It prints the bare number.
        let mut lines = version_text.lines().filter(|line| !line.trim().is_empty());
        lines.next().is_some_and(|line| {
            super::version::find_version(line).is_some_and(|version| version == line.trim())
        })
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        write_settings(job)?;
        let policy = job.folders.scratch.join("gemini-policy.toml");
        let rules = match job.request.role.access() {
            Access::ReadOnly => READER,
            Access::Write => WRITER,
        };
        write_private(&policy, rules.as_bytes())?;
        let mut arguments = args(&[
            "-o",
            "stream-json",
            "--approval-mode",
            "default",
            "--policy",
        ]);
        arguments.push(policy.clone().into());
        let mut readable = vec![policy];
        if let Some(model) = job.model {
            arguments.extend(args(&["-m", model]));
        }
        if let Some(session) = &job.request.resume {
            arguments.extend(args(&["--resume", &session.id]));
        }
        if let Some(folder) = prompt.folder {
            arguments.push("--include-directories".into());
            arguments.push(folder.clone().into());
            readable.push(folder);
        }
        Ok(Launch {
            args: arguments,
            env: vec![
                // Without, it starts itself again as a child that no signal reaches.
                variable("GEMINI_CLI_NO_RELAUNCH", "true"),
                // A folder that is not trusted keeps its settings, hooks, servers and variables to
                // itself.
                variable("GEMINI_RESTRICTED_MODE", "true"),
            ],
            input: Input::Once(prompt.text.into_bytes()),
            readable,
            relies_on: None,
            stream: gemini_stream(job.setup.clone()),
        })
    }
}

/// The user's settings, with the check for trusted folders off: it would refuse to start in one
/// that is not, and none is.
fn write_settings(job: &Job<'_>) -> Result<(), Problem> {
    let real = job.real_home.map(|home| home.join(".gemini/settings.json"));
    let text = real.and_then(|path| std::fs::read_to_string(path).ok());
    let mut settings = match text.as_deref().map(str::trim) {
        None | Some("") => json!({}),
        Some(text) => serde_json::from_str(&without_comments(text)).map_err(|error| {
            Problem::new(
                Kind::AgentSettings,
                format!("the settings of agent `{}` are not valid JSON", job.name),
            )
            .because(error)
            .hint("correct `~/.gemini/settings.json`")
        })?,
    };
    merge(
        &mut settings,
        &json!({
            "security": {"folderTrust": {"enabled": false}},
            "general": {"enableAutoUpdate": false},
        }),
    );
    let folder = job.folders.home.join(".gemini");
    make_private(&folder)?;
    write_private(
        &folder.join("settings.json"),
        settings.to_string().as_bytes(),
    )
}

/// `over` wins, key by key.
fn merge(under: &mut Value, over: &Value) {
    match (under.as_object_mut(), over.as_object()) {
        (Some(under), Some(over)) => {
            for (key, value) in over {
                merge(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Some(_) | None, Some(_) | None) => *under = over.clone(),
    }
}

/// JSON with comments, as the agent allows it, without them.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            (false, '/', Some('/')) => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                for c in chars.by_ref().skip(1) {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_what_only_looks_like_one_stays() {
        let text = "{ // one\n \"a\": \"http://x/*y*/\", /* two\n */ \"b\\\"//\": 1 }";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, json!({"a": "http://x/*y*/", "b\"//": 1}));
    }

    #[test]
    fn settings_keep_what_is_not_overruled() {
        let mut settings = json!({"security": {"auth": {"selectedType": "x"}, "folderTrust": {"enabled": true}}, "a": 1});
        merge(
            &mut settings,
            &json!({"security": {"folderTrust": {"enabled": false}}, "b": {"c": 2}}),
        );
        assert_eq!(
            settings,
            json!({"security": {"auth": {"selectedType": "x"}, "folderTrust": {"enabled": false}}, "a": 1, "b": {"c": 2}})
        );
    }
}
