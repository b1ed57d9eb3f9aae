use super::*;

/// The acceptance entries of a plan with one task `x`, which is on line 4.
fn with(acceptance: serde_json::Value) -> Result<Vec<Acceptance>, String> {
    let task = json!({"id": "x", "title": "X", "acceptance": acceptance});
    let plan = Plan::parse(&plan_of(&[task])).map_err(|errors| errors.to_string())?;
    Ok(plan.tasks[0].acceptance.clone())
}

fn command(words: &[&str]) -> CheckCommand {
    CheckCommand {
        command: words.iter().map(|word| (*word).to_owned()).collect(),
        expect: Expect::default(),
        guard: false,
    }
}

#[test]
fn every_form_of_an_entry_is_read_and_stored_as_it_was_written() {
    let entries = json!([
        "it is fast",
        {"id": "tests", "kind": "command", "text": "tests pass", "command": ["cargo", "test"],
         "expect": {"exit": 0}, "guard": true},
        {"id": "a3", "kind": "observe", "text": "it greets", "command": ["sh", "-c", "bin/hi\n"],
         "expect": {"exit": 3, "contains": " hello "}},
        {"id": "docs", "kind": "judge", "text": "the docs say so"},
        "it is small",
    ]);
    let expected = vec![
        Acceptance::judged("a1", "it is fast"),
        Acceptance {
            id: "tests".to_owned(),
            text: "tests pass".to_owned(),
            check: Check::Command(CheckCommand {
                guard: true,
                ..command(&["cargo", "test"])
            }),
        },
        Acceptance {
            id: "a3".to_owned(),
            text: "it greets".to_owned(),
            check: Check::Observe(CheckCommand {
                expect: Expect {
                    exit: 3,
                    contains: Some(" hello ".to_owned()),
                },
                ..command(&["sh", "-c", "bin/hi\n"])
            }),
        },
        Acceptance::judged("docs", "the docs say so"),
        Acceptance::judged("a5", "it is small"),
    ];
    assert_eq!(with(entries.clone()), Ok(expected.clone()));
    let task = PlanTask {
        acceptance: expected,
        ..task("x", &[])
    };
    let stored = serde_json::to_value(&task).unwrap();
    assert_eq!(stored["acceptance"], entries);
    assert_eq!(serde_json::from_value::<PlanTask>(stored).unwrap(), task);
}

#[test]
fn what_an_entry_leaves_out_has_a_default() {
    let entries = json!([
        {"kind": "command", "text": " runs ", "command": ["x"], "id": null, "expect": null, "guard": null},
        {"id": 7, "kind": "judge", "text": "y", "command": [], "expect": {}, "guard": false},
    ]);
    let expected = vec![
        Acceptance {
            id: "a1".to_owned(),
            text: "runs".to_owned(),
            check: Check::Command(command(&["x"])),
        },
        Acceptance::judged("7", "y"),
    ];
    assert_eq!(with(entries), Ok(expected));
}

#[test]
fn a_task_that_was_stored_with_plain_texts_is_read() {
    let stored = json!({"id": "x", "title": "X", "acceptance": ["one", "two"]});
    let task: PlanTask = serde_json::from_value(stored).unwrap();
    let expected = [
        Acceptance::judged("a1", "one"),
        Acceptance::judged("a2", "two"),
    ];
    assert_eq!(task.acceptance, expected);
    assert!(task.checks.is_empty());
}

#[test]
fn every_mistake_of_a_contract_is_told_at_once_on_its_line() {
    insta::assert_snapshot!(shown(include_str!("contract.md")));
}

#[test]
fn an_entry_beyond_its_bounds_is_refused() {
    let of = |entry: serde_json::Value| with(json!([entry])).unwrap_err();
    let run = |command: serde_json::Value, contains: &str| json!({"kind": "observe", "text": "t", "command": command, "expect": {"contains": contains}});
    let words = |count: usize, length: usize| json!(vec!["w".repeat(length); count]);
    let table = [
        (
            json!("x".repeat(LONGEST_ENTRY + 1)),
            "`text` of acceptance entry 1 of task `x` has 2001 characters; the limit is 2000",
        ),
        (
            run(words(MOST_WORDS + 1, 1), "x"),
            "the command of acceptance entry 1 of task `x` has 101 words; the limit is 100",
        ),
        (
            run(words(2, LONGEST_COMMAND / 2 + 1), "x"),
            "the command of acceptance entry 1 of task `x` has 8194 bytes; the limit is 8192",
        ),
        (
            run(words(1, 1), &"x".repeat(LONGEST_EXPECTED + 1)),
            "`expect.contains` of acceptance entry 1 of task `x` has 1001 characters; the limit is 1000",
        ),
    ];
    for (entry, expected) in table {
        assert_eq!(
            of(entry),
            format!("the plan is not valid:\n- line 4: {expected}")
        );
    }
    assert!(with(json!(["x".repeat(LONGEST_ENTRY)])).is_ok());
    let largest = run(
        words(MOST_WORDS, LONGEST_COMMAND / MOST_WORDS),
        &"x".repeat(LONGEST_EXPECTED),
    );
    assert!(with(json!([largest])).is_ok());
    assert_eq!(
        with(json!(vec!["x"; MOST_ENTRIES + 1])).unwrap_err(),
        "the plan is not valid:\n- line 4: `acceptance` of task `x` has 201 entries; the limit is 200"
    );
}

#[test]
fn checks_follow_the_rules_of_paths() {
    let task = json!({"id": "x", "title": "X", "acceptance": ["y"], "checks": ["/etc/x", "a/../b", 7, "tests/x.rs"]});
    assert_eq!(
        shown(&plan_of(&[task])),
        "the plan is not valid:\n\
         - line 4: the path `/etc/x` of task `x` is not relative to the repository\n\
         - line 4: the path `a/../b` of task `x` leads out of the repository"
    );
}

#[test]
fn the_summary_says_which_entries_drive_checks() {
    let entries = json!([
        {"kind": "command", "text": "tests pass", "command": ["x"], "guard": true},
        {"kind": "observe", "text": "greets", "command": ["x"], "expect": {"contains": "hi"}},
        "reads well",
    ]);
    let task = json!({"id": "x", "title": "X", "acceptance": entries});
    let plan = Plan::parse(&plan_of(&[task])).unwrap();
    let text = plan.summary_markdown(10_000);
    let row = "| tests pass (command, guard); greets (observe); reads well |";
    assert!(text.contains(row), "{text}");
}

proptest! {
    #[test]
    fn whatever_stands_in_an_entry_is_read_or_refused_on_its_line(
        field in prop::sample::select(vec!["id", "kind", "text", "command", "expect", "guard", "other"]),
        kind in prop::sample::select(vec!["command", "observe", "judge"]),
        value in prop_oneof![
            Just(json!(null)), Just(json!(-1)), Just(json!(256)), Just(json!({})), Just(json!([[]])),
            Just(json!(true)), Just(json!({"exit": -1})), Just(json!({"contains": 7})),
            any::<String>().prop_map(|text| json!(text)),
            prop::collection::vec(any::<String>(), 0..3).prop_map(|texts| json!(texts)),
        ],
    ) {
        let mut entry = json!({"kind": kind, "text": "t"});
        if kind != "judge" {
            entry["command"] = json!(["x"]);
            entry["expect"] = json!({"contains": "y"});
        }
        entry[field] = value;
        if let Err(errors) = with(json!([entry])) {
            prop_assert!(errors.lines().skip(1).all(|line| line.starts_with("- line 4: ")), "{errors}");
        }
    }
}
