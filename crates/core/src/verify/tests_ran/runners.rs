//! The summary lines of test runners, with one reader for each. If a reader names a version, that
//! version printed the line; `tests_ran_tests.rs` contains the recorded text.

/// What one line reports about tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// This many ran; 0 if the line reports that none did.
    Ran(u64),
    /// This many were skipped of those that another line counts as run.
    Skipped(u64),
    /// The tests of one Go package ran.
    Package,
    /// Only the name of a Go test.
    Name,
    /// A Go test started.
    Run,
    /// CTest starts.
    CtestStarts,
    /// The number of tests that `ctest -N` lists.
    CtestTotal,
}

type Reader = fn(&str) -> Option<Said>;

/// What one line reports; `None` if it is not a summary. Runners of several packages print the package's name
/// first: `packages/ui test: ` (pnpm), `ui:test: ` (turbo), `ui test: ` (bun), `[ui]: ` (yarn).
pub(super) fn said_in(line: &str) -> Option<Said> {
    read(line).or_else(|| read(after_package(line)?))
}

/// The rest of a line after a package's name.
pub(super) fn after_package(line: &str) -> Option<&str> {
    let (prefix, rest) = line.split_once(": ")?;
    let is_package = prefix.split(' ').count() <= 2 && prefix != "Tests";
    is_package.then(|| rest.trim())
}

fn read(line: &str) -> Option<Said> {
    const COUNTING: [fn(&str) -> Option<u64>; 21] = [
        libtest, cargo_list, nextest, pytest, unittest, node, jest, vitest, mocha, ava, bun, rspec,
        minitest, phpunit, pest, maven, gradle, dotnet, ctest, deno, tapjs_ran,
    ];
    const READERS: [Reader; 3] = [go, unittest_skips, ctest_list];
    let counted = COUNTING.iter().find_map(|read| read(line)).map(Said::Ran);
    counted.or_else(|| READERS.iter().find_map(|read| read(line)))
}

/// `test result: ok. 3 passed; 1 failed; 0 ignored; 2 measured; 0 filtered out; finished in 0.00s`
pub(super) fn libtest(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    Some(count(counts, &["passed", "failed", "measured"]))
}

/// `1 test, 0 benchmarks` of `-- --list`, `Executable unittests src/lib.rs (target/…)` of `--no-run`.
fn cargo_list(line: &str) -> Option<u64> {
    let is_list = line.split_once(", ").is_some_and(|(tests, benchmarks)| {
        numbered(tests, &["test", "tests"]).is_some()
            && numbered(benchmarks, &["benchmark", "benchmarks"]).is_some()
    });
    let is_built = line.starts_with("Executable ") && line.contains("/deps/");
    (is_list || is_built).then_some(0)
}

/// `Summary [   0.006s] 1 test run: 1 passed, 1 skipped`
pub(super) fn nextest(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once(']')?;
    let (head, _) = rest.split_once(" run:")?;
    // An interrupted run prints `3/7 tests run`.
    let number = head.split_whitespace().next()?;
    number.split('/').next()?.parse().ok()
}

/// `=== 1 failed, 2 passed, 1 skipped in 0.02s ===`, or without the rules under `-q`; with `--co`
/// `2 tests collected in 0.03s` (pytest 9.2.0).
pub(super) fn pytest(line: &str) -> Option<u64> {
    let inner = line.trim_matches('=').trim();
    let (counts, time) = inner.rsplit_once(" in ")?;
    let seconds = time.split_whitespace().next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    let is_none = counts == "no tests ran"
        || ["test collected", "tests collected"]
            .iter()
            .any(|words| counts.contains(words));
    if is_none {
        return Some(0);
    }
    const WORDS: [&str; 10] = [
        "passed",
        "failed",
        "error",
        "errors",
        "skipped",
        "deselected",
        "xfailed",
        "xpassed",
        "warning",
        "warnings",
    ];
    let all_counts = counts
        .split(", ")
        .all(|part| numbered(part, &WORDS).is_some());
    all_counts.then(|| {
        count(
            counts,
            &["passed", "failed", "error", "errors", "xfailed", "xpassed"],
        )
    })
}

/// `Ran 0 tests in 0.000s`
fn unittest(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Ran ")?;
    let (number, after) = rest.split_once(' ')?;
    after.strip_prefix("test").filter(|s| s.contains(" in "))?;
    number.parse().ok()
}

