use super::*;
use std::collections::HashMap;

fn plan(tasks: Vec<PlanTask>) -> Plan {
    Plan { tasks }
}

/// The implied waits as `later after earlier: reason`.
fn implied(plan: &Plan) -> Vec<String> {
    let order = plan.order();
    let waits = order.implied().iter();
    waits
        .map(|wait| format!("{} after {}: {}", wait.later, wait.earlier, wait.reason))
        .collect()
}

/// Why one of two tasks with these paths waits for the other, if it does.
fn reason(one: &[&str], two: &[&str]) -> Option<String> {
    let plan = plan(vec![changing("x", &[], one), changing("y", &[], two)]);
    let order = plan.order();
    let [wait] = order.implied() else {
        assert!(order.implied().is_empty() && !order.collide(&id("x"), &id("y")));
        return None;
    };
    assert_eq!((wait.earlier.as_str(), wait.later.as_str()), ("x", "y"));
    Some(wait.reason.clone())
}

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

#[test]
fn tasks_that_may_change_the_same_file_wait_for_each_other() {
    let table = [
        ("src/a.rs", "src/a.rs", Some("both change `src/a.rs`")),
        (
            "src/a.rs",
            "./src//A.rs",
            Some("`src/a.rs` and `./src//A.rs` overlap"),
        ),
        ("src", "src/a.rs", Some("`src` and `src/a.rs` overlap")),
        (
            "src/",
            "src/b/c.rs",
            Some("`src/` and `src/b/c.rs` overlap"),
        ),
        (
            "src/**",
            "src/b/c.rs",
            Some("`src/**` and `src/b/c.rs` overlap"),
        ),
        (
            "src/*.rs",
            "src/a.rs",
            Some("`src/*.rs` and `src/a.rs` overlap"),
        ),
        ("src/a*", "src/*b", Some("`src/a*` and `src/*b` overlap")),
        (
            "src/[ab].rs",
            "src/a.rs",
            Some("`src/[ab].rs` and `src/a.rs` overlap"),
        ),
        (
            "src/{a,b/c}.rs",
            "src/b/c.rs",
            Some("`src/{a,b/c}.rs` and `src/b/c.rs` overlap"),
        ),
        (
            "**/*.rs",
            "docs/x.md",
            Some("`**/*.rs` and `docs/x.md` overlap"),
        ),
        (".", "docs/x.md", Some("`.` and `docs/x.md` overlap")),
        (
            "*/tests/**",
            "src/tests/a.rs",
            Some("`*/tests/**` and `src/tests/a.rs` overlap"),
        ),
        (
            "src\\a.rs",
            "src/a.rs",
            Some("`src\\a.rs` and `src/a.rs` overlap"),
        ),
        ("src/a.rs", "src/b.rs", None),
        ("src/a", "src/ab", None),
        ("src/a/**", "src/b/**", None),
        ("src/*.rs", "src/*.md", None),
        ("tests/test_a*.py", "tests/test_b.py", None),
        ("src/*.rs", "src/b/c.md", None),
        ("*/tests/**", "src/a.rs", None),
    ];
    for (one, two, expected) in table {
        assert_eq!(
            reason(&[one], &[two]).as_deref(),
            expected,
            "{one} and {two}"
        );
        let is_found = reason(&[two], &[one]).is_some();
        assert_eq!(is_found, expected.is_some(), "{two} and {one}");
    }
}

#[test]
fn tasks_that_change_hot_files_wait_for_each_other() {
    let table = [
        ("Cargo.lock", "Cargo.lock", Some("both change `Cargo.lock`")),
        (
            "crates/a/Cargo.toml",
            "Cargo.lock",
            Some(
                "both change Cargo manifests or lock files: `crates/a/Cargo.toml` and `Cargo.lock`",
            ),
        ),
        (
            "web/package.json",
            "app/yarn.lock",
            Some(
                "both change Node manifests or lock files: `web/package.json` and `app/yarn.lock`",
            ),
        ),
        (
            "db/migrations/1_a.sql",
            "db/migrations/2_b.sql",
            Some(
                "both change migrations, which run in one order: `db/migrations/1_a.sql` and \
                 `db/migrations/2_b.sql`",
            ),
        ),
        (
            "src/generated/a.ts",
            "src/generated/b/c.ts",
            Some(
                "both change a folder of generated files: `src/generated/a.ts` and \
                 `src/generated/b/c.ts`",
            ),
        ),
        (
            "api/a.pb.go",
            "api/*.pb.go",
            Some("both change generated files: `api/a.pb.go` and `api/*.pb.go`"),
        ),
        (
            "api/a.pb.go",
            "api/b.pb.go",
            Some("both change generated files: `api/a.pb.go` and `api/b.pb.go`"),
        ),
        (
            "CHANGELOG.md",
            "CHANGELOG.md",
            Some("both change `CHANGELOG.md`, a changelog"),
        ),
        (
            "src/x/mod.rs",
            "src/x/mod.rs",
            Some("both change `src/x/mod.rs`, a registry of what is beside it"),
        ),
        ("Cargo.toml", "package.json", None),
        ("a/migrations/1.sql", "b/migrations/1.sql", None),
        ("a/x.pb.go", "b/x.pb.go", None),
        ("a/CHANGELOG.md", "b/CHANGELOG.md", None),
        ("src/x/mod.rs", "src/y/mod.rs", None),
    ];
    for (one, two, expected) in table {
        assert_eq!(
            reason(&[one], &[two]).as_deref(),
            expected,
            "{one} and {two}"
        );
    }
}

