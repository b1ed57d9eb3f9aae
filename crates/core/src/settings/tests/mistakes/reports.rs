//! Tests of how the errors of a file are collected and shown.

use super::*;
use crate::problem::Kind;

#[test]
fn all_mistakes_of_a_file_come_at_once_by_line() {
    let text = "[cruise]\nmax_rounds = 0\npoll_max = \"long\"\n[spawn]\nidle_timout = \"2m\"\ntotal_timeout = \"1m\"\n[forge]\nkind = \"gitlab\"\n";
    assert_eq!(
        mistakes(text),
        [
            "drive.toml:2: `cruise.max_rounds` must be at least 1, not 0",
            "drive.toml:3: `cruise.poll_max`: `long` is not a duration such as `2m`",
            "drive.toml:5: unknown key `idle_timout` in `[spawn]` (did you mean `idle_timeout`?)",
            "drive.toml:6: `spawn.idle_timeout` (2m) must be shorter than `spawn.total_timeout` (1m)",
            "drive.toml:8: `forge.kind` cannot be `gitlab` (did you mean `github`?)",
        ]
    );
}

/// The default that replaces an unreadable value is not the user's value.
#[test]
fn no_rule_judges_a_value_that_could_not_be_read() {
    assert_mistake(
        "[spawn]\nidle_timeout = \"soon\"\ntotal_timeout = \"1m\"\n",
        "drive.toml:2: `spawn.idle_timeout`: `soon` is not a duration such as `2m`",
    );
}

#[test]
fn a_mistake_a_higher_layer_hides_is_still_told() {
    let layers = [
        Layer::file("~/config.toml", "[spawn]\nagent = 3\n"),
        file("[spawn]\nagent = \"codex\"\n"),
    ];
    let findings = resolve(&layers).unwrap_err().0;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].origin.to_string(), "~/config.toml:2");
}

#[test]
fn what_is_no_toml_names_each_line() {
    let mistakes =
        mistakes("[spawn\nagent = \"x\"\n\n[cruise]\nmax_rounds = = 3\nmerge = \"manual\n");
    let lines: Vec<&str> = mistakes
        .iter()
        .filter_map(|m| m.split(": not TOML").next())
        .collect();
    assert_eq!(
        lines,
        ["drive.toml:1", "drive.toml:5", "drive.toml:6"],
        "{mistakes:?}"
    );
}

#[test]
fn a_key_given_twice_is_a_mistake() {
    let mistakes = mistakes("[spawn]\nagent = \"codex\"\nagent = \"codex\"\n");
    assert_eq!(mistakes, ["drive.toml:3: not TOML: duplicate key"]);
}

#[test]
fn one_mistake_is_one_line_with_the_text_below() {
    let problem = resolve(&[file("[spawn]\n  idle_timout = \"2m\" # soon\n")])
        .unwrap_err()
        .into_problem();
    assert_eq!(
        problem,
        crate::Problem::new(
            Kind::SettingsInvalid,
            "drive.toml:2: unknown key `idle_timout` in `[spawn]`"
        )
        .cause("2 | idle_timout = \"2m\" # soon")
        .hint("did you mean `idle_timeout`?")
    );
}

#[test]
fn many_mistakes_are_counted_and_cut() {
    let text: String = (0..100).map(|n| format!("key{n:03} = 1\n")).collect();
    let problem = resolve(&[file(&text)]).unwrap_err().into_problem();
    assert_eq!(problem.message, "the settings have 100 errors");
    assert_eq!(problem.causes.len(), 21);
    assert_eq!(
        problem.causes.last().map(String::as_str),
        Some("and 80 more")
    );
}
