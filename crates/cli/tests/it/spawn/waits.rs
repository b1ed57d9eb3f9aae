//! Tests an agent that waits: the wait is shown, is in the journal, and ends by a rule.

use crate::spawn::stops::{ended, signal};
use crate::spawn::support::{Ended, World, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};

/// A claude that has read its prompt, left half of its work, and now prints this.
fn claude(says: &str, settings: &str) -> World {
    let world = World::with_agent("");
    let script = format!(
        r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo half > half.txt
echo '{{"type":"system","subtype":"init","session_id":"s1","model":"m"}}'
{says}"#
    );
    let claude = world.program("claude", &script);
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n{settings}"
    ));
    world
}

fn spawn(world: &World, limits: &[&str]) -> Ended {
    let args = ["spawn", "Do it", "--json", "--agent", "claude-code"];
    world.drive(&[&args[..], limits].concat())
}

/// Waits and permissions in the journal, in order.
fn noted(world: &World) -> Vec<Value> {
    let shown = world.drive(&["runs", "show", "--json"]).document();
    let entries = shown["journal"].as_array().cloned().unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| entry["event"]["note"].clone())
        .filter(|note| ["waiting", "permission"].contains(&&*text(&note["note"])))
        .collect()
}

fn wait(reason: &str) -> Value {
    json!({"note": "waiting", "reason": reason})
}

fn shown(ended: &Ended) -> Vec<&str> {
    let lines = ended.stderr.lines();
    lines
        .filter_map(|line| line.strip_prefix("warning: agent: "))
        .collect()
}

fn status_and_kind(run: &Value) -> (String, String) {
    (text(&run["status"]), text(&run["failure"]["kind"]))
}

fn assert_work_is_kept(world: &World, run: &Value) {
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_model_that_is_overloaded_is_waited_for_until_a_clock_says_no() {
    let world = claude(
        r#"echo '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500.5,"error_status":529,"error":"overloaded"}'
exec sleep 300"#,
        "",
    );
    let ended = spawn(&world, &["--idle-timeout", "1s"]);
    let run = ended.run();
    let reason = "the model is overloaded, attempt 1 of 10";
    assert_eq!(shown(&ended), [reason], "{ended:?}");
    assert_eq!(noted(&world), [wait(reason)]);
    assert_eq!(
        (ended.code, status_and_kind(&run)),
        (Some(1), ("timedOut".into(), "agentTimedOut".into())),
        "{run:#}"
    );
    assert_work_is_kept(&world, &run);
}

#[test]
fn a_usage_limit_that_ends_too_late_is_told_and_left_to_a_person() {
    let world = claude(
        r#"echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800,"rateLimitType":"five_hour"}}'
echo '{"type":"result","subtype":"success","is_error":true,"session_id":"s1","result":"Claude AI usage limit reached"}'
exit 1"#,
        "",
    );
    let ended = spawn(&world, &[]);
    let run = ended.run();
    let reason = "usage limit reached, resets at 2100-01-01T00:00:00Z";
    assert_eq!(shown(&ended), [reason], "{ended:?}");
    assert_eq!(noted(&world), [wait(reason)]);
    assert_eq!(
        (ended.code, status_and_kind(&run)),
        (Some(3), ("needsHuman".into(), "agentUsageLimit".into())),
        "{run:#}"
    );
    assert_eq!(
        text(&run["failure"]["message"]),
        "agent `claude-code` reached its usage limit; it resets at `2100-01-01T00:00:00Z`"
    );
    assert_work_is_kept(&world, &run);
}

#[test]
fn a_usage_limit_that_ends_soon_is_waited_for_and_the_wait_is_shown() {
    let world = claude(
        r#"echo '{"type":"result","subtype":"success","is_error":true,"session_id":"s1","result":"Claude AI usage limit reached"}'
exit 1"#,
        "",
    );
    let mut child = world.start(&["spawn", "Do it", "--json", "--agent", "claude-code"]);
    let wait = "for a retry at ";
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(progress.any(|line| line.unwrap().contains(wait)));
    for command in ["show", "list"] {
        let shown = world.drive(&["runs", command]).stdout;
        assert!(shown.contains(wait), "{shown}");
    }
    // If it is stopped while it waits for its model, the work is as safe as after any other stop.
    signal(&child, Signal::INT);
    progress.for_each(drop);
    let ended = ended(child);
    let run = ended.run();
    assert_eq!(
        (ended.code, status_and_kind(&run)),
        (Some(130), ("cancelled".into(), "interrupted".into())),
        "{run:#}"
    );
    assert_work_is_kept(&world, &run);
}

#[test]
fn a_login_that_has_expired_is_told_and_left_to_a_person() {
    let world = claude(
        r#"echo '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500,"error_status":401,"error":"authentication_failed"}'
echo '{"type":"result","subtype":"success","is_error":true,"session_id":"s1","result":"Invalid API key · Please run /login"}'
exit 1"#,
        "",
    );
    let ended = spawn(&world, &[]);
    let run = ended.run();
    let reason = "waiting for a login";
    assert_eq!(shown(&ended), [reason], "{ended:?}");
    assert_eq!(noted(&world), [wait(reason)]);
    assert_eq!(
        (ended.code, status_and_kind(&run)),
        (Some(3), ("needsHuman".into(), "agentLoginExpired".into())),
        "{run:#}"
    );
    assert_work_is_kept(&world, &run);
}

/// Requests one address after the other, and finally prints the answers.
const ASKS: &str = r#"ask() {
  echo '{"type":"control_request","request_id":"q'$1'","request":{"subtype":"can_use_tool","tool_name":"WebFetch","input":{"url":"https://'$1'.example/"}}}'
  read -r answer
}
for host in one two three; do ask $host; done
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done"}'
cat > /dev/null"#;