#[test]
fn a_task_without_paths_runs_alone_and_the_summary_says_so() {
    let plan = plan(vec![
        apart("a", &[]),
        task("b", &[]),
        apart("c", &[]),
        changing("d", &[], &["!src/**"]),
    ]);
    assert_eq!(
        implied(&plan),
        [
            "b after a: `b` names no `paths`, so it runs alone",
            "c after b: `b` names no `paths`, so it runs alone",
            "d after c: `d` names no `paths`, so it runs alone",
        ]
    );
    assert_eq!(plan.order().alone(), [id("b"), id("d")]);
    let text = plan.summary_markdown(10_000);
    assert!(
        text.contains("2 tasks name no `paths` and each run alone: `b`, `d`."),
        "{text}"
    );
    assert!(
        text.contains("4 tasks in 4 groups, at most 1 at the same time."),
        "{text}"
    );
}

#[test]
fn a_check_is_not_changed_while_it_judges_a_task() {
    let judged = |id: &str, paths: &[&str]| PlanTask {
        checks: vec!["tests/a.rs".to_owned()],
        ..changing(id, &[], paths)
    };
    let tasks = vec![
        judged("one", &["src/one.rs", "tests/a.rs"]),
        judged("two", &["src/two.rs", "tests/a.rs"]),
        changing("tests", &[], &["tests/**"]),
        judged("three", &["src/three.rs"]),
    ];
    assert_eq!(
        implied(&plan(tasks)),
        [
            "tests after two: `tests` changes `tests/**`, which checks `two`",
            "tests after one: `tests` changes `tests/**`, which checks `one`",
            "three after tests: `tests` changes `tests/**`, which checks `three`",
        ]
    );
}

#[test]
fn tasks_that_are_ordered_anyway_get_no_second_wait() {
    let tasks = vec![
        changing("a", &["c"], &["x"]),
        changing("b", &[], &["x"]),
        changing("c", &[], &["y"]),
        changing("d", &["a"], &["x", "y"]),
        changing("e", &[], &["x"]),
    ];
    let plan = plan(tasks);
    let order = plan.order();
    let ids: Vec<&str> = order.tasks().iter().map(TaskId::as_str).collect();
    assert_eq!(ids, ["b", "c", "a", "d", "e"]);
    assert_eq!(
        implied(&plan),
        ["a after b: both change `x`", "e after d: both change `x`"]
    );
    assert_eq!(order.waits_for(&id("a")), [id("b"), id("c")]);
    assert!(order.collide(&id("e"), &id("b")) && !order.collide(&id("e"), &id("c")));
    assert!(order.is_before(&id("b"), &id("e")) && !order.is_before(&id("e"), &id("b")));
}

#[test]
fn width_and_longest_chain_count_what_is_implied() {
    let tasks = vec![
        apart("a", &[]),
        apart("b", &["a"]),
        apart("c", &["a"]),
        apart("d", &[]),
        changing("e", &["c"], &["src/d/x.rs"]),
    ];
    let order = plan(tasks).order();
    assert_eq!(order.width(), 3);
    let path: Vec<&str> = order
        .critical_path()
        .into_iter()
        .map(TaskId::as_str)
        .collect();
    assert_eq!(path, ["a", "c", "e"]);
    assert_eq!(order.waits_for(&id("e")), [id("c"), id("d")]);
    let none = plan(vec![]).order();
    assert_eq!(
        (none.width(), none.critical_path(), none.groups().len()),
        (0, vec![], 0)
    );
}

#[test]
fn the_summary_tells_what_waits_for_what_and_why() {
    let mut tasks: Vec<PlanTask> = (0..13).map(|n| apart(&format!("t{n}"), &[])).collect();
    for task in &mut tasks {
        task.paths.push("docs|`x`.md".to_owned());
    }
    tasks.push(apart("free", &["t0"]));
    insta::assert_snapshot!(plan(tasks).summary_markdown(10_000));
    let one = plan(vec![apart("a", &[])]).summary_markdown(10_000);
    assert!(!one.contains("### Order"), "{one}");
}

#[test]
fn an_unknown_task_waits_for_nothing() {
    let order = plan(vec![apart("a", &[])]).order();
    assert!(order.waits_for(&id("gone")).is_empty());
    assert!(!order.collide(&id("gone"), &id("a")));
    assert!(!order.is_before(&id("a"), &id("gone")));
}

