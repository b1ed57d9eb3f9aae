use super::reasons::{category_of, without_root};
use super::words::{is_red, stage_title};
use crate::verify::envelope::{
    Failure, FailureCategory, Overall, Stage, StageStatus, Timing, Verification,
};
use std::fmt::Write;

/// The verification as JUnit XML: one suite for each stage, one test case for each command, and one
/// for each failing test with a known name.
pub fn junit(report: &Verification) -> String {
    let mut suites: Vec<Suite> = report
        .stages
        .iter()
        .map(|stage| suite_of(stage, report))
        .collect();
    if let Some(failure) = report.failure.as_ref().filter(|f| f.stage.is_none()) {
        suites.push(Suite {
            name: "verification".to_owned(),
            millis: 0,
            cases: vec![of_failure(failure, report.overall)],
        });
    }
    let total = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"drive verify\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{}\" time=\"{}\" timestamp=\"{}\">",
        total(|s| s.cases.len()),
        total(|s| s.count(Kind::Failure)),
        total(|s| s.count(Kind::Error)),
        total(|s| s.count(Kind::Skipped)),
        seconds(report.timing.duration_ms),
        started(&report.timing),
    );
    for suite in &suites {
        suite.write(&mut out, &report.timing);
    }
    out.push_str("</testsuites>\n");
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Failure,
    Error,
    Skipped,
}

impl Kind {
    fn element(self) -> &'static str {
        match self {
            Kind::Failure => "failure",
            Kind::Error => "error",
            Kind::Skipped => "skipped",
        }
    }
}

struct Suite {
    name: String,
    millis: u64,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    millis: Option<u64>,
    result: Option<CaseResult>,
    stdout: String,
    stderr: String,
}

/// Why a case did not pass.
struct CaseResult {
    kind: Kind,
    category: Option<FailureCategory>,
    message: String,
}

impl Suite {
    fn count(&self, kind: Kind) -> usize {
        let results = self.cases.iter().filter_map(|case| case.result.as_ref());
        results.filter(|result| result.kind == kind).count()
    }

    fn write(&self, out: &mut String, timing: &Timing) {
        let name = attribute(&self.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
             skipped=\"{}\" time=\"{}\" timestamp=\"{}\">",
            self.cases.len(),
            self.count(Kind::Failure),
            self.count(Kind::Error),
            self.count(Kind::Skipped),
            seconds(self.millis),
            started(timing),
        );
        for case in &self.cases {
            case.write(out, &name);
        }
        out.push_str("  </testsuite>\n");
    }
}

impl Case {
    fn write(&self, out: &mut String, class: &str) {
        let _ = write!(
            out,
            "    <testcase classname=\"{class}\" name=\"{}\" time=\"{}\"",
            attribute(&self.name),
            seconds(self.millis.unwrap_or(0)),
        );
        if self.result.is_none() && self.stdout.is_empty() && self.stderr.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push_str(">\n");
        if let Some(result) = &self.result {
            let _ = write!(out, "      <{}", result.kind.element());
            if let Some(category) = result.category {
                let _ = write!(out, " type=\"{}\"", category.as_str());
            }
            let _ = writeln!(out, " message=\"{}\"/>", attribute(&result.message));
        }
        for (element, text) in [("system-out", &self.stdout), ("system-err", &self.stderr)] {
            if !text.is_empty() {
                let _ = writeln!(out, "      <{element}>{}</{element}>", content(text));
            }
        }
        out.push_str("    </testcase>\n");
    }
}

fn suite_of(stage: &Stage, report: &Verification) -> Suite {
    let root = report.workspace.path.as_deref();
    let why = || {
        let reason = stage.reason.as_deref().unwrap_or("it failed");
        without_root(reason, root)
    };
    let result = match stage.status {
        StageStatus::Pass => None,
        StageStatus::Fail | StageStatus::Timeout => Some(Kind::Failure),
        StageStatus::Error => Some(Kind::Error),
        StageStatus::Skipped => Some(Kind::Skipped),
    };
    let command = without_root(&stage.command.join(" "), root);
    let mut cases = vec![Case {
        name: if command.is_empty() {
            stage.name.words().to_owned()
        } else {
            command
        },
        millis: Some(stage.duration_ms),
        result: result.map(|kind| CaseResult {
            kind,
            category: (kind != Kind::Skipped).then(|| category_of(stage)),
            message: why(),
        }),
        stdout: without_root(&stage.stdout_tail, root),
        stderr: without_root(&stage.stderr_tail, root),
    }];
    if is_red(stage) {
        cases.extend(stage.failed_tests.iter().map(|test| Case {
            name: test.clone(),
            millis: None,
            result: Some(CaseResult {
                kind: Kind::Failure,
                category: Some(category_of(stage)),
                message: format!("failed in {}", stage_title(stage)),
            }),
            stdout: String::new(),
            stderr: String::new(),
        }));
    }
    Suite {
        name: stage_title(stage),
        millis: stage.duration_ms,
        cases,
    }
}

fn of_failure(failure: &Failure, overall: Overall) -> Case {
    let kind = match overall {
        Overall::Error => Kind::Error,
        Overall::Pass | Overall::Fail | Overall::Timeout => Kind::Failure,
    };
    Case {
        name: "verification".to_owned(),
        millis: None,
        result: Some(CaseResult {
            kind,
            category: Some(failure.category),
            message: failure.reason.clone(),
        }),
        stdout: String::new(),
        stderr: String::new(),
    }
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

fn started(timing: &Timing) -> String {
    // Programs that read JUnit expect whole seconds without a time zone.
    let text = timing.started_at.to_string();
    text.chars().take("2026-01-02T03:04:05".len()).collect()
}

/// The text as an attribute's value; line breaks are encoded, because they would be read as spaces.
fn attribute(text: &str) -> String {
    escaped(text, true)
}

fn content(text: &str) -> String {
    escaped(text, false)
}

/// The text escaped for XML 1.0, without characters that XML does not allow.
fn escaped(text: &str, in_attribute: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            // XML does not allow `]]>` in text.
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' if !in_attribute => out.push(c),
            '\n' | '\t' | '\r' | '\u{7f}'..='\u{9f}' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}
