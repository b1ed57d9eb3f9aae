//! The audit of a cruise: what became of every task, and what proves it.
//!
//! The result of a program proves an entry. A validator only judges: its verdict counts if it names
//! existing files, or a command that failed.

use super::model::{
    AuditFinding, Build, Flow, JudgedEntry, Level, Receipt, ReceiptResult, Run, TaskState,
};
use crate::agent::answer::{AuditSeverity, Cited, Standing};
use crate::ids::{CommitSha, TaskId};
use crate::plan::{Acceptance, Check, PlanTask};

/// The audit of a cruise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The acceptance level that was requested.
    pub level: Level,
    /// The audited commit.
    pub commit: Option<CommitSha>,
    /// Every task of the plan, in its order.
    pub tasks: Vec<TaskAudit>,
    /// Findings of drive and of a validator about the combined work, the worst first.
    pub findings: Vec<AuditFinding>,
    /// Things that were built although no task asks for them.
    pub additions: Vec<String>,
    /// Work that is left to do.
    pub gaps: Vec<String>,
}

/// The audit of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAudit {
    /// The task.
    pub id: TaskId,
    /// The task's title, in one line.
    pub title: String,
    /// The task's result.
    pub status: TaskResult,
    /// The acceptance entries of the plan, each with its evidence.
    pub evidence: Vec<Evidence>,
    /// Work that the task's agent reported as undone.
    pub undone: Vec<String>,
    /// How many runs were started for it.
    pub attempts: usize,
    /// Whether a person left it out.
    pub is_left_out: bool,
}

/// The result of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskResult {
    /// It landed, and there is evidence for each of its entries.
    Implemented,
    /// It landed, and an entry failed or has no evidence.
    Partial,
    /// It did not land.
    Missing,
    /// It landed, and a validator says that it was built differently than planned.
    Deviated,
}

/// One acceptance entry and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The acceptance criterion.
    pub criterion: String,
    /// The command that checks the criterion. Empty where only a person or an agent can judge it,
    /// unless a validator gave a command that failed.
    pub command: Vec<String>,
    /// The place that a validator named as evidence.
    pub place: Option<Cited>,
    /// The expected result.
    pub expected: Option<String>,
    /// The actual result.
    pub actual: Option<String>,
    /// Whether the criterion is met.
    pub result: ReceiptResult,
}

impl Audit {
    /// A summary of the audit, in one line without a period.
    pub fn conclusion(&self) -> String {
        let of = |which: fn(&&TaskAudit) -> bool| self.tasks.iter().filter(which).count();
        let implemented = of(|task| task.status == TaskResult::Implemented);
        let left_out = of(|task| task.is_left_out);
        let missing = of(|task| task.status == TaskResult::Missing && !task.is_left_out);
        let tasks = counted(self.tasks.len(), "task");
        let mut parts = vec![format!("{implemented} of {tasks} implemented")];
        let landed = self.tasks.iter();
        let landed = landed.filter(|task| task.status != TaskResult::Missing);
        let entries = landed.flat_map(|task| &task.evidence);
        parts.extend(open_entries(entries.map(|one| one.result)));
        if missing > 0 {
            parts.push(format!("{missing} did not land"));
        }
        if left_out > 0 {
            parts.push(format!("{left_out} left out"));
        }
        if !self.findings.is_empty() {
            parts.push(counted(self.findings.len(), "finding"));
        }
        parts.join("; ")
    }
}

/// Texts that count the entries that are not met and those without evidence. A count of zero is left out.
pub(in crate::run) fn open_entries(
    results: impl IntoIterator<Item = ReceiptResult>,
) -> impl Iterator<Item = String> {
    let (mut failed, mut unproven) = (0, 0);
    for result in results {
        match result {
            ReceiptResult::Failed => failed += 1,
            ReceiptResult::Unproven => unproven += 1,
            ReceiptResult::Proven | ReceiptResult::Judged => {}
        }
    }
    let parts = [(failed, "not met"), (unproven, "without evidence")];
    let open = parts.into_iter().filter(|(number, _)| *number > 0);
    open.map(|(number, what)| {
        let entries = if number == 1 { "entry" } else { "entries" };
        format!("{number} {entries} {what}")
    })
}

fn counted(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// The audit of a cruise; `None` for other runs, and before there is a plan.
pub fn audit(run: &Run) -> Option<Audit> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let plan = build.plan.as_ref()?;
    let tasks: Vec<TaskAudit> = plan.tasks.iter().map(|task| of_task(build, task)).collect();
    let opinion = build.opinion.clone().unwrap_or_default();
    let mut gaps: Vec<String> = tasks.iter().flat_map(gaps).collect();
    let confirmed = opinion
        .findings
        .iter()
        .filter(|one| one.confirmed.is_some());
    gaps.extend(confirmed.map(|one| format!("{} finding: {}", one.severity.name(), one.title)));
    let mut findings = opinion.findings;
    findings.extend(changed_tests(build));
    findings.sort_by_key(|one| one.severity);
    Some(Audit {
        level: build.level,
        commit: build.checked.clone().or_else(|| tip(build)),
        findings,
        additions: opinion.additions,
        gaps,
        tasks,
    })
}

