use super::*;
use std::time::Duration;

/// The stages that `scope` needs. Every changed path must be covered by at least one route.
fn plan_routes(routes: &[Route], scope: &Scope) -> Result<Plan, RouteProblem> {
    let (plan, uncovered) = split_routes(routes, scope)?;
    if uncovered.is_empty() {
        Ok(plan)
    } else {
        Err(RouteProblem::Uncovered(uncovered))
    }
}

fn run(name: &str, paths: &[&str]) -> Route {
    let command = StageCommand {
        argv: vec!["check".to_owned(), name.to_owned()],
        timeout: Duration::from_secs(1),
        ..StageCommand::default()
    };
    Route {
        name: name.to_owned(),
        paths: paths.iter().map(|&p| p.to_owned()).collect(),
        rule: Rule::Run(vec![(StageName::Compile, command)]),
    }
}

fn skip(name: &str, paths: &[&str]) -> Route {
    Route {
        rule: Rule::Skip("prose".to_owned()),
        ..run(name, paths)
    }
}

fn changed(paths: &[&str]) -> Scope {
    Scope::Changed(paths.iter().map(|&p| p.to_owned()).collect())
}

/// Route and whether it runs, of every compile stage planned.
fn chosen(routes: &[Route], scope: &Scope) -> Result<Vec<(String, bool)>, RouteProblem> {
    let plan = plan_routes(routes, scope)?;
    let compile = plan
        .stages
        .into_iter()
        .filter(|s| s.name == StageName::Compile);
    Ok(compile
        .map(|s| (s.route, matches!(s.work, Work::Run(_))))
        .collect())
}

fn names(list: &[(&str, bool)]) -> Result<Vec<(String, bool)>, RouteProblem> {
    Ok(list.iter().map(|&(n, r)| (n.to_owned(), r)).collect())
}

#[test]
fn every_route_that_covers_a_changed_path_runs() {
    let routes = [
        run("api", &["crates/api/**"]),
        run("rust", &["**/*.rs", "Cargo.lock"]),
        run("web", &["web/**"]),
        skip("docs", &["docs/**", "*.md"]),
    ];
    type Row<'a> = (&'a [&'a str], &'a [(&'a str, bool)]);
    let table: &[Row<'_>] = &[
        (&["crates/api/src/lib.rs"], &[("api", true), ("rust", true)]),
        (&["crates/api/a.txt"], &[("api", true)]),
        (
            &["web/x/y.ts", "Cargo.lock"],
            &[("rust", true), ("web", true)],
        ),
        (&["README.md"], &[("docs", false)]),
        (&["README.md", "web/a"], &[("web", true), ("docs", false)]),
        (&["docs/example.rs"], &[("rust", true)]),
    ];
    for (paths, expected) in table {
        assert_eq!(
            chosen(&routes, &changed(paths)),
            names(expected),
            "{paths:?}"
        );
    }
}

#[test]
fn a_path_no_route_covers_is_named() {
    let routes = [run("api", &["crates/api/**"])];
    let problem = chosen(
        &routes,
        &changed(&["crates/api/a", "tools/x.sh", "README.md"]),
    )
    .unwrap_err();
    assert_eq!(
        problem,
        RouteProblem::Uncovered(vec!["tools/x.sh".to_owned(), "README.md".to_owned()])
    );
    assert_eq!(
        problem.reason(),
        "`tools/x.sh`, `README.md` are not covered by any route"
    );
}

#[test]
fn a_star_stays_within_its_folder() {
    let routes = [run("top", &["*.rs"])];
    assert_eq!(
        chosen(&routes, &changed(&["a.rs"])),
        names(&[("top", true)])
    );
    assert!(chosen(&routes, &changed(&["src/a.rs"])).is_err());
}

#[test]
fn no_change_and_no_route_fail_closed() {
    assert_eq!(
        chosen(&[run("a", &["**"])], &changed(&[])),
        Err(RouteProblem::NothingChanged)
    );
    assert_eq!(
        chosen(&[], &changed(&["a"])),
        Err(RouteProblem::Uncovered(vec!["a".to_owned()]))
    );
}

#[test]
fn without_a_base_every_route_is_used() {
    let routes = [run("a", &["a/**"]), skip("b", &["b/**"])];
    assert_eq!(
        chosen(&routes, &Scope::Everything),
        names(&[("a", true), ("b", false)])
    );
}

#[test]
fn a_glob_that_cannot_be_read_is_an_error_not_a_miss() {
    let problem = chosen(&[run("a", &["src/[*"])], &changed(&["src/x"])).unwrap_err();
    assert!(
        matches!(problem, RouteProblem::BadGlob { .. }),
        "{problem:?}"
    );
}

#[test]
fn stages_of_all_routes_run_stage_by_stage() {
    let mut a = run("a", &["**"]);
    let Rule::Run(commands) = &mut a.rule else {
        panic!("a run")
    };
    let tests = commands[0].1.clone();
    commands.push((StageName::TargetedTests, tests));
    let plan = plan_routes(&[a, run("b", &["**"])], &changed(&["x"])).unwrap();
    let order: Vec<_> = plan
        .stages
        .iter()
        .map(|s| {
            (
                s.name.as_str(),
                s.route.as_str(),
                matches!(s.work, Work::Run(_)),
            )
        })
        .collect();
    assert_eq!(
        order,
        [
            ("compile", "a", true),
            ("compile", "b", true),
            ("targetedTests", "a", true),
            ("targetedTests", "b", false),
            ("startupSmoke", "a", false),
            ("startupSmoke", "b", false),
        ]
    );
}

#[test]
fn a_route_without_tests_runs_its_other_commands_and_says_why() {
    let mut route = run("a", &["**"]);
    let Rule::Run(commands) = route.rule else {
        panic!("a run")
    };
    route.rule = Rule::Untested("no tests yet".to_owned(), commands);
    // The route runs stages, so it takes precedence over a route that skips.
    let routes = [skip("docs", &["**"]), route];
    let plan = plan_routes(&routes, &changed(&["x"])).unwrap();
    let work: Vec<_> = plan
        .stages
        .iter()
        .map(|stage| match &stage.work {
            Work::Run(command) => (stage.route.as_str(), command.argv.join(" ")),
            Work::Nothing(reason) => (stage.route.as_str(), reason.clone()),
        })
        .collect();
    assert_eq!(
        work,
        [
            ("a", "check a".to_owned()),
            ("a", "skipped by its route: no tests yet".to_owned()),
            ("a", "its route has no command for it".to_owned()),
        ]
    );
}
