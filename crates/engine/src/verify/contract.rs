//! Runs the acceptance commands of a plan on the tree of one commit.
//!
//! They run in a workspace like that of a verification, under the same limits and isolation, after
//! the set-up and compile commands of the rules. Nothing is copied from the user's checkout: an
//! older build there could be mistaken for the commit's own.

use super::StageEnv;
use super::service::Closing;
use super::stage::StageRunner;
use super::verifier::{Verifier, VerifyRequest};
use crate::CancelToken;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, LeakPolicy, ProcessReport};
use drive_core::run::{ContractCheck, Receipt, ReceiptResult};
use drive_core::time::{self, Timestamp};
use drive_core::verify::{
    Judgement, Observation, Scope, StageCommand, StageEnd, StageName, StageStatus, TestsRan, Turn,
    Work, judge, text, time_left,
};
use std::time::Duration;

/// How many bytes of output a receipt contains.
const OUTPUT_BYTES: usize = 4 << 10;

/// The name of a contract's commands in reports.
const ROUTE: &str = "contract";

impl Verifier<'_> {
    /// Runs the checks one after another on the tree of `request.revision`, which is not merged
    /// into anything. Returns one receipt for each; a problem means that no result is known.
    pub fn check(
        &self,
        request: &VerifyRequest,
        checks: &[ContractCheck],
        cancel: &CancelToken,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<Receipt>, Problem> {
        let mut rules = request.rules.clone();
        rules.seed.clear();
        // A check may start a server and leave it running.
        rules.leaks = LeakPolicy::Kill;
        let deadline = time::after(self.clock.now(), rules.deadline);
        let commit = self.candidates.resolve(&request.repo, &request.revision)?;
        let _slot = self.slots.acquire(rules.max_parallel, deadline, cancel)?;
        for note in self.workspaces.sweep().unwrap_or_default() {
            progress(&note);
        }
        progress("creating the workspace");
        let workspace = self
            .workspaces
            .open(&request.run, &request.repo, &commit, &rules)?;
        let closing = Closing::of(self.workspaces, &workspace);
        let stage_env = &StageEnv { workspace, rules };
        let contract = Contract {
            verifier: self,
            stages: StageRunner {
                runner: self.runner,
                workspaces: self.workspaces,
                stage_env,
                helpers: &request.helpers,
                cancel,
            },
            deadline,
        };
        let receipts = contract.run(checks, progress);
        if let Err(problem) = closing.close() {
            progress(&format!("could not remove the workspace: {problem}"));
        }
        if cancel.asked().is_some() {
            let what = "the checks of the contract were interrupted";
            return Err(Problem::new(Kind::Interrupted, what));
        }
        Ok(receipts)
    }
}

struct Contract<'a> {
    verifier: &'a Verifier<'a>,
    stages: StageRunner<'a>,
    deadline: Timestamp,
}

/// Why the remaining commands are not run, and their result.
struct Halt {
    result: ReceiptResult,
    why: String,
}

impl Contract<'_> {
    fn run(&self, checks: &[ContractCheck], progress: &mut dyn FnMut(&str)) -> Vec<Receipt> {
        let mut halt = self.prepare(progress);
        let mut receipts = Vec::with_capacity(checks.len());
        for check in checks {
            if halt.is_none() && self.left().is_zero() {
                halt = Some(Halt::unproven("`verify.deadline` was reached"));
            }
            let receipt = match &halt {
                Some(halt) => Receipt {
                    ran: false,
                    ..blank(check, halt.result, format!("not run: {}", halt.why))
                },
                None => {
                    let (task, id) = (&check.task, &check.id);
                    progress(&format!(
                        "check {id} of {task}: {}",
                        check.command.join(" ")
                    ));
                    let (receipt, ended) = self.one(check);
                    if ended == Some(StageEnd::Tampered) {
                        let before = format!("check {id} of {task} changed tracked files");
                        halt = Some(Halt::unproven(&before));
                    }
                    receipt
                }
            };
            receipts.push(receipt);
        }
        receipts
    }

    fn left(&self) -> Duration {
        time_left(self.verifier.clock.now(), self.deadline)
    }

    /// Runs the set-up and compile commands of the rules. A tree for which the rules have no plan
    /// is checked without them.
    fn prepare(&self, progress: &mut dyn FnMut(&str)) -> Option<Halt> {
        let stages = &self.stages;
        let plan = self
            .verifier
            .plan(stages.stage_env, &Scope::Everything, stages.cancel)
            .unwrap_or_default();
        for stage in plan.stages {
            let (StageName::Compile, Work::Run(command)) = (stage.name, stage.work) else {
                continue;
            };
            let what = format!("{} of route `{}`", stage.name.words(), stage.route);
            let left = self.left();
            if left.is_zero() {
                let reached = format!("`verify.deadline` was reached before {what}");
                return Some(Halt::unproven(&reached));
            }
            progress(&format!("{what}: {}", command.argv.join(" ")));
            let turn = Turn {
                name: stage.name,
                route: stage.route,
                within: command.timeout.min(left),
                command,
            };
            let ran = stages.run(&turn).stage;
            let result = match ran.status {
                StageStatus::Pass | StageStatus::Skipped => continue,
                StageStatus::Fail | StageStatus::Timeout => ReceiptResult::Failed,
                StageStatus::Error => ReceiptResult::Unproven,
            };
            let reason = ran.reason.unwrap_or_default();
            return Some(Halt {
                result,
                why: format!("{what} failed: {reason}"),
            });
        }
        None
    }

    /// Runs one check. Also returns how its command ended, if it started.
    fn one(&self, check: &ContractCheck) -> (Receipt, Option<StageEnd>) {
        let turn = turn_of(check, self.left());
        let ran = match self.stages.start(&turn) {
            Ok(report) => report,
            Err(problem) => return (unstarted(check, &problem), None),
        };
        let workspace = &self.stages.stage_env.workspace;
        let (tampered, end) = match self.stages.workspaces.altered(workspace) {
            Ok(paths) => (paths, ran.end.clone()),
            // A tree that cannot be checked cannot be trusted.
            Err(problem) => {
                let message = problem.to_string();
                (Vec::new(), End::Infra { message })
            }
        };
        let judgement = judge(
            turn.name,
            &Observation {
                end,
                tampered,
                tests: TestsRan::Unknown,
                untested: Vec::new(),
                timeout: turn.within,
                not_ready: None,
            },
        );
        let ended = judgement.ended;
        let receipt = Receipt {
            output: self.output(&ran),
            duration_ms: ran.duration_ms,
            ..judged(check, judgement, &ran)
        };
        (receipt, Some(ended))
    }

    /// The end of the output, with secrets redacted.
    fn output(&self, ran: &ProcessReport) -> String {
        let streams = [&ran.stdout, &ran.stderr].map(|stream| self.stages.shown(stream));
        let parts: Vec<&str> = streams
            .iter()
            .map(|text| text.trim_end())
            .filter(|text| !text.is_empty())
            .collect();
        text::tail_lines(&parts.join("\n"), OUTPUT_BYTES).to_owned()
    }
}

