//! Keys that do not exist, are in the wrong place, or are not used yet.

use super::*;

#[test]
fn a_typo_in_a_key_suggests_the_key() {
    assert_mistake(
        "[spawn]\nidle_timout = \"2m\"\n",
        "drive.toml:2: unknown key `idle_timout` in `[spawn]` (did you mean `idle_timeout`?)",
    );
    assert_mistake(
        "[spawn_team]\n",
        "drive.toml:1: unknown key `spawn_team` in the settings (did you mean `spawn-team`?)",
    );
    assert_mistake(
        "[verify]\n[verify.limits]\nprocesses = 5\nmemmory = \"1GiB\"\n",
        "drive.toml:4: unknown key `memmory` in `[verify.limits]` (did you mean `memory`?)",
    );
    assert_mistake(
        "verify.limits.leaked = \"fail\"\n",
        "drive.toml:1: unknown key `leaked` in `[verify.limits]` (did you mean `leaked_processes`?)",
    );
}

#[test]
fn a_key_in_the_wrong_table_names_the_right_one() {
    assert_mistake(
        "[spawn]\nmax_rounds = 3\n",
        "drive.toml:2: unknown key `max_rounds` in `[spawn]` (`max_rounds` belongs in `[cruise]`)",
    );
}

#[test]
fn a_key_that_will_not_come_is_refused_with_what_to_do_instead() {
    assert_mistake(
        "[forge]\npost_via = \"drive\"\n",
        "drive.toml:2: unknown key `post_via` in `[forge]` (remove it; drive posts with its own token, \
         which no agent sees)",
    );
}

#[test]
fn a_strategy_for_pull_requests_is_one_of_two() {
    assert_mistake(
        "[cruise]\npr_strategy = \"batch\"\n",
        "drive.toml:2: `cruise.pr_strategy` cannot be `batch` (possible here: `single`, `per-task`)",
    );
}

#[test]
fn the_keys_of_a_cruise_are_shown_in_their_order() {
    let shown = resolve(&[]).unwrap().entries;
    let shown = shown.iter().filter(|entry| entry.table == ["cruise"]);
    let shown: Vec<&str> = shown.map(|entry| entry.key.as_str()).collect();
    assert_eq!(
        shown,
        [
            "poll_initial",
            "poll_max",
            "inactivity_timeout",
            "max_age",
            "max_rounds",
            "max_parallel",
            "merge",
            "final_review",
            "pr_strategy",
            "approve_tasks",
            "land_plan",
            "max_validation_rounds",
        ]
    );
}

#[test]
fn a_key_deep_in_a_list_of_tables_has_its_own_line() {
    let text = "[[verify.routes]]\npaths = [\"a/**\"]\nskip = \"prose\"\n\n[[verify.routes]]\n\
                paths = [\"b/**\"]\ncompile = [\"make\"]\ntimeout = { compile = \"1m\",\n  tests = \"1m\" }\n";
    assert_mistake(
        text,
        "drive.toml:9: unknown key `tests` in `[verify.routes.1.timeout]` (did you mean `targeted_tests`?)",
    );
}
