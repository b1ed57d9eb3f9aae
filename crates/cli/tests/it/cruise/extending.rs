//! Tests that a run at a limit waits until a person uses `drive runs extend`.

use crate::cruise::crew::{fixes, kill, local, status, until, until_quiet};
use crate::stage::said;
use std::fs;

#[test]
fn a_cruise_at_its_limit_names_the_command_that_extends_it_and_goes_on_once_it_ran() {
    let stage = local();
    let file = stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&file).unwrap();
    let limited = settings.replacen("[cruise]\n", "[cruise]\nmax_rounds = 1\n", 1);
    assert_ne!(limited, settings);
    fs::write(&file, limited).unwrap();
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let comment = |text: &str| {
        let ended = stage.drive(&["pr", "comment", "1", text]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    };
    let answers = || fixes(said(&stage.pull_request())).len();
    comment("One.");
    until("the first answer", || answers() == 1);
    comment("Two.");
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let command = format!("drive runs extend {id} --cost 5 --rounds 3");
    until("the limit", || {
        let waits = status(&stage)["waitingFor"].clone();
        waits.as_str().is_some_and(|text| text.contains(&command))
    });
    let texts = said(&stage.pull_request());
    assert!(
        texts.iter().any(|text| text.contains(&command)),
        "{texts:?}"
    );
    let extended = stage.drive(&["runs", "extend", &id, "--rounds", "2"]);
    assert_eq!(extended.code, Some(0), "{extended:?}");
    until("the second answer", || answers() == 2);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn an_extension_that_raises_nothing_or_reaches_no_cruise_is_refused() {
    let stage = local();
    for (args, kind) in [
        (&[][..], "nothingToExtend"),
        (&["--cost=-1"], "nothingToExtend"),
        (&["--cost=0"], "nothingToExtend"),
        (&["--rounds", "1"], "noRunFits"),
        (&["r-none", "--rounds", "1"], "unknownRun"),
    ] {
        let ended = stage.drive(&[&["runs", "extend"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert_eq!(ended.document["failure"]["kind"], kind, "{args:?}");
    }
}
