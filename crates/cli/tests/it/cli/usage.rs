use crate::cli::support::World;
use serde_json::json;

#[test]
fn an_unknown_command_suggests_the_right_one() {
    let ended = World::new().drive(&["confg", "show"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (
            Some(2),
            "",
            "error: unknown command `confg`\nhint: did you mean `config`?\n"
        )
    );
}

#[test]
fn an_unknown_flag_names_the_help_of_its_command() {
    let ended = World::new().drive(&["config", "show", "--frobnicate"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "error: unexpected argument `--frobnicate`\nhint: run `drive config show --help`\n"
        )
    );
}

#[test]
fn a_value_that_is_none_lists_the_possible_ones() {
    let ended = World::new().drive(&["--color", "purple", "config", "show"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "error: invalid value `purple` for `--color <WHEN>`\n\
             hint: possible values: `auto`, `always`, `never`\n"
        )
    );
}

#[test]
fn a_flag_without_its_value_and_flags_that_exclude_each_other_say_so() {
    let world = World::new();
    let missing = world.drive(&["config", "show", "--repo"]);
    assert_eq!(missing.code, Some(2));
    assert!(
        missing
            .stderr
            .starts_with("error: `--repo <PATH>` needs a value\n"),
        "{missing:?}"
    );
    let both = world.drive(&["-q", "-v", "config", "show"]);
    assert_eq!(both.code, Some(2));
    assert!(
        both.stderr
            .starts_with("error: `--quiet` cannot be used with `--verbose`\n"),
        "{both:?}"
    );
}

#[test]
fn without_a_command_the_help_goes_to_standard_error() {
    let ended = World::new().drive(&[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("Usage: drive"), "{ended:?}");
}

#[test]
fn wrong_usage_with_json_is_one_document() {
    let world = World::new();
    for args in [
        &["--json", "confg"][..],
        &["confg", "--json"],
        &["confg", "x", "--json", "-y"],
    ] {
        let ended = world.drive(args);
        assert_eq!(ended.code, Some(2));
        assert_eq!(
            ended.document(),
            json!({
                "schema": "drive.error/1",
                "kind": "usage",
                "message": "unknown command `confg`",
                "hint": "did you mean `config`?",
                "exitCode": 2,
                "failure": {
                    "kind": "usage",
                    "message": "unknown command `confg`",
                    "hint": "did you mean `config`?",
                    "causes": [],
                },
            })
        );
    }
}

#[test]
fn a_json_after_the_double_dash_is_not_ours() {
    let ended = World::new().drive(&["confg", "--", "--json"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
}

#[test]
fn arguments_that_are_no_utf8_are_an_error_not_a_panic() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let mut command = world.command(&["--json"]);
    command.arg(std::ffi::OsStr::from_bytes(b"conf\xffig"));
    let ended = crate::cli::support::ended(&mut command);
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.document()["schema"], "drive.error/1");
}

#[test]
fn help_and_version_are_answers() {
    let world = World::new();
    let help = world.drive(&["config", "--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Usage: drive config"), "{help:?}");
    for args in [&["help", "runs", "stop"][..], &["runs", "stop", "--help"]] {
        let help = world.drive(args);
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{args:?}");
        let example = "Examples:\n  drive runs stop\n  drive runs stop r";
        assert!(help.stdout.contains(example), "{help:?}");
    }
    let (code, version) = world.json(&["--version"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        version,
        json!({
            "schema": "drive.version/1",
            "version": concat!("drive ", env!("CARGO_PKG_VERSION")),
        })
    );
    let (code, help) = world.json(&["--help"]);
    assert_eq!((code, &help["schema"]), (Some(0), &json!("drive.help/1")));
}

#[test]
fn each_shell_gets_its_completions() {
    let world = World::new();
    for (shell, sign) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef drive"),
        ("fish", "complete -c drive"),
    ] {
        let ended = world.drive(&["completions", shell]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains(sign), "{shell}");
    }
}

#[test]
fn a_repository_folder_that_is_not_there_is_named() {
    let ended = World::new().drive(&["config", "show", "--repo", "nowhere"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "error: folder `nowhere` does not exist\nhint: check the path given with `--repo`\n"
        )
    );
}
