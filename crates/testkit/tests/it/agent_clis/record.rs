//! Records the output of the CLIs, for the tests of the parsers in `core`. Run by hand when a
//! pinned version changes: `cargo nextest run -p drive-testkit --run-ignored only record`.

use crate::agent_clis::bare::{Bench, Ran};
use drive_testkit::interop::{AgentHome, Cli};
use drive_testkit::model_server::{Call, Fault, Script, Times, Turn, Usage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[test]
#[ignore = "rewrites the recorded streams"]
fn record_claude() {
    record(Cli::Claude);
}

#[test]
#[ignore = "rewrites the recorded streams"]
fn record_gemini() {
    record(Cli::Gemini);
}

#[test]
#[ignore = "rewrites the recorded streams"]
fn record_codex() {
    record(Cli::Codex);
}

fn record(cli: Cli) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../core/tests/data/agents")
        .join(cli.name());
    std::fs::create_dir_all(&folder).unwrap();
    let mut exits = BTreeMap::new();
    for (name, script) in scripts() {
        let home = AgentHome::new().unwrap();
        let root = home.root().to_owned();
        let script = script(home.work());
        let bench = Bench::with_home(cli, home, script).expect("the CLIs are needed to record");
        let args = arguments(&bench, name);
        let ran = bench.run(&args, prompt(cli, name).as_bytes());
        exits.insert(name, exit(&ran, &root));
        let stream = shorten(&scrub(&ran.stdout, &root));
        std::fs::write(folder.join(format!("{name}.jsonl")), stream).unwrap();
    }
    if cli == Cli::Claude {
        let (bench, ran, _) =
            crate::agent_clis::permissions::ask(AgentHome::new().unwrap()).unwrap();
        let root = bench.home.root().to_owned();
        exits.insert("control_request", exit(&ran, &root));
        std::fs::write(
            folder.join("control_request.jsonl"),
            scrub(&ran.stdout, &root),
        )
        .unwrap();
    }
    let exits = serde_json::to_string_pretty(&json!(exits)).unwrap();
    std::fs::write(folder.join("exits.json"), exits + "\n").unwrap();
}

type Scripted = Box<dyn Fn(PathBuf) -> Script>;

fn scripts() -> Vec<(&'static str, Scripted)> {
    let fault = |fault: Fault| -> Scripted {
        Box::new(move |_| Script::new([Turn::text("never heard").behind(fault, Times::Always)]))
    };
    let status = Fault::status;
    vec![
        ("success", Box::new(|work| write(&work))),
        (
            "tool_error",
            Box::new(|_| {
                Script::new([
                    Turn::run("echo to the error stream >&2; exit 3").usage(usage()),
                    Turn::text("the command failed").usage(usage()),
                ])
            }),
        ),
        ("unauthorized", fault(status(401))),
        ("rate_limited", fault(status(429))),
        (
            "rate_limited_once",
            Box::new(|_| {
                let limit = Fault::Status {
                    code: 429,
                    retry_after: Some(1),
                };
                Script::new([Turn::text("all is well").behind(limit, Times::First(1))])
            }),
        ),
        ("server_error", fault(status(500))),
        ("dropped_stream", fault(Fault::DropMidEvent)),
        (
            "dropped_stream_once",
            Box::new(|_| {
                Script::new(
                    [Turn::text("all is well").behind(Fault::DropMidEvent, Times::First(1))],
                )
            }),
        ),
        ("ended_early", fault(Fault::EndEarly)),
        ("malformed", fault(Fault::Malformed)),
        ("permission_denied", Box::new(|work| write(&work))),
        ("oversized_prompt", Box::new(|_| Script::default())),
        ("empty_prompt", Box::new(|_| Script::default())),
    ]
}

fn write(work: &Path) -> Script {
    let file = work.join("hello.txt").display().to_string();
    Script::new([
        Turn::text("First the file.")
            .and(Call::Write {
                path: file,
                text: "hello\n".to_owned(),
            })
            .usage(usage()),
        Turn::run("cp hello.txt copy.txt && echo copied").usage(usage()),
        Turn::text("all is written").usage(usage()),
    ])
}

fn usage() -> Usage {
    Usage {
        input: 100,
        cached: 5,
        output: 11,
    }
}

fn prompt(cli: Cli, case: &str) -> String {
    let size = match cli {
        Cli::Claude => 11 * 1024 * 1024,
        Cli::Gemini => 5 * 1024 * 1024,
        Cli::Codex => 1024 * 1024 + 1,
    };
    match case {
        "empty_prompt" => String::new(),
        "oversized_prompt" => "x".repeat(size),
        _ => "write hello and copy it".to_owned(),
    }
}

/// The arguments for working; for a denial, those with which it asks and nobody answers.
fn arguments(bench: &Bench, case: &str) -> Vec<String> {
    let mut args = bench.coder();
    if case != "permission_denied" {
        return args;
    }
    let (from, to): (&str, &str) = match bench.cli {
        Cli::Claude => ("acceptEdits", "default"),
        Cli::Gemini => ("yolo", "default"),
        Cli::Codex => ("workspace-write", "read-only"),
    };
    for arg in &mut args {
        if arg == from {
            to.clone_into(arg);
        }
    }
    if bench.cli == Cli::Claude {
        args.retain(|arg| arg != "--allowedTools" && arg != "Bash");
    }
    args
}

fn exit(ran: &Ran, root: &Path) -> Value {
    // Stack traces name the machine and change with each release.
    let stderr: Vec<String> = scrub(&ran.stderr, root)
        .lines()
        .filter(|line| !line.trim_start().starts_with("at "))
        .take(12)
        .map(|line| line.chars().take(300).collect())
        .collect();
    json!({"code": ran.status.map(|_| ran.code()), "stderr": stderr})
}

/// The text without parts that differ between machines or runs.
fn scrub(text: &str, root: &Path) -> String {
    let name = root.file_name().unwrap().to_str().unwrap();
    let text = text
        .replace(&root.join("work").display().to_string(), "/agent/repo")
        .replace(&root.display().to_string(), "/agent")
        .replace(name, "agent");
    let mut ids: Vec<String> = Vec::new();
    let mut scrubbed = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        match rest.get(..36).filter(|candidate| is_uuid(candidate)) {
            Some(id) => {
                let known = ids.iter().position(|known| known == id);
                let number = known.unwrap_or_else(|| {
                    ids.push(id.to_owned());
                    ids.len() - 1
                });
                scrubbed += &format!("00000000-0000-4000-8000-{number:012}");
                rest = &rest[36..];
            }
            None => {
                scrubbed.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    scrubbed
}

/// Cuts the strings of events that repeat a huge prompt.
fn shorten(stream: &str) -> String {
    let cut = |line: &str| {
        if line.len() < 100_000 {
            return line.to_owned() + "\n";
        }
        let mut event: Value = serde_json::from_str(line).unwrap();
        for value in event.as_object_mut().unwrap().values_mut() {
            if let Some(text) = value.as_str().filter(|text| text.len() > 1000) {
                *value = json!(text.chars().take(40).collect::<String>() + "…");
            }
        }
        event.to_string() + "\n"
    };
    stream.lines().map(cut).collect()
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}
