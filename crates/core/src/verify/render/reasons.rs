//! The reasons for and against a commit, as separate statements.

use super::place::{self, Place};
use super::words::{is_red, stage_title};
use crate::verify::envelope::{FailureCategory, Fault, Overall, Stage, StageEnd, Verification};
use crate::verify::judge;

/// The weight of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// It prevents the verification from passing.
    Error,
    /// A person should check it.
    Warning,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) weight: Weight,
    pub(super) category: FailureCategory,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// The files of the repository that it names.
    pub(super) places: Vec<Place>,
    pub(super) failed_tests: Vec<String>,
}

/// All statements without duplicates: why the verification did not pass, which flaky stages were
/// allowed, and which files only a person may approve.
pub(super) fn reasons(report: &Verification) -> Vec<Reason> {
    let root = report.workspace.path.as_deref();
    let mut all = Vec::new();
    let decided = report.stages.iter().find(|stage| is_red(stage));
    if let Some(failure) = &report.failure {
        let found = match decided {
            Some(stage) if failure.stage.is_some() => places_of(stage, failure.category, root),
            Some(_) | None if report.overall == Overall::Fail => named_in(&failure.reason),
            Some(_) | None => Vec::new(),
        };
        all.push(Reason {
            weight: Weight::Error,
            category: failure.category,
            message: failure.reason.clone(),
            hint: failure.hint.clone(),
            places: found,
            failed_tests: decided.map_or_else(Vec::new, |stage| stage.failed_tests.clone()),
        });
    }
    let others = report.stages.iter().filter(|stage| {
        let is_flaky = stage.fault == Some(Fault::Flaky);
        (is_red(stage) || is_flaky) && !decided.is_some_and(|first| std::ptr::eq(first, *stage))
    });
    all.extend(others.map(|stage| of_stage(stage, root)));
    all.extend(report.protected_changes.iter().map(|path| Reason {
        weight: Weight::Warning,
        category: FailureCategory::Policy,
        message: format!(
            "`{path}` decides what tools, tests, CI or agents do: a person must approve this change"
        ),
        hint: None,
        places: place::whole_file(path).into_iter().collect(),
        failed_tests: Vec::new(),
    }));
    for reason in &mut all {
        reason.message = without_root(&reason.message, root);
    }
    all
}

/// The category of a stage that did not pass.
pub(super) fn category_of(stage: &Stage) -> FailureCategory {
    match stage.fault {
        Some(Fault::Flaky) => FailureCategory::Flaky,
        Some(Fault::Baseline) => FailureCategory::Baseline,
        Some(Fault::Infra) => FailureCategory::Infra,
        None => judge::category(stage.name, stage.ended.unwrap_or(StageEnd::Infra)),
    }
}

/// The text without the path of the workspace, which exists on one machine only.
pub(super) fn without_root(text: &str, root: Option<&str>) -> String {
    let root = root.unwrap_or_default().trim_end_matches('/');
    if root.is_empty() {
        return text.to_owned();
    }
    let mut pieces = text.split(root);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        match piece.strip_prefix('/') {
            Some(below) => out.push_str(below),
            // Another path that only begins with the same letters.
            None if piece.starts_with(goes_on) => out.extend([root, piece]),
            None => out.extend([".", piece]),
        }
    }
    out
}

fn of_stage(stage: &Stage, root: Option<&str>) -> Reason {
    let category = category_of(stage);
    let why = stage.reason.as_deref().unwrap_or("it failed");
    Reason {
        weight: if is_red(stage) {
            Weight::Error
        } else {
            Weight::Warning
        },
        category,
        message: format!("{}: {why}", stage_title(stage)),
        hint: None,
        places: places_of(stage, category, root),
        failed_tests: stage.failed_tests.clone(),
    }
}

fn places_of(stage: &Stage, category: FailureCategory, root: Option<&str>) -> Vec<Place> {
    match category {
        FailureCategory::Policy => named_in(stage.reason.as_deref().unwrap_or_default()),
        FailureCategory::Compile
        | FailureCategory::Test
        | FailureCategory::Startup
        | FailureCategory::Flaky
        | FailureCategory::Baseline => place::in_output(stage, root).into_iter().collect(),
        FailureCategory::Timeout | FailureCategory::Resource | FailureCategory::Infra => Vec::new(),
    }
}

/// The paths that a reason lists as code; other code in the sentence is not a path.
fn named_in(reason: &str) -> Vec<Place> {
    let after = ["conflict in ", "changed tracked files: "];
    let before = [" not covered by ", " not tested: "];
    let after = after.iter().find_map(|lead| reason.split_once(lead));
    let before = before.iter().find_map(|end| reason.split_once(end));
    let list = match (after, before) {
        (Some((_, list)), _) | (None, Some((list, _))) => list,
        (None, None) => "",
    };
    let quoted = list.split('`').skip(1).step_by(2);
    quoted.filter_map(place::whole_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::End;
    use crate::verify::{Observation, RouteProblem, StageName, TestsRan, judge};
    use std::time::Duration;

    fn paths(reason: &str) -> Vec<String> {
        named_in(reason)
            .into_iter()
            .map(|place| place.path)
            .collect()
    }

    #[test]
    fn the_paths_of_broken_rules_are_found() {
        let two = vec!["src/a".to_owned(), "b".to_owned()];
        let uncovered = RouteProblem::Uncovered(two.clone());
        assert_eq!(paths(&uncovered.reason()), two);
        let tampered = Observation {
            end: End::Exited { code: 0 },
            tampered: two.clone(),
            tests: TestsRan::Unknown,
            untested: Vec::new(),
            timeout: Duration::from_secs(1),
            not_ready: None,
        };
        let tampered = judge(StageName::Compile, &tampered).reason.unwrap();
        assert_eq!(paths(&tampered), two);
        let conflict = "cannot be merged into its base: conflict in `src/a`, `b`";
        assert_eq!(paths(conflict), two);
        assert_eq!(
            paths("`src/a` is not tested: package `x` has no script"),
            ["src/a"]
        );
    }

    #[test]
    fn other_code_in_a_reason_is_no_path() {
        for reason in [
            "invalid glob `src/[` in route `all`: no",
            "project `api` has no test script, so no test would run",
            "unknown revision `origin/main`",
        ] {
            assert_eq!(paths(reason), Vec::<String>::new(), "{reason}");
        }
    }

    #[test]
    fn the_folder_of_the_workspace_is_left_out() {
        let without = |text: &str| without_root(text, Some("/s/w1"));
        assert_eq!(without("in /s/w1/src/a and `/s/w1`"), "in src/a and `.`");
        assert_eq!(without("/s/w10/a"), "/s/w10/a");
        assert_eq!(without_root("/s", None), "/s");
    }
}
