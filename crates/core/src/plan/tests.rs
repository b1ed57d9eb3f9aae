mod acceptance;
mod order;

use super::*;
use crate::ids::TaskId;
use proptest::prelude::*;
use serde_json::json;

const GOOD: &str = include_str!("tests/plan.md");

fn task(id: &str, depends_on: &[&str]) -> PlanTask {
    PlanTask {
        id: TaskId::new(id),
        title: format!("Title of {id}"),
        description: String::new(),
        acceptance: vec![Acceptance::judged("a1", "it works")],
        depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
        paths: Vec::new(),
        checks: Vec::new(),
    }
}

/// A task that changes a folder that no other task changes.
fn apart(id: &str, depends_on: &[&str]) -> PlanTask {
    PlanTask {
        paths: vec![format!("src/{id}/**")],
        ..task(id, depends_on)
    }
}

fn changing(id: &str, depends_on: &[&str], paths: &[&str]) -> PlanTask {
    PlanTask {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..task(id, depends_on)
    }
}

fn groups(plan: &Plan) -> Vec<Vec<String>> {
    let named = |group: Vec<&TaskId>| group.into_iter().map(ToString::to_string).collect();
    plan.order().groups().into_iter().map(named).collect()
}

/// A plan with these tasks as its block, one task a line from line 4 on.
fn plan_of(tasks: &[serde_json::Value]) -> String {
    let lines: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    format!("# Plan\n```json tasks\n[\n{}\n]\n```\n", lines.join(",\n"))
}

fn written(tasks: &[PlanTask]) -> String {
    let values: Vec<_> = tasks
        .iter()
        .map(|task| serde_json::to_value(task).unwrap())
        .collect();
    plan_of(&values)
}

fn shown(text: &str) -> String {
    Plan::parse(text).unwrap_err().to_string()
}

#[test]
fn a_good_plan_is_read_whole() {
    let plan = Plan::parse(GOOD).unwrap();
    let expected = json!({"tasks": [
        {"id": "schema", "title": "Add the users table", "description": "With a unique name.",
         "acceptance": ["the migration runs twice"], "depends_on": [], "paths": ["migrations/**"]},
        {"id": "2", "title": "Hash passwords", "description": "",
         "acceptance": ["no plain text", "slow enough"], "depends_on": [], "paths": []},
        {"id": "login", "title": "Log in", "description": "",
         "acceptance": ["a wrong password is refused"], "depends_on": ["schema", "2"],
         "paths": ["src/login.rs"]},
    ]});
    assert_eq!(serde_json::to_value(&plan).unwrap(), expected);
    assert_eq!(groups(&plan), [["schema"], ["2"], ["login"]]);
}

#[test]
fn every_mistake_of_a_plan_is_told_at_once_on_its_line() {
    insta::assert_snapshot!(shown(include_str!("tests/mistakes.md")));
}

#[test]
fn a_block_that_is_no_list_of_tasks_is_refused() {
    let block = |body: &str| shown(&format!("Prose.\n\n```json tasks\n{body}\n```\n"));
    let table = [
        (
            "[\n{\"id\": }\n]",
            "- line 5: the task block is not JSON: `expected value`",
        ),
        (
            "",
            "- line 5: the task block is not JSON: `EOF while parsing a value`",
        ),
        (
            "{\"id\": 1}",
            "- line 4: the task block must be a list: `[{\"id\": …}, …]`",
        ),
        ("[]", "- line 3: the list of tasks is empty"),
        ("[7]", "- line 4: task `#1` is not an object"),
    ];
    for (body, expected) in table {
        assert_eq!(block(body), format!("the plan is not valid:\n{expected}"));
    }
}

#[test]
fn a_plan_beyond_its_bounds_is_refused() {
    let many: Vec<PlanTask> = (0..=MOST_TASKS)
        .map(|n| task(&format!("t{n}"), &[]))
        .collect();
    assert_eq!(
        shown(&written(&many)),
        "the plan is not valid:\n- line 2: the plan has 201 tasks; the limit is 200: make them larger, or plan less"
    );
    assert!(Plan::parse(&written(&many[..MOST_TASKS])).is_ok());
    assert_eq!(
        shown(&"x".repeat(LONGEST_PLAN + 1)),
        "the plan is not valid:\n- it has 1048577 bytes; the limit is 1048576"
    );
    let deep = format!("```json tasks\n{}\n```", "[".repeat(100_000));
    assert_eq!(
        shown(&deep),
        "the plan is not valid:\n- line 2: the task block is not JSON: `recursion limit exceeded`"
    );
}