/// One finding for each task that changed existing tests: a changed test may no longer check what it did.
fn changed_tests(build: &Build) -> impl Iterator<Item = AuditFinding> {
    let tasks = build.tasks.iter();
    let tasks = tasks.filter(|(_, task)| !task.tests.is_empty());
    tasks.map(|(id, task)| AuditFinding {
        severity: AuditSeverity::Medium,
        title: format!("task `{id}` changed existing tests"),
        place: None,
        detail: task.tests.join(", "),
        confirmed: None,
    })
}

fn tip(build: &Build) -> Option<CommitSha> {
    build.line.as_ref().map(|line| line.tip.clone())
}

fn of_task(build: &Build, task: &PlanTask) -> TaskAudit {
    let state = build.tasks.get(&task.id).map(|one| &one.state);
    let is_landed = matches!(state, Some(TaskState::Landed { .. }));
    let evidence = task.acceptance.iter();
    let evidence: Vec<Evidence> = evidence
        .map(|entry| of_entry(build, &task.id, entry))
        .collect();
    let has_failed = evidence
        .iter()
        .any(|one| one.result == ReceiptResult::Failed);
    // A plan without an entry for a task is refused. If one is stored nevertheless, nothing shows
    // that the task is done.
    let is_shown = !evidence.is_empty() && evidence.iter().all(|one| one.result.is_met());
    let judged = build.opinion.iter().flat_map(|opinion| &opinion.entries);
    let mut judged = judged.filter(|one| one.task == task.id);
    let is_deviated = judged.any(|one| one.status == Standing::Deviated);
    TaskAudit {
        id: task.id.clone(),
        title: task.title.clone(),
        status: if !is_landed {
            TaskResult::Missing
        } else if is_deviated && !has_failed {
            TaskResult::Deviated
        } else if is_shown {
            TaskResult::Implemented
        } else {
            TaskResult::Partial
        },
        evidence,
        undone: build
            .tasks
            .get(&task.id)
            .and_then(|one| one.handoff.as_ref())
            .map_or_else(Vec::new, |handoff| handoff.undone.clone()),
        attempts: build.tasks.get(&task.id).map_or(0, |one| one.runs.len()),
        is_left_out: matches!(state, Some(TaskState::Skipped)),
    }
}

fn of_entry(build: &Build, task: &TaskId, entry: &Acceptance) -> Evidence {
    let is_it = |one: &&Receipt| one.task == *task && one.id == entry.id;
    let receipt = build.receipts.iter().find(is_it);
    let run = match &entry.check {
        Check::Judge => {
            let opinion = build.opinion.as_ref();
            let judged = opinion.and_then(|opinion| opinion.of(task, &entry.id));
            let failure = opinion.and_then(|opinion| opinion.failure.as_deref());
            return of_judged(entry, judged, failure);
        }
        Check::Command(run) | Check::Observe(run) => run,
    };
    Evidence {
        criterion: entry.text.clone(),
        command: run.command.clone(),
        place: None,
        expected: Some(expected(run.expect.exit, run.expect.contains.as_deref())),
        actual: receipt.map(actual),
        result: receipt.map_or(ReceiptResult::Unproven, |one| one.result),
    }
}

fn of_judged(entry: &Acceptance, judged: Option<&JudgedEntry>, failure: Option<&str>) -> Evidence {
    let result = judged.map_or(ReceiptResult::Unproven, |one| one.result);
    let shown = judged.filter(|_| result == ReceiptResult::Failed);
    let shown = shown.and_then(|one| Some((one.proof.as_ref()?, one.receipt.as_ref()?)));
    let why = judged.and_then(|one| one.why.as_deref().or(one.note.as_deref()));
    Evidence {
        criterion: entry.text.clone(),
        command: shown.map_or_else(Vec::new, |(proof, _)| proof.command.clone()),
        place: judged
            .filter(|_| result == ReceiptResult::Judged)
            .and_then(|one| one.places.first().cloned()),
        expected: shown.map(|(proof, _)| expected(proof.exit, proof.contains.as_deref())),
        actual: match shown {
            Some((_, receipt)) => Some(actual(receipt)),
            None => why.or(failure).map(str::to_owned),
        },
        result,
    }
}

fn expected(exit: i32, contains: Option<&str>) -> String {
    match contains {
        Some(words) => format!("exit {exit}, prints `{words}`"),
        None => format!("exit {exit}"),
    }
}

fn actual(one: &Receipt) -> String {
    match (one.exit, &one.why) {
        (Some(exit), None) => format!("exit {exit}"),
        (Some(exit), Some(why)) => format!("exit {exit}: {why}"),
        (None, Some(why)) => why.clone(),
        (None, None) => "the command did not exit".to_owned(),
    }
}

