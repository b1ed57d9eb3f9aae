//! Checks a validator's answer with programs.
//!
//! A validator that answers "implemented" must name an existing file; one that answers "missing"
//! must give a command that fails. Any other entry has no evidence.

use super::super::super::model::{
    AuditFinding, Confirmed, ContractCheck, JudgeCheck, JudgedEntry, Opinion, Receipt,
    ReceiptResult, Shows,
};
use crate::agent::answer::{Cited, EntryClaim, ProofCommand, Standing, ValidatorAnswer};
use crate::ids::TaskId;
use crate::markdown::code;

/// The maximum numbers of files to look for and of commands to run.
const MOST_FILES: usize = 200;
const MOST_COMMANDS: usize = 50;
/// Exit codes of a shell that could not run a command.
const NOT_RUN: [i32; 2] = [126, 127];
/// How many characters of a file name a text shows.
const NAME_CHARS: usize = 100;
/// The task id of checks that belong to findings. No task id of a plan contains `+`.
const FINDINGS: &str = "+findings";

/// The subject of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// Whether a file exists and has this line, if a line is named.
    Place(Cited),
    /// The command for the entry with this index.
    Entry(usize),
    /// The command for the finding with this index.
    Finding(usize),
}

/// The checks of an answer: that the files it names exist, and its commands.
pub(super) fn probes(answer: &ValidatorAnswer) -> Vec<(Probe, ContractCheck)> {
    let mut probes: Vec<(Probe, ContractCheck)> = Vec::new();
    for claim in &answer.entries {
        let met = claim.places.iter();
        let met = met.filter(|_| claim.status == Standing::Implemented);
        for place in met.filter(|place| is_inside(&place.file)) {
            let probe = Probe::Place(place.clone());
            let is_new = probes.iter().all(|(one, _)| *one != probe);
            if is_new && probes.len() < MOST_FILES {
                let proof = ProofCommand {
                    command: is_there(place),
                    exit: 0,
                    contains: None,
                };
                probes.push((probe, check((&claim.task, &claim.id), &proof)));
            }
        }
    }
    let mut commands = Vec::new();
    for (place, claim) in answer.entries.iter().enumerate() {
        if let Some(proof) = &claim.proof {
            let check = check((&claim.task, &claim.id), proof);
            commands.push((Probe::Entry(place), check));
        }
    }
    for (place, finding) in answer.findings.iter().enumerate() {
        if let Some(proof) = &finding.proof {
            let id = (place + 1).to_string();
            let check = check((FINDINGS, &id), proof);
            commands.push((Probe::Finding(place), check));
        }
    }
    probes.extend(commands.into_iter().take(MOST_COMMANDS));
    probes
}

fn named(place: &Cited) -> String {
    match place.line {
        Some(line) => code(&format!("{}:{line}", place.file), NAME_CHARS),
        None => code(&place.file, NAME_CHARS),
    }
}

/// A command that exits with 0 if the file exists and has the line. A symbolic link is no evidence:
/// it can lead out of the tree.
fn is_there(place: &Cited) -> Vec<String> {
    const SCRIPT: &str = r#"cd "$(pwd -P)" && folder=$(dirname "./$1") &&
        test "$(cd "$folder" && pwd -L)" = "$(cd "$folder" && pwd -P)" &&
        test -f "$1" && ! test -L "$1" && test -s "$1" &&
        test "$(awk 'END { print NR }' "./$1")" -ge "$2""#;
    let line = place.line.unwrap_or(1).to_string();
    ["/bin/sh", "-c", SCRIPT, "sh", &place.file, &line]
        .map(str::to_owned)
        .to_vec()
}

fn check((task, id): (&str, &str), proof: &ProofCommand) -> ContractCheck {
    ContractCheck {
        task: TaskId::new(task),
        id: id.to_owned(),
        shows: Shows::Claim,
        command: proof.command.clone(),
        exit: proof.exit,
        contains: proof.contains.clone(),
    }
}

/// Whether a path stays inside the tree.
fn is_inside(path: &str) -> bool {
    let is_relative = !path.starts_with(['/', '\\', '~']);
    let mut parts = path.split(['/', '\\']);
    is_relative
        && !path.chars().any(char::is_control)
        && parts.all(|part| part != ".." && !part.eq_ignore_ascii_case(".git"))
}

