use super::{deciding, duration, joined, short_hash, status_word, telling_tail};
use crate::verify::envelope::Verification;
use crate::verify::text;
use std::fmt::Write;

/// How much of the telling tail a terminal gets.
const TAIL_BYTES: usize = 4 * 1024;

/// What was judged, in a few words.
pub fn subject(report: &Verification) -> String {
    let candidate = &report.candidate;
    let head = short_hash(candidate.head_sha.as_deref());
    match &candidate.base_sha {
        Some(base) => format!("{head} {} {}", joined(candidate), short_hash(Some(base))),
        None => head.to_owned(),
    }
}

/// The verification for a terminal, without colour.
pub fn human(report: &Verification) -> String {
    let mut out = String::new();
    let candidate = &report.candidate;
    let _ = write!(
        out,
        "verification: {} for {}",
        report.overall.as_str(),
        subject(report)
    );
    let _ = writeln!(
        out,
        " in {} ({})",
        duration(report.timing.duration_ms),
        report.run_id
    );
    if let Some(from) = &candidate.rules_from {
        let _ = writeln!(out, "rules from {from}");
    }
    stages(&mut out, report);
    if let Some(stage) = deciding(&report.stages) {
        let tail = text::tail_lines(telling_tail(stage), TAIL_BYTES);
        if !tail.trim().is_empty() {
            let _ = writeln!(out, "\nend of its output:");
            for line in tail.lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    if let Some(failure) = &report.failure {
        let _ = writeln!(out, "\n{}: {}", failure.category.as_str(), failure.reason);
        if let Some(hint) = &failure.hint {
            let _ = writeln!(out, "hint: {hint}");
        }
    }
    remarks(&mut out, report);
    out
}

fn stages(out: &mut String, report: &Verification) {
    for stage in &report.stages {
        let _ = write!(
            out,
            "  {:<8} {:<18} {}",
            status_word(stage.status),
            stage.name.words(),
            stage.route
        );
        if stage.ended.is_some() {
            let _ = write!(
                out,
                "  {}  {}",
                duration(stage.duration_ms),
                text::one_line(&stage.command.join(" "))
            );
        }
        if let Some(reason) = &stage.reason {
            let _ = write!(out, "  ({})", text::one_line(reason));
        }
        out.push('\n');
    }
}

fn remarks(out: &mut String, report: &Verification) {
    for layer in &report.workspace.missing {
        let _ = writeln!(out, "not enforced: {}: {}", layer.name, layer.consequence);
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    if let Some(problem) = &report.workspace.removal_problem {
        let _ = writeln!(out, "warning: could not remove the workspace: {problem}");
    }
}
