//! A branch that a person names for a team is new.

use crate::stage::{APPROVES, PRIMARY, TASK};
use crate::team::arena::Arena;

#[test]
fn a_team_refuses_a_named_branch_that_exists_and_leaves_it_as_it_was() {
    let arena = Arena::local();
    arena.cast(PRIMARY, APPROVES);
    arena.stage.git(&["branch", "taken"]);
    let before = arena.stage.git(&["rev-parse", "taken"]);
    let args = [
        "spawn-team",
        TASK,
        "--mode",
        "pingpong",
        "--branch",
        "taken",
    ];
    let ended = arena.stage.drive(&args);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let failure = &ended.document["failure"];
    assert_eq!(failure["kind"], "branchExists", "{ended:?}");
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.contains("branch `taken` already exists"),
        "{message}"
    );
    assert_eq!(arena.stage.git(&["rev-parse", "taken"]), before);
    let branches = arena.stage.git(&["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "main\ntaken");
    assert_eq!(arena.stage.sandboxes(), Vec::<String>::new());
}
