//! Detects refs that an agent changed although they are not its own.

use super::World;
use crate::ports::{Tip, Tips};
use drive_core::ids::BranchName;
use drive_core::sandbox::Sandbox;
use std::collections::BTreeSet;

const MOST_NAMED: usize = 20;
/// How many new branches are asked about.
const MOST_ASKED: usize = 100;
const OWN: &str = "refs/drive/";

impl World<'_> {
    /// What the names point at before an agent works beside them; `None` when that cannot be told.
    pub(super) fn remember_tips(&self, sandbox: &Sandbox) -> Option<Tips> {
        self.history.tips(sandbox).ok()
    }

    /// The refs that changed, as warnings. Nothing is restored: a person may have changed them.
    pub(super) fn changed_tips(
        &self,
        agent: &str,
        sandbox: &Sandbox,
        before: &Tips,
    ) -> Vec<String> {
        let own = sandbox.branch.as_ref().map(BranchName::full);
        match self.history.tips(sandbox) {
            Ok(after) => told(before, &after, own.as_deref(), &|name| {
                self.history.may_be_made_by(agent, sandbox, name)
            }),
            Err(problem) => vec![format!(
                "cannot determine what the agent did to other branches: {}",
                problem.message
            )],
        }
    }
}

fn told(
    before: &Tips,
    after: &Tips,
    own: Option<&str>,
    may_be_its: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let (mut changes, mut more, mut asked) = (Vec::new(), 0_usize, 0);
    for name in names {
        let (was, is) = (before.get(name), after.get(name));
        let elsewhere = [was, is].iter().flatten().any(|tip| tip.in_other_sandbox);
        if Some(name.as_str()) == own || elsewhere {
            continue;
        }
        let Some(change) = change(name, was, is) else {
            continue;
        };
        if changes.len() == MOST_NAMED {
            more += 1;
            continue;
        }
        // Other runs and people make branches all the time.
        if was.is_none() && asked < MOST_ASKED {
            asked += 1;
            if !may_be_its(name) {
                continue;
            }
        }
        changes.push(change);
    }
    if more > 0 {
        changes.push(format!("{more} more refs changed while the agent ran"));
    }
    changes
}

fn change(name: &str, was: Option<&Tip>, is: Option<&Tip>) -> Option<String> {
    let argument = quoted(name);
    let what = match (was, is) {
        (None, None) => return None,
        (None, Some(_)) if name.starts_with(OWN) => return None,
        (None, Some(Tip { sha, .. })) => format!(
            "`{name}` was created at {sha}; to remove it: `git update-ref -d {argument} {sha}`"
        ),
        (Some(Tip { sha, .. }), None) => format!(
            "`{name}` was deleted (it was at {sha}); to restore it: `git update-ref {argument} \
             {sha}`"
        ),
        (Some(was), Some(is)) if was.follows == is.follows && was.sha == is.sha => return None,
        (Some(was), Some(is)) => {
            let (from, to) = (&was.sha, &is.sha);
            match is.follows.as_ref().filter(|_| was.follows != is.follows) {
                Some(other) => format!(
                    "`{name}` (at {from}) became a symbolic ref to `{other}`; to undo: `git \
                     update-ref --no-deref {argument} {from}`"
                ),
                None => format!(
                    "`{name}` moved from {from} to {to}; to undo: `git update-ref {argument} \
                     {from} {to}`"
                ),
            }
        }
    };
    Some(format!("while the agent ran, {what}"))
}

/// A name as a shell reads it: an agent may have chosen one that would run something.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    if name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sha: &str) -> Tip {
        Tip {
            sha: sha.to_owned(),
            follows: None,
            in_other_sandbox: false,
        }
    }

    fn tips(all: &[(&str, Tip)]) -> Tips {
        let named = |(name, tip): &(&str, Tip)| ((*name).to_owned(), tip.clone());
        all.iter().map(named).collect()
    }

    #[test]
    fn what_moved_vanished_or_appeared_is_named_with_the_way_back() {
        let before = tips(&[
            ("refs/drive/kept/r/1", at("4")),
            ("refs/heads/gone", at("2")),
            ("refs/heads/main", at("1")),
            ("refs/heads/mine", at("1")),
            ("refs/heads/same", at("1")),
            ("refs/heads/tied", at("1")),
        ]);
        let tied = Tip {
            follows: Some("refs/heads/mine".to_owned()),
            ..at("9")
        };
        let after = tips(&[
            ("refs/drive/kept/other/1", at("7")),
            ("refs/heads/$(id)'", at("5")),
            ("refs/heads/by-hand", at("6")),
            ("refs/heads/main", at("3")),
            ("refs/heads/mine", at("9")),
            ("refs/heads/same", at("1")),
            ("refs/heads/tied", tied),
        ]);
        let by_agent = |name: &str| name != "refs/heads/by-hand";
        let told = told(&before, &after, Some("refs/heads/mine"), &by_agent);
        let expected = [
            "`refs/drive/kept/r/1` was deleted (it was at 4); to restore it: `git update-ref refs/drive/kept/r/1 4`",
            r"`refs/heads/$(id)'` was created at 5; to remove it: `git update-ref -d 'refs/heads/$(id)'\''' 5`",
            "`refs/heads/gone` was deleted (it was at 2); to restore it: `git update-ref refs/heads/gone 2`",
            "`refs/heads/main` moved from 1 to 3; to undo: `git update-ref refs/heads/main 1 3`",
            "`refs/heads/tied` (at 1) became a symbolic ref to `refs/heads/mine`; to undo: `git update-ref --no-deref refs/heads/tied 1`",
        ];
        assert_eq!(
            told,
            expected.map(|what| format!("while the agent ran, {what}"))
        );
    }

    #[test]
    fn a_branch_of_another_sandbox_is_that_ones_business() {
        let beside = |sha| Tip {
            in_other_sandbox: true,
            ..at(sha)
        };
        let before = tips(&[("refs/heads/a", beside("1")), ("refs/heads/b", beside("1"))]);
        let after = tips(&[
            ("refs/heads/a", beside("2")),
            ("refs/heads/b", at("2")),
            ("refs/heads/c", beside("3")),
        ]);
        assert_eq!(told(&before, &after, None, &|_| true), Vec::<String>::new());
    }

    #[test]
    fn however_many_change_twenty_are_named() {
        let all: Vec<String> = (100..1100).map(|n| format!("refs/heads/{n}")).collect();
        let after = all.iter().map(|name| (name.clone(), at("1"))).collect();
        let told = told(&Tips::new(), &after, None, &|_| true);
        assert_eq!(told.len(), 21);
        assert_eq!(told[20], "980 more refs changed while the agent ran");
    }
}
