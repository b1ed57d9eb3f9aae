//! Runners that announce a run before its first test, and the line that each prints at its end.
//!
//! A test that exits its process with code 0 also ends the runner before its summary. Only the
//! missing summary shows that.

use super::listing::basename;
use super::runners;

/// The runners with a known first line.
const RUNNERS: [(Begins, Ends); 8] = [
    (Begins::Each(libtest), |line| {
        runners::libtest(line).is_some()
    }),
    (Begins::Each(nextest), |line| {
        runners::nextest(line).is_some()
    }),
    (Begins::Each(pytest), |line| {
        runners::pytest(line).is_some() || is_sugar(line)
    }),
    (Begins::Each(vitest), |line| runners::vitest(line).is_some()),
    (Begins::Each(tap), is_tap_plan),
    (Begins::Each(minitest), |line| {
        runners::minitest(line).is_some()
    }),
    (Begins::Once(jest), |line| runners::jest(line).is_some()),
    (Begins::Once(phpunit), |line| {
        runners::phpunit(line).is_some()
    }),
];

type Ends = fn(&str) -> bool;

/// How a runner's first line begins a run.
#[derive(Clone, Copy)]
enum Begins {
    /// Each such line begins a separate run.
    Each(fn(&str) -> bool),
    /// Such lines belong to one run.
    Once(fn(&str) -> bool),
}

/// For each runner, how many runs began and did not end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    runs: [u32; RUNNERS.len()],
    has_ended: bool,
}

impl Open {
    /// Reads one line. A runner of several packages prints the package's name first.
    pub(super) fn take(&mut self, line: &str) {
        let after = runners::after_package(line).filter(|rest| !rest.is_empty());
        let lines = std::iter::once(line).chain(after);
        for (open, (begins, ends)) in self.runs.iter_mut().zip(RUNNERS) {
            if lines.clone().any(ends) {
                self.has_ended = true;
                *open = open.saturating_sub(1);
                continue;
            }
            match begins {
                Begins::Each(begins) if lines.clone().any(begins) => *open = open.saturating_add(1),
                Begins::Once(begins) if lines.clone().any(begins) => *open = 1,
                Begins::Each(_) | Begins::Once(_) => {}
            }
        }
    }

    /// Whether a run began and did not end.
    pub(super) fn any(self) -> bool {
        self.runs.iter().any(|&open| open > 0)
    }

    /// Whether a run ended, with or without a count.
    pub(super) fn has_ended(self) -> bool {
        self.has_ended
    }
}

/// `running 3 tests`
fn libtest(line: &str) -> bool {
    let rest = line.strip_prefix("running ");
    rest.and_then(|rest| rest.split_once(' '))
        .is_some_and(|(number, noun)| {
            number.parse::<u64>().is_ok() && ["test", "tests"].contains(&noun)
        })
}

/// `Starting 3 tests across 1 binary (1 test skipped)`
fn nextest(line: &str) -> bool {
    let rest = line.strip_prefix("Starting ");
    rest.and_then(|rest| rest.split_once(' '))
        .is_some_and(|(number, rest)| {
            let is_across = ["test across ", "tests across "]
                .iter()
                .any(|words| rest.starts_with(words));
            number.parse::<u64>().is_ok() && is_across
        })
}

/// `=== test session starts ===`; not printed with `-q`.
fn pytest(line: &str) -> bool {
    line.starts_with("==") && line.trim_matches('=').trim() == "test session starts"
}

/// `Results (0.05s):` of the plugins pytest-sugar and pytest-pretty, which print no other summary.
fn is_sugar(line: &str) -> bool {
    let rest = line.strip_prefix("Results (");
    rest.and_then(|rest| rest.trim_end_matches(':').strip_suffix("s)"))
        .is_some_and(|seconds| seconds.parse::<f64>().is_ok())
}

