//! Finds the parts of a workspace that ran tests: the binaries of Cargo and the packages of Go and Node.

use super::runners::{self, Said};
use crate::process::Stream;
use crate::verify::plan::TestedMember;
use std::collections::{BTreeMap, BTreeSet};

/// What the output reports about the parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    /// The binaries that Cargo started, in order.
    started: Vec<String>,
    /// The number of tests that each of them ran, in order.
    ran: Vec<u64>,
    /// The Go packages that ended.
    packages: BTreeSet<String>,
    /// The Go packages that ran tests.
    tested: BTreeSet<String>,
    nextest: Nextest,
    node: Node,
}

/// The lines that nextest prints for each test, and its final count.
#[derive(Clone, Debug, Default)]
struct Nextest {
    binaries: BTreeSet<String>,
    lines: u64,
    counted: Option<u64>,
}

impl Nextest {
    /// Parses `PASS [   0.123s] (1/2) crate::binary module::name` (nextest 0.9). After the summary
    /// nextest repeats the failures, and the settings may hide passed tests.
    fn take(&mut self, line: &str) {
        if self.counted.is_none() {
            self.counted = runners::nextest(line);
        }
        if self.counted.is_none()
            && let Some(binary) = nextest_unit(line)
        {
            self.lines += 1;
            self.binaries.insert(binary);
        }
    }

    /// The binaries that ran tests, if the output names all of them.
    fn tested(&self) -> Option<&BTreeSet<String>> {
        let is_whole = self.lines > 0 && self.counted.is_some_and(|ran| ran <= self.lines);
        is_whole.then_some(&self.binaries)
    }
}

/// The counts of runners in single packages of a Node workspace.
#[derive(Clone, Debug, Default)]
struct Node {
    /// For each package, the number of counted tests, and how many of them are not tests.
    ran: BTreeMap<String, (u64, u64)>,
    /// The package whose script npm is running.
    current: Option<String>,
}

impl Node {
    fn take(&mut self, line: &str, is_empty_file: bool) {
        if let Some(package) = npm_package(line) {
            self.current = Some(package.to_owned());
            return;
        }
        let named = line.split_once(": ").and_then(|(prefix, rest)| {
            let said = runners::said_in(rest).or(is_empty_file.then_some(Said::Skipped(1)));
            Some((node_package(prefix)?, said?))
        });
        let said = runners::said_in(line).or(is_empty_file.then_some(Said::Skipped(1)));
        let current = self.current.as_deref();
        let (package, said) = match (named, current.zip(said)) {
            (Some(named), _) => named,
            (None, Some(own)) => own,
            (None, None) => return,
        };
        let (ran, skipped) = self.ran.entry(package.to_owned()).or_default();
        match said {
            Said::Ran(more) => *ran = ran.saturating_add(more),
            Said::Skipped(more) => *skipped = skipped.saturating_add(more),
            Said::Package | Said::Name | Said::Run | Said::CtestStarts | Said::CtestTotal => {}
        }
    }

    /// Whether all packages that test a member reported counts, and none of them ran a test.
    fn has_none(&self, member: &TestedMember) -> bool {
        let ran = member.units.iter().map(|unit| self.ran.get(unit));
        let ran: Option<Vec<&(u64, u64)>> = ran.collect();
        let is_none = |(ran, skipped): &&(u64, u64)| ran <= skipped;
        ran.is_some_and(|ran| !ran.is_empty() && ran.iter().all(is_none))
    }
}

impl Units {
    /// Reads one line. Cargo prints on standard error, the binaries on standard output.
    pub(super) fn take(&mut self, source: Stream, line: &str, is_empty_file: bool) {
        self.nextest.take(line);
        self.node.take(line, is_empty_file);
        match source {
            Stream::Stdout => self.take_result(line),
            Stream::Stderr => self.started.extend(cargo_unit(line).map(str::to_owned)),
        }
    }

