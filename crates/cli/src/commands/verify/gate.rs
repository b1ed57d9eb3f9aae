//! The verifier as a gate before merges.

use super::caller;
use super::request::{Judges, WorkerRequest};
use crate::app::App;
use crate::global_args::GlobalArgs;
use drive_adapters::Environment;
use drive_core::Problem;
use drive_core::run::{ContractCheck, Receipt};
use drive_core::verify::Verification;
use drive_engine::CancelToken;
use drive_engine::ports::{Promotion, PromotionGate};

/// Verifies like `drive verify HEAD --base BASE`: in a worker process, with the rules that the
/// promotion names.
pub(crate) struct OwnVerifier {
    global: GlobalArgs,
    environment: Environment,
}

impl OwnVerifier {
    /// The verifier with the options of a command.
    pub(crate) fn of(app: &App) -> Self {
        Self::in_environment(app, app.environment())
    }

    /// The verifier with the settings and the state directory of another environment.
    pub(crate) fn in_environment(app: &App, environment: &Environment) -> Self {
        Self {
            global: app.global().clone(),
            environment: environment.clone(),
        }
    }

    /// The context of a command in the repository of a promotion.
    fn app(&self, promotion: &Promotion<'_>) -> App {
        let global = GlobalArgs {
            repo: Some(promotion.repo.to_owned()),
            ..self.global.clone()
        };
        App::in_environment(global, self.environment.clone())
    }
}

fn request(app: &App, promotion: &Promotion<'_>) -> Result<WorkerRequest, Problem> {
    let (head, base) = (promotion.head.to_string(), promotion.base.to_string());
    let request = WorkerRequest::new(app, head, Some(base), Judges::default())?;
    Ok(request.by_rules_of(promotion.rules))
}

impl PromotionGate for OwnVerifier {
    fn judge(
        &self,
        promotion: &Promotion<'_>,
        cancel: &CancelToken,
    ) -> Result<Verification, Problem> {
        let app = self.app(promotion);
        let mut answer = caller::call(&app, &request(&app, promotion)?, cancel)?;
        match answer.report.take() {
            Some(report) => Ok(report),
            None => Err(answer.into_problem()),
        }
    }

    fn check(
        &self,
        promotion: &Promotion<'_>,
        checks: &[ContractCheck],
        cancel: &CancelToken,
    ) -> Result<Vec<Receipt>, Problem> {
        let app = self.app(promotion);
        let request = request(&app, promotion)?.checking(checks);
        let mut answer = caller::call(&app, &request, cancel)?;
        match answer.receipts.take() {
            Some(receipts) => Ok(receipts),
            None => Err(answer.into_problem()),
        }
    }
}