/// `OK (skipped=1)`, `FAILED (failures=1, skipped=2)`: unittest counts skipped tests as run.
fn unittest_skips(line: &str) -> Option<Said> {
    let rest = line
        .strip_prefix("OK (")
        .or_else(|| line.strip_prefix("FAILED ("))?;
    let counts = rest.strip_suffix(')')?.split(", ");
    let skipped = counts
        .filter_map(|part| part.strip_prefix("skipped="))
        .find_map(|number| number.parse().ok())?;
    Some(Said::Skipped(skipped))
}

/// `ok pkg 0.002s`, `ok pkg 0.002s [no tests to run]` or `? pkg [no test files]`, with tabs between; also
/// within the lines of `-json`. `-list` prints bare names before the same `ok` (go 1.19.8).
pub(super) fn go(line: &str) -> Option<Said> {
    let inner = line
        .split_once("\"Output\":\"")
        .map_or(line.to_owned(), |(_, rest)| {
            rest.replace("\\t", "\t").replace("\\n\"}", "")
        });
    if inner.starts_with("=== RUN") || inner.starts_with("--- ") {
        return Some(Said::Run);
    }
    let is_name = ["Test", "Benchmark", "Example", "Fuzz"]
        .iter()
        .any(|kind| inner.starts_with(kind))
        && inner.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_name {
        return Some(Said::Name);
    }
    let mut fields = inner.split('\t');
    let verdict = fields.next()?.trim();
    let package = fields.next()?;
    if package.is_empty() || package.contains(' ') {
        return None;
    }
    let rest = fields.collect::<Vec<_>>().join(" ");
    match verdict {
        "?" => rest.contains("[no test files]").then_some(Said::Ran(0)),
        "ok" if rest.contains("[no tests to run]") => Some(Said::Ran(0)),
        "ok" => Some(Said::Package),
        "FAIL" => Some(Said::Ran(1)),
        _ => None,
    }
}

/// Parses `# { total: 2, pass: 1, fail: 1 }` (tap 21), and `{ total: 1, pass: 1 }` if none failed.
pub(super) fn tapjs(line: &str) -> Option<Vec<(&str, u64)>> {
    let counts = line.strip_prefix("# { ")?.strip_suffix(" }")?;
    pairs(counts).filter(|pairs| pairs.first().is_some_and(|(name, _)| *name == "total"))
}

fn tapjs_ran(line: &str) -> Option<u64> {
    let pairs = tapjs(line)?;
    let ran = pairs
        .iter()
        .filter(|(name, _)| ["pass", "fail"].contains(name));
    Some(ran.fold(0, |sum, (_, number)| sum.saturating_add(*number)))
}

/// `# pass 1`, `ℹ pass 1`, `# fail 0`: the counts of node's own runner, one a line. tape (5.10.2) writes
/// `# pass  1`.
fn node(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("ℹ "))?;
    let (word, number) = rest.split_once(' ')?;
    let number: u64 = number.trim().parse().ok()?;
    match word {
        "pass" | "fail" => Some(number),
        _ => None,
    }
}

/// `Tests:       1 failed, 1 skipped, 1 passed, 3 total`, or `No tests found, exiting with code 0`.
pub(super) fn jest(line: &str) -> Option<u64> {
    if line.starts_with("No tests found, exiting with code") {
        return Some(0);
    }
    let counts = line.strip_prefix("Tests:")?.trim();
    counts
        .ends_with(" total")
        .then(|| count(counts, &["passed", "failed"]))
}

/// `Tests  1 failed | 1 passed | 1 skipped (3)`, or `No test files found, exiting with code 0`.
pub(super) fn vitest(line: &str) -> Option<u64> {
    if line.starts_with("No test files found, exiting with code") {
        return Some(0);
    }
    let (counts, total) = line.strip_prefix("Tests  ")?.trim().rsplit_once(" (")?;
    total.strip_suffix(')')?.parse::<u64>().ok()?;
    Some(count(&counts.replace('|', ","), &["passed", "failed"]))
}

/// `0 passing (1ms)` and `1 failing`, one a line.
fn mocha(line: &str) -> Option<u64> {
    let (number, rest) = line.split_once(' ')?;
    let number = number.parse().ok()?;
    let is_time = |rest: &str| rest.starts_with(" (") && rest.ends_with(')');
    match rest.strip_prefix("passing") {
        Some(time) => is_time(time).then_some(number),
        None => (rest == "failing").then_some(number),
    }
}

