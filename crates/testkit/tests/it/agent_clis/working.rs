//! Tests that each CLI completes a small task.

use crate::agent_clis::bare::{Bench, Ran};
use drive_testkit::interop::{AgentHome, Cli};
use drive_testkit::model_server::{Script, Turn, Usage};

#[test]
fn claude_writes_a_file_runs_a_command_and_finishes() {
    let Some(ran) = works_to_the_end(Cli::Claude) else {
        return;
    };
    let result = ran.event("result").unwrap();
    assert_eq!(
        (&result["subtype"], &result["is_error"], &result["result"]),
        (&"success".into(), &false.into(), &"all is written".into())
    );
}

#[test]
fn gemini_writes_a_file_runs_a_command_and_finishes() {
    let Some(ran) = works_to_the_end(Cli::Gemini) else {
        return;
    };
    assert_eq!(ran.event("result").unwrap()["status"], "success");
}

#[test]
fn codex_writes_a_file_runs_a_command_and_finishes() {
    let Some(ran) = works_to_the_end(Cli::Codex) else {
        return;
    };
    assert_eq!(
        ran.event("turn.completed").unwrap()["usage"]["output_tokens"],
        33
    );
}

fn works_to_the_end(cli: Cli) -> Option<Ran> {
    let home = AgentHome::new().unwrap();
    let hello = home.work().join("hello.txt");
    let script = Script::new([
        Turn::write(hello.display().to_string(), "hello\n").usage(usage()),
        Turn::run("cp hello.txt copy.txt && echo copied").usage(usage()),
        Turn::text("all is written").usage(usage()),
    ]);
    let bench = Bench::with_home(cli, home, script)?;
    let ran = bench.run(&bench.coder(), b"write hello and copy it");
    assert_eq!(ran.code(), 0, "{ran:#?}");
    let read = |name: &str| std::fs::read_to_string(bench.home.work().join(name)).ok();
    assert_eq!(
        (read("hello.txt"), read("copy.txt")),
        (Some("hello\n".to_owned()), Some("hello\n".to_owned())),
        "{ran:#?}"
    );
    let turns = bench.server.turns();
    assert_eq!(turns.len(), 3, "{turns:#?}");
    assert_eq!(turns[0].prompt.trim_end(), "write hello and copy it");
    assert!(turns[2].tool_results[0].text.contains("copied"));
    assert_eq!(ran.left, Vec::<String>::new());
    Some(ran)
}

fn usage() -> Usage {
    Usage {
        input: 100,
        cached: 5,
        output: 11,
    }
}
