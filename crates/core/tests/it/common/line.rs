//! Answers of a line on which everything merges, passes and lands.

use super::verification;
use drive_core::cruise::train::Coupled;
use drive_core::ids::{CommitSha, TreeSha};
use drive_core::run::{CarOrder, ContractCheck, LineAct, LineAnswer, Receipt, ReceiptResult};
use drive_core::verify::RulesFrom;

/// The answer if everything merges, passes and lands.
pub fn line_answer(act: &LineAct) -> LineAnswer {
    match act {
        LineAct::BeginLine { .. } => LineAnswer::LineBegun,
        LineAct::Assemble { cars, .. } => LineAnswer::Assembled {
            cars: cars.iter().map(coupled).collect(),
            conflict: None,
        },
        LineAct::VerifyTrain {
            onto,
            commit,
            rules,
            ..
        } => {
            let mut report = Box::new(verification::passed(commit, onto));
            report.candidate.rules_from = Some(RulesFrom::Commit(rules.clone()));
            LineAnswer::TrainVerified { report }
        }
        LineAct::Land { .. } => LineAnswer::CarsLanded,
        LineAct::CheckContract { checks, .. } => LineAnswer::ContractChecked {
            receipts: checks.iter().map(proven).collect(),
        },
    }
}

/// The merge of a task, named after its head.
pub fn coupled(car: &CarOrder) -> Coupled {
    let turned: String = car.head.as_str().chars().rev().collect();
    Coupled {
        task: car.task.clone(),
        head: car.head.clone(),
        commit: CommitSha::new(turned.clone()),
        tree: TreeSha::parse(&turned).unwrap(),
    }
}

/// A receipt of a command that ended as expected.
pub fn proven(check: &ContractCheck) -> Receipt {
    Receipt {
        task: check.task.clone(),
        id: check.id.clone(),
        result: ReceiptResult::Proven,
        exit: Some(check.exit),
        output: String::new(),
        duration_ms: 1,
        why: None,
        ran: true,
    }
}