#[test]
fn an_id_can_be_a_part_of_a_branch_and_of_a_folder() {
    let is_taken = |id: &str| Plan::parse(&written(&[task(id, &[])])).is_ok();
    for good in ["a", "7", "user-table_2.b", "A", &"x".repeat(LONGEST_ID)] {
        assert!(is_taken(good), "{good}");
    }
    let long = "x".repeat(LONGEST_ID + 1);
    for bad in [
        "-a", ".a", "a/b", "a b", "a..b", "a.", "a.lock", "é", "HEAD", "a\u{7}", &long,
    ] {
        assert!(!is_taken(bad), "{bad}");
    }
}

#[test]
fn a_cycle_is_shown_as_a_way_around() {
    let tasks = [
        task("after", &["c"]),
        task("c", &["a"]),
        task("a", &["b"]),
        task("b", &["c"]),
        task("x", &["y"]),
        task("y", &["x"]),
        task("free", &[]),
    ];
    assert_eq!(
        shown(&written(&tasks)),
        "the plan is not valid:\n\
         - line 5: circular dependency: `c -> a -> b -> c`\n\
         - line 8: circular dependency: `x -> y -> x`"
    );
}

#[test]
fn only_the_first_of_very_many_mistakes_are_told() {
    let strangers: Vec<TaskId> = (0..MOST_ENTRIES)
        .map(|n| TaskId::new(format!("stranger{n}")))
        .collect();
    let tasks: Vec<PlanTask> = (0..MOST_TASKS)
        .map(|n| PlanTask {
            depends_on: strangers.clone(),
            ..task(&format!("t{n}"), &[])
        })
        .collect();
    let errors = Plan::parse(&written(&tasks)).unwrap_err();
    assert_eq!(errors.list().len(), 50);
    assert_eq!(errors.more(), MOST_TASKS * MOST_ENTRIES - 50);
    assert!(errors.to_string().ends_with("\n- and 39950 more mistakes"));
}

#[test]
fn nothing_in_a_title_is_syntax_of_the_graph() {
    let titles = [
        "end",
        "say \"hi\"] --> t0",
        "`code` ```\n```",
        "<script>alert(1)</script> &amp; #quot;",
        "%%{init: {\"x\": 1}}%%",
        "style a:#fff; class é\u{202e}\u{0}",
    ];
    let tasks: Vec<PlanTask> = titles
        .iter()
        .enumerate()
        .map(|(n, title)| PlanTask {
            title: (*title).to_owned(),
            ..task(&format!("end{n}"), if n == 0 { &[] } else { &["end0"] })
        })
        .collect();
    insta::assert_snapshot!(Plan { tasks }.mermaid());
}

#[test]
fn the_summary_shows_graph_groups_and_tasks() {
    let mut plan = Plan::parse(GOOD).unwrap();
    plan.tasks[0].title = "@ann | <b> [x](y) `z` \\| end".to_owned();
    insta::assert_snapshot!(plan.summary_markdown(10_000));
}

#[test]
fn a_summary_without_room_says_what_is_missing() {
    let tasks = (0..MOST_TASKS).map(|n| apart(&format!("task-{n}"), &[]));
    let plan = Plan {
        tasks: tasks.collect(),
    };
    let text = plan.summary_markdown(6_000);
    assert!(text.contains("The graph is too large to draw here."));
    assert!(text.contains("1. `task-0`, `task-1`"));
    assert!(text.ends_with(" more tasks."));
    assert_eq!(plan.summary_markdown(0), "");
}

#[test]
fn a_graph_that_no_forge_would_draw_is_left_out() {
    let ids: Vec<String> = (0..MOST_TASKS).map(|n| format!("t{n}")).collect();
    let tasks = (0..MOST_TASKS).map(|n| {
        let needs: Vec<&str> = ids[..n].iter().rev().take(3).map(String::as_str).collect();
        task(&ids[n], &needs)
    });
    let plan = Plan {
        tasks: tasks.collect(),
    };
    let text = plan.summary_markdown(1_000_000);
    assert!(!text.contains("mermaid"));
    assert!(text.contains("The graph is too large to draw here."));
}

#[test]
fn groups_of_a_plan_that_was_never_checked_end_all_the_same() {
    let plan = Plan {
        tasks: vec![
            apart("a", &["b", "b", "gone"]),
            apart("b", &["a"]),
            apart("c", &["c"]),
            changing("", &[""], &["x"]),
        ],
    };
    assert_eq!(groups(&plan), [vec!["a", "c", ""], vec!["b"]]);
}

/// Whether a task can be reached from itself, by trying every way.
fn is_in_a_circle(tasks: &[PlanTask], start: usize) -> bool {
    let edges = graph::edges(tasks);
    let mut reached = vec![false; tasks.len()];
    let mut next = edges[start].clone();
    while let Some(here) = next.pop() {
        if !std::mem::replace(&mut reached[here], true) {
            next.extend(&edges[here]);
        }
    }
    reached[start]
}

