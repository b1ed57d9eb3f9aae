//! Detects stages and tests that a candidate drops by changing build files.

use super::envelope::{Failure, FailureCategory, Stage, StageName, StageStatus};
use super::plan::{Plan, PlannedStage, StageCommand, Work};
use super::text;
use crate::test_files::is_test_file;

/// A failure if the candidate's plan lacks a command that the base's detected projects have.
/// `files` are the candidate's: a project that was removed completely loses nothing.
pub fn dropped(on_base: &[&PlannedStage], plan: &Plan, files: &[String]) -> Option<Failure> {
    on_base.iter().find_map(|there| {
        let command = command(there)?;
        let is_left = command.dir.is_empty() || files.iter().any(|file| is_in(file, &command.dir));
        if !is_left || is_kept(there, command, plan) {
            return None;
        }
        let argv = command.argv.join(" ");
        let name = there.name.words();
        Some(Failure {
            category: FailureCategory::Policy,
            reason: format!(
                "the base runs `{argv}` ({name}, {}), the candidate has no such command",
                there.route
            ),
            stage: Some(there.name),
            hint: Some(
                "keep the command, or add a `[[verify.routes]]` to `drive.toml` on the base"
                    .to_owned(),
            ),
        })
    })
}

fn is_kept(there: &PlannedStage, gone: &StageCommand, plan: &Plan) -> bool {
    let kind = |stage: &PlannedStage| stage.route.split(':').next().map(str::to_owned);
    let own = plan
        .stages
        .iter()
        .filter_map(|stage| Some((stage, command(stage)?)));
    match there.name {
        // Tests may move to another runner, to an inner project, or to the surrounding workspace.
        // Their number shows whether they still run there.
        StageName::TargetedTests => {
            own.filter(|(here, _)| here.name == there.name)
                .any(|(here, own)| {
                    is_in(&own.dir, &gone.dir)
                        || (kind(here) == kind(there) && is_in(&gone.dir, &own.dir))
                })
        }
        StageName::Compile | StageName::StartupSmoke => {
            let mut of_route = own.filter(|(here, _)| here.route == there.route).peekable();
            of_route.peek().is_none() || of_route.any(|(here, _)| here.name == there.name)
        }
    }
}

/// Turns a stage that passed without a number of tests into a failure, if the base runs some.
pub fn silenced(mut stage: Stage, there: &Stage) -> Stage {
    let ran = there.tests.map_or(0, |tests| tests.ran);
    if ran > 0 {
        let noun = if ran == 1 { "test" } else { "tests" };
        stage.status = StageStatus::Fail;
        stage.reason = Some(format!("the base runs {ran} {noun}, the candidate none"));
    }
    stage
}

/// The candidate's passed stage, with a note about tests of the base that it no longer runs.
pub fn shrunk(mut stage: Stage, there: &Stage) -> Stage {
    let (Some(here), Some(there)) = (stage.tests, there.tests) else {
        return stage;
    };
    let gone = there.ran.saturating_sub(here.ran);
    if gone > 0 {
        let told = format!(
            "{gone} of the base's {} tests gone: the candidate runs {}",
            there.ran, here.ran
        );
        let reason = stage.reason.map(|reason| format!("{reason}; {told}"));
        stage.reason = Some(reason.unwrap_or(told));
    }
    stage
}

/// A note about test files that the candidate removes. `files` are the candidate's files.
pub fn removed_tests(changed: &[String], files: &[String]) -> Option<String> {
    let is_gone = |path: &&String| is_test_file(path) && !files.contains(path);
    let gone: Vec<&String> = changed.iter().filter(is_gone).collect();
    let noun = if gone.len() == 1 {
        "test file"
    } else {
        "test files"
    };
    let named = text::named(&gone, 5);
    (!gone.is_empty()).then(|| format!("the candidate removes {} {noun}: {named}", gone.len()))
}

/// The stages that test a folder or one around it: the nearest first, and in the same folder
/// `route` before others.
pub fn testing<'a>(plan: &'a Plan, dir: &str, route: &str) -> Option<&'a PlannedStage> {
    let tests = plan.stages.iter().filter(|stage| {
        let own = command(stage).filter(|own| is_in(dir, &own.dir));
        stage.name == StageName::TargetedTests && own.is_some()
    });
    tests.max_by_key(|stage| {
        let depth = command(stage).map_or(0, |own| own.dir.len());
        (depth, stage.route == route)
    })
}

fn command(stage: &PlannedStage) -> Option<&StageCommand> {
    match &stage.work {
        Work::Run(command) => Some(command),
        Work::Nothing(_) => None,
    }
}