#[test]
fn the_order_of_very_many_tasks_ends() {
    type Paths = fn(usize) -> Vec<String>;
    let shapes: [(Paths, bool); 5] = [
        (|_| vec![], true),
        (|_| vec!["Cargo.lock".to_owned()], true),
        (
            |n| vec![format!("src/{n}/**"), format!("tests/{}.rs", n % 50)],
            false,
        ),
        (|n| vec![format!("src/*.{n}"), format!("src/{n}*")], true),
        // There are too many pairs to compare, so in doubt they collide.
        (
            |n| (0..20).map(|m| format!("src/{n}-*-{m}")).collect(),
            true,
        ),
    ];
    for (number, (paths, is_serial)) in shapes.into_iter().enumerate() {
        let tasks = (0..1000).map(|n| PlanTask {
            paths: paths(n),
            depends_on: (n % 7 == 6)
                .then(|| id(&format!("t{}", n - 6)))
                .into_iter()
                .collect(),
            ..task(&format!("t{n}"), &[])
        });
        let order = plan(tasks.collect()).order();
        assert_eq!(order.tasks().len(), 1000);
        assert_eq!(order.width() == 1, is_serial, "shape {number}");
        assert!(order.implied().len() < 10_000);
        assert_eq!(order.critical_path().len(), order.groups().len());
    }
}

/// Small plans in which tasks share paths. A task may depend on later ones, but never in a cycle.
fn any_sound_plan() -> impl Strategy<Value = Plan> {
    let paths = prop::sample::subsequence(
        vec![
            "a",
            "a/b",
            "a/*.rs",
            "b/**",
            "b/x.rs",
            "Cargo.toml",
            "c/Cargo.lock",
            "m/migrations/1",
            "m/migrations/2",
        ],
        0..4,
    );
    let one = (
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        paths,
        any::<bool>(),
    );
    (prop::collection::vec(one, 1..9), any::<u64>()).prop_map(|(tasks, turn)| {
        let count = tasks.len();
        let turn = (turn % count as u64) as usize;
        let name = |n: usize| format!("t{}", (n + turn) % count);
        let mut tasks: Vec<PlanTask> = tasks
            .into_iter()
            .enumerate()
            .map(|(n, (needs, paths, is_checked))| {
                let needs: Vec<String> = needs
                    .iter()
                    .filter(|_| n > 0)
                    .map(|need| name(need.index(n)))
                    .collect();
                let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
                PlanTask {
                    checks: if is_checked {
                        vec!["a/b".to_owned()]
                    } else {
                        vec![]
                    },
                    ..changing(&name(n), &needs, &paths)
                }
            })
            .collect();
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        Plan { tasks }
    })
}

/// The maximum number of tasks of which none is before another, found by trying every set.
fn width(order: &Order) -> usize {
    let ids = order.tasks();
    let are_beside = |set: u32| {
        let of = |n: &usize| set & (1 << n) != 0;
        let chosen: Vec<&TaskId> = (0..ids.len()).filter(of).map(|n| &ids[n]).collect();
        chosen
            .iter()
            .all(|one| chosen.iter().all(|two| !order.is_before(one, two)))
    };
    let sets = (0..1_u32 << ids.len()).filter(|set| are_beside(*set));
    sets.map(u32::count_ones).max().unwrap_or(0) as usize
}

proptest! {
    #[test]
    fn an_order_has_no_circle_and_keeps_all_that_collide_apart(plan in any_sound_plan()) {
        prop_assert!(Plan::parse(&written(&plan.tasks)).is_ok());
        let order = plan.order();
        let places: HashMap<&TaskId, usize> = order.tasks().iter().zip(0..).collect();
        prop_assert_eq!(places.len(), plan.tasks.len());
        for task in &plan.tasks {
            let waits = order.waits_for(&task.id);
            prop_assert!(task.depends_on.iter().all(|id| waits.contains(id)));
            for id in waits {
                prop_assert!(places[id] < places[&task.id]);
                prop_assert!(task.depends_on.contains(id) || order.collide(id, &task.id));
            }
            for other in &plan.tasks {
                let (one, two) = (&task.id, &other.id);
                prop_assert_eq!(order.collide(one, two), order.collide(two, one));
                if order.collide(one, two) {
                    prop_assert!(order.is_before(one, two) != order.is_before(two, one));
                }
                let is_same = one != two && task.paths.iter().any(|path| other.paths.contains(path) && path != "a/b");
                prop_assert!(!is_same || order.collide(one, two));
            }
        }
        for wait in order.implied() {
            let others = order.waits_for(&wait.later).iter();
            prop_assert!(others.clone().any(|id| *id == wait.earlier));
            prop_assert!(!others.clone().any(|id| order.is_before(&wait.earlier, id)));
        }
        prop_assert_eq!(order.width(), width(&order));
        prop_assert_eq!(order.critical_path().len(), order.groups().len());
    }
}