fn gaps(task: &TaskAudit) -> Vec<String> {
    if task.status == TaskResult::Missing {
        return vec![format!("task `{}` did not land", task.id)];
    }
    if task.evidence.is_empty() {
        return vec![format!("task `{}` has no acceptance entry", task.id)];
    }
    let open = task.evidence.iter().filter(|one| !one.result.is_met());
    open.map(|one| match one.result {
        ReceiptResult::Failed => format!("task `{}`: not met: {}", task.id, one.criterion),
        ReceiptResult::Unproven | ReceiptResult::Proven | ReceiptResult::Judged => {
            format!("task `{}`: no evidence: {}", task.id, one.criterion)
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::model::{JudgedEntry, Opinion, TaskRecord};
    use super::*;
    use crate::plan::Acceptance;

    fn task() -> PlanTask {
        PlanTask {
            id: TaskId::new("login"),
            title: "Log in".to_owned(),
            description: String::new(),
            acceptance: vec![Acceptance::judged("a1", "it refuses an empty name")],
            depends_on: Vec::new(),
            paths: Vec::new(),
            checks: Vec::new(),
        }
    }

    fn judged(status: Standing, result: ReceiptResult) -> TaskAudit {
        of_task(&landed(status, result), &task())
    }

    /// A task that landed, with a validator's status of its one entry.
    fn landed(status: Standing, result: ReceiptResult) -> Build {
        let record = TaskRecord {
            state: TaskState::Landed {
                commit: CommitSha::new("c".repeat(40)),
            },
            ..TaskRecord::new("Log in".to_owned(), Vec::new())
        };
        let entry = JudgedEntry {
            task: TaskId::new("login"),
            id: "a1".to_owned(),
            status,
            result,
            note: None,
            places: vec![Cited {
                file: "src/login.rs".to_owned(),
                line: Some(3),
            }],
            proof: None,
            receipt: None,
            why: Some("the validator says so".to_owned()),
        };
        Build {
            tasks: [(TaskId::new("login"), record)].into(),
            opinion: Some(Opinion {
                entries: vec![entry],
                ..Opinion::default()
            }),
            ..Build::default()
        }
    }

    #[test]
    fn a_task_without_evidence_is_never_called_implemented() {
        let mut build = landed(Standing::Missing, ReceiptResult::Unproven);
        assert_eq!(of_task(&build, &task()).status, TaskResult::Partial);
        // A validator that failed judges nothing.
        build.opinion = Some(Opinion {
            failure: Some("no answer".to_owned()),
            ..Opinion::default()
        });
        assert_eq!(of_task(&build, &task()).status, TaskResult::Partial);
        build.opinion = None;
        assert_eq!(of_task(&build, &task()).status, TaskResult::Partial);
        let bare = PlanTask {
            acceptance: Vec::new(),
            ..task()
        };
        let found = of_task(&build, &bare);
        assert_eq!(found.status, TaskResult::Partial);
        assert_eq!(gaps(&found), ["task `login` has no acceptance entry"]);
    }

    #[test]
    fn a_conclusion_counts_what_is_shown_and_what_is_not() {
        let shown = judged(Standing::Implemented, ReceiptResult::Judged);
        let unproven = judged(Standing::Missing, ReceiptResult::Unproven);
        let left_out = TaskAudit {
            status: TaskResult::Missing,
            is_left_out: true,
            ..unproven.clone()
        };
        let mut audit = Audit {
            level: Level::Functional,
            commit: None,
            tasks: vec![shown.clone()],
            findings: Vec::new(),
            additions: Vec::new(),
            gaps: Vec::new(),
        };
        assert_eq!(audit.conclusion(), "1 of 1 task implemented");
        audit.tasks = vec![shown, unproven, left_out];
        assert_eq!(
            audit.conclusion(),
            "1 of 3 tasks implemented; 1 entry without evidence; 1 left out"
        );
    }

    #[test]
    fn what_a_validator_says_of_a_landed_task_shows_in_its_status_and_its_gaps() {
        use ReceiptResult::{Failed, Judged, Unproven};
        let table = [
            (Standing::Implemented, Judged, TaskResult::Implemented, None),
            (
                Standing::Missing,
                Failed,
                TaskResult::Partial,
                Some("not met"),
            ),
            (
                Standing::Missing,
                Unproven,
                TaskResult::Partial,
                Some("no evidence"),
            ),
            (
                Standing::Deviated,
                Unproven,
                TaskResult::Deviated,
                Some("no evidence"),
            ),
        ];
        for (status, result, expected, gap) in table {
            let found = judged(status, result);
            assert_eq!(found.status, expected, "{status:?} {result:?}");
            let told = gap.map(|gap| format!("task `login`: {gap}: it refuses an empty name"));
            assert_eq!(gaps(&found), Vec::from_iter(told), "{status:?} {result:?}");
            let evidence = &found.evidence[0];
            assert_eq!(evidence.place.is_some(), result == Judged, "{status:?}");
            assert_eq!(evidence.actual.as_deref(), Some("the validator says so"));
        }
    }
}
