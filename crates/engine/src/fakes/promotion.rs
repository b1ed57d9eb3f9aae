use super::clock::FakeClock;
use super::lock::lock;
use super::machine::DriveProcess;
use super::repository::{FakeRepository, Files};
use crate::cancel::CancelToken;
use crate::ports::{Clock, Place, Promotion, PromotionGate, VersionControl};
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::run::{ContractCheck, Receipt, ReceiptResult};
use drive_core::steering::steering_files;
use drive_core::verify::{
    Candidate, Failure, FailureCategory, Overall, RulesFrom, SCHEMA, Stage, StageEnd, StageName,
    StageResource, StageStatus, Timing, Verification, Workspace,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type During = Box<dyn FnOnce() + Send>;

/// A verifier that passes everything by default.
#[derive(Clone)]
pub struct FakeGate {
    passes: Arc<AtomicBool>,
    during: Arc<Mutex<Option<During>>>,
    clock: FakeClock,
    process: DriveProcess,
    repository: FakeRepository,
}

impl FakeGate {
    /// A verifier that passes everything.
    pub fn new(clock: FakeClock, process: DriveProcess, repository: FakeRepository) -> Self {
        Self {
            repository,
            passes: Arc::new(AtomicBool::new(true)),
            during: Arc::default(),
            clock,
            process,
        }
    }

    /// The same verifier, as used by another process.
    pub fn of(&self, process: DriveProcess) -> Self {
        Self {
            process,
            ..self.clone()
        }
    }

    /// Runs this once, while the next candidate is verified.
    pub fn during(&self, act: impl FnOnce() + Send + 'static) {
        *lock(&self.during) = Some(Box::new(act));
    }

    /// Sets whether the next candidate passes.
    pub fn set_passes(&self, passes: bool) {
        self.passes.store(passes, Ordering::SeqCst);
    }
}

impl FakeGate {
    fn protected(&self, promotion: &Promotion<'_>) -> Result<Vec<String>, Problem> {
        let place = Place::Checkout(promotion.repo);
        let (base, head) = (promotion.base, promotion.head);
        let since = self.repository.merge_base(place, base, head)?;
        let since = since.as_ref().unwrap_or(base);
        let changed = self.repository.changed_paths(place, since, head)?;
        Ok(steering_files(changed))
    }
}

impl PromotionGate for FakeGate {
    fn judge(&self, promotion: &Promotion<'_>, _: &CancelToken) -> Result<Verification, Problem> {
        self.process.check()?;
        let during = lock(&self.during).take();
        if let Some(act) = during {
            act();
        }
        let passes = self.passes.load(Ordering::SeqCst);
        let now = self.clock.now();
        Ok(Verification {
            schema: SCHEMA.into(),
            run_id: RunId::new("verification"),
            overall: if passes { Overall::Pass } else { Overall::Fail },
            candidate: Candidate {
                head_sha: Some(promotion.head.to_owned()),
                base_sha: Some(promotion.base.to_owned()),
                merged_tree_sha: Some(self.repository.merged_tree(promotion.base, promotion.head)),
                rules_from: Some(RulesFrom::Commit(promotion.rules.to_owned())),
            },
            workspace: Workspace {
                path: Some("/verify".into()),
                isolated: true,
                ..Workspace::default()
            },
            timing: Timing::between(now, now),
            stages: vec![Stage {
                name: StageName::TargetedTests,
                status: if passes {
                    StageStatus::Pass
                } else {
                    StageStatus::Fail
                },
                ended: Some(StageEnd::Exited),
                route: "all".into(),
                required: true,
                command: vec!["make".into(), "test".into()],
                cwd: None,
                exit_code: Some(i32::from(!passes)),
                signal: None,
                duration_ms: 1,
                stdout_tail: String::new(),
                stderr_tail: String::new(),
                truncated_bytes: 0,
                resource: StageResource::default(),
                leaked_processes: 0,
                reason: None,
                fault: None,
                failed_tests: Vec::new(),
                tests: None,
            }],
            failure: (!passes).then(|| Failure {
                category: FailureCategory::Test,
                reason: "the tests fail".into(),
                stage: Some(StageName::TargetedTests),
                hint: None,
            }),
            cached_from: None,
            protected_changes: self.protected(promotion)?,
            notes: Vec::new(),
        })
    }

    fn check(
        &self,
        promotion: &Promotion<'_>,
        checks: &[ContractCheck],
        _: &CancelToken,
    ) -> Result<Vec<Receipt>, Problem> {
        self.process.check()?;
        let files = self.repository.files_of(promotion.head).unwrap_or_default();
        Ok(checks.iter().map(|check| receipt(check, &files)).collect())
    }
}

/// The receipt of a check. The only known programs are `true`, `false`, `test -f FILE` and `cat FILE`.
fn receipt(check: &ContractCheck, files: &Files) -> Receipt {
    let words: Vec<&str> = check.command.iter().map(String::as_str).collect();
    let ran = match words[..] {
        ["true"] => Some((0, "")),
        ["false"] => Some((1, "")),
        ["test", "-f", path] => Some((i32::from(!files.contains_key(path)), "")),
        ["cat", path] => Some(files.get(path).map_or((1, ""), |text| (0, text))),
        _ => None,
    };
    let is_met = ran.is_some_and(|(exit, output)| {
        let wanted = check.contains.as_deref();
        exit == check.exit && wanted.is_none_or(|wanted| output.contains(wanted))
    });
    let result = if is_met {
        ReceiptResult::Proven
    } else {
        ReceiptResult::Failed
    };
    Receipt {
        task: check.task.clone(),
        id: check.id.clone(),
        result,
        exit: ran.map(|(exit, _)| exit),
        output: ran.map_or("", |(_, output)| output).to_owned(),
        duration_ms: 1,
        why: (!is_met).then(|| "not as expected".to_owned()),
        ran: true,
    }
}
