//! Tests that files which forges refuse are reported, whoever committed them.

use crate::support::World;
use drive_core::ids::RunId;
use drive_engine::ports::{LargeFile, Leftovers, Place, VersionControl};
use std::path::PathBuf;

#[test]
fn a_large_file_is_named_also_where_a_commit_of_somebody_else_holds_it() {
    let world = World::new();
    let git = world.builder();
    let base = world.git(["rev-parse", "HEAD"]);
    let leftovers = Leftovers {
        run: RunId::new("r-1"),
        message: "Leftovers".to_owned(),
    };
    let large = || -> Vec<LargeFile> {
        let place = Place::Checkout(&world.repo);
        let mut large = git.collect_work(place, &leftovers, &base).unwrap().large;
        large.sort_by(|one, other| one.path.cmp(&other.path));
        large
    };
    let file = |path: &str, bytes: u64| LargeFile {
        path: PathBuf::from(path),
        bytes,
    };
    world.write("small.bin", &"x".repeat(50_000_000));
    assert_eq!(large(), []);
    world.write("own big.bin", &"y".repeat(50_000_001));
    world.commit("big");
    assert_eq!(large(), [file("own big.bin", 50_000_001)]);
    // A forge receives every commit, and so every file in one of them.
    world.git(["rm", "-q", "own big.bin"]);
    world.commit("gone");
    world.write("left.bin", &"z".repeat(60_000_000));
    let both = [
        file("left.bin", 60_000_000),
        file("own big.bin", 50_000_001),
    ];
    assert_eq!(large(), both);
}
