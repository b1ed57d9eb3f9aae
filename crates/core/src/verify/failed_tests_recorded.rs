//! Tests the names of failing tests in real output of the runners, from which irrelevant lines were removed.

use super::failed_tests;

#[test]
fn mocha_names_failing_tests_with_their_suites() {
    // mocha 11, the same for the reporters spec, dot, min, list and progress.
    let output = "
  1) top level
  calc
    2) adds
    ✔ subs

  1 passing (13ms)
  3 failing

  1) top level:

      AssertionError [ERR_ASSERTION]: The expression evaluated to a falsy value:

  assert.ok(false)

      at Context.<anonymous> (t.js:4:27)

  2) calc
       deep
         multiplies: two:
     Error: boom
      at Context.<anonymous> (t.js:2:125)

  3) calc
       hooked
         \"before all\" hook for \"x\":
     Error: hook
";
    assert_eq!(
        failed_tests(output),
        [
            "calc > deep > multiplies: two",
            "calc > hooked > \"before all\" hook for \"x\"",
            "top level"
        ]
    );
}

#[test]
fn ava_names_failing_tests_without_their_errors() {
    // ava 7.0.0
    let output = "
  ✘ [fail]: t › adds
  ✔ t › ok one
  ✘ [fail]: t › throws - dash Rejected promise returned by test
  ─

  t › adds

  t.mjs:2

   1: import test from 'ava';

  Difference (- actual, + expected):

  - 1
  + 2

  › file://t.mjs:2:18



  t › throws - dash

  Rejected promise returned by test. Reason:

  Error {
    message: 'boom',
  }

  ─

  2 tests failed
";
    assert_eq!(failed_tests(output), ["t › adds", "t › throws - dash"]);
}

#[test]
fn unittest_names_failing_tests_with_their_classes() {
    // Python 3.11.7 and 3.8.18
    let output = "EFF
======================================================================
ERROR: setUpClass (test_a.B)
----------------------------------------------------------------------
Traceback (most recent call last):
OSError: no

======================================================================
FAIL: test_adds (test_a.T.test_adds)
Doc line.
----------------------------------------------------------------------
AssertionError: 1 != 2

======================================================================
FAIL: test_sub (test_a.T) (i=0)
----------------------------------------------------------------------
AssertionError: 0 != 5

----------------------------------------------------------------------
Ran 5 tests in 0.001s

FAILED (failures=2, errors=1)
";
    assert_eq!(
        failed_tests(output),
        [
            "setUpClass (test_a.B)",
            "test_adds (test_a.T.test_adds)",
            "test_sub (test_a.T) (i=0)"
        ]
    );
}

#[test]
fn ctest_names_failing_tests() {
    // CTest 3.25.1
    let output = "Test project /w/build
1/6 Test #1: adds .............................***Failed    0.00 sec
5/6 Test #5: slow .............................***Timeout   1.01 sec

17% tests passed, 5 tests failed out of 6

Total Test time (real) =   1.02 sec

The following tests FAILED:
\t  1 - adds (Failed)
\t  4 - reads (a file) (Not Run)
\t  6 - crash (SEGFAULT)                  slow net
Errors while running CTest
";
    assert_eq!(failed_tests(output), ["adds", "crash", "reads (a file)"]);
}

