//! Settings that nothing reads yet are refused by every command that reads settings.

use crate::cli::support::World;

#[test]
fn a_setting_that_nothing_reads_yet_is_refused_with_its_line() {
    let world = World::new();
    world.settings("[cruise]\nmax_rounds = 4\npr_strategy = \"single\"\n");
    let expected = "error: drive.toml:3: `cruise.pr_strategy` does nothing yet\n  \
                    3 | pr_strategy = \"single\"\nhint: remove it\n";
    for args in [
        &["config", "check"][..],
        &["config", "show"],
        &["spawn", "Do it"],
        &["spawn-team", "Do it"],
        &["cruise", "run", "--plan-only", "Do it"],
    ] {
        let ended = world.drive(args);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(2), expected),
            "{args:?}"
        );
    }
}

#[test]
fn settings_that_nothing_reads_yet_are_neither_shown_nor_offered() {
    let world = World::new();
    for args in [&["config", "show"][..], &["config", "schema"]] {
        let shown = world.drive(args).stdout;
        for key in ["pr_strategy", "post_via"] {
            assert!(!shown.contains(key), "{args:?} shows {key}");
        }
    }
}