/// `1 test passed`, `2 tests failed`, one a line (ava 7.0.0).
fn ava(line: &str) -> Option<u64> {
    let words = ["test passed", "tests passed", "test failed", "tests failed"];
    numbered(line, &words)
}

/// Parses `1 pass` and `2 fail`, one per line (bun 1.4.4). `0 fail` alone does not show how many tests ran.
fn bun(line: &str) -> Option<u64> {
    let failed = || numbered(line, &["fail"]).filter(|&failed| failed > 0);
    numbered(line, &["pass"]).or_else(failed)
}

/// `ok | 1 passed | 0 failed (5ms)`
fn deno(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("ok | ")
        .or_else(|| line.strip_prefix("FAILED | "))?;
    let (counts, _) = rest.rsplit_once(" (")?;
    Some(count(&counts.replace('|', ","), &["passed", "failed"]))
}

/// `2 examples, 0 failures, 1 pending` (RSpec 3.12).
pub(super) fn rspec(line: &str) -> Option<u64> {
    let (examples, rest) = line.split_once(", ")?;
    let examples = numbered(examples, &["example", "examples"])?;
    let failures = rest.split(", ").next()?;
    numbered(failures, &["failure", "failures"])?;
    Some(examples.saturating_sub(count(rest, &["pending"])))
}

/// `2 runs, 0 assertions, 0 failures, 0 errors, 1 skips` (minitest), `2 tests, 0 assertions, … , 0
/// pendings, 1 omissions, 0 notifications` (test-unit).
pub(super) fn minitest(line: &str) -> Option<u64> {
    let (runs, rest) = line.split_once(", ")?;
    let runs = numbered(runs, &["run", "runs", "test", "tests"])?;
    let assertions = rest.split(", ").next()?;
    numbered(assertions, &["assertion", "assertions"])?;
    Some(runs.saturating_sub(count(rest, &["skips", "omissions", "pendings"])))
}

/// `OK (1 test, 1 assertion)`, `Tests: 2, Assertions: 1, Skipped: 1.`, `No tests executed!`, and
/// `Available test(s):` of `--list-tests` (PHPUnit 9.6.7; 11 writes `Available tests:`).
pub(super) fn phpunit(line: &str) -> Option<u64> {
    if line == "No tests executed!" || line.starts_with("Available test") {
        return Some(0);
    }
    if let Some(rest) = line.strip_prefix("OK (") {
        let (tests, assertions) = rest.strip_suffix(')')?.split_once(", ")?;
        numbered(assertions, &["assertion", "assertions"])?;
        return numbered(tests, &["test", "tests"]);
    }
    let rest = line.strip_suffix('.').unwrap_or(line);
    let pairs = pairs(rest)?;
    pairs.iter().find(|(name, _)| *name == "Assertions")?;
    let of = |wanted: &str| pairs.iter().find(|(n, _)| *n == wanted).map(|(_, n)| *n);
    let none = of("Skipped").unwrap_or(0) + of("Incomplete").unwrap_or(0);
    Some(of("Tests")?.saturating_sub(none))
}

/// `Tests:    1 passed (2 assertions)` (Pest).
pub(super) fn pest(line: &str) -> Option<u64> {
    let (counts, assertions) = line.strip_prefix("Tests:")?.trim().rsplit_once(" (")?;
    assertions
        .strip_suffix(')')?
        .contains("assertion")
        .then(|| count(counts, &["passed", "failed"]))
}

/// `[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1`, `[INFO] Tests are skipped.`,
/// `[INFO] No tests to run.`, `[INFO] Not compiling test sources` (Maven 3.8.7, Surefire 3).
fn maven(line: &str) -> Option<u64> {
    let rest = ["[INFO] ", "[WARNING] ", "[ERROR] "]
        .iter()
        .find_map(|level| line.strip_prefix(level))
        .unwrap_or(line);
    if [
        "Tests are skipped.",
        "No tests to run.",
        "There are no tests to run.",
    ]
    .contains(&rest)
    {
        return Some(0);
    }
    let counts = rest.strip_prefix("Tests run: ")?;
    let mut parts = counts.split(", ");
    let ran: u64 = parts.next()?.trim().parse().ok()?;
    let skipped = parts
        .filter_map(|part| part.strip_prefix("Skipped: "))
        .find_map(|number| {
            number
                .split_whitespace()
                .next()?
                .trim_end_matches(',')
                .parse()
                .ok()
        });
    Some(ran.saturating_sub(skipped.unwrap_or(0)))
}