/// `RUN  v4.1.12 /w`
fn vitest(line: &str) -> bool {
    let rest = line.strip_prefix("RUN").map(str::trim_start);
    rest.and_then(|rest| rest.strip_prefix('v'))
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `TAP version 13`
fn tap(line: &str) -> bool {
    let rest = line.strip_prefix("TAP version ");
    rest.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// `1..3`, or `1..0 # SKIP`: the plan may stand first or last, but every run has one.
fn is_tap_plan(line: &str) -> bool {
    let rest = line.strip_prefix("1..");
    rest.and_then(|rest| rest.split(' ').next())
        .is_some_and(|number| number.parse::<u64>().is_ok())
}

/// `# Running:`
fn minitest(line: &str) -> bool {
    line == "# Running:"
}

/// `PASS src/a.test.js (5.2 s)`, one for each file, and `process.exit called with "0"`, which jest prints
/// before it lets the call end it.
fn jest(line: &str) -> bool {
    const ENDINGS: [&str; 8] = [".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"];
    let file = ["PASS ", "FAIL "]
        .iter()
        .find_map(|verdict| line.strip_prefix(verdict))
        .map(|rest| rest.split_once(" (").map_or(rest, |(file, _)| file));
    let is_file = file.is_some_and(|file| {
        !file.trim().contains(' ') && ENDINGS.iter().any(|ending| file.ends_with(ending))
    });
    let rest = line.strip_prefix('●').map(str::trim_start);
    is_file || rest.is_some_and(|rest| rest.starts_with("process.exit called with "))
}

/// `PHPUnit 9.6.7 by Sebastian Bergmann and contributors.`
fn phpunit(line: &str) -> bool {
    line.starts_with("PHPUnit ") && line.contains(" by Sebastian Bergmann")
}

/// Runners that end every run with a readable summary, and the arguments that suppress it.
const SUMMARIZING: [(&[&str], &[&str]); 11] = [
    (&["pytest"], &["-qq", "no:terminal"]),
    (&["py.test"], &["-qq", "no:terminal"]),
    (&["unittest"], &[]),
    (&["node", "--test"], &["--test-reporter"]),
    (&["jest"], &["--reporters", "--json"]),
    (&["vitest"], &["--reporter", "bench"]),
    (&["mocha"], &["-R", "--reporter", "--reporters"]),
    (&["rspec"], &["-f", "--format", "-o", "--out"]),
    (&["bun", "test"], &["--reporter"]),
    (&["deno", "test"], &["--reporter"]),
    (&["go", "test"], &[]),
];

/// Programs that only start another one, and words of their arguments.
const LAUNCHERS: [&str; 24] = [
    "bun", "bunx", "bundle", "coverage", "dlx", "env", "exec", "hatch", "nice", "npm", "npx",
    "pdm", "pipenv", "pnpm", "poetry", "python", "python3", "run", "stdbuf", "time", "timeout",
    "uv", "uvx", "yarn",
];

/// Whether a command starts a runner directly and with arguments that keep its summary. A script
/// may do anything with its runner's output.
pub(super) fn must_summarize(argv: &[String]) -> bool {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    SUMMARIZING.iter().any(|(runner, flags)| {
        let is_runner = |at: &[&str]| {
            basename(at[0]) == runner[0] && at[1..].iter().zip(&runner[1..]).all(|(a, b)| a == b)
        };
        let Some(at) = words.windows(runner.len()).position(is_runner) else {
            return false;
        };
        // `unittest` is a module, never a program.
        let is_module = at > 0 && words[at - 1] == "-m";
        let rest = &words[at + runner.len()..];
        let quiet = rest
            .iter()
            .filter(|word| **word == "-q" || **word == "--quiet");
        let is_mute = rest.iter().any(|word| {
            let word = word.strip_prefix("-p").unwrap_or(word);
            flags.iter().any(|flag| word.starts_with(flag))
        });
        words[..at].iter().all(|word| is_launcher(word))
            && (is_module || runner[0] != "unittest")
            && !is_mute
            && quiet.count() < 2
    })
}

/// Whether a word before a runner is neither another program nor a file for one.
fn is_launcher(word: &str) -> bool {
    let name = basename(word);
    let is_python = name
        .strip_prefix("python")
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'));
    is_python
        || LAUNCHERS.contains(&name)
        || word.starts_with('-')
        // A variable, a Hatch environment, or a time.
        || word.contains(['=', ':'])
        || word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Stream;
    use crate::verify::{TestScan, TestsRan};

    fn scan(argv: &[&str], output: &str) -> TestsRan {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let mut scan = TestScan::of(&argv);
        scan.push(Stream::Stdout, output.as_bytes());
        scan.finish()
    }

    /// The output of runners if a test exits the process with code 0.
    #[test]
    fn a_runner_that_began_and_printed_no_summary_was_cut_short() {
        let doc_tests = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let unit_tests = "\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        for (what, output) in [
            ("cargo test (1.95.0)", "\nrunning 2 tests\n".to_owned()),
            (
                "cargo test, before its documentation tests",
                format!("\nrunning 2 tests\n{doc_tests}"),
            ),
            (
                "cargo test, between two other binaries",
                format!("{unit_tests}\nrunning 3 tests\ntest one ... ok\n{unit_tests}"),
            ),
            ("nextest", "    Starting 1 test across 1 binary\n".to_owned()),
            (
                "pytest (7.2.1)",
                "============================= test session starts ==============================\ncollected 2 items\n\n".to_owned(),
            ),
            (
                "pytest, before another one that passes",
                "=== test session starts ===\n=== test session starts ===\n=== 3 passed in 0.01s ===\n".to_owned(),
            ),
            ("vitest", "\n RUN  v4.1.12 /w\n\n".to_owned()),
            ("node", "TAP version 13\n# Subtest: a\n".to_owned()),
            ("jest", "PASS s/a.test.js\n".to_owned()),
            (
                "jest alone",
                "  ●  process.exit called with \"0\"\n\n      1 | process.exit(0)\n".to_owned(),
            ),
            (
                "phpunit",
                "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\n.".to_owned(),
            ),
            ("minitest", "Run options: --seed 1\n\n# Running:\n\n.".to_owned()),
            ("jest in a package", "ui:test: PASS a.test.js\n".to_owned()),
        ] {
            assert_eq!(scan(&[], &output), TestsRan::CutShort, "{what}");
        }
    }

    #[test]
    fn a_runner_that_printed_its_summary_was_not_cut_short() {
        let nested = "running 1 test\nrunning 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        for (argv, output, expected) in [
            (&[] as &[&str], nested, TestsRan::Some(2)),
            (&["pytest"], "1 passed in 0.01s\n", TestsRan::Some(1)),
            (&["pytest", "-qq"], "..   [100%]\n", TestsRan::Unknown),
            (
                &["pytest"],
                "Test session starts (platform: linux)\n\nResults (0.05s):\n       2 passed\n",
                TestsRan::Unknown,
            ),
            (
                &[],
                "TAP version 13\nok 1 - a\n1..1\n# pass 1\n",
                TestsRan::Some(1),
            ),
            (
                &[],
                "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\nPHPUnit 9.6.7 by Sebastian Bergmann and contributors.\nOK (1 test, 1 assertion)\n",
                TestsRan::Some(1),
            ),
            (&[], "running 3 tests of the kitchen\n", TestsRan::Unknown),
        ] {
            assert_eq!(scan(argv, output), expected, "{output}");
        }
    }

    #[test]
    fn a_runner_without_a_word_was_cut_short_where_the_command_starts_it() {
        for argv in [
            &["python3", "-m", "pytest", "-q"] as &[&str],
            &["npx", "mocha"],
        ] {
            assert_eq!(scan(argv, "..\n"), TestsRan::CutShort, "{argv:?}");
        }
        assert_eq!(scan(&["make", "test"], "..\n"), TestsRan::Unknown);
    }

    #[test]
    fn a_runner_that_a_command_starts_by_itself_must_print_its_summary() {
        for (command, expected) in [
            ("python3 -m pytest", true),
            ("/usr/bin/python3.12 -m pytest -q", true),
            ("env .venv/bin/python -m pytest", true),
            ("uv run --no-sync python -m pytest", true),
            ("hatch run dev:python -m pytest", true),
            ("coverage run -m pytest tests", true),
            ("timeout 60 pytest -x", true),
            ("pytest -qq", false),
            ("pytest -q -q", false),
            ("pytest -p no:terminal", false),
            ("pytest -pno:terminal", false),
            ("python3 -m unittest discover", true),
            ("unittest", false),
            ("node --test", true),
            ("node --test --test-reporter=junit", false),
            ("node_modules/.bin/mocha a.js", true),
            ("npx mocha --reporter json", false),
            ("npx jest", true),
            ("npx vitest run --reporter=junit", false),
            ("bundle exec rspec", true),
            ("bundle exec rspec --format json", false),
            ("bun test", true),
            ("bun run test", false),
            ("npm run test", false),
            ("make test", false),
            ("sh -c pytest", false),
            ("./check.sh pytest", false),
            ("cargo test", false),
            ("mvn -q test", false),
        ] {
            let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(must_summarize(&argv), expected, "{command}");
        }
    }
}
