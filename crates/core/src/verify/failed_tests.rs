//! The names of failing tests, from what test runners print.

mod blocks;
mod tap;

use std::collections::BTreeSet;

/// The most names that are kept.
pub(super) const MOST: usize = 1_000;
/// The longest name, in characters.
const NAME_CHARS: usize = 200;

type Reader = fn(&[&str]) -> Vec<String>;

/// The failing tests that runners name in this output, in alphabetical order.
pub fn failed_tests(output: &str) -> Vec<String> {
    const READERS: [Reader; 10] = [
        tap::tap,
        tap::node_tree,
        blocks::mocha,
        blocks::ava,
        blocks::jest,
        blocks::unittest,
        blocks::ctest,
        blocks::go,
        blocks::bun,
        blocks::deno,
    ];
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let alone = lines.iter().filter_map(|line| name_in(line));
    let alone = alone.map(str::to_owned);
    let names: BTreeSet<String> = READERS
        .iter()
        .flat_map(|read| read(&lines))
        .chain(alone)
        .map(|name| name.trim().chars().take(NAME_CHARS).collect())
        .filter(|name: &String| !name.is_empty())
        .collect();
    names.into_iter().take(MOST).collect()
}

/// The name in a line that contains it completely.
fn name_in(line: &str) -> Option<&str> {
    cargo(line)
        .or_else(|| nextest(line))
        .or_else(|| pytest(line))
        .or_else(|| vitest(line))
        .or_else(|| surefire(line))
        .or_else(|| gradle(line))
        .or_else(|| rspec(line))
}

/// `test module::name ... FAILED`, with or without a message in between.
fn cargo(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.split(" - should panic").next().unwrap_or(name))
}

/// `FAIL [   0.123s] (1/2) crate::binary module::name`.
fn nextest(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let rest = rest
        .strip_prefix("FAIL [")
        .or_else(|| rest.strip_prefix("TIMEOUT ["))?;
    let rest = rest.split_once("] ")?.1.trim_start();
    // In newer versions, the count comes before the name.
    let rest = match rest.strip_prefix('(') {
        Some(counted) => counted.split_once(") ")?.1,
        None => rest,
    };
    Some(rest)
}

/// Parses `FAILED tests/test_a.py::test_b - AssertionError` and `ERROR tests/test_a.py::test_b`.
fn pytest(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("FAILED ")
        .or_else(|| line.strip_prefix("ERROR "))?;
    // The parameters may contain the same dash.
    let params = rest.find('[').filter(|at| !rest[..*at].contains(" - "));
    let name = match params.and_then(|at| rest[at..].find("] - ").map(|end| at + end + 1)) {
        Some(end) => &rest[..end],
        None if params.is_some() && rest.ends_with(']') => rest,
        None => rest.split(" - ").next()?,
    };
    name.contains(".py").then_some(name)
}

/// Parses `FAIL  file > suite > name` of vitest; `FAIL  file [ file ]` if the file could not be read.
fn vitest(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix("FAIL  ")?.trim_start();
    if let Some((file, again)) = name.split_once(" [ ") {
        return (again.strip_suffix(" ]") == Some(file)).then_some(file);
    }
    name.contains(" > ").then_some(name)
}

/// `[ERROR]   FooTest.bar:12 expected …` of Maven.
fn surefire(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[ERROR] ")?.trim_start();
    let name = rest.split([' ', ':']).next()?;
    let is_test = name.split_once('.').is_some_and(|(class, method)| {
        class.ends_with("Test")
            || class.ends_with("Tests")
            || class.ends_with("IT")
            || method.starts_with("test")
    });
    is_test.then_some(name)
}

/// `FooTest > bar() FAILED` of Gradle.
fn gradle(line: &str) -> Option<&str> {
    let name = line.strip_suffix(" FAILED")?;
    name.contains(" > ").then_some(name)
}

/// Parses `rspec ./spec/a_spec.rb:3 # does a thing`. The line number changes with every edit above it.
fn rspec(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("rspec ./")?;
    let (place, name) = rest.split_once(" # ")?;
    place.contains("_spec.rb").then_some(name)
}

#[cfg(test)]
#[path = "failed_tests_recorded.rs"]
mod recorded;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_names_its_failing_tests() {
        for (line, expected) in [
            ("test codec::reads ... FAILED", "codec::reads"),
            ("test adds - should panic ... FAILED", "adds"),
            (
                "        FAIL [   0.314s] (  5/218) drive::it cli::works",
                "drive::it cli::works",
            ),
            (
                "        FAIL [   0.314s] drive::it cli::works",
                "drive::it cli::works",
            ),
            (
                "FAILED tests/test_a.py::test_b[1-2] - assert 1 == 2",
                "tests/test_a.py::test_b[1-2]",
            ),
            (
                "FAILED tests/test_a.py::test_b[a - b] - assert x[0] == 2",
                "tests/test_a.py::test_b[a - b]",
            ),
            (
                "FAILED tests/test_a.py::test_b[a - b]",
                "tests/test_a.py::test_b[a - b]",
            ),
            (
                "FAILED tests/test_a.py::test_b - assert x[0] == 2",
                "tests/test_a.py::test_b",
            ),
            ("ERROR tests/test_a.py", "tests/test_a.py"),
            ("    --- FAIL: TestSum/negative (0.00s)", "TestSum/negative"),
            (
                " FAIL  src/a.test.ts > math > adds",
                "src/a.test.ts > math > adds",
            ),
            ("not ok 3 - adds two numbers", "adds two numbers"),
            (
                "[ERROR]   CalcTest.adds:12 expected: <2> but was: <3>",
                "CalcTest.adds",
            ),
            ("CalcTest > adds() FAILED", "CalcTest > adds()"),
            ("rspec ./spec/calc_spec.rb:3 # Calc adds", "Calc adds"),
        ] {
            assert_eq!(failed_tests(line), [expected], "{line}");
        }
    }

    #[test]
    fn other_lines_name_none() {
        for line in [
            "test codec::reads ... ok",
            "test result: FAILED. 1 passed; 2 failed",
            "FAILED (failures=1)",
            "FAILED to connect - retrying",
            "--- PASS: TestSum (0.00s)",
            "● Console",
            "  ● math › adds",
            "    not ok 1 - the output was cut above it",
            "not ok 3 - later # TODO write it",
            "ok 1 - adds",
            "[ERROR] Failed to execute goal org.apache.maven.plugins",
            "BUILD FAILED",
            "FAIL src/a.test.ts",
            "  1) adds",
            "FAIL: test_adds (test_a.T.test_adds)",
            "✖ adds",
        ] {
            assert_eq!(failed_tests(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn names_are_listed_once_and_not_without_end() {
        let line = |n: usize| format!("test t{n:04} ... FAILED\n");
        let output: String = (0..2_000).chain(0..2_000).map(line).collect();
        let names = failed_tests(&output);
        assert_eq!(names.len(), MOST);
        assert_eq!(names[1], "t0001");
    }
}
