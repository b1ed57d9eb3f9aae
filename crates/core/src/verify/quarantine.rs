//! Tests that are known to be flaky: a stage that they break runs again, and its failure is allowed
//! until a given day.

use super::envelope::{Stage, StageEnd, StageName};
use super::failed_tests::MOST;
use super::text;
use crate::settings::QuarantinedTest;
use crate::units::Day;

/// The note in the report if all failing tests of a stage are quarantined today; `None` if one is
/// not, or if the output does not name all of them.
///
/// It never turns a failure into a pass: it only allows a stage that passes in another run on the same tree.
pub fn quarantined(stage: &Stage, known: &[QuarantinedTest], today: Day) -> Option<String> {
    let tests = &stage.failed_tests;
    // Shortened output, a shortened list or a crash does not show what else failed.
    let is_whole = stage.truncated_bytes == 0 && stage.ended == Some(StageEnd::Exited);
    let is_listed = !tests.is_empty() && tests.len() < MOST;
    if stage.name != StageName::TargetedTests || !is_whole || !is_listed {
        return None;
    }
    let entries: Vec<&QuarantinedTest> = tests
        .iter()
        .map(|test| {
            known
                .iter()
                .find(|one| one.test == *test && one.expires >= today)
        })
        .collect::<Option<_>>()?;
    let named = entries.iter().map(|one| {
        let why = one.reason.as_deref().map(text::one_line);
        let why = why.map_or_else(String::new, |why| format!(", {why}"));
        format!(
            "`{}` until {} (owner {}{why})",
            one.test,
            one.expires,
            text::one_line(&one.owner)
        )
    });
    let named: Vec<String> = named.collect();
    Some(format!("quarantined: {}", named.join(", ")))
}

/// The note in the report about failing tests whose quarantine has ended.
pub fn expired(stage: &Stage, known: &[QuarantinedTest], today: Day) -> Option<String> {
    let over = known
        .iter()
        .filter(|one| one.expires < today && stage.failed_tests.contains(&one.test))
        .map(|one| {
            let owner = text::one_line(&one.owner);
            format!(
                "quarantine of `{}` expired on {} (owner {owner})",
                one.test, one.expires
            )
        });
    let over: Vec<String> = over.collect();
    (!over.is_empty()).then(|| over.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::StageStatus;

    fn known() -> Vec<QuarantinedTest> {
        let one = |test: &str, expires: &str| QuarantinedTest {
            test: test.to_owned(),
            owner: "ann".to_owned(),
            expires: expires.parse().unwrap(),
            reason: None,
        };
        vec![one("a", "2026-11-10"), one("b", "2026-11-09")]
    }

    fn failed(tests: &[&str]) -> Stage {
        Stage {
            failed_tests: tests.iter().map(|&test| test.to_owned()).collect(),
            ended: Some(StageEnd::Exited),
            ..Stage::unrun(StageName::TargetedTests, "r", &[], StageStatus::Fail)
        }
    }

    #[test]
    fn a_test_is_quarantined_up_to_and_with_its_last_day() {
        let stage = failed(&["a"]);
        let on = |day: &str| quarantined(&stage, &known(), day.parse().unwrap());
        assert_eq!(
            on("2026-11-10").unwrap(),
            "quarantined: `a` until 2026-11-10 (owner ann)"
        );
        assert_eq!(on("2026-11-11"), None);
    }

    #[test]
    fn one_other_failing_test_or_none_that_is_named_is_no_quarantine() {
        let today = "2026-11-10".parse().unwrap();
        for tests in [&["a", "c"] as &[&str], &["a", "b"], &[]] {
            assert_eq!(quarantined(&failed(tests), &known(), today), None);
        }
        let many: Vec<QuarantinedTest> = (0..MOST)
            .map(|at| QuarantinedTest {
                test: at.to_string(),
                ..known().remove(0)
            })
            .collect();
        let names: Vec<&str> = many.iter().map(|one| one.test.as_str()).collect();
        assert_eq!(quarantined(&failed(&names), &many, today), None);
        assert!(quarantined(&failed(&names[1..]), &many, today).is_some());
        let mut compile = failed(&["a"]);
        compile.name = StageName::Compile;
        let mut cut = failed(&["a"]);
        cut.truncated_bytes = 1;
        let mut crashed = failed(&["a"]);
        crashed.ended = Some(StageEnd::Signalled);
        for stage in [compile, cut, crashed] {
            assert_eq!(quarantined(&stage, &known(), today), None);
        }
    }

    #[test]
    fn an_entry_that_is_over_is_told_with_its_owner() {
        let today = "2026-11-10".parse().unwrap();
        assert_eq!(
            expired(&failed(&["a", "b"]), &known(), today).unwrap(),
            "quarantine of `b` expired on 2026-11-09 (owner ann)"
        );
        assert_eq!(expired(&failed(&["a"]), &known(), today), None);
    }
}
