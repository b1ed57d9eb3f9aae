//! Acceptance criteria that the commits of a cruise do not meet.

use super::super::super::model::{
    AuditFinding, Checked, ContractCheck, JudgedEntry, Level, Receipt, ReceiptResult, WholeTerms,
};
use crate::agent::answer::ProofCommand;
use crate::ids::TaskId;
use crate::problem::{Kind, Problem};
use crate::prompts::fenced;
use std::fmt::Write;

/// How many characters of a command's output a fixer gets.
const OUTPUT_CHARS: usize = 2_000;

/// A criterion without evidence, or a finding.
pub(super) struct Gap<'a> {
    /// Failed if a program showed that the criterion is not met.
    pub(super) result: ReceiptResult,
    subject: Subject<'a>,
    why: Option<&'a str>,
    receipt: Option<&'a Receipt>,
    proof: Option<&'a ProofCommand>,
}

enum Subject<'a> {
    Entry {
        task: &'a TaskId,
        id: &'a str,
        criterion: &'a str,
    },
    Finding(&'a AuditFinding),
}

/// Everything that keeps a commit from the requested level. A failed command counts at every level
/// that checks the contract, even for a criterion that only an agent can judge. Entries without
/// evidence and critical findings count only at the strict level.
pub(super) fn gaps<'a>(whole: &'a WholeTerms, checked: &'a Checked) -> Vec<Gap<'a>> {
    let is_strict = match whole.level {
        Level::Basic => return Vec::new(),
        Level::Functional => false,
        Level::Strict => true,
    };
    let open = checked.receipts.iter();
    let open = open.filter(|one| one.result != ReceiptResult::Proven);
    let mut gaps: Vec<Gap<'_>> = open.map(|one| of_receipt(whole, one)).collect();
    let opinion = checked.opinion.as_ref();
    for one in &whole.judged {
        let judged = opinion.and_then(|opinion| opinion.of(&one.task, &one.id));
        let result = judged.map_or(ReceiptResult::Unproven, |judged| judged.result);
        let counts = match result {
            ReceiptResult::Failed => true,
            ReceiptResult::Unproven => is_strict,
            ReceiptResult::Proven | ReceiptResult::Judged => false,
        };
        if counts {
            let failure = opinion.and_then(|opinion| opinion.failure.as_deref());
            gaps.push(Gap {
                result,
                subject: Subject::Entry {
                    task: &one.task,
                    id: &one.id,
                    criterion: &one.criterion,
                },
                why: judged.and_then(|one| one.why.as_deref()).or(failure),
                receipt: judged.and_then(|one: &JudgedEntry| one.receipt.as_ref()),
                proof: judged.and_then(|one| one.proof.as_ref()),
            });
        }
    }
    let findings = opinion.iter().flat_map(|opinion| &opinion.findings);
    for one in findings.filter(|one| is_strict && one.is_critical()) {
        let confirmed = one.confirmed.as_ref();
        gaps.push(Gap {
            result: ReceiptResult::Failed,
            subject: Subject::Finding(one),
            why: confirmed.and_then(|one| one.receipt.why.as_deref()),
            receipt: confirmed.map(|one| &one.receipt),
            proof: confirmed.map(|one| &one.proof),
        });
    }
    gaps
}

fn of_receipt<'a>(whole: &'a WholeTerms, one: &'a Receipt) -> Gap<'a> {
    let mut checks = whole.contract.iter();
    let check = checks.find(|check| check.task == one.task && check.id == one.id);
    Gap {
        result: one.result,
        subject: Subject::Entry {
            task: &one.task,
            id: &one.id,
            criterion: check.and_then(ContractCheck::criterion).unwrap_or_default(),
        },
        why: one.why.as_deref(),
        receipt: Some(one),
        proof: None,
    }
}

impl Gap<'_> {
    /// Why only a person can decide about the commit.
    pub(super) fn problem(&self) -> Problem {
        let message = match &self.subject {
            Subject::Entry {
                task, criterion, ..
            } => {
                let result = match self.result {
                    ReceiptResult::Failed => "is not met",
                    ReceiptResult::Unproven | ReceiptResult::Proven | ReceiptResult::Judged => {
                        "has no evidence"
                    }
                };
                format!("an acceptance entry of task `{task}` {result}: {criterion}")
            }
            Subject::Finding(one) => format!("a critical finding is confirmed: {}", one.title),
        };
        let problem = Problem::new(Kind::AcceptanceFailed, message);
        match self.why {
            Some(why) => problem.cause(why.to_owned()),
            None => problem,
        }
    }
}

/// A failure that a program showed, as text for a fixer.
pub(super) fn gap_text(gap: &Gap<'_>) -> String {
    let mut text = match &gap.subject {
        Subject::Entry {
            task,
            id,
            criterion,
        } => format!("Acceptance entry `{id}` of task `{task}` is not met: {criterion}"),
        Subject::Finding(one) => format!("A critical defect: {}\n\n{}", one.title, one.detail)
            .trim_end()
            .to_owned(),
    };
    if let Some(proof) = gap.proof {
        let contains = proof.contains.as_ref();
        let contains = contains.map_or(String::new(), |words| format!(" and print `{words}`"));
        let command = fenced(&proof.command.join(" "), "");
        let _ = write!(
            text,
            "\n\nThis command must end with exit code {}{contains}:\n\n{command}",
            proof.exit
        );
    }
    let why = gap.why.unwrap_or("it did not pass");
    let _ = write!(
        text,
        "\n\nIts check says: {why}. Fix the cause; do not weaken the check."
    );
    let output = gap.receipt.map_or("", |receipt| receipt.output.as_str());
    let output: String = output.chars().take(OUTPUT_CHARS).collect();
    if !output.trim().is_empty() {
        let _ = write!(text, "\n\nIts output:\n\n{}", fenced(&output, "text"));
    }
    text
}
