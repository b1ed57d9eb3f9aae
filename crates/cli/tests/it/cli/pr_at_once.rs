//! Tests commands on pull requests that run at the same time.

use super::pr::{branch, document, done, world};
use crate::cli::support::{Ended, ended};
use std::process::Stdio;

#[test]
fn commands_at_the_same_time_all_succeed() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    let endings: Vec<Ended> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| ended(&mut world.command(&["pr", "comment", "1", "hello"]))))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    for ending in endings {
        assert_eq!(ending.code, Some(0), "{ending:?}");
    }
    let shown = document(&world, &["pr", "show", "1"]);
    let ids: Vec<_> = shown["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["id"])
        .collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn pull_requests_that_are_merged_at_once_wait_for_each_other() {
    let world = world();
    let names = ["feat/a", "feat/b", "feat/c"];
    for name in names {
        branch(&world, name, &format!("{}.rs", name.replace('/', "-")));
        done(&world, &["pr", "open", name]);
    }
    let mergers: Vec<_> = ["1", "2", "3"]
        .map(|number| {
            let mut command = world.command(&["pr", "merge", number, "--unverified"]);
            let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .into_iter()
        .map(|merger| merger.wait_with_output().unwrap())
        .collect();
    for merger in mergers {
        assert_eq!(merger.status.code(), Some(0), "{merger:?}");
    }
    assert_eq!(world.git(&["rev-list", "--count", "--merges", "main"]), "3");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    for name in names {
        let file = format!("{}.rs", name.replace('/', "-"));
        assert!(world.repo().join(&file).is_file(), "{file}");
    }
}
