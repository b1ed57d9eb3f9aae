//! Tests `drive demo`, and the remains of a killed one.

use crate::cruise::crew::until;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn demo(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drive"));
    command
        .env_clear()
        .env("HOME", home)
        .env("TMPDIR", home.join("tmp"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(home)
        .arg("demo")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn places(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("tmp")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().contains("drive-demo-"))
        .collect()
}

#[test]
fn a_demonstration_removes_its_place_and_that_of_one_that_was_killed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::create_dir(home.join("tmp")).unwrap();
    let mut killed = demo(home, &[]).spawn().unwrap();
    until("its repository", || {
        let places = places(home);
        places
            .iter()
            .any(|place| place.join("repository/.git").exists())
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = places(home);
    assert_eq!(left.len(), 1);
    assert!(demo(home, &["--keep"]).status().unwrap().success());
    let kept = places(home);
    assert!(kept.len() == 1 && kept != left, "{kept:?}");
    assert!(kept[0].join("repository/.git").is_dir());
    let shown = demo(home, &[]).stdout(Stdio::piped()).output().unwrap();
    assert!(shown.status.success());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.matches(": Fixed in ").count(), 2, "{shown}");
    for word in [
        "greet            implemented",
        "farewell         implemented",
        "2 of 2 tasks landed",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert_eq!(shown.matches("proven ").count(), 2, "{shown}");
    assert_eq!(places(home), kept);
}
