//! Tests the webhook receiver: deliveries are signed, count once, and reach other processes.

use crate::serve::serving::Serving;
use crate::spawn::support::{World, contents, wait_for};
use drive_adapters::SystemClock;
use drive_adapters::store::{Database, SqliteNudges};
use drive_core::forge::webhook::WebhookSecret;
use drive_engine::ports::NudgeLog;
use std::path::PathBuf;
use std::sync::Arc;

const PATH: &str = "/webhooks/github";
const SECRET: &str = "a-secret-of-this-test";
const COMMENT: &[u8] = br#"{"action":"created","repository":{"full_name":"Octo/Hello"},
    "issue":{"number":7,"pull_request":{}},"comment":{"id":1,"user":null}}"#;

fn deliver(serving: &Serving, id: &str, secret: &str) -> u16 {
    let signature = WebhookSecret::new(secret).unwrap().sign(COMMENT);
    let headers = [
        // A tunnel keeps the public name; here the signature is the proof, not the name.
        ("Host", "hooks.example"),
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", "issue_comment"),
        ("X-GitHub-Delivery", id),
        ("X-Hub-Signature-256", &signature),
    ];
    serving.ask("POST", PATH, &headers, COMMENT).status
}

/// The nudges that an owner in another process would read.
fn heard(world: &World) -> Vec<(u64, u64)> {
    let database = Arc::new(Database::open(&database(world)).unwrap());
    let log = SqliteNudges::new(database, Arc::new(SystemClock));
    let kept = log.newer_than(0, "octo/hello").unwrap();
    kept.iter()
        .map(|kept| (kept.number, kept.nudge.pr.get()))
        .collect()
}

fn database(world: &World) -> PathBuf {
    let files = contents(&world.path("state")).into_iter();
    files
        .map(|(path, _)| path)
        .find(|path| {
            path.extension()
                .is_some_and(|e| e == "db" || e == "sqlite3")
        })
        .unwrap()
}

#[test]
fn a_signed_delivery_is_heard_once_by_other_processes_even_across_a_crash() {
    let world = World::with_agent("true");
    let start = || Serving::start(&world, &[("DRIVE_WEBHOOK_SECRET", SECRET)], &[]);
    let serving = start();
    let url = format!("http://{}{PATH}", serving.address);
    assert_eq!(serving.document["webhooks"], url);
    assert_eq!(deliver(&serving, "d1", "another secret"), 401);
    assert_eq!(deliver(&serving, "d1", SECRET), 202);
    assert_eq!(deliver(&serving, "d1", SECRET), 202);
    wait_for("the nudge", || heard(&world) == [(1, 7)]);
    serving.kill();

    let again = start();
    assert_eq!(deliver(&again, "d1", SECRET), 202);
    assert_eq!(deliver(&again, "d2", SECRET), 202);
    wait_for("the second nudge", || heard(&world) == [(1, 7), (2, 7)]);
    let ended = again.interrupt();
    assert_eq!(ended.code, Some(0));
    assert!(!format!("{ended:?}").contains(SECRET));
    assert!(ended.stderr.contains("pull request 7"), "{}", ended.stderr);
}

#[test]
fn the_settings_name_the_variable_of_the_secret() {
    let world = World::with_agent("true");
    world.all_settings("[forge]\nkind = \"local\"\nwebhook_secret_env = \"MY_HOOK\"\n");
    let serving = Serving::start(&world, &[("MY_HOOK", SECRET)], &[]);
    assert_eq!(deliver(&serving, "d1", SECRET), 202);
    serving.kill();
}

#[test]
fn without_a_secret_the_receiver_is_off() {
    let world = World::with_agent("true");
    let serving = Serving::start(&world, &[], &[]);
    let localhost = [("Host", "localhost")];
    // Like every missing path, only visitors who are logged in can distinguish it.
    assert_eq!(serving.ask("POST", PATH, &localhost, COMMENT).status, 401);
    serving.kill();
    assert_eq!(heard(&world), []);
}
