//! Measures reviews: small changes with one seeded defect, and clean ones, reviewed by any agent.
//!
//! Each case of `benches/reviews` becomes a temporary repository. A scripted primary applies the change,
//! the agent under test reviews it once, and the findings are compared with the defect.

mod case;
mod child;
mod options;
mod report;
mod score;
mod trial;

pub use case::{Case, Defect, load_cases};
pub use options::{Configuration, Options};
pub use report::{Evaluation, Judged, Results, Summary};
pub use score::{Finding, Outcome, Reviewed, Score, score};
pub use trial::Environment;

use drive_core::Problem;
use std::ffi::OsString;
use std::process::ExitCode;

/// `drive-benches reviews …`: evaluates, and prints the report.
pub fn main(args: &[String]) -> ExitCode {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let options = match Options::read(args) {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    match evaluate(&options, &environment, &mut |line| eprintln!("{line}")) {
        Ok(evaluation) => {
            if options.json {
                println!("{:#}", evaluation.document());
            } else {
                print!("{}", evaluation.text());
            }
            ExitCode::from(u8::from(!evaluation.has_verdicts()))
        }
        Err(problem) => {
            let causes = problem.causes.iter().map(String::as_str);
            let parts: Vec<&str> = std::iter::once(&*problem.message).chain(causes).collect();
            eprintln!("error: {}", parts.join(": "));
            if let Some(hint) = &problem.hint {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(problem.exit_code())
        }
    }
}

/// Lets the agent review every chosen case in every chosen configuration, one after the other.
pub fn evaluate(
    options: &Options,
    environment: &Environment,
    narrate: &mut dyn FnMut(&str),
) -> Result<Evaluation, Problem> {
    let cases = options.chosen(load_cases(&case::folder())?)?;
    let order = options.order()?;
    let mut results = Vec::new();
    for configuration in options.configurations() {
        let mut judged = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            narrate(&format!(
                "{configuration}: case {} of {}, {} …",
                index + 1,
                cases.len(),
                case.name
            ));
            let trial = trial::run(case, configuration, &order, environment);
            let judgement = Judged::new(case, &trial);
            narrate(&format!("  {}", judgement.line()));
            judged.push(judgement);
        }
        results.push(Results {
            configuration,
            judged,
        });
    }
    Ok(Evaluation {
        agent: options.agent.clone(),
        results,
    })
}
