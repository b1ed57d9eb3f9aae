use super::*;

/// Outputs of the real runners, recorded; the last column is what they mean.
const RECORDED: &[(&str, &str, TestsRan)] = &[
    (
        "cargo test of an empty library",
        "   Compiling zero v0.1.0\n     Running unittests src/lib.rs\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests zero\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n",
        TestsRan::None,
    ),
    (
        "cargo test with one test, one ignored and no doc test",
        "running 2 tests\ntest one ... ok\ntest two ... ignored\n\ntest result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests zero\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        TestsRan::Some(1),
    ),
    (
        "cargo test with a filter that matches nothing",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s\n",
        TestsRan::None,
    ),
    (
        "cargo test with a failure",
        "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
        TestsRan::Some(3),
    ),
    (
        "nextest with nothing to run, allowed by a flag",
        "    Starting 0 tests across 1 binary (2 tests skipped)\n────────────\n     Summary [   0.000s] 0 tests run: 0 passed, 2 skipped\n",
        TestsRan::None,
    ),
    (
        "nextest with one test",
        "    Starting 1 test across 1 binary (1 test skipped)\n        PASS [   0.006s] (1/1) zero one\n────────────\n     Summary [   0.006s] 1 test run: 1 passed, 1 skipped\n",
        TestsRan::Some(1),
    ),
    (
        "nextest in colour",
        "\u{1b}[32;1m     Summary\u{1b}[0m [   0.000s] \u{1b}[1m0\u{1b}[0m tests run: \u{1b}[1m0\u{1b}[0m passed, 0 skipped\n",
        TestsRan::None,
    ),
    (
        "pytest without tests",
        "============================= test session starts ==============================\ncollected 0 items\n\n============================ no tests ran in 0.00s =============================\n",
        TestsRan::None,
    ),
    (
        "pytest -q without tests",
        "\nno tests ran in 0.01s\n",
        TestsRan::None,
    ),
    (
        "pytest with one test",
        "test_a.py .                                                              [100%]\n\n============================== 1 passed in 0.01s ===============================\n",
        TestsRan::Some(1),
    ),
    (
        "pytest -q with one test",
        ".    [100%]\n1 passed in 0.01s\n",
        TestsRan::Some(1),
    ),
    (
        "pytest where all are skipped",
        "============================== 1 skipped in 0.02s ==============================\n",
        TestsRan::None,
    ),
    (
        "pytest where all are deselected",
        "collected 1 item / 1 deselected / 0 selected\n\n============================ 1 deselected in 0.01s =============================\n",
        TestsRan::None,
    ),
    (
        "pytest mixed",
        "=== 1 failed, 2 passed, 1 skipped, 3 warnings in 61.10s (0:01:01) ===\n",
        TestsRan::Some(3),
    ),
    (
        "unittest without tests",
        "Ran 0 tests in 0.000s\n\nOK\n",
        TestsRan::None,
    ),
    (
        "unittest with one",
        "Ran 1 test in 0.000s\n\nOK\n",
        TestsRan::Some(1),
    ),
    (
        "go without test files",
        "?   \tx\t[no test files]\n",
        TestsRan::None,
    ),
    (
        "go with a filter that matches nothing",
        "ok  \tx\t0.004s [no tests to run]\n",
        TestsRan::None,
    ),
    (
        "go with a cached pass beside a package without tests",
        "ok  \tx\t(cached)\n?   \tx/sub\t[no test files]\n",
        TestsRan::Some(1),
    ),
    (
        "go -json with nothing to run",
        "{\"Time\":\"2026-11-15T04:55:42.95Z\",\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"ok  \\tx\\t0.002s [no tests to run]\\n\"}\n",
        TestsRan::None,
    ),
    (
        "go -json with a pass",
        "{\"Time\":\"2026-11-15T04:55:42.69Z\",\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"ok  \\tx\\t0.003s\\n\"}\n",
        TestsRan::Some(1),
    ),
    (
        "node without tests, as TAP",
        "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 9.722045\n",
        TestsRan::None,
    ),
    (
        "node with one test, as a specification",
        "✔ a (2.554556ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n",
        TestsRan::Some(1),
    ),
    (
        "node with a pattern that matches nothing",
        "ok 1 - a # SKIP test name does not match pattern\n1..1\n# tests 1\n# suites 0\n# pass 0\n# fail 0\n# skipped 1\n",
        TestsRan::None,
    ),
    (
        "jest without tests, allowed by a flag",
        "No tests found, exiting with code 0\n",
        TestsRan::None,
    ),
    (
        "jest with one test and one skipped",
        "PASS s/a.test.js\n  ✓ one (2 ms)\n  ○ skipped two\n\nTest Suites: 1 passed, 1 total\nTests:       1 skipped, 1 passed, 2 total\nSnapshots:   0 total\nTime:        3.417 s\nRan all test suites.\n",
        TestsRan::Some(1),
    ),
    (
        "jest with a name that matches nothing",
        "Test Suites: 1 skipped, 0 of 1 total\nTests:       2 skipped, 2 total\nSnapshots:   0 total\nTime:        1.583 s, estimated 3 s\nRan all test suites with tests matching \"nothing\".\n",
        TestsRan::None,
    ),
    (
        "vitest without files, allowed by a flag",
        "\n\u{1b}[1m\u{1b}[30m\u{1b}[46m RUN \u{1b}[49m\u{1b}[39m\u{1b}[22m \u{1b}[36mv4.1.12 \u{1b}[39m\u{1b}[90m/w\u{1b}[39m\n\nNo test files found, exiting with code 0\n\n\u{1b}[2minclude: \u{1b}[22m\u{1b}[33m**/*.{test,spec}.?(c|m)[jt]s?(x)\u{1b}[39m\n",
        TestsRan::None,
    ),
    (
        "vitest with one test and one skipped, in colours",
        "\u{1b}[2m Test Files \u{1b}[22m \u{1b}[1m\u{1b}[32m1 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (1)\u{1b}[39m\n\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m1 passed\u{1b}[39m\u{1b}[22m\u{1b}[2m | \u{1b}[22m\u{1b}[33m1 skipped\u{1b}[39m\u{1b}[90m (2)\u{1b}[39m\n\u{1b}[2m   Start at \u{1b}[22m 15:30:22\n",
        TestsRan::Some(1),
    ),
    (
        "vitest with a name that matches nothing",
        "\u{1b}[2m Test Files \u{1b}[22m \u{1b}[33m1 skipped\u{1b}[39m\u{1b}[90m (1)\u{1b}[39m\n\u{1b}[2m      Tests \u{1b}[22m \u{1b}[33m2 skipped\u{1b}[39m\u{1b}[90m (2)\u{1b}[39m\n",
        TestsRan::None,
    ),
    (
        "mocha without tests",
        "\n\n  0 passing (1ms)\n\n",
        TestsRan::None,
    ),
    (
        "mocha with one test and one pending",
        "\n\n  \u{1b}[32m✔\u{1b}[39m one\n  - two\n\n  1 passing (2ms)\n  1 pending\n\n",
        TestsRan::Some(1),
    ),
    (
        "mocha with a failure",
        "\n\n  1) bad\n\n  1 passing (29ms)\n  1 pending\n  1 failing\n\n  1) bad:\n     Error: x\n",
        TestsRan::Some(2),
    ),
    (
        "mocha without tests, as TAP",
        "# tests 0\n# pass 0\n# fail 0\n1..0\n",
        TestsRan::None,
    ),
    (
        "prose that resembles mocha and jest",
        "3 passing clouds\n2 failing engines\nTests: none\n",
        TestsRan::Unknown,
    ),
    (
        "no runner",
        "hello\nall good in 3 ways\nok then\n",
        TestsRan::Unknown,
    ),
    (
        "prose that resembles pytest",
        "we were done in 3s flat\nfound it in 2s\n",
        TestsRan::Unknown,
    ),
];

