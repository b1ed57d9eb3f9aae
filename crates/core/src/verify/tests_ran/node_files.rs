//! Detects test files that ran no test: node counts each of them as a passed test.

use super::runners::after_package;
use crate::test_files;
use std::collections::BTreeSet;

/// The maximum number of stored suite names.
const MOST: usize = 10_000;

/// The state before a line.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFiles {
    /// The file that the previous line named.
    announced: Option<String>,
    /// Suites that are named after a file.
    suites: BTreeSet<String>,
}

impl NodeFiles {
    /// Whether a line counts a file without tests (node 18 to 24): `ok 1 - a.test.js` directly
    /// below `# Subtest: a.test.js`, or `✔ a.test.js (57.5ms)` without a preceding `▶ a.test.js`.
    pub(super) fn is_empty(&mut self, line: &str) -> bool {
        let line = ["# Subtest: ", "ok ", "▶ ", "✔ "]
            .iter()
            .any(|start| line.starts_with(start))
            .then_some(line)
            .or_else(|| after_package(line))
            .unwrap_or(line);
        let announced = self.announced.take();
        if let Some(name) = line.strip_prefix("# Subtest: ") {
            self.announced = is_file(name).then(|| name.to_owned());
        } else if let Some(passed) = line.strip_prefix("ok ") {
            let name = passed.split_once(" - ").map(|(_, name)| name);
            return name.is_some() && name == announced.as_deref();
        } else if let Some(name) = line.strip_prefix("▶ ") {
            if is_file(name) && self.suites.len() < MOST {
                self.suites.insert(name.to_owned());
            }
        } else if let Some(passed) = line.strip_prefix("✔ ") {
            let name = passed.rsplit_once(" (").map(|(name, _)| name);
            return name.is_some_and(|name| is_file(name) && !self.suites.contains(name));
        }
        false
    }
}

/// Whether a title is what node calls a file: its path, up to version 20 an absolute one.
fn is_file(title: &str) -> bool {
    let extension = title.rsplit_once('.').map(|(_, extension)| extension);
    let is_script =
        extension.is_some_and(|one| ["js", "cjs", "mjs", "ts", "cts", "mts"].contains(&one));
    is_script && (title.starts_with('/') || test_files::is_test_file(title))
}

#[cfg(test)]
mod tests {
    use crate::process::Stream;
    use crate::verify::{TestScan, TestsRan};

    fn scan(output: &str) -> TestsRan {
        let mut scan = TestScan::default();
        scan.push(Stream::Stdout, output.as_bytes());
        scan.finish()
    }

    #[test]
    fn a_file_without_tests_is_no_test_that_ran() {
        for (node, output, expected) in [
            (
                "18.20.8 and 20.20.2",
                "TAP version 13\n# Subtest: /w/e.test.js\nok 1 - /w/e.test.js\n  ---\n  duration_ms: 133.5\n  ...\n1..1\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n",
                TestsRan::None,
            ),
            (
                "22.23.3 and 24.21.0",
                "TAP version 13\n# Subtest: em/e.test.js\nok 1 - em/e.test.js\n  ---\n  duration_ms: 70.9\n  type: 'test'\n  ...\n1..1\n# tests 1\n# pass 1\n# fail 0\n",
                TestsRan::None,
            ),
            (
                "24.21.0 for people",
                "✔ em/e.test.js (84.028437ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\n",
                TestsRan::None,
            ),
            (
                "through pnpm",
                "packages/ui test: ✔ e.test.js (84.02ms)\npackages/ui test: ℹ pass 1\n",
                TestsRan::None,
            ),
            (
                "one of two files",
                "✔ em/e.test.js (84.0ms)\n✔ adds (1.0ms)\nℹ pass 2\nℹ fail 0\n",
                TestsRan::Some(1),
            ),
            (
                "a test that is called like a file",
                "✔ fixtures/a.js (1.1ms)\nℹ pass 1\n",
                TestsRan::Some(1),
            ),
            (
                "a suite that is called like a file",
                "▶ a.test.js\n  ✔ adds (0.1ms)\n✔ a.test.js (1.1ms)\nℹ pass 1\n",
                TestsRan::Some(1),
            ),
            (
                "a file with a suite inside",
                "# Subtest: /w/a.test.js\n    # Subtest: adds\n    ok 1 - adds\n    1..1\nok 1 - /w/a.test.js\n1..1\n# pass 1\n",
                TestsRan::Some(1),
            ),
        ] {
            assert_eq!(scan(output), expected, "{node}");
        }
    }

    #[test]
    fn a_run_of_tap_without_tests_is_none() {
        for (output, expected) in [
            ("# { total: 1, pass: 1 }\n", TestsRan::Some(1)),
            ("# { total: 1, pass: 0, skip: 1 }\n", TestsRan::None),
            ("# { total: 2, pass: 1, fail: 1 }\n", TestsRan::Some(2)),
        ] {
            assert_eq!(scan(output), expected, "{output}");
        }
    }
}
