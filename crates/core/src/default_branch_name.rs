//! The branch name of a run for which neither the caller nor an agent chose one.

use crate::agent::answer::slug;
use crate::ids::{BranchName, RunId};
use crate::problem::Problem;

/// `drive/`, a slug of the task, and the random part of the run id, which makes it unique.
pub fn default_branch_name(task: &str, run: &RunId) -> Result<BranchName, Problem> {
    let unique = run.as_str().rsplit('-').next().unwrap_or_default();
    BranchName::parse(&format!("drive/{}-{unique}", slug(task)))?.for_new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_branch_says_the_task_and_which_run_it_was() {
        let run = RunId::new("r20261115-0942-k3f9a");
        assert_eq!(
            default_branch_name("Fix the login!", &run),
            BranchName::parse("drive/fix-the-login-k3f9a")
        );
    }

    proptest! {
        #[test]
        fn any_task_gives_a_branch_that_git_takes(task: String) {
            let branch = default_branch_name(&task, &RunId::new("r20261115-0942-k3f9a"));
            prop_assert!(branch.is_ok(), "{branch:?}");
        }
    }
}
