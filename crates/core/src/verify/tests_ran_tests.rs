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
        "cargo test -- --list (1.95.0)",
        "a: test\n\n1 test, 0 benchmarks\n   Doc-tests cg\n0 tests, 0 benchmarks\n",
        TestsRan::None,
    ),
    (
        "cargo test --no-run (1.95.0)",
        "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.01s\n  Executable unittests src/lib.rs (/w/debug/deps/cg-cf430339bf8ee7bc)\n",
        TestsRan::None,
    ),
    (
        "pytest --co (9.2.0)",
        "collected 2 items\n\n<Dir py1>\n  <Module test_a.py>\n\n========================== 2 tests collected in 0.03s ==========================\n",
        TestsRan::None,
    ),
    (
        "pytest --co -q (9.2.0)",
        "test_a.py::T::test_a\ntest_a.py::T::test_b\n\n2 tests collected in 0.02s\n",
        TestsRan::None,
    ),
    (
        "pytest --co with a filter that matches nothing (9.2.0)",
        "================== no tests collected (2 deselected) in 0.04s ==================\n",
        TestsRan::None,
    ),
    (
        "pytest --setup-plan (9.2.0)",
        "============================ no tests ran in 0.04s =============================\n",
        TestsRan::None,
    ),
    (
        "unittest with one skipped (3.11.7)",
        ".s\nRan 2 tests in 0.017s\n\nOK (skipped=1)\n",
        TestsRan::Some(1),
    ),
    (
        "unittest where all are skipped",
        "ss\nRan 2 tests in 0.017s\n\nOK (skipped=2)\n",
        TestsRan::None,
    ),
    (
        "go test -list (1.19.8)",
        "?   \tx\t[no test files]\nTestA\nExampleB\nok  \tx/a\t0.003s\n",
        TestsRan::None,
    ),
    (
        "go test -json -list (1.19.8)",
        "{\"Action\":\"output\",\"Package\":\"x/a\",\"Output\":\"TestA\\n\"}\n{\"Action\":\"output\",\"Package\":\"x/a\",\"Output\":\"ok  \\tx/a\\t0.008s\\n\"}\n",
        TestsRan::None,
    ),
    (
        "go test -v of a test that prints its name (1.19.8)",
        "=== RUN   TestA\nTestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tx/a\t0.002s\n",
        TestsRan::Some(1),
    ),
    (
        "jest --listTests through npm (30.5.2)",
        "\n> p@1.0.0 test\n> jest --listTests\n\n/w/a.test.js\n",
        TestsRan::None,
    ),
    (
        "jest --listTests alone (30.5.2)",
        "/w/a.test.js\n/w/b.spec.tsx\n",
        TestsRan::None,
    ),
    (
        "files that another program prints",
        "checked\n/w/a.test.js\n",
        TestsRan::Unknown,
    ),
    (
        "vitest list through yarn (4.1.12)",
        "$ vitest list\na.test.js > one\n",
        TestsRan::None,
    ),
    (
        "mocha --dry-run through pnpm (12.0.3)",
        "\n> p@1.0.0 test /w\n> mocha --dry-run a.js\n\n\n\n  ✔ one\n\n  1 passing (2ms)\n\n",
        TestsRan::None,
    ),
    (
        "a listing of one package before the tests of another",
        "> jest --listTests\n/w/a.test.js\n> mocha a.js\n  1 passing (2ms)\n",
        TestsRan::Some(1),
    ),
    (
        "rspec --dry-run through make (3.12)",
        "bundle exec rspec --dry-run\n.*\n\nFinished in 0.02788 seconds (files took 0.59156 seconds to load)\n2 examples, 0 failures, 1 pending\n",
        TestsRan::None,
    ),
    (
        "rspec with one pending (3.12)",
        "Finished in 0.00293 seconds (files took 0.63525 seconds to load)\n2 examples, 0 failures, 1 pending\n",
        TestsRan::Some(1),
    ),
    (
        "rspec without examples (3.12)",
        "No examples found.\n\n\nFinished in 0.00041 seconds (files took 0.27379 seconds to load)\n0 examples, 0 failures\n",
        TestsRan::None,
    ),
    (
        "minitest with one skipped (5.15)",
        "Finished in 0.001132s, 1766.4209 runs/s, 0.0000 assertions/s.\n\n2 runs, 0 assertions, 0 failures, 0 errors, 1 skips\n",
        TestsRan::Some(1),
    ),
    (
        "minitest with a name that matches nothing (5.15)",
        "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n",
        TestsRan::None,
    ),
    (
        "test-unit with one omitted (Ruby 3.1.2)",
        "2 tests, 0 assertions, 0 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications\n100% passed\n",
        TestsRan::Some(1),
    ),
    (
        "phpunit with one test (9.6.7)",
        "OK (1 test, 1 assertion)\n",
        TestsRan::Some(1),
    ),
    (
        "phpunit with one skipped (9.6.7)",
        "OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Skipped: 1.\n",
        TestsRan::Some(1),
    ),
    (
        "phpunit where all are skipped (9.6.7)",
        "Tests: 1, Assertions: 0, Skipped: 1.\n",
        TestsRan::None,
    ),
    (
        "phpunit --list-tests (9.6.7)",
        "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\nAvailable test(s):\n - ATest::testA\n",
        TestsRan::None,
    ),
    (
        "phpunit with a filter that matches nothing (9.6.7)",
        "No tests executed!\n",
        TestsRan::None,
    ),
    (
        "pest, after its documentation",
        "  Tests:    1 skipped, 2 passed (3 assertions)\n",
        TestsRan::Some(2),
    ),
    (
        "maven with one skipped (3.8.7, Surefire 2.22.3)",
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1\n",
        TestsRan::Some(1),
    ),
    (
        "maven -DskipTests",
        "[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS\n",
        TestsRan::None,
    ),
    (
        "maven without tests",
        "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n",
        TestsRan::None,
    ),
    (
        "gradle without tests (4.4.1)",
        ":compileTestJava NO-SOURCE\n:testClasses UP-TO-DATE\n:test NO-SOURCE\n\nBUILD SUCCESSFUL in 13s\n",
        TestsRan::None,
    ),
    (
        "gradle --dry-run (4.4.1)",
        ":testClasses SKIPPED\n:test SKIPPED\n",
        TestsRan::None,
    ),
    (
        "gradle with the plain console, after its documentation",
        "> Task :app:compileJava\n> Task :app:test\n> Task :lib:test NO-SOURCE\n",
        TestsRan::Some(1),
    ),
    (
        "dotnet test, after its documentation",
        "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 12 ms - x.dll (net8.0)\n",
        TestsRan::Some(3),
    ),
    (
        "dotnet test without tests, after its documentation",
        "No test is available in /w/x.dll. Make sure that test discoverer & executors are registered.\n",
        TestsRan::None,
    ),
    (
        "dotnet test --list-tests, after its documentation",
        "The following Tests are available:\n    X.A\n",
        TestsRan::None,
    ),
    (
        "ctest with one test (3.25.1)",
        "1/1 Test #1: a ................................   Passed    0.01 sec\n\n100% tests passed, 0 tests failed out of 1\n",
        TestsRan::Some(1),
    ),
    (
        "ctest -N (3.25.1)",
        "Test project /w/build\n  Test #1: a\n\nTotal Tests: 1\n",
        TestsRan::None,
    ),
    (
        "totals of a runner that nobody knows",
        "Total Tests: 3\npassed: 3\nfailed: 0\n3 ok\n0 fail\n/w/src/a.js\n",
        TestsRan::Unknown,
    ),
    (
        "ctest without tests (3.25.1)",
        "Test project /w/build\nNo tests were found!!!\n",
        TestsRan::None,
    ),
    (
        "bun with one test and one skipped (1.4.4)",
        "(pass) one [0.04ms]\n(skip) two\n\n 1 pass\n 1 skip\n 0 fail\nRan 2 tests across 1 file. [23.00ms]\n",
        TestsRan::Some(1),
    ),
    (
        "ava with one test and one skipped (7.0.0)",
        "  - [skip] two\n  ✔ one\n  ─\n\n  1 test passed\n  1 test skipped\n",
        TestsRan::Some(1),
    ),
    (
        "tape with one test (5.10.2)",
        "1..1\n# tests 1\n# pass  1\n\n# ok\n",
        TestsRan::Some(1),
    ),
    (
        "node of several packages through pnpm (10.20.0)",
        "packages/ui test: # pass 0\npackages/ui test: # fail 0\npackages/app test: # pass 0\n",
        TestsRan::None,
    ),
    (
        "jest of several packages through turbo",
        "ui:test: Tests:       1 skipped, 1 passed, 2 total\n",
        TestsRan::Some(1),
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
fn a_command_that_only_lists_tests_runs_none_whatever_it_prints() {
    let dry = ["bundle", "exec", "rspec", "--dry-run"].map(str::to_owned);
    let mut scan = TestScan::of(&dry);
    scan.push(
        Stream::Stdout,
        b"2 examples, 0 failures\n> mocha\n1 passing (2ms)\n",
    );
    assert_eq!(scan.finish(), TestsRan::None);
    assert_eq!(TestScan::of(&dry).finish(), TestsRan::None);
    let real = ["bundle", "exec", "rspec"].map(str::to_owned);
    assert_eq!(TestScan::of(&real).finish(), TestsRan::CutShort);
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
