use super::reasons::category_of;
use super::words::{
    counts, deciding, duration, first_tests, is_red, joined, short_hash, stage_title, status_word,
    telling_tail, took,
};
use crate::verify::envelope::{Stage, Verification};
use crate::verify::text;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many bytes of the deciding tail are shown in a terminal.
const TAIL_BYTES: usize = 4 * 1024;
/// The width of the report. Only a longer word exceeds it.
const COLUMNS: usize = 80;
/// The indentation of a stage's second line, which starts below the stage's name.
const STAGE_INDENT: &str = "           ";

/// The verified commits, in a few words.
pub fn subject(report: &Verification) -> String {
    let candidate = &report.candidate;
    let head = short_hash(candidate.head_sha.as_deref());
    match &candidate.base_sha {
        Some(base) => format!("{head} {} {}", joined(candidate), short_hash(Some(base))),
        None => head.to_owned(),
    }
}

/// The verification for a terminal, without colour: at most 80 columns, with the verdict last.
pub fn human(report: &Verification) -> String {
    let mut out = String::new();
    let candidate = &report.candidate;
    let first = format!("verification of {} ({})", subject(report), report.run_id);
    wrap(&mut out, "", "  ", &first);
    if let Some(from) = &candidate.rules_from {
        wrap(&mut out, "", "  ", &format!("rules from {from}"));
    }
    stages(&mut out, report);
    if let Some(stage) = deciding(&report.stages) {
        tail(&mut out, stage);
    }
    failed_tests(&mut out, report);
    remarks(&mut out, report);
    if let Some(failure) = &report.failure {
        let said = format!("{}: {}", failure.category.as_str(), failure.reason);
        out.push('\n');
        wrap(&mut out, "", "  ", &said);
        if let Some(hint) = &failure.hint {
            wrap(&mut out, "hint: ", "  ", hint);
        }
    }
    let counted = match counts(&report.stages) {
        counted if counted.is_empty() => counted,
        counted => format!(" ({counted})"),
    };
    let verdict = report.overall.as_str();
    let took = duration(report.timing.duration_ms);
    let _ = writeln!(out, "verification: {verdict}{counted} in {took}");
    out
}

/// Adds one paragraph for each stage. A reason that was given before, or that is the verdict's, is
/// not repeated.
fn stages(out: &mut String, report: &Verification) {
    let decided = deciding(&report.stages);
    let mut given: BTreeSet<&str> = BTreeSet::new();
    for stage in &report.stages {
        let is_verdict = report.failure.as_ref().is_some_and(|f| f.stage.is_some())
            && decided.is_some_and(|first| std::ptr::eq(first, stage));
        let reason = stage
            .reason
            .as_deref()
            .filter(|reason| !is_verdict && given.insert(reason));
        let mut said = stage.route.clone();
        if stage.ended.is_some() {
            let _ = write!(said, ", {}", took(stage));
            if !stage.command.is_empty() {
                let _ = write!(said, ": {}", stage.command.join(" "));
            }
        }
        if let Some(reason) = reason {
            let kind = if is_red(stage) || stage.fault.is_some() {
                format!("{}: ", category_of(stage).as_str())
            } else {
                String::new()
            };
            let _ = write!(said, " ({kind}{reason})");
        }
        let start = format!(
            "  {:<8} {:<18} ",
            status_word(stage.status),
            stage.name.words()
        );
        wrap(out, &start, STAGE_INDENT, &said);
    }
}

fn tail(out: &mut String, stage: &Stage) {
    let tail = text::tail_lines(telling_tail(stage), TAIL_BYTES);
    if tail.trim().is_empty() {
        return;
    }
    out.push('\n');
    let title = format!("end of the output of {}:", stage_title(stage));
    wrap(out, "", "  ", &title);
    for line in tail.trim_end().lines() {
        // Aligned output stays aligned if it fits.
        let width = 4 + line.chars().count();
        if width <= COLUMNS {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        } else {
            let rest = line.trim_start();
            let indent = line.chars().count() - rest.chars().count();
            let start = " ".repeat(4 + indent.min(COLUMNS / 4));
            wrap(out, &start, &format!("{start}  "), rest);
        }
    }
}

fn failed_tests(out: &mut String, report: &Verification) {
    let red = report.stages.iter().filter(|stage| is_red(stage));
    for stage in red.filter(|stage| !stage.failed_tests.is_empty()) {
        let (names, more) = first_tests(&stage.failed_tests);
        let count = stage.failed_tests.len();
        let noun = if count == 1 { "test" } else { "tests" };
        out.push('\n');
        let title = format!("{count} failing {noun} in {}:", stage_title(stage));
        wrap(out, "", "  ", &title);
        for name in names {
            wrap(out, "    ", "      ", &name);
        }
        if more > 0 {
            let _ = writeln!(out, "    and {more} more");
        }
    }
}

fn remarks(out: &mut String, report: &Verification) {
    let has_any = !report.workspace.missing.is_empty()
        || !report.notes.is_empty()
        || report.workspace.removal_problem.is_some();
    if has_any {
        out.push('\n');
    }
    let mut given: BTreeSet<String> = BTreeSet::new();
    let mut say = |label: &str, said: String| {
        if given.insert(said.clone()) {
            wrap(out, label, "  ", &said);
        }
    };
    for layer in &report.workspace.missing {
        say(
            "not enforced: ",
            format!("{}: {}", layer.name, layer.consequence),
        );
    }
    for note in &report.notes {
        say("note: ", note.clone());
    }
    if let Some(problem) = &report.workspace.removal_problem {
        say(
            "warning: ",
            format!("could not remove the workspace: {problem}"),
        );
    }
}

/// Writes text as lines of at most [`COLUMNS`] characters; a longer word gets its own line.
fn wrap(out: &mut String, start: &str, rest: &str, said: &str) {
    let mut line = start.to_owned();
    let mut has_word = false;
    for word in words(&text::one_line(said)) {
        let space = usize::from(has_word);
        if has_word && line.chars().count() + space + word.chars().count() > COLUMNS {
            let _ = writeln!(out, "{}", line.trim_end());
            rest.clone_into(&mut line);
            has_word = false;
        }
        if has_word {
            line.push(' ');
        }
        line.push_str(&word);
        has_word = true;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// The words of a line. Code between backticks is one word if it fits on a line, so that it can be copied.
fn words(line: &str) -> Vec<String> {
    const CODE_CHARS: usize = COLUMNS - STAGE_INDENT.len();
    let mut all: Vec<String> = Vec::new();
    let mut joined: Option<String> = None;
    for word in line.split(' ') {
        let is_edge = word.matches('`').count() % 2 == 1;
        match (joined.take(), is_edge) {
            (None, false) => all.push(word.to_owned()),
            (None, true) => joined = Some(word.to_owned()),
            (Some(code), is_edge) => {
                let code = format!("{code} {word}");
                let fits = code.chars().count() <= CODE_CHARS;
                match (fits, is_edge) {
                    (true, false) => joined = Some(code),
                    (true, true) => all.push(code),
                    (false, _) => all.extend(code.split(' ').map(str::to_owned)),
                }
            }
        }
    }
    all.extend(
        joined
            .iter()
            .flat_map(|code| code.split(' '))
            .map(str::to_owned),
    );
    all
}
