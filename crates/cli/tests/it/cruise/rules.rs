//! Tests whose rules are used to verify the tasks of a cruise.

use super::building::{
    CODER, args, commit_rules, plan_of, states, task, trees_that_fail, wait_for_a_person,
};
use crate::cruise::crew::{QUICK, status, until};
use crate::stage::{APPROVES, Stage, ended};
use serde_json::json;
use std::fs;

/// A coder that also removes the verification command from the settings.
fn weakening_coder() -> String {
    let weaken = r#"  Weaken) sed -i 's|^targeted_tests = .*|targeted_tests = ["/bin/true"]|' drive.toml ;;
  esac
  echo "Wrote"#;
    CODER.replace("  esac\n  echo \"Wrote", weaken)
}

#[test]
fn a_task_that_weakens_the_rules_does_not_let_the_next_ones_land_unverified() {
    let mut weakens = task("a", "Weaken drive.toml", &[], "drive.toml");
    weakens["acceptance"] = json!([
        {"id": "weak", "kind": "command", "text": "the command is gone",
         "command": ["/bin/sh", "-c", "grep -q /bin/true drive.toml"]},
    ]);
    let bad = task("b", "Write b.txt bad", &["a"], "b.txt");
    let plan = plan_of(&[weakens, bad]);
    let stage = Stage::new(&weakening_coder().replace("@PLAN@", &plan), APPROVES);
    commit_rules(&stage, |settings| format!("{QUICK}{settings}"));
    fs::write(stage.path("plan.md"), plan).unwrap();
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    until("the block", || {
        states(&status(&stage)) == ["a landed", "b blocked"]
    });
    let branch = status(&stage)["branch"].as_str().unwrap().to_owned();
    let rules = stage.git(&["show", &format!("{branch}:drive.toml")]);
    assert!(rules.contains("/bin/true"), "{rules}");
    assert_eq!(trees_that_fail(&stage, &branch), Vec::<String>::new());
    let skipped = stage.drive(&["cruise", "skip", "b"]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    wait_for_a_person(&stage);
    let waits = status(&stage)["waitingFor"].as_str().unwrap().to_owned();
    assert!(waits.contains("`drive.toml` changed"), "{waits}");
    let closed = stage.drive(&["pr", "close", "1"]);
    assert_eq!(closed.code, Some(0), "{closed:?}");
    assert_eq!(ended(cruise).code, Some(1));
}
