//! Drive's own check runs. Only GitHub Apps may write them; other tokens use a commit status instead.

use super::client::{Act, Client, Written};
use super::lists::Reading;
use super::refusal::refused;
use drive_core::forge::checks::{Annotation, CheckState};
use drive_core::forge::github::checks::RunRead;
use drive_core::forge::text;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::verify::text::one_line;
use drive_engine::ports::{CheckReport, Reported, StatusState};
use serde_json::{Value, json};
use std::cell::Cell;
use ureq::http::Method;

/// How many annotations one request may contain.
const ANNOTATIONS: usize = 50;
/// The longest summary of a check run, in characters.
const SUMMARY_CHARS: usize = 65_535;

impl Client {
    pub(super) fn report_check(
        &self,
        sha: &CommitSha,
        report: &CheckReport<'_>,
    ) -> Result<Reported, Problem> {
        match self.write_check_run(sha, report) {
            Ok(()) => Ok(Reported::CheckRun),
            Err(problem) if problem.kind == Kind::ForgeForbidden => {
                self.set_status(sha, &report.as_status())?;
                Ok(Reported::Status)
            }
            Err(problem) => Err(problem),
        }
    }

    /// Creates the check run, or updates the one that an earlier call created.
    fn write_check_run(&self, sha: &CommitSha, report: &CheckReport<'_>) -> Result<(), Problem> {
        let found = Cell::new(None);
        self.once(
            || {
                let mut runs = self.check_runs(&Reading::anew(self), sha)?;
                runs.retain(|run| {
                    run.check.name == report.name && run.external_id.as_deref() == Some(report.id)
                });
                let run = runs.into_iter().max_by_key(|run| run.id);
                found.set(run.as_ref().map(|run| run.id));
                Ok(run.filter(|run| says(run, report)).map(|_| ()))
            },
            || {
                let mut body = run_body(report);
                let written = if let Some(id) = found.get() {
                    let url = self.endpoint.rest(&format!("check-runs/{id}"));
                    self.write(Method::PATCH, &url, &body)?
                } else {
                    body["head_sha"] = json!(sha);
                    self.write(Method::POST, &self.endpoint.rest("check-runs"), &body)?
                };
                match written {
                    Written::Answered(reply) if matches!(reply.status, 200 | 201) => {
                        Ok(Act::Done(()))
                    }
                    Written::Answered(reply) => Err(refused(&reply, &self.repo())),
                    Written::Unknown(problem) => Ok(Act::Unknown(problem)),
                }
            },
        )
    }
}

/// Whether a check run already shows this report.
fn says(run: &RunRead, report: &CheckReport<'_>) -> bool {
    let state = match report.state {
        StatusState::Pending => CheckState::Pending,
        StatusState::Success => CheckState::Passed,
        StatusState::Failure | StatusState::Error => CheckState::Failed,
    };
    let title = one_line(report.title);
    run.check.state == state && run.check.summary.as_deref() == Some(title.as_str())
}

fn run_body(report: &CheckReport<'_>) -> Value {
    let (status, conclusion) = match report.state {
        StatusState::Pending => ("in_progress", None),
        StatusState::Success => ("completed", Some("success")),
        // A result that could not be determined must not be relied on, so it is red as well.
        StatusState::Failure | StatusState::Error => ("completed", Some("failure")),
    };
    let level = if report.state == StatusState::Success {
        "warning"
    } else {
        "failure"
    };
    let summary = if report.body.trim().is_empty() {
        report.title
    } else {
        report.body
    };
    let annotations = report.annotations.iter().take(ANNOTATIONS);
    let annotations: Vec<Value> = annotations.map(|one| annotation(one, level)).collect();
    let mut body = json!({
        "name": report.name, "external_id": report.id, "status": status,
        "output": {
            "title": one_line(report.title), "summary": text::fit(summary, SUMMARY_CHARS),
            "annotations": annotations,
        },
    });
    if let Some(conclusion) = conclusion {
        body["conclusion"] = json!(conclusion);
    }
    if let Some(url) = report.url {
        body["details_url"] = json!(url);
    }
    body
}

fn annotation(one: &Annotation, level: &str) -> Value {
    let line = one.line.max(1);
    json!({
        "path": one.path, "start_line": line, "end_line": line, "annotation_level": level,
        "message": one.message,
    })
}
