use crate::agent_interop::lab::Lab;
use drive_core::agent::{AgentConfig, AgentKind, Ending, Role};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Script, Turn};

fn config(lab: &Lab) -> AgentConfig {
    let mut config = lab.config();
    config.kind = AgentKind::Acp;
    config.command.push("--acp".to_owned());
    config.command.push("--skip-trust".to_owned());
    config.model = None;
    config.home = vec![".gemini".to_owned()];
    config
}

#[test]
fn a_real_acp_agent_writes_and_runs_in_a_writing_role() {
    let lab = Lab::new(Cli::Gemini, |home| {
        Script::new([
            Turn::write(home.work().join("a.txt").display().to_string(), "hi\n"),
            Turn::run("echo hello > b.txt"),
            Turn::text("done"),
        ])
    });
    let Some(lab) = lab else { return };
    let played = lab.play_as(&config(&lab), &lab.request(Role::Coder));
    assert_eq!(
        played.outcome().ending,
        Ending::Succeeded,
        "{:#?}",
        played.events
    );
    assert_eq!(played.outcome().text, "done", "{:#?}", played.events);
    assert_eq!(lab.work_files(), ["a.txt", "b.txt"]);
}

#[test]
fn a_real_acp_agent_is_refused_every_write_in_a_reading_role() {
    let lab = Lab::new(Cli::Gemini, |home| {
        Script::new([
            Turn::write(home.work().join("a.txt").display().to_string(), "hi\n"),
            Turn::run("echo hello > b.txt"),
            Turn::text("I could not"),
        ])
    });
    let Some(lab) = lab else { return };
    let played = lab.play_as(&config(&lab), &lab.request(Role::Reviewer));
    assert_eq!(
        lab.work_files(),
        Vec::<String>::new(),
        "{:#?}",
        played.events
    );
}