#[test]
fn tap_names_failing_tests_with_what_is_around_them() {
    for (runner, output, expected) in [
        (
            "node 20",
            "TAP version 13
# Subtest: calc
    # Subtest: adds
    not ok 1 - adds
      ---
      error: '1 == 2'
      ...
    # Subtest: later
    not ok 2 - later # TODO
    1..2
not ok 1 - calc
  ---
  failureType: 'subtestsFailed'
  ...
# Subtest: adds
ok 2 - adds
1..2
# fail 1",
            vec!["calc > adds"],
        ),
        (
            "tap 21",
            "TAP version 14
1..1
# Subtest: ta/t.js
    # Subtest: adds
        not ok 1 - one is two
          ---
          compare: ===
          ...
        1..1
    not ok 1 - adds # time=63.501ms
    # Subtest: fine
        ok 1 - one is two
        1..1
    ok 2 - fine # time=0.697ms
    1..2
not ok 1 - ta/t.js # time=97.235ms
# { total: 2, pass: 1, fail: 1 }",
            vec!["ta/t.js > adds > one is two"],
        ),
        (
            "tape 5",
            "TAP version 13
# adds
not ok 1 should be equal
  ---
    operator: equal
  ...
# fine
ok 2 should be equal

1..2
# tests 2
# fail  1",
            vec!["adds > should be equal"],
        ),
        (
            "mocha 11",
            "not ok 2 calc adds\n  1 == 2\nok 3 calc subs\n# fail 1\n1..3",
            vec!["calc adds"],
        ),
    ] {
        assert_eq!(failed_tests(output), expected, "{runner}");
    }
}

#[test]
fn nodes_tree_names_failing_tests_with_their_suites() {
    // node 20.20.2
    let output = "▶ calc
  ✖ adds (2.828473ms)
    AssertionError [ERR_ASSERTION]: 1 == 2
  ✖ later (21.516067ms) # TODO
▶ inner
  ✔ adds (0.1ms)
✖ calc (26.517402ms)
✔ fine (0.207183ms)
ℹ fail 1

✖ failing tests:

test at t.test.js:2:22
✖ adds (2.828473ms)
";
    assert_eq!(failed_tests(output), ["calc > adds"]);
}

#[test]
fn jest_and_vitest_name_failing_tests_with_their_files() {
    // jest 30, vitest 4.1.12
    let output = "PASS ./c.test.js
  ● Console

FAIL ./a.test.js (5.2 s)
  ● Console

  ● adds

    expect(received).toBe(expected) // Object.is equality

  ● math › subs

FAIL ./b.test.js
  ● Test suite failed to run

    Cannot find module './nope' from 'b.test.js'

Test Suites: 2 failed, 2 total
Tests:       2 failed, 1 passed, 3 total
";
    assert_eq!(
        failed_tests(output),
        [
            "./a.test.js › adds",
            "./a.test.js › math › subs",
            "./b.test.js"
        ]
    );
    let output = " FAIL  b.test.ts [ b.test.ts ]
Error: Cannot find module './nope'
 FAIL  a.test.ts > adds
 FAIL  a.test.ts > math > subs
      Tests  2 failed | 1 passed (3)
";
    assert_eq!(
        failed_tests(output),
        ["a.test.ts > adds", "a.test.ts > math > subs", "b.test.ts"]
    );
}

#[test]
fn bun_and_deno_name_failing_tests_with_their_files() {
    // bun 1.4.4, deno 2
    let output = "bun test v1.4.4 (38afee6c8)

a.test.ts:
error: expect(received).toBe(expected)

(fail) adds [0.29ms]

b.test.ts:
(pass) adds [0.29ms]
(fail) math > subs [0.02ms]
";
    assert_eq!(
        failed_tests(output),
        ["a.test.ts > adds", "b.test.ts > math > subs"]
    );
    let output = "adds ... FAILED (48ms)

 FAILURES 

adds => ./a.test.ts:1:6
math ... subs => ./a.test.ts:2:36

FAILED | 1 passed | 2 failed (1 step) (107ms)
";
    assert_eq!(
        failed_tests(output),
        ["adds => ./a.test.ts", "math ... subs => ./a.test.ts"]
    );
}

#[test]
fn go_names_failing_tests_with_their_packages() {
    let output = "--- FAIL: TestSum (0.00s)
    --- FAIL: TestSum/negative (0.00s)
FAIL
FAIL\tx/a\t0.002s
ok  \tx/b\t0.002s
FAIL\tx/c [build failed]
--- FAIL: TestSum (0.00s)
FAIL
FAIL\tx/d\t0.002s
FAIL
";
    assert_eq!(
        failed_tests(output),
        [
            "x/a TestSum",
            "x/a TestSum/negative",
            "x/c [build failed]",
            "x/d TestSum"
        ]
    );
}
