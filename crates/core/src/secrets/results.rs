//! Redacts the results of effects before they are journaled. Everything that is shown, posted or
//! put into a prompt later comes from the journal.

use crate::agent::Secrets;
use crate::forge::Comment;
use crate::run::{CommitSummary, EffectResult, ForgeAnswer, LineAnswer};
use crate::verify::Verification;

/// Returns the result without secrets.
#[must_use]
pub fn redact_result(secrets: &Secrets, mut result: EffectResult) -> EffectResult {
    match &mut result {
        EffectResult::WorkCommitted {
            commits, warnings, ..
        }
        | EffectResult::Integrated {
            commits, warnings, ..
        } => {
            subjects(secrets, commits);
            each(secrets, warnings);
        }
        EffectResult::Replaced { commits, .. } => subjects(secrets, commits),
        EffectResult::SandboxRemoved { branch, .. } => {
            if let Some(tip) = branch {
                subjects(secrets, &mut tip.commits);
            }
        }
        EffectResult::FileRead { text: Some(text) } => one(secrets, text),
        EffectResult::DiffRead {
            diff,
            parts,
            since,
            quotes,
            ..
        } => {
            one(secrets, quotes);
            one(secrets, diff);
            each(secrets, parts);
            since.iter_mut().for_each(|since| one(secrets, since));
        }
        EffectResult::OnForge { answer } => {
            if let ForgeAnswer::Polled { poll } | ForgeAnswer::Unheard { poll } = answer {
                redact_comments(secrets, &mut poll.comments);
            }
        }
        EffectResult::AgentEnded { outcome, .. } => {
            **outcome = secrets.redact_outcome(outcome.as_ref().clone());
        }
        EffectResult::Verified { report, .. } => tails(secrets, report),
        EffectResult::Landed { report, unread, .. } => {
            report.iter_mut().for_each(|report| tails(secrets, report));
            redact_comments(secrets, unread);
        }
        EffectResult::OnLine { answer } => match answer {
            LineAnswer::TrainVerified { report } => tails(secrets, report),
            LineAnswer::ContractChecked { receipts } => {
                for receipt in receipts {
                    one(secrets, &mut receipt.output);
                    receipt.why.iter_mut().for_each(|why| one(secrets, why));
                }
            }
            LineAnswer::Unheard { tasks } => {
                tasks
                    .iter_mut()
                    .for_each(|held| one(secrets, &mut held.why));
            }
            LineAnswer::LineBegun
            | LineAnswer::Assembled { .. }
            | LineAnswer::CarsLanded
            | LineAnswer::LineMoved { .. } => {}
        },
        EffectResult::Failed { problem } => *problem = secrets.redact_problem(problem.clone()),
        EffectResult::FileRead { text: None }
        | EffectResult::BranchChosen { .. }
        | EffectResult::SandboxCreated { .. }
        | EffectResult::ProcessEnded
        | EffectResult::FileWritten
        | EffectResult::Pushed
        | EffectResult::BranchMoved { .. }
        | EffectResult::Conflicted { .. }
        | EffectResult::RolledBack { .. }
        | EffectResult::PullRequestOpened { .. }
        | EffectResult::Delivered
        | EffectResult::Notified => {}
    }
    result
}

/// Removes secrets from people's comments.
pub fn redact_comments(secrets: &Secrets, comments: &mut [Comment]) {
    for comment in comments {
        one(secrets, &mut comment.body);
    }
}

fn subjects(secrets: &Secrets, commits: &mut [CommitSummary]) {
    for commit in commits {
        one(secrets, &mut commit.subject);
    }
}

fn tails(secrets: &Secrets, report: &mut Verification) {
    for stage in &mut report.stages {
        one(secrets, &mut stage.stdout_tail);
        one(secrets, &mut stage.stderr_tail);
    }
    if let Some(failure) = &mut report.failure {
        one(secrets, &mut failure.reason);
    }
}

fn each(secrets: &Secrets, texts: &mut [String]) {
    for text in texts {
        one(secrets, text);
    }
}

fn one(secrets: &Secrets, text: &mut String) {
    *text = secrets.redact(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use crate::ids::CommitSha;
    use crate::problem::Kind;

    #[test]
    fn subjects_diffs_files_and_problems_are_redacted() {
        let dirty = || "x hunter2-hunter2 y".to_owned();
        let commits = || {
            vec![CommitSummary {
                sha: CommitSha::new("a"),
                subject: dirty(),
            }]
        };
        let results = [
            EffectResult::WorkCommitted {
                head_sha: CommitSha::new("a"),
                commits: commits(),
                warnings: vec![dirty()],
                changed: Vec::new(),
            },
            EffectResult::Replaced {
                head_sha: CommitSha::new("a"),
                base_sha: None,
                commits: commits(),
                kept: None,
            },
            EffectResult::FileRead {
                text: Some(dirty()),
            },
            EffectResult::DiffRead {
                diff: dirty(),
                parts: vec![dirty()],
                lines: Vec::new(),
                is_cut: false,
                since: Some(dirty()),
                changed: None,
                quotes: dirty(),
            },
            EffectResult::Failed {
                problem: Problem::new(Kind::GitFailed, dirty())
                    .hint(dirty())
                    .cause(dirty()),
            },
        ];
        for result in results {
            let before = serde_json::to_string(&result).unwrap();
            let clean = redact_result(&Secrets::new(["hunter2-hunter2"]), result);
            let clean = serde_json::to_string(&clean).unwrap();
            assert!(!clean.contains("hunter2"), "{clean}");
            let expected = before.replace("hunter2-hunter2", "[redacted]");
            assert_eq!(clean, expected);
        }
    }
}