fn answered(host: &str, granted: bool, rule: &str) -> Value {
    json!({
        "note": "permission", "tool": format!("WebFetch(https://{host}.example/)"),
        "granted": granted, "rule": rule,
    })
}

#[test]
fn a_permission_is_answered_by_a_rule_of_the_settings_and_each_answer_is_journaled() {
    let world = claude(
        ASKS,
        "[agents.claude-code.permissions]\nallow = [\"WebFetch(https://one.example/*)\"]\n",
    );
    let ended = spawn(&world, &[]);
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{run:#}\n{}", ended.stderr);
    let denied = "no rule in the settings allows it";
    assert_eq!(
        noted(&world),
        [
            answered("one", true, "allowed by the settings"),
            answered("two", false, denied),
            answered("three", false, denied),
        ]
    );
    let asked = "agent: asking for permission: WebFetch (https://two.example/)";
    assert!(ended.stderr.contains(asked), "{ended:?}");
    world.assert_nothing_is_left();
}

#[test]
fn an_agent_that_asks_for_more_than_it_may_is_ended_and_left_to_a_person() {
    let world = claude(ASKS, "[spawn-team]\nmax_escalations = 9\n");
    let settings = world.path("home/.config/infinite-improbability-drive/config.toml");
    let most_two = std::fs::read_to_string(&settings)
        .unwrap()
        .replace("[spawn]\n", "[spawn]\nmax_escalations = 2\n");
    world.all_settings(&most_two);
    let ended = spawn(&world, &[]);
    let run = ended.run();
    assert_eq!(
        (ended.code, status_and_kind(&run)),
        (Some(1), ("needsHuman".into(), "agentEscalations".into())),
        "{run:#}"
    );
    let denied = "no rule in the settings allows it";
    assert_eq!(
        noted(&world),
        [
            answered("one", false, denied),
            answered("two", false, denied),
            answered("three", false, "more than 2 permission requests"),
        ]
    );
    assert_work_is_kept(&world, &run);
}