fn scan(output: &str, piece: usize) -> TestsRan {
    let mut scan = TestScan::default();
    for chunk in output.as_bytes().chunks(piece) {
        scan.push(Stream::Stdout, chunk);
    }
    scan.finish()
}

#[test]
fn recorded_outputs_mean_what_the_runner_says_however_they_are_cut() {
    for (what, output, expected) in RECORDED {
        for piece in [1, 7, 4096] {
            assert_eq!(
                scan(output, piece),
                *expected,
                "{what}, in pieces of {piece}"
            );
        }
    }
}

#[test]
fn one_runner_that_ran_something_is_enough() {
    let both = "# pass 0\n# fail 0\n1 passed in 0.01s\n";
    assert_eq!(scan(both, 64), TestsRan::Some(1));
}

#[test]
fn the_streams_do_not_mix_and_a_last_line_needs_no_newline() {
    let mut scan = TestScan::default();
    scan.push(Stream::Stdout, b"1 passed ");
    scan.push(Stream::Stderr, b"noise\n");
    scan.push(Stream::Stdout, b"in 0.01s");
    assert_eq!(scan.finish(), TestsRan::Some(1));
}

#[test]
fn an_endless_line_costs_no_memory_and_means_nothing() {
    let mut scan = TestScan::default();
    for _ in 0..1000 {
        scan.push(Stream::Stdout, &[b'x'; 1000]);
    }
    assert!(scan.lines[0].bytes.len() <= LINE_BYTES);
    scan.push(Stream::Stdout, b"\n# pass 1\n");
    assert_eq!(scan.finish(), TestsRan::Some(1));
}
