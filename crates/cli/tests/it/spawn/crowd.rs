//! Tests many runs at once.

use crate::spawn::support::{Ended, World, text};
use std::collections::BTreeSet;
use std::process::Child;

#[test]
fn twenty_at_once_in_one_repository_all_succeed() {
    const MANY: usize = 20;
    let world = World::with_agent("echo \"$DRIVE_RUN_ID\" > \"$DRIVE_RUN_ID\"; echo mine > a.txt");
    let children: Vec<Child> = (0..MANY)
        .map(|_| world.start(&["spawn", "Do the same thing", "--json"]))
        .collect();
    let ended: Vec<Ended> = children
        .into_iter()
        .map(|child| Ended::from(child.wait_with_output().unwrap()))
        .collect();
    let mut branches = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    for one in &ended {
        let run = one.run();
        assert_eq!(one.code, Some(0), "{run:#}\n{}", one.stderr);
        let (id, branch) = (text(&run["runId"]), text(&run["branch"]));
        assert_eq!(world.git(&format!("show {branch}:{id}")), id);
        branches.insert(branch);
        numbers.insert(run["prNumber"].as_u64().unwrap());
    }
    assert_eq!(branches, world.branches().into_iter().collect());
    assert_eq!(branches.len(), MANY);
    assert_eq!(numbers, (1..=MANY as u64).collect());
    let list = world.drive(&["pr", "list", "--json"]).document();
    assert_eq!(list["pullRequests"].as_array().unwrap().len(), MANY);
    assert_eq!(world.git("for-each-ref refs/drive"), "");
    world.assert_nothing_is_left();
}