/// `> Task :app:test`, `> Task :test NO-SOURCE` with the plain console; `:test SKIPPED` with
/// `--dry-run` and in Gradle 4.4.1.
/// A task that is up to date counts: Gradle keeps its result for the same inputs.
fn gradle(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("> Task ").unwrap_or(line);
    let mut words = rest.split(' ');
    let task = words.next()?.strip_prefix(':')?;
    let name = task.rsplit(':').next()?;
    // Tests for several platforms are `jvmTest`, `testDebugUnitTest` and the like.
    let runs_tests = name == "test" || (name.ends_with("Test") && name != "cleanTest");
    let outcome = words.next();
    if !runs_tests || words.next().is_some() {
        return None;
    }
    match outcome {
        None | Some("UP-TO-DATE" | "FROM-CACHE" | "FAILED") => Some(1),
        Some("NO-SOURCE" | "SKIPPED") => Some(0),
        Some(_) => None,
    }
}

/// `Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 12 ms - x.dll`,
/// `No test is available in …`, `The following Tests are available:` (VSTest), `total: 3` below
/// `Test run summary:` (Microsoft.Testing.Platform).
fn dotnet(line: &str) -> Option<u64> {
    let is_none = [
        "No test is available in ",
        "No test matches the given testcase filter",
    ]
    .iter()
    .any(|start| line.starts_with(start))
        || line == "The following Tests are available:";
    if is_none {
        return Some(0);
    }
    if let Some(number) = line.strip_prefix("succeeded: ") {
        return number.parse().ok();
    }
    if let Some(number) = line.strip_prefix("failed: ") {
        return number.parse().ok().filter(|&failed| failed > 0);
    }
    let (_, counts) = line.split_once("! ")?;
    let counts = counts.trim_start().strip_prefix("- ")?;
    let of = |wanted: &str| {
        let part = counts
            .split(", ")
            .find_map(|part| part.strip_prefix(wanted))?;
        part.trim().parse::<u64>().ok()
    };
    Some(of("Failed:")?.saturating_add(of("Passed:")?))
}

/// `100% tests passed, 0 tests failed out of 3`, `No tests were found!!!` (CTest 3.25.1).
pub(super) fn ctest(line: &str) -> Option<u64> {
    if line == "No tests were found!!!" {
        return Some(0);
    }
    let (percent, rest) = line.split_once("% tests passed, ")?;
    percent.parse::<u64>().ok()?;
    rest.rsplit_once(" out of ")?.1.parse().ok()
}

/// `Test project /w/build`, and after it `Total Tests: 3` of `ctest -N` (3.25.1).
fn ctest_list(line: &str) -> Option<Said> {
    if line.starts_with("Test project /") {
        return Some(Said::CtestStarts);
    }
    let number = line.strip_prefix("Total Tests: ")?;
    number.parse::<u64>().ok().map(|_| Said::CtestTotal)
}

/// The number in a text such as `3 tests`, if the words after it are one of `words`.
pub(super) fn numbered(text: &str, words: &[&str]) -> Option<u64> {
    let (number, word) = text.trim().split_once(' ')?;
    words.contains(&word).then(|| number.parse().ok()).flatten()
}

/// The names and numbers in a text such as `Tests: 2, Assertions: 1`; `None` if it contains anything else.
pub(super) fn pairs(text: &str) -> Option<Vec<(&str, u64)>> {
    text.split(", ")
        .map(|part| {
            let (name, number) = part.split_once(": ")?;
            Some((name, number.parse().ok()?))
        })
        .collect()
}

/// The sum of the numbers before any of `words`, in a text such as `3 passed; 1 failed, 2 skipped`.
pub(super) fn count(text: &str, words: &[&str]) -> u64 {
    text.split([';', ','])
        .filter_map(|part| part.trim().split_once(' '))
        .filter(|(_, word)| words.contains(&word.trim()))
        .filter_map(|(number, _)| number.parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}