/// Small plans of every shape: dependencies are places, so that they are known.
fn any_tasks() -> impl Strategy<Value = Vec<PlanTask>> {
    let needs = prop::collection::vec(prop::collection::vec(0_usize..8, 0..3), 1..8);
    needs.prop_map(|needs| {
        let most = needs.len();
        needs
            .into_iter()
            .enumerate()
            .map(|(n, needs)| {
                let ids: Vec<String> = needs
                    .into_iter()
                    .map(|need| format!("t{}", need % most))
                    .filter(|id| *id != format!("t{n}"))
                    .collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                apart(&format!("t{n}"), &ids)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = Plan::parse(&text);
    }

    #[test]
    fn no_block_makes_it_panic(body in "[\\[\\]{}\":,a-d0-9\\\\\nnul.é-]{0,80}") {
        let text = format!("```json tasks\n{body}\n```");
        if let Err(errors) = Plan::parse(&text) {
            prop_assert!(!errors.list().is_empty());
            let _ = errors.to_string();
        }
    }

    #[test]
    fn whatever_stands_in_a_field_is_read_or_refused_on_its_line(
        field in prop::sample::select(vec!["id", "title", "description", "acceptance", "depends_on", "paths", "checks"]),
        value in prop_oneof![
            Just(json!(null)), Just(json!(-1)), Just(json!(1.5)), Just(json!({})), Just(json!([[]])),
            any::<String>().prop_map(|text| json!(text)),
            prop::collection::vec(any::<String>(), 0..3).prop_map(|texts| json!(texts)),
        ],
    ) {
        let mut entry = serde_json::to_value(task("a", &[])).unwrap();
        entry[field] = value;
        match Plan::parse(&plan_of(&[entry])) {
            Ok(plan) => prop_assert_eq!(groups(&plan).len(), 1),
            Err(errors) => {
                prop_assert!(errors.list().iter().all(|error| error.line == Some(4)), "{errors}");
                prop_assert_eq!(errors.to_string().lines().count(), 1 + errors.list().len());
            }
        }
    }

    #[test]
    fn a_cycle_is_found_exactly_when_a_task_reaches_itself(tasks in any_tasks()) {
        let circular: Vec<usize> =
            (0..tasks.len()).filter(|start| is_in_a_circle(&tasks, *start)).collect();
        match Plan::parse(&written(&tasks)) {
            Ok(plan) => {
                prop_assert!(circular.is_empty());
                prop_assert_eq!(plan.tasks, tasks);
            }
            Err(errors) => for error in errors.list() {
                let around = error.message.strip_prefix("circular dependency: `");
                let around = around.and_then(|rest| rest.strip_suffix('`'));
                let around: Vec<TaskId> = around
                    .ok_or_else(|| TestCaseError::fail(errors.to_string()))?
                    .split(" -> ")
                    .map(TaskId::new)
                    .collect();
                prop_assert_eq!(around.first(), around.last());
                for (one, next) in around.iter().zip(&around[1..]) {
                    let found = tasks.iter().position(|task| task.id == *one).unwrap();
                    prop_assert!(circular.contains(&found));
                    prop_assert!(tasks[found].depends_on.contains(next));
                }
            },
        }
    }

    #[test]
    fn every_task_is_in_one_group_after_all_it_depends_on(tasks in any_tasks()) {
        let plan = Plan { tasks };
        let groups = groups(&plan);
        let group_of = |id: &str| groups.iter().position(|group| group.iter().any(|one| one == id)).unwrap();
        prop_assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), plan.tasks.len());
        if Plan::parse(&written(&plan.tasks)).is_ok() {
            for task in &plan.tasks {
                let earliest = task.depends_on.iter().map(|id| group_of(id.as_str()) + 1).max();
                prop_assert_eq!(group_of(task.id.as_str()), earliest.unwrap_or(0));
            }
        }
    }

    #[test]
    fn a_summary_never_outgrows_its_room(
        titles in prop::collection::vec(any::<String>(), 1..20), room in 0_usize..4_000,
    ) {
        let tasks = titles.into_iter().enumerate().map(|(n, title)| PlanTask {
            title,
            ..task(&format!("t{n}"), &["t0"])
        });
        let plan = Plan { tasks: tasks.collect() };
        prop_assert!(plan.summary_markdown(room).chars().count() <= room);
    }

    #[test]
    fn a_graph_holds_no_sign_of_a_title_that_could_be_syntax(title in any::<String>()) {
        let plan = Plan { tasks: vec![PlanTask { title, ..task("a", &[]) }] };
        let graph = plan.mermaid();
        let lines: Vec<&str> = graph.lines().collect();
        prop_assert_eq!(lines.len(), 2);
        let inner = lines[1].strip_prefix("  t0[\"").and_then(|rest| rest.strip_suffix("\"]"));
        let harmless = |c: char| c.is_alphanumeric() || " -_.,/#;…".contains(c);
        prop_assert!(inner.is_some_and(|inner| inner.chars().all(harmless)), "{graph}");
    }
}
