//! What is written today is read by every later version: the golden files are never edited, a new
//! format gets new files beside them.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "tests")]

mod common;

use drive_core::run::{
    EVENT_FORMAT, Event, STATE_FORMAT, UnreadableFormat, fold, read_event, read_run, write_event,
    write_run,
};

const EVENTS: &str = include_str!("golden/events-1.jsonl");
const RUN: &str = include_str!("golden/run-1.json");

#[test]
fn events_are_written_as_the_golden_file_says() {
    let written: Vec<String> = common::events()
        .iter()
        .map(|e| write_event(e).unwrap())
        .collect();
    assert_eq!(
        written.join("\n"),
        EVENTS.trim_end(),
        "the written format of events changed"
    );
}

#[test]
fn events_of_the_golden_file_are_still_read() {
    let read: Vec<Event> = EVENTS
        .lines()
        .map(|line| read_event(EVENT_FORMAT, line).unwrap())
        .collect();
    assert_eq!(read, common::events());
}

#[test]
fn a_state_is_written_and_read_as_the_golden_file_says() {
    let run = busy_run();
    assert_eq!(
        write_run(&run).unwrap(),
        RUN.trim_end(),
        "the written format of states changed"
    );
    assert_eq!(read_run(STATE_FORMAT, RUN).unwrap(), run);
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let error = read_event(EVENT_FORMAT + 1, EVENTS.lines().next().unwrap()).unwrap_err();
    assert!(
        matches!(error, UnreadableFormat::Newer { found, known } if (found, known) == (EVENT_FORMAT + 1, EVENT_FORMAT))
    );
}

#[test]
fn damage_is_named_and_not_guessed_at() {
    let error = read_run(STATE_FORMAT, &RUN[..RUN.len() / 2]).unwrap_err();
    assert!(matches!(
        error,
        UnreadableFormat::Damaged {
            format: STATE_FORMAT,
            ..
        }
    ));
}

/// A run with something in every field.
fn busy_run() -> drive_core::run::Run {
    use drive_core::ids::EffectKey;
    use drive_core::run::{AfterEnd, Note};
    let request = common::request(common::pull_request(), AfterEnd::Remove);
    let created = drive_core::run::EffectResult::SandboxCreated {
        sandbox: Box::new(common::sandbox()),
    };
    let agent = EffectKey::new("runAgent/1");
    let journal = [
        Event::Requested {
            request: Box::new(request),
        },
        Event::EffectEnded {
            key: EffectKey::new("createSandbox/1"),
            result: created,
        },
        Event::ProcessStarted {
            key: agent.clone(),
            identity: common::identity(42),
        },
        Event::Noted {
            key: agent,
            note: Note::Warning {
                text: "unknown version".into(),
            },
        },
    ];
    let timed = journal
        .into_iter()
        .enumerate()
        .map(|(n, event)| (event, common::at(n as i64)));
    let mut run = fold(common::run_id(), timed).unwrap();
    run.timers.insert("idle".into(), common::at(60));
    run.kept.push(common::kept());
    run
}
