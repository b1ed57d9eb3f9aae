//! Tests the warnings before a run starts: the forge that its pull request will not reach, and
//! changes that it will not contain.

use crate::spawn::support::World;

const WRITES_A_FILE: &str = "echo new > new.txt";
const NO_TOKEN: &str = "warning: no GitHub token for `acme/widgets`, so pull requests go to the \
                        local forge on this machine; set `MY_TOKEN` or run `gh auth login`";

fn warnings(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect()
}

/// A world whose remote is on GitHub, with a forge that is chosen by `kind`.
fn on_github(kind: &str) -> World {
    let world = World::with_agent(WRITES_A_FILE);
    world.git("remote add origin https://github.com/acme/widgets.git");
    world.all_settings(&format!(
        "[spawn]\nagent = \"script\"\n[forge]\nkind = {kind:?}\ntoken_env = \"MY_TOKEN\"\n\
         [agents.script]\nkind = \"command\"\ncommand = [{:?}]\n",
        world.path("bin/script")
    ));
    world
}

#[test]
fn a_github_remote_without_a_token_is_a_warning_when_the_local_forge_stands_in() {
    let world = on_github("auto");
    let ended = world.drive(&["spawn", "Do it"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(warnings(&ended.stderr), [NO_TOKEN]);
}

#[test]
fn no_token_is_missed_where_none_is_needed() {
    let world = on_github("local");
    let asked_for = world.drive(&["spawn", "Do it"]);
    assert_eq!(asked_for.code, Some(0), "{asked_for:?}");
    assert_eq!(warnings(&asked_for.stderr), [""; 0]);
    let world = on_github("auto");
    let branch_only = world.drive(&["spawn", "Do it", "--no-pr"]);
    assert_eq!(branch_only.code, Some(0), "{branch_only:?}");
    assert_eq!(warnings(&branch_only.stderr), [""; 0]);
}

#[test]
fn github_asked_for_without_a_token_is_refused() {
    let world = on_github("github");
    let ended = world.drive(&["spawn", "Do it", "--json"]);
    assert_eq!(ended.failure(), (Some(3), "tokenMissing".into()));
}

#[test]
fn uncommitted_changes_of_the_checkout_are_counted_and_stay_out_of_the_run() {
    let world = World::with_agent(WRITES_A_FILE);
    world.shell("cd repo; echo edited > a.txt; echo untracked > c.txt");
    let ended = world.drive(&["spawn", "Do it", "--branch", "mine"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let repo = world.path("repo").canonicalize().unwrap();
    assert_eq!(
        warnings(&ended.stderr),
        [format!(
            "warning: 2 uncommitted changes in {} are not part of this run",
            repo.display()
        )]
    );
    assert_eq!(world.files("mine"), "a.txt new.txt src/b.txt");
    assert_eq!(world.git("show mine:a.txt"), "one");
    assert_eq!(world.shell("cat repo/a.txt"), "edited");
}

#[test]
fn uncommitted_changes_are_no_warning_for_a_run_from_another_commit() {
    let world = World::with_agent(WRITES_A_FILE);
    world.shell("cd repo; echo more >> a.txt; git commit -qam second; echo edited > a.txt");
    let ended = world.drive(&["spawn", "Do it", "--base", "main~1", "--no-pr"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(warnings(&ended.stderr), [""; 0]);
}
