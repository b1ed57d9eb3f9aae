//! Logs one line about each process that ended.

use drive_core::problem::Problem;
use drive_core::process::{End, ProcessReport};
use drive_engine::ports::CommandSpec;
use std::time::Duration;

/// Logs how a process ended. Only git's arguments are shown: an agent's may contain its prompt, and
/// a verification stage's any text of the settings.
pub(super) fn ended(spec: &CommandSpec, took: Duration, ended: &Result<ProcessReport, Problem>) {
    if !tracing::enabled!(target: "drive::process", tracing::Level::DEBUG) {
        return;
    }
    let program = spec.program.to_string_lossy();
    let mut line = program.clone().into_owned();
    if program == "git" {
        for arg in &spec.args {
            line.push(' ');
            line.push_str(&without_password(&arg.to_string_lossy()));
        }
    }
    let end = match ended {
        Ok(ProcessReport {
            end: End::Exited { code },
            ..
        }) => format!("exit code {code}"),
        Ok(report) => report.end.name().to_owned(),
        Err(problem) => problem.message.clone(),
    };
    let (ms, folder) = (took.as_millis(), spec.cwd.display());
    tracing::debug!(target: "drive::process", ms, %folder, "`{line}`: {end}");
}

/// A URL without the user and password before its host.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) => format!("{scheme}://…{}", &rest[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let table = [
            (
                "https://me:secret@h.example/r.git",
                "https://…@h.example/r.git",
            ),
            ("https://a@b:c@h.example", "https://…@h.example"),
            ("https://h.example/a@b", "https://h.example/a@b"),
            ("refs/heads/x@y", "refs/heads/x@y"),
            ("+refs/*:refs/*", "+refs/*:refs/*"),
        ];
        for (text, shown) in table {
            assert_eq!(without_password(text), shown);
        }
    }
}