/// Whether a path is this folder or inside it.
fn is_in(path: &str, dir: &str) -> bool {
    let rest = path.strip_prefix(dir);
    dir.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::envelope::StageTests;

    fn run(name: StageName, route: &str, dir: &str) -> PlannedStage {
        PlannedStage {
            name,
            route: route.to_owned(),
            work: Work::Run(StageCommand {
                argv: vec![name.as_str().to_owned()],
                dir: dir.to_owned(),
                ..StageCommand::default()
            }),
        }
    }

    fn tests(route: &str, dir: &str) -> PlannedStage {
        run(StageName::TargetedTests, route, dir)
    }

    fn plan(stages: &[PlannedStage]) -> Plan {
        Plan::ordered(stages.to_vec(), Vec::new())
    }

    #[test]
    fn a_command_of_the_base_is_dropped_where_the_candidate_has_nothing_in_its_place() {
        let build = || run(StageName::Compile, "make", "");
        let files = ["Makefile".to_owned(), "web/a.js".to_owned()];
        let table = [
            (
                "the same",
                tests("make", ""),
                vec![tests("make", "")],
                false,
            ),
            ("no build any more", build(), vec![tests("make", "")], true),
            ("another runner", build(), vec![tests("cargo", "")], false),
            (
                "tests of another runner",
                tests("make", ""),
                vec![tests("cargo", "")],
                false,
            ),
            (
                "a project inside",
                tests("node", ""),
                vec![tests("node:web", "web")],
                false,
            ),
            (
                "the workspace around",
                tests("node:web", "web"),
                vec![tests("node", "")],
                false,
            ),
            (
                "only the root's Makefile",
                tests("node:web", "web"),
                vec![tests("make", "")],
                true,
            ),
            (
                "a folder that is gone",
                tests("node:old", "old"),
                vec![tests("make", "")],
                false,
            ),
        ];
        for (what, there, here, expected) in table {
            let found = dropped(&[&there], &plan(&here), &files);
            assert_eq!(found.is_some(), expected, "{what}: {found:?}");
        }
    }

    #[test]
    fn tests_without_a_number_fail_where_the_base_counts_some() {
        let stage = |ran: Option<u64>| Stage {
            tests: ran.map(|ran| StageTests { ran, failed: 0 }),
            ..Stage::unrun(StageName::TargetedTests, "make", &[], StageStatus::Pass)
        };
        for (there, status, reason) in [
            (Some(0), StageStatus::Pass, None),
            (None, StageStatus::Pass, None),
            (
                Some(1),
                StageStatus::Fail,
                Some("the base runs 1 test, the candidate none"),
            ),
            (
                Some(7),
                StageStatus::Fail,
                Some("the base runs 7 tests, the candidate none"),
            ),
        ] {
            let found = silenced(stage(None), &stage(there));
            assert_eq!((found.status, found.reason.as_deref()), (status, reason));
        }
    }

    #[test]
    fn tests_that_are_gone_are_told_and_fail_nothing() {
        let stage = |ran: u64| Stage {
            tests: Some(StageTests { ran, failed: 0 }),
            ..Stage::unrun(StageName::TargetedTests, "node", &[], StageStatus::Pass)
        };
        for (here, there, reason) in [
            (
                3,
                10,
                Some("7 of the base's 10 tests gone: the candidate runs 3"),
            ),
            (10, 10, None),
            (11, 10, None),
        ] {
            let found = shrunk(stage(here), &stage(there));
            assert_eq!(
                (found.status, found.reason.as_deref()),
                (StageStatus::Pass, reason)
            );
        }
        let paths = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let changed = paths(&["src/a.js", "test/a.js", "test/b.js", "src/gone.js"]);
        let told = removed_tests(&changed, &paths(&["src/a.js", "test/a.js"]));
        let expected = "the candidate removes 1 test file: `test/b.js`";
        assert_eq!(told.as_deref(), Some(expected));
        assert_eq!(removed_tests(&changed[..1], &[]), None);
    }

    #[test]
    fn the_nearest_tests_of_the_base_are_the_ones_that_count() {
        let plan = plan(&[
            tests("make", ""),
            tests("node", ""),
            tests("node:web", "web"),
        ]);
        for (dir, route, expected) in [
            ("web", "make:web", Some("node:web")),
            ("web/ui", "node:web/ui", Some("node:web")),
            ("", "make", Some("make")),
            ("", "node", Some("node")),
            ("other", "node", Some("node")),
        ] {
            let found = testing(&plan, dir, route).map(|stage| stage.route.as_str());
            assert_eq!(found, expected, "{dir} {route}");
        }
    }
}
