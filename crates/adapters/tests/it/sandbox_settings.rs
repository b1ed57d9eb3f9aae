//! Tests that settings of a repository do not prevent work from being committed.

use crate::support::{World, write};
use drive_core::ids::RunId;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};

/// The configuration of the repository, and the file that is then written.
type Setting = (&'static str, fn(&World, &Sandbox), &'static str);

const SETTINGS: &[Setting] = &[
    (
        "a sparse checkout that the file is outside of",
        |world, it| {
            world.git_in(&it.path, ["sparse-checkout", "set", "src"]);
        },
        "other/new.txt",
    ),
    (
        "line ends that are refused",
        |world, _| {
            world.git(["config", "core.autocrlf", "input"]);
            world.git(["config", "core.safecrlf", "true"]);
        },
        "dos.txt",
    ),
];

#[test]
fn a_new_file_is_committed_whatever_the_settings_say() {
    for (setting, set, file) in SETTINGS {
        let world = World::new();
        let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
        set(&world, &sandbox);
        write(&sandbox.path.join(file), "one\r\ntwo\r\n");
        let leftovers = Leftovers {
            run: RunId::new("r-one"),
            message: "leftovers".into(),
        };
        let place = Place::Sandbox(&sandbox);
        let git = world.builder();
        git.collect_work(place, &leftovers, &sandbox.base_sha)
            .unwrap();
        let shown = ["show", "--format=", "--name-only", "drive/one"];
        assert_eq!(world.git(shown), *file, "{setting}");
    }
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
