//! Counts failed tests in the summaries of test runners. Go counts packages, and Maven prints each
//! number twice.

use super::runners::{self, count, numbered, pairs};

type Reader = fn(&str) -> Option<u64>;

/// The number of failures in a line, if it is a summary.
pub(super) fn failures_in(line: &str) -> Option<u64> {
    read(line).or_else(|| read(runners::after_package(line)?))
}

fn read(line: &str) -> Option<u64> {
    const READERS: [Reader; 14] = [
        libtest, nextest, pytest, unittest, node, jest, mocha, ava, bun, deno, rspec, phpunit,
        ctest, tapjs,
    ];
    READERS.iter().find_map(|read| read(line))
}

/// Reads `test result: FAILED. 3 passed; 1 failed; 0 ignored; …`.
fn libtest(line: &str) -> Option<u64> {
    runners::libtest(line)?;
    Some(count(line.split_once(". ")?.1, &["failed"]))
}

/// Reads `Summary [   0.006s] 3 tests run: 1 passed, 2 failed, 1 skipped`.
fn nextest(line: &str) -> Option<u64> {
    runners::nextest(line)?;
    let words = ["failed", "exec failed", "timed out"];
    Some(count(line.split_once(" run:")?.1, &words))
}

/// Reads `=== 1 failed, 2 passed, 1 error in 0.02s ===`.
fn pytest(line: &str) -> Option<u64> {
    runners::pytest(line)?;
    let inner = line.trim_matches('=').trim();
    let counts = inner.rsplit_once(" in ")?.0;
    Some(count(counts, &["failed", "error", "errors"]))
}

/// `FAILED (failures=1, errors=2)`
fn unittest(line: &str) -> Option<u64> {
    let counts = line.strip_prefix("FAILED (")?.strip_suffix(')')?;
    let numbers = counts.split(", ").filter_map(|part| {
        let number = part.strip_prefix("failures=");
        number
            .or_else(|| part.strip_prefix("errors="))?
            .parse()
            .ok()
    });
    Some(numbers.fold(0, u64::saturating_add))
}

/// `# fail 1`, `ℹ fail 1`
fn node(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("# fail ")
        .or_else(|| line.strip_prefix("ℹ fail "))?;
    rest.trim().parse().ok()
}

/// `Tests:       1 failed, 1 passed, 2 total` of jest, `Tests  1 failed | 1 passed (2)` of vitest and
/// `Tests:    1 failed, 1 passed (3 assertions)` of Pest.
fn jest(line: &str) -> Option<u64> {
    runners::jest(line)
        .or_else(|| runners::vitest(line))
        .or_else(|| runners::pest(line))?;
    let counts = line.strip_prefix("Tests")?.trim_start_matches(':');
    let counts = counts.split_once(" (").map_or(counts, |(counts, _)| counts);
    Some(count(&counts.replace('|', ","), &["failed"]))
}

/// `1 failing`
fn mocha(line: &str) -> Option<u64> {
    numbered(line, &["failing"])
}

/// `2 tests failed`
fn ava(line: &str) -> Option<u64> {
    numbered(line, &["test failed", "tests failed"])
}

/// `2 fail`
fn bun(line: &str) -> Option<u64> {
    numbered(line, &["fail"])
}

/// `FAILED | 1 passed | 2 failed (5ms)`
fn deno(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("FAILED | ")?;
    let (counts, _) = rest.rsplit_once(" (")?;
    Some(count(&counts.replace('|', ","), &["failed"]))
}

/// `2 examples, 1 failure` of RSpec, `2 runs, 0 assertions, 1 failures, 1 errors, 0 skips` of minitest and
/// test-unit.
fn rspec(line: &str) -> Option<u64> {
    runners::rspec(line).or_else(|| runners::minitest(line))?;
    Some(count(line, &["failure", "failures", "error", "errors"]))
}

/// `Tests: 2, Assertions: 1, Failures: 1, Errors: 1.`
fn phpunit(line: &str) -> Option<u64> {
    runners::phpunit(line)?;
    let pairs = pairs(line.strip_suffix('.').unwrap_or(line))?;
    let failed = pairs
        .iter()
        .filter(|(name, _)| ["Failures", "Errors"].contains(name));
    Some(failed.fold(0, |sum, (_, number)| sum.saturating_add(*number)))
}

/// Parses `# { total: 2, pass: 1, fail: 1 }`.
fn tapjs(line: &str) -> Option<u64> {
    let pairs = runners::tapjs(line)?;
    let failed = pairs.iter().find(|(name, _)| *name == "fail");
    Some(failed.map_or(0, |(_, number)| *number))
}

/// `50% tests passed, 1 tests failed out of 2`
fn ctest(line: &str) -> Option<u64> {
    runners::ctest(line)?;
    let (_, rest) = line.split_once("% tests passed, ")?;
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_how_many_tests_failed() {
        for (line, expected) in [
            (
                "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
                Some(1),
            ),
            (
                "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
                Some(0),
            ),
            (
                "Summary [   0.006s] 4 tests run: 1 passed, 2 failed, 1 timed out, 1 skipped",
                Some(3),
            ),
            ("=== 1 failed, 2 passed, 1 error in 0.02s ===", Some(2)),
            ("FAILED (failures=1, errors=2)", Some(3)),
            ("# fail 2", Some(2)),
            (
                "Tests:       1 failed, 1 skipped, 1 passed, 3 total",
                Some(1),
            ),
            ("Tests  1 failed | 1 passed | 1 skipped (3)", Some(1)),
            ("Tests:    2 failed, 1 passed (3 assertions)", Some(2)),
            ("1 failing", Some(1)),
            ("2 tests failed", Some(2)),
            ("2 fail", Some(2)),
            ("FAILED | 1 passed | 2 failed (5ms)", Some(2)),
            ("2 examples, 1 failure, 1 pending", Some(1)),
            (
                "2 runs, 0 assertions, 1 failures, 1 errors, 0 skips",
                Some(2),
            ),
            ("Tests: 2, Assertions: 1, Failures: 1, Errors: 1.", Some(2)),
            ("50% tests passed, 1 tests failed out of 2", Some(1)),
            ("# { total: 2, pass: 1, fail: 1 }", Some(1)),
            ("# { total: 1, pass: 1 }", Some(0)),
            ("ui:test: Tests:       1 failed, 1 passed, 2 total", Some(1)),
            ("3 failing engines", None),
            ("failed", None),
        ] {
            assert_eq!(failures_in(line), expected, "{line}");
        }
    }
}