    fn take_result(&mut self, line: &str) {
        if let Some(ran) = runners::libtest(line) {
            self.ran.push(ran);
        } else if let Some(said) = runners::go(line) {
            let package = line.split('\t').nth(1).map(str::to_owned);
            match said {
                Said::Package => {
                    self.tested.extend(package.clone());
                    self.packages.extend(package);
                }
                Said::Ran(_) => self.packages.extend(package),
                Said::Skipped(_)
                | Said::Name
                | Said::Run
                | Said::CtestStarts
                | Said::CtestTotal => {}
            }
        }
    }

    /// The members that no test exercised; empty if the output does not tell.
    pub(super) fn untested(&self, members: &[TestedMember]) -> Vec<String> {
        let without = members.iter().filter(|member| self.node.has_none(member));
        let without: Vec<String> = without.map(|member| member.name.clone()).collect();
        if !without.is_empty() {
            return without;
        }
        let is_matched = !self.started.is_empty() && self.started.len() == self.ran.len();
        let started = self.started.iter().zip(&self.ran);
        let tested: BTreeSet<&String> = if is_matched {
            let tested = started.filter(|(_, ran)| **ran > 0);
            tested.map(|(unit, _)| unit).collect()
        } else if let Some(binaries) = self.nextest.tested() {
            binaries.iter().collect()
        } else if self.started.is_empty() && !self.packages.is_empty() {
            self.tested.iter().collect()
        } else {
            return Vec::new();
        };
        let is_untested = |member: &&TestedMember| {
            !member.units.is_empty() && !member.units.iter().any(|unit| tested.contains(unit))
        };
        let untested = members.iter().filter(is_untested);
        untested.map(|member| member.name.clone()).collect()
    }
}

/// The binary in a line such as `Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)`,
/// `Running tests/it.rs (…)` or `Doc-tests a` (cargo 1.95.0).
fn cargo_unit(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(name);
    }
    let path = line.strip_prefix("Running ")?.rsplit_once(" (")?.1;
    let file = path.strip_suffix(')')?.rsplit('/').next()?;
    let (name, hash) = file.rsplit_once('-')?;
    let is_hash = !hash.is_empty() && hash.chars().all(|c| c.is_ascii_hexdigit());
    is_hash.then_some(name)
}

/// The binary in `PASS [   0.123s] (1/2) crate::binary module::name`, in the form of Cargo's file
/// names: that of a library has its crate's name.
fn nextest_unit(line: &str) -> Option<String> {
    let (status, rest) = line.split_once(" [")?;
    let is_result = ["PASS", "FAIL", "LEAK", "TIMEOUT", "ABORT"].contains(&status)
        || status.starts_with("FLAKY ")
        || status.starts_with("SIG");
    let rest = rest.split_once("] ")?.1.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(counted) => counted.split_once(") ")?.1,
        None => rest,
    };
    let id = rest.split(' ').next().filter(|_| is_result)?;
    let name = id.rsplit("::").next()?;
    let name = name.rsplit('/').next()?;
    Some(name.replace('-', "_"))
}

/// The package in `> @scope/ui@1.0.0 test`, the line with which npm starts a script.
fn npm_package(line: &str) -> Option<&str> {
    let (package, script) = line.strip_prefix("> ")?.split_once(' ')?;
    let (name, version) = package.rsplit_once('@')?;
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    (is_version && !name.is_empty() && !script.is_empty()).then_some(name)
}

