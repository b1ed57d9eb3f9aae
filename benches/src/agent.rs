//! An agent that streams a gigabyte of events: what drive itself needs meanwhile.

use crate::table::Row;
use drive_adapters::Environment;
use drive_adapters::agents::{AgentHost, agent};
use drive_adapters::process::BoundedRunner;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::{AgentConfig, AgentKind, Budget, Role};
use drive_core::ids::RunId;
use drive_core::process::Limits;
use drive_engine::CancelToken;
use drive_engine::ports::{Agent, AgentRequest, IsolationMode};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BYTES: u64 = 1 << 30;

/// Prints events up to a gigabyte, then its final message.
const AGENT: &str = r#"#!/bin/sh
yes '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Looking at the next file, which is much like the one before it, line by line."}],"usage":{"input_tokens":10,"output_tokens":5}},"session_id":"s1"}' | head -c 1073741824
echo
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done"}'
"#;

/// Memory and time of one run.
pub(crate) fn run() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("claude");
    std::fs::write(&program, AGENT).expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let plain = plain(&program);
    let (ours, samples) = ours(folder.path());
    let early = samples.first().copied().unwrap_or_default();
    let peak = samples.iter().copied().max().unwrap_or_default();
    vec![
        Row {
            what: "memory while an agent streams 1 GB of events".to_owned(),
            plain: format!("{early} KiB after 1 %"),
            ours: format!("{peak} KiB at most"),
            result: format!("+{} KiB", peak.saturating_sub(early)),
            bound: "flat (≤ 4096 KiB more)".to_owned(),
        },
        Row {
            what: "time for it, against the same to a file".to_owned(),
            plain: format!("{:.1} s", plain.as_secs_f64()),
            ours: format!("{:.1} s", ours.as_secs_f64()),
            result: format!("{:.0} MB/s", BYTES as f64 / 1e6 / ours.as_secs_f64()),
            bound: "far over any model".to_owned(),
        },
    ]
}

fn plain(program: &Path) -> Duration {
    let file = program.with_extension("out");
    let start = Instant::now();
    let script = format!("'{}' > '{}'", program.display(), file.display());
    let status = Command::new("/bin/sh").args(["-c", &script]).status();
    assert!(status.is_ok_and(|status| status.success()));
    let took = start.elapsed();
    std::fs::remove_file(&file).expect("the plain copy was written");
    took
}

fn ours(folder: &Path) -> (Duration, Vec<u64>) {
    let sandbox = folder.join("sandbox");
    std::fs::create_dir(&sandbox).expect("a sandbox");
    let host = AgentHost {
        runner: Arc::new(BoundedRunner::new()),
        environment: Environment::from_pairs([("PATH", "/usr/bin:/bin")]),
        base: folder.to_path_buf(),
        scratch: folder.join("state"),
        state: folder.join("state"),
        forge_token_env: "GITHUB_TOKEN".to_owned(),
        hidden: Vec::new(),
        secrets: vec!["a-secret-of-some-length".to_owned()],
    };
    let config = AgentConfig {
        command: vec!["./claude".to_owned()],
        ..AgentConfig::of_kind(AgentKind::ClaudeCode)
    };
    let claude = agent("claude-code", &config, &host).expect("an agent");
    let mut events = 0u64;
    let mut samples = Vec::new();
    let start = Instant::now();
    let outcome = claude.run(
        &request(folder, &sandbox),
        &CancelToken::new(),
        &mut |_| Ok(()),
        &mut |_| {
            events += 1;
            if events.is_multiple_of(50_000) {
                samples.push(resident_kib());
            }
        },
    );
    let took = start.elapsed();
    let outcome = outcome.expect("the agent ran");
    assert!(outcome.succeeded(), "{:?}", outcome.ending);
    (took, samples)
}

fn request(folder: &Path, sandbox: &Path) -> AgentRequest {
    AgentRequest {
        run: RunId::new("bench"),
        role: Role::Coder,
        round: 1,
        domain: None,
        prompt: "stream".to_owned(),
        input: None,
        answer: AnswerForm::Free,
        sandbox: sandbox.to_path_buf(),
        git_dir: None,
        scratch: folder.join("run"),
        instructions: Vec::new(),
        model: None,
        resume: None,
        limits: Limits {
            output_bytes: 2 * BYTES,
            ..Limits::default()
        },
        budget: Budget::default(),
        held: Vec::new(),
        max_escalations: 0,
        isolation: IsolationMode::Auto,
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel's own figures");
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .expect("a resident size")
}