/// The opinion that follows from an answer and these receipts, which are in the order of its probes.
pub(super) fn opinion(
    asked: &[JudgeCheck],
    answer: &ValidatorAnswer,
    receipts: &[Receipt],
) -> Opinion {
    let probes = probes(answer);
    let found = Found {
        receipts: probes
            .iter()
            .map(|(probe, _)| probe)
            .zip(receipts)
            .collect(),
    };
    let claimed = answer.entries.iter().enumerate();
    let claimed = claimed.filter(|(_, claim)| {
        let mut asked = asked.iter();
        asked.any(|one| one.task.as_str() == claim.task && one.id == claim.id)
    });
    let findings = answer.findings.iter().enumerate();
    Opinion {
        entries: claimed
            .map(|(place, claim)| found.entry(place, claim))
            .collect(),
        findings: findings
            .map(|(place, one)| {
                let receipt = found.of(&Probe::Finding(place));
                let receipt = receipt.filter(|receipt| has_failed(receipt));
                AuditFinding {
                    severity: one.severity,
                    title: one.title.clone(),
                    place: one.place.clone(),
                    detail: one.detail.clone(),
                    confirmed: one
                        .proof
                        .as_ref()
                        .zip(receipt)
                        .map(|(proof, receipt)| Confirmed {
                            proof: proof.clone(),
                            receipt: receipt.clone(),
                        }),
                }
            })
            .collect(),
        additions: answer.additions.clone(),
        failure: None,
    }
}

/// Whether a command ran to its end and failed. A command that could not run shows nothing.
fn has_failed(receipt: &Receipt) -> bool {
    let is_run = receipt.exit.is_some_and(|exit| !NOT_RUN.contains(&exit));
    receipt.result == ReceiptResult::Failed && is_run
}

/// The receipts of the checks, with their subjects.
struct Found<'a> {
    receipts: Vec<(&'a Probe, &'a Receipt)>,
}

impl Found<'_> {
    fn of(&self, probe: &Probe) -> Option<&Receipt> {
        let mut all = self.receipts.iter();
        all.find(|(one, _)| *one == probe)
            .map(|(_, receipt)| *receipt)
    }

    fn entry(&self, place: usize, claim: &EntryClaim) -> JudgedEntry {
        let receipt = self.of(&Probe::Entry(place));
        let there: Vec<Cited> = claim
            .places
            .iter()
            .filter(|place| self.is_there(place))
            .cloned()
            .collect();
        let (result, why) = match claim.status {
            Standing::Implemented => self.met(claim, &there, receipt),
            Standing::Partial | Standing::Missing | Standing::Deviated => {
                unmet(claim.status, claim.proof.is_some(), receipt)
            }
        };
        JudgedEntry {
            task: TaskId::new(&claim.task),
            id: claim.id.clone(),
            status: claim.status,
            result,
            note: claim.note.clone(),
            places: there,
            proof: claim.proof.clone(),
            receipt: receipt.cloned(),
            why,
        }
    }

    fn is_there(&self, place: &Cited) -> bool {
        let receipt = self.of(&Probe::Place(place.clone()));
        receipt.is_some_and(|receipt| receipt.result == ReceiptResult::Proven)
    }

    /// The result of an entry that the validator calls met.
    fn met(
        &self,
        claim: &EntryClaim,
        there: &[Cited],
        receipt: Option<&Receipt>,
    ) -> (ReceiptResult, Option<String>) {
        let unproven = |why: String| (ReceiptResult::Unproven, Some(why));
        if claim.places.is_empty() {
            return unproven("the validator named no file that shows it".to_owned());
        }
        if there.is_empty() {
            let names = claim.places.iter();
            let names: Vec<String> = names.map(named).collect();
            return unproven(format!(
                "the validator named places that do not exist: {}",
                names.join(", ")
            ));
        }
        let has_passed = receipt.is_some_and(|one| one.result == ReceiptResult::Proven);
        if claim.proof.is_some() && !has_passed {
            return unproven("the command that the validator gave did not pass".to_owned());
        }
        (ReceiptResult::Judged, None)
    }
}

