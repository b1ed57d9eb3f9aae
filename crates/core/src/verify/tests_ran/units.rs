//! Finds the parts of a workspace that ran tests: the binaries of Cargo and the packages of Go.

use super::runners::{self, Said};
use crate::process::Stream;
use crate::verify::plan::TestedMember;
use std::collections::BTreeSet;

/// What the lines say about single parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    /// The binaries that Cargo started, in order.
    started: Vec<String>,
    /// How many tests each of them ran, in order.
    ran: Vec<u64>,
    /// The packages of Go that ended.
    packages: BTreeSet<String>,
    /// Those of them that ran tests.
    tested: BTreeSet<String>,
}

impl Units {
    /// Takes one line. Cargo prints on standard error, the binaries on standard output.
    pub(super) fn take(&mut self, source: Stream, line: &str) {
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

    /// The members that no test exercised; none where the output does not tell.
    pub(super) fn untested(&self, members: &[TestedMember]) -> Vec<String> {
        let is_matched = !self.started.is_empty() && self.started.len() == self.ran.len();
        let started = self.started.iter().zip(&self.ran);
        let tested: BTreeSet<&String> = if is_matched {
            let tested = started.filter(|(_, ran)| **ran > 0);
            tested.map(|(unit, _)| unit).collect()
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

/// `Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)`, `Running tests/it.rs (…)`,
/// `Doc-tests a` (cargo 1.95.0).
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

#[cfg(test)]
mod tests {
    use super::*;

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
            units.take(Stream::Stderr, line);
        }
        for line in [NONE, ONE, NONE, NONE] {
            units.take(Stream::Stdout, line);
        }
        let members = [
            member("a", &["a", "it"]),
            member("b", &["b_tool"]),
            member("c", &["c", "a", "it"]),
            member("unknown", &[]),
        ];
        assert_eq!(units.untested(&members), ["b"]);
        // A binary that prints no summary: nobody knows which one.
        units.take(Stream::Stderr, "Doc-tests b");
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
            units.take(Stream::Stdout, line);
        }
        let members = [
            member("x/a", &["x/a"]),
            member("x/b", &["x/b", "x/a"]),
            member("x/c", &["x/c", "x/b"]),
        ];
        assert_eq!(units.untested(&members), ["x/c"]);
    }
}