impl Halt {
    fn unproven(why: &str) -> Self {
        Self {
            result: ReceiptResult::Unproven,
            why: why.to_owned(),
        }
    }
}

/// The command as a stage: in the root of the tree, with the default network access.
fn turn_of(check: &ContractCheck, left: Duration) -> Turn {
    // With this stage name, the output is not parsed for test results.
    let name = StageName::StartupSmoke;
    let timeout = drive_core::verify::StageTimeouts::default().targeted_tests;
    Turn {
        name,
        route: ROUTE.to_owned(),
        within: timeout.min(left),
        command: StageCommand {
            argv: check.command.clone(),
            timeout,
            ..StageCommand::default()
        },
    }
}

/// The receipt of a command that did not start. A missing program is the fault of the plan or the
/// commit; any other cause is the machine's.
fn unstarted(check: &ContractCheck, problem: &Problem) -> Receipt {
    let is_missing = matches!(
        problem.kind,
        Kind::ProgramNotFound
            | Kind::CommandNotFound
            | Kind::CommandNotExecutable
            | Kind::EmptyCommand
            | Kind::OutsideWorkspace
    );
    let result = if is_missing {
        ReceiptResult::Failed
    } else {
        ReceiptResult::Unproven
    };
    let program = check.command.first().map_or("", String::as_str);
    let why = format!("could not start `{program}`: {problem}");
    Receipt {
        // On the base, a program that does not exist yet is the expected failure.
        ran: is_missing,
        ..blank(check, result, why)
    }
}

/// Compares the end of a command with the expected one.
fn judged(check: &ContractCheck, judgement: Judgement, ran: &ProcessReport) -> Receipt {
    let reason = judgement.reason.unwrap_or_default();
    let (result, why) = match (judgement.ended, judgement.exit_code) {
        (StageEnd::Infra | StageEnd::Aborted, _) => (ReceiptResult::Unproven, Some(reason)),
        (StageEnd::Exited, Some(code)) if code == check.exit => match missing(check, ran) {
            None => (ReceiptResult::Proven, None),
            why => (ReceiptResult::Failed, why),
        },
        (StageEnd::Exited, Some(code)) => {
            let why = format!("exit code {code}, expected {}", check.exit);
            (ReceiptResult::Failed, Some(why))
        }
        (_, _) => (ReceiptResult::Failed, Some(reason)),
    };
    Receipt {
        exit: judgement.exit_code,
        why,
        ..blank(check, result, String::new())
    }
}

/// The expected text that the output lacks, if any. Only the kept output is searched.
fn missing(check: &ContractCheck, ran: &ProcessReport) -> Option<String> {
    let wanted = check.contains.as_ref()?;
    let streams = [&ran.stdout, &ran.stderr];
    if streams.iter().any(|one| one.tail_text().contains(wanted)) {
        return None;
    }
    let is_cut = streams.iter().any(|one| one.truncated_bytes() > 0);
    let output = if is_cut {
        "the end of its output"
    } else {
        "its output"
    };
    Some(format!("{output} does not contain `{wanted}`"))
}

fn blank(check: &ContractCheck, result: ReceiptResult, why: String) -> Receipt {
    Receipt {
        task: check.task.clone(),
        id: check.id.clone(),
        result,
        exit: None,
        output: String::new(),
        duration_ms: 0,
        why: Some(why),
        ran: true,
    }
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod tests;