/// The result of an entry that the validator calls unmet: it counts as failed only if a command shows that.
fn unmet(
    status: Standing,
    has_command: bool,
    receipt: Option<&Receipt>,
) -> (ReceiptResult, Option<String>) {
    let says = format!("the validator says `{}`", status.name());
    let (result, why) = match receipt {
        Some(receipt) if has_failed(receipt) => {
            let why = receipt.why.as_deref().unwrap_or("it did not pass");
            (ReceiptResult::Failed, format!("{says}; its command: {why}"))
        }
        Some(receipt) if receipt.result == ReceiptResult::Proven => (
            ReceiptResult::Unproven,
            format!("{says}, and its command does not confirm it: it passes"),
        ),
        Some(_) => (
            ReceiptResult::Unproven,
            format!("{says}, and its command could not be run"),
        ),
        None if has_command => (
            ReceiptResult::Unproven,
            format!("{says}, and its command was not run"),
        ),
        None => (
            ReceiptResult::Unproven,
            format!("{says}, and gives no command that shows it"),
        ),
    };
    (result, Some(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::read_validation;

    const ASKED: [(&str, &str); 2] = [("a", "a1"), ("a", "a2")];

    fn asked() -> Vec<JudgeCheck> {
        let one = |(task, id): &(&str, &str)| JudgeCheck {
            task: TaskId::new(*task),
            id: (*id).to_owned(),
            criterion: "it works".to_owned(),
        };
        ASKED.iter().map(one).collect()
    }

    /// Forms the opinion of an answer whose files and commands succeed if `passes` returns true.
    fn judged(answer: &str, passes: impl Fn(&[String]) -> Option<bool>) -> Opinion {
        let answer = read_validation(answer, &ASKED).unwrap();
        let receipts: Vec<Receipt> = probes(&answer)
            .iter()
            .map(|(_, check)| Receipt {
                task: check.task.clone(),
                id: check.id.clone(),
                result: match passes(&check.command) {
                    Some(true) => ReceiptResult::Proven,
                    Some(false) | None => ReceiptResult::Failed,
                },
                exit: passes(&check.command).map(|passes| i32::from(!passes)),
                output: String::new(),
                duration_ms: 1,
                why: None,
                ran: true,
            })
            .collect();
        opinion(&asked(), &answer, &receipts)
    }

    fn results(opinion: &Opinion) -> Vec<ReceiptResult> {
        opinion.entries.iter().map(|one| one.result).collect()
    }

    use ReceiptResult::{Failed, Judged, Unproven};

    #[test]
    fn a_met_entry_needs_a_file_that_is_there() {
        let answer = r#"{"tasks": [{"id": "a", "status": "implemented", "evidence": [
            {"criterion": "a1", "file": "src/x.rs", "line": 2}, {"criterion": "a2", "file": "src/y.rs"}]}]}"#;
        let found = judged(answer, |command| Some(command[4..] == ["src/x.rs", "2"]));
        assert_eq!(results(&found), [Judged, Unproven]);
        assert_eq!(
            found.entries[1].why.as_deref(),
            Some("the validator named places that do not exist: `src/y.rs`")
        );
        let bare = r#"{"tasks": [{"id": "a", "status": "implemented"}]}"#;
        assert_eq!(results(&judged(bare, |_| Some(true))), [Unproven; 2]);
        for file in ["/etc/passwd", "../x", ".git/config", "a/../../x", "~/x"] {
            let outside = answer.replace("src/x.rs", file).replace("src/y.rs", file);
            assert_eq!(
                results(&judged(&outside, |_| Some(true))),
                [Unproven; 2],
                "{file}"
            );
        }
        // A command that its author chose is no evidence without a file.
        let command = r#"{"tasks": [{"id": "a", "status": "implemented", "evidence": [
            {"criterion": "a1", "command": ["true"]}]}]}"#;
        assert_eq!(results(&judged(command, |_| Some(true))), [Unproven; 2]);
    }

    #[test]
    fn a_missing_entry_counts_only_with_a_command_that_fails() {
        let answer = r#"{"tasks": [{"id": "a", "status": "missing", "evidence": [
            {"criterion": "a1", "command": ["check"]}]}]}"#;
        assert_eq!(
            results(&judged(answer, |_| Some(false))),
            [Failed, Unproven]
        );
        assert_eq!(results(&judged(answer, |_| Some(true))), [Unproven; 2]);
        assert_eq!(results(&judged(answer, |_| None)), [Unproven; 2]);
    }

    #[test]
    fn only_a_command_that_fails_confirms_a_finding() {
        let answer = r#"{"tasks": [{"id": "a", "status": "implemented"}], "findings": [
            {"severity": "critical", "title": "t", "command": ["check"]},
            {"severity": "critical", "title": "u"}]}"#;
        let is_critical = |passes: Option<bool>| {
            let found = judged(answer, |_| passes).findings;
            found
                .iter()
                .map(AuditFinding::is_critical)
                .collect::<Vec<_>>()
        };
        assert_eq!(is_critical(Some(false)), [true, false]);
        assert_eq!(is_critical(Some(true)), [false, false]);
        assert_eq!(is_critical(None), [false, false]);
    }
}
