//! `drive doctor`: what is installed, what is missing, and which isolation this machine supports.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::DoctorDocument;
use clap::Args;
use drive_adapters::doctor::{Check, Doctor, Status};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::{Findings, resolve};
use std::fmt::Write;

/// The arguments of `drive doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

/// Runs all checks of `drive doctor`.
pub(crate) fn run(_args: &DoctorArgs, app: &App) -> Outcome {
    // Invalid settings are one finding among others: everything else is checked with the defaults.
    let (effective, mistake) = match app.settings() {
        Ok(effective) => (effective.clone(), None),
        Err(problem) => (resolve(&[]).map_err(Findings::into_problem)?, Some(problem)),
    };
    let doctor = Doctor {
        environment: app.environment(),
        runner: app.runner(),
        cancel: app.cancel()?,
        settings: &effective.settings,
        folder: &app.start_dir()?,
    };
    let mut checks = vec![Check::settings(mistake.as_ref())];
    checks.extend(doctor.examine());
    if app.cancel()?.asked().is_some() {
        return Err(Problem::new(
            Kind::Interrupted,
            "interrupted before all checks ran",
        ));
    }
    let agents: Vec<AgentCheck<'_>> = effective
        .settings
        .agents
        .keys()
        .filter_map(|name| AgentCheck::find(name, &checks))
        .collect();
    let usable: Vec<&str> = agents.iter().filter_map(AgentCheck::usable).collect();
    let problem = mistake.or_else(|| blocking(&checks));
    let problem = problem.or_else(|| usable.is_empty().then(no_agent));
    let document = DoctorDocument::new(&checks, &usable, problem.as_ref());
    let text = format!("{}\n{}", table(&checks), conclusion(&agents, &usable));
    Ok(Answer::new(&document, text)?.failed_if(problem))
}

/// An agent of the settings, and what decides whether it can run: its program, or its login where that is
/// missing.
struct AgentCheck<'a> {
    name: &'a str,
    check: &'a Check,
}

impl<'a> AgentCheck<'a> {
    fn find(name: &'a str, checks: &'a [Check]) -> Option<Self> {
        let wanted = format!("agent.{name}");
        let found = |name: &str| checks.iter().find(|check| check.name == name);
        let program = found(&wanted)?;
        let login = found(&format!("{wanted}.login"));
        let login = login.filter(|login| login.status == Status::Missing);
        Some(Self {
            name,
            check: login.unwrap_or(program),
        })
    }

    /// The agent's name, if it can run.
    fn usable(&self) -> Option<&'a str> {
        (self.check.status == Status::Ok).then_some(self.name)
    }
}

/// The usable agents, and what each other agent lacks.
fn conclusion(agents: &[AgentCheck<'_>], usable: &[&str]) -> String {
    let mut text = match usable {
        [] => "you can run: no agent\n".to_owned(),
        names => format!("you can run: {}\n", names.join(", ")),
    };
    let others = agents.iter().filter(|agent| agent.usable().is_none());
    for agent in others {
        let hint = agent.check.hint.as_deref().unwrap_or("see its line above");
        let _ = writeln!(text, "to use {}: {hint}", agent.name);
    }
    text
}

fn no_agent() -> Problem {
    Problem::new(Kind::NoUsableAgent, "no agent of the settings can run here")
        .hint("follow one of the lines that begin with `to use`; `drive demo` needs no agent")
}

fn blocking(checks: &[Check]) -> Option<Problem> {
    let names: Vec<String> = checks
        .iter()
        .filter(|check| check.blocks())
        .map(|check| format!("`{}`", check.name))
        .collect();
    let message = format!("missing: {}", names.join(", "));
    let problem = Problem::new(Kind::RequirementMissing, message)
        .hint("follow the hints above, then run `drive doctor` again");
    (!names.is_empty()).then_some(problem)
}

fn table(checks: &[Check]) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for check in checks {
        let status = match check.status {
            Status::Ok => "ok",
            Status::Missing => "missing",
            Status::Degraded => "degraded",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{status:<8}  {:<width$}  {}",
            check.name, check.detail
        );
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "{:<8}  {:<width$}  hint: {hint}", "", "");
        }
    }
    text
}