/// The package at the start of a line: `packages/ui test` (pnpm), `ui:test` (turbo), `ui test` (bun).
fn node_package(prefix: &str) -> Option<&str> {
    let (package, script) = prefix.rsplit_once([' ', ':'])?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(' ');
    (is_plain(package) && is_plain(script)).then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(lines: &[&str]) -> Units {
        let mut units = Units::default();
        for line in lines {
            units.take(Stream::Stdout, line, false);
        }
        units
    }

    #[test]
    fn a_package_of_node_is_tested_by_what_its_own_runner_counts() {
        let members = [member("ui", &["ui"]), member("app", &["app"])];
        for (through, lines) in [
            (
                "npm",
                vec![
                    "> ui@1.0.0 test",
                    "> node --test",
                    "# pass 0",
                    "# fail 0",
                    "> app@1.0.0 test",
                    "# pass 3",
                ],
            ),
            ("turbo", vec!["ui:test: # pass 0", "app:test: # pass 3"]),
            ("bun", vec!["ui test: # pass 0", "app test: # pass 3"]),
        ] {
            assert_eq!(scan(&lines).untested(&members), ["ui"], "{through}");
        }
        // A dependent with a count, or a runner with unknown output, may have tested it.
        let lines = [
            "> ui@1.0.0 test",
            "# pass 0",
            "> app@1.0.0 test",
            "# pass 3",
        ];
        let by_dependent = [member("ui", &["ui", "app"])];
        assert_eq!(scan(&lines).untested(&by_dependent), Vec::<String>::new());
        let unknown = [member("ui", &["ui", "other"])];
        assert_eq!(scan(&lines).untested(&unknown), Vec::<String>::new());
    }

    #[test]
    fn a_member_is_tested_by_the_binaries_that_nextest_names() {
        let members = [
            member("a", &["a", "it"]),
            member("b", &["b_tool"]),
            member("c", &["c"]),
        ];
        let lines = [
            "PASS [   0.010s] (1/2) a adds::two",
            "PASS [   0.010s] (2/2) b::bin/b-tool works",
            "Summary [   0.006s] 2 tests run: 2 passed, 0 skipped",
        ];
        assert_eq!(scan(&lines).untested(&members), ["c"]);
        // The settings hide passed tests.
        let lines = [
            "FAIL [   0.010s] (1/2) a adds::two",
            "Summary [   0.006s] 2 tests run: 1 passed, 1 failed, 0 skipped",
            "FAIL [   0.010s] (1/2) a adds::two",
        ];
        assert_eq!(scan(&lines).untested(&members), Vec::<String>::new());
    }

    fn member(name: &str, units: &[&str]) -> TestedMember {
        TestedMember {
            name: name.to_owned(),
            units: units.iter().map(|&unit| unit.to_owned()).collect(),
        }
    }

    const NONE: &str = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    const ONE: &str = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";

    #[test]
    fn a_member_is_tested_by_its_own_binaries_and_those_of_its_dependents() {
        let mut units = Units::default();
        for line in [
            "Compiling a v0.1.0 (/w/a)",
            "Running unittests src/lib.rs (target/debug/deps/a-3e1f0c8d2b7a6954)",
            "Running tests/it.rs (target/debug/deps/it-3e1f0c8d2b7a6955)",
            "Running unittests src/main.rs (target/debug/deps/b_tool-3e1f0c8d2b7a6956)",
            "Doc-tests a",
        ] {
            units.take(Stream::Stderr, line, false);
        }
        for line in [NONE, ONE, NONE, NONE] {
            units.take(Stream::Stdout, line, false);
        }
        let members = [
            member("a", &["a", "it"]),
            member("b", &["b_tool"]),
            member("c", &["c", "a", "it"]),
            member("unknown", &[]),
        ];
        assert_eq!(units.untested(&members), ["b"]);
        // One binary prints no summary, and it is unknown which.
        units.take(Stream::Stderr, "Doc-tests b", false);
        assert_eq!(units.untested(&members), Vec::<String>::new());
    }

    #[test]
    fn a_go_package_is_tested_by_its_own_tests_and_those_that_import_it() {
        let mut units = Units::default();
        for line in [
            "ok  \tx/a\t0.002s",
            "?   \tx/b\t[no test files]",
            "ok  \tx/c\t0.002s [no tests to run]",
        ] {
            units.take(Stream::Stdout, line, false);
        }
        let members = [
            member("x/a", &["x/a"]),
            member("x/b", &["x/b", "x/a"]),
            member("x/c", &["x/c", "x/b"]),
        ];
        assert_eq!(units.untested(&members), ["x/c"]);
    }
}
