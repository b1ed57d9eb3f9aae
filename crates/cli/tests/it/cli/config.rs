use crate::cli::support::{World, ended};
use serde_json::{Value, json};

#[test]
fn every_value_in_force_shows_where_it_came_from() {
    let world = World::new();
    world.user_settings("[spawn]\nidle_timeout = \"1m\"\n");
    world.settings("# ours\n[spawn]\ntotal_timeout = \"10m\"\n");
    let ended = world.drive(&["config", "show"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let spawn: Vec<&str> = ended.stdout.lines().take(5).collect();
    assert_eq!(
        spawn,
        [
            "[spawn]",
            "agent = \"claude-code\"                    # default",
            "idle_timeout = \"1m\"                      # ~/.config/infinite-improbability-drive/config.toml:2",
            "total_timeout = \"10m\"                    # drive.toml:3",
            "max_escalations = 5                      # default",
        ]
    );
}

#[test]
fn the_document_holds_values_and_origins() {
    let world = World::new();
    world.settings("[cruise]\nmax_rounds = 4\n");
    let (code, document) = world.json(&["config", "show"]);
    assert_eq!(code, Some(0));
    assert_eq!(document["schema"], "drive.config/1");
    assert_eq!(document["settings"]["cruise"]["max_rounds"], 4);
    assert_eq!(document["settings"]["spawn"]["idle_timeout"], "2m");
    assert_eq!(
        document["origins"]["cruise.max_rounds"],
        json!({ "from": "file", "file": "drive.toml", "line": 2 })
    );
    assert_eq!(
        document["origins"]["spawn.agent"],
        json!({ "from": "default" })
    );
}

/// The output of `config show` is a settings file with the same values.
#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let world = World::new();
    world.settings(
        "[agents.codex]\nmodel = \"big \\\"one\\\"\"\n[agents.mine]\nkind = \"command\"\ncommand = [\"./a b\"]\n\
         [[verify.routes]]\npaths = [\"docs/**\"]\nskip = \"prose\"\n[verify.limits]\nmemory = \"1GiB\"\n",
    );
    let shown = world.drive(&["config", "show"]);
    std::fs::write(world.path("again.toml"), &shown.stdout).unwrap();
    let settings = |args: &[&str]| -> Value { world.json(args).1["settings"].clone() };
    let again = world.path("again.toml");
    assert_eq!(
        settings(&["config", "show"]),
        settings(&["config", "show", "--config", again.to_str().unwrap()])
    );
}

#[test]
fn the_repositorys_file_is_found_from_below_and_from_afar() {
    let world = World::new();
    world.settings("[cruise]\nmax_rounds = 4\n");
    let below = ended(
        world
            .command(&["config", "show"])
            .current_dir(world.repo().join("src")),
    );
    assert!(below.stdout.contains("max_rounds = 4"), "{below:?}");
    let afar = ended(
        world
            .command(&["config", "show", "--repo", "repo"])
            .current_dir(world.path("")),
    );
    assert!(afar.stdout.contains("# repo/drive.toml:2"), "{afar:?}");
}

#[test]
fn a_file_given_stands_for_the_repositorys() {
    let world = World::new();
    world.settings("[cruise]\nmax_rounds = 4\n");
    std::fs::write(world.repo().join("ci.toml"), "[verify]\nmax_parallel = 1\n").unwrap();
    let (_, document) = world.json(&["config", "show", "--config", "ci.toml"]);
    assert_eq!(document["settings"]["cruise"]["max_rounds"], 10);
    assert_eq!(document["settings"]["verify"]["max_parallel"], 1);
}

#[test]
fn settings_are_there_without_a_repository_and_without_a_home() {
    let world = World::new();
    let outside = ended(world.command(&["config", "show"]).current_dir(world.home()));
    assert_eq!(outside.code, Some(0), "{outside:?}");
    let homeless = ended(world.command(&["config", "show"]).env_remove("HOME"));
    assert_eq!(homeless.code, Some(0), "{homeless:?}");
}

#[test]
fn a_typo_suggests_the_key_and_shows_the_line() {
    let world = World::new();
    world.settings("[spawn]\nidle_timout = \"2m\"\n");
    for command in ["show", "check"] {
        let ended = world.drive(&["config", command]);
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (
                Some(2),
                "",
                "error: drive.toml:2: unknown key `idle_timout` in `[spawn]`\n  \
                 2 | idle_timout = \"2m\"\nhint: did you mean `idle_timeout`?\n"
            )
        );
    }
}

#[test]
fn a_wrong_type_shows_its_line() {
    let world = World::new();
    world.settings("[cruise]\n\nmax_rounds = \"ten\"\n");
    let ended = world.drive(&["config", "check"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "error: drive.toml:3: `cruise.max_rounds` must be a whole number, not a string\n  \
             3 | max_rounds = \"ten\"\n"
        )
    );
}

#[test]
fn all_mistakes_of_all_files_come_at_once() {
    let world = World::new();
    world.user_settings("[spawn]\nagnt = \"codex\"\n");
    world.settings("[spawn]\nidle_timeout = \"1h\"\n[cruise]\nmax_rounds = 0\n");
    let (code, document) = world.json(&["config", "check"]);
    assert_eq!(code, Some(2));
    assert_eq!(document["schema"], "drive.configCheck/1");
    assert_eq!(document["failure"]["kind"], "settingsInvalid");
    let found: Vec<_> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["file"].as_str(),
                finding["line"].as_u64(),
                finding["key"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (Some("drive.toml"), Some(2), Some("spawn.idle_timeout")),
            (Some("drive.toml"), Some(4), Some("cruise.max_rounds")),
            (
                Some("~/.config/infinite-improbability-drive/config.toml"),
                Some(2),
                Some("spawn.agnt")
            ),
        ]
    );
}

#[test]
fn settings_that_are_fine_are_said_to_be() {
    let world = World::new();
    world.settings("[cruise]\nmax_rounds = 4\n");
    let ended = world.drive(&["config", "check"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "settings are valid\n")
    );
    assert_eq!(world.json(&["config", "check"]).0, Some(0));
}
