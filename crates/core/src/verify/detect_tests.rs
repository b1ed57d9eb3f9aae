use super::*;

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&s| s.to_owned()).collect()
}

fn scripts(list: &[(&str, &str)]) -> Scripts {
    let pairs = list.iter();
    pairs
        .map(|&(name, text)| (name.to_owned(), text.to_owned()))
        .collect()
}

fn bounds() -> Bounds {
    Bounds {
        timeouts: StageTimeouts::default(),
        memory_bytes: Some(4 * 1024 * 1024 * 1024),
        network: StageNetwork::Off,
    }
}

fn cargo(dir: &str) -> Project {
    let package = |name: &str, dir: &str, uses: &[&str]| CargoPackage {
        name: name.to_owned(),
        dir: dir.to_owned(),
        uses: texts(uses),
        has_lib: true,
        ..CargoPackage::default()
    };
    let workspace = CargoWorkspace {
        packages: vec![
            package("core", "crates/core", &[]),
            package("engine", "crates/engine", &["core"]),
            package("cli", "crates/cli", &["engine"]),
            package("web", "crates/web", &[]),
        ],
        locked: true,
        nextest: false,
        has_needs: false,
    };
    Project::new(dir, ProjectKind::Cargo(workspace))
}

fn node(manager: NodeManager, turbo: bool, installed: Installed) -> Project {
    let package = |name: &str, scripts: &[&str], uses: &[&str]| NodePackage {
        name: name.to_owned(),
        dir: format!("packages/{name}"),
        scripts: texts(scripts),
        uses: texts(uses),
    };
    let workspace = NodeWorkspace {
        manager,
        turbo,
        root_scripts: Scripts::new(),
        packages: vec![
            package("ui", &["build", "test"], &[]),
            package("app", &["test", "smoke"], &["ui"]),
            package("lone", &["test"], &[]),
        ],
        has_needs: true,
        installed,
        locked: true,
    };
    Project::new("", ProjectKind::Node(workspace))
}

fn make(targets: &[&str]) -> Project {
    let makefile = Makefile {
        targets: texts(targets),
        ..Makefile::default()
    };
    Project::new("", ProjectKind::Make(makefile))
}

/// Every command line planned, with its folder in front when it is not the root.
fn commands(projects: &[Project], scope: &Scope) -> Result<Vec<String>, RouteProblem> {
    let plan = plan_projects(projects, scope, &bounds())?;
    let run = plan
        .stages
        .into_iter()
        .filter_map(|stage| match stage.work {
            Work::Run(command) if command.dir.is_empty() => Some(command.argv.join(" ")),
            Work::Run(command) => Some(format!("{}$ {}", command.dir, command.argv.join(" "))),
            Work::Nothing(_) => None,
        });
    Ok(run.collect())
}

fn changed(paths: &[&str]) -> Scope {
    Scope::Changed(texts(paths))
}

#[test]
fn cargo_fetches_crates_of_others_before_a_build_without_network() {
    for (locked, expected) in [(true, "cargo fetch --locked"), (false, "cargo fetch")] {
        let mut project = cargo("");
        let ProjectKind::Cargo(workspace) = &mut project.kind else {
            panic!("a Cargo workspace");
        };
        (workspace.has_needs, workspace.locked) = (true, locked);
        let plan = plan_projects(&[project], &changed(&["Cargo.toml"]), &bounds()).unwrap();
        let first = plan.stages.into_iter().find_map(|stage| match stage.work {
            Work::Run(command) => Some((command.argv.join(" "), command.network)),
            Work::Nothing(_) => None,
        });
        let registries = Some(StageNetwork::Registries);
        assert_eq!(first, Some((expected.to_owned(), registries)));
    }
}

#[test]
fn cargo_checks_what_changed_and_what_depends_on_it() {
    let table: &[(&[&str], &str)] = &[
        (&["crates/cli/src/main.rs"], "-p cli"),
        (&["crates/engine/src/lib.rs"], "-p cli -p engine"),
        (&["crates/core/src/lib.rs"], "-p cli -p core -p engine"),
        (&["crates/core/a", "crates/web/b"], "--workspace"),
        (&["Cargo.lock"], "--workspace"),
        (&["README.md"], "--workspace"),
        (&["crates/gone/src/lib.rs"], "--workspace"),
    ];
    for (paths, selection) in table {
        let expected = vec![
            format!("cargo check --all-targets --locked {selection}"),
            format!("cargo test --locked {selection}"),
        ];
        assert_eq!(
            commands(&[cargo("")], &changed(paths)),
            Ok(expected),
            "{paths:?}"
        );
    }
}

#[test]
fn the_deepest_project_answers_and_nothing_above_all_projects_does() {
    let projects = [cargo("rust"), make(&["test"])];
    let inner = commands(&projects, &changed(&["rust/crates/web/a.rs"])).unwrap();
    assert_eq!(
        inner,
        [
            "rust$ cargo check --all-targets --locked -p web",
            "rust$ cargo test --locked -p web"
        ]
    );
    assert_eq!(
        commands(&projects, &changed(&["other"])),
        Ok(texts(&["make test"]))
    );
    assert_eq!(
        commands(&[cargo("rust")], &changed(&["rust/Cargo.toml", "other"])),
        Err(RouteProblem::Uncovered(texts(&["other"])))
    );
    assert_eq!(
        commands(&[], &changed(&["a"])),
        Err(RouteProblem::Uncovered(texts(&["a"])))
    );
    assert_eq!(
        commands(&[], &Scope::Everything),
        Err(RouteProblem::Uncovered(texts(&["."])))
    );
}

#[test]
fn a_makefile_counts_only_where_it_is_alone() {
    let both = commands(&[cargo(""), make(&["build", "test"])], &Scope::Everything).unwrap();
    assert_eq!(
        both,
        [
            "cargo check --all-targets --locked --workspace",
            "cargo test --locked --workspace"
        ]
    );
    assert_eq!(
        commands(
            &[make(&["all", "check", "smoke", "install"])],
            &changed(&["a.c"])
        ),
        Ok(texts(&["make all", "make check", "make smoke"]))
    );
    assert_eq!(
        commands(&[make(&["install", "smoke"])], &changed(&["a.c"])),
        Err(RouteProblem::Uncovered(texts(&["a.c"])))
    );
}

#[test]
fn node_scripts_are_filtered_to_the_affected_packages() {
    let ui = changed(&["packages/ui/a.ts"]);
    let table: &[(Project, &[&str])] = &[
        (
            node(NodeManager::Npm, false, Installed::AsAsked),
            &[
                "npm run build --workspace=ui",
                "npm run test --workspace=ui --workspace=app",
                "npm run smoke --workspace=app",
            ],
        ),
        (
            node(NodeManager::Pnpm, false, Installed::Nothing),
            &[
                "pnpm install --frozen-lockfile",
                "pnpm --filter=ui run build",
                "pnpm --filter=ui --filter=app run test",
                "pnpm --filter=app run smoke",
            ],
        ),
        (
            node(NodeManager::Pnpm, true, Installed::AsAsked),
            &[
                "pnpm exec turbo run build --filter=ui",
                "pnpm exec turbo run test --filter=ui --filter=app",
                "pnpm exec turbo run smoke --filter=app",
            ],
        ),
        (
            node(NodeManager::Npm, true, Installed::AsAsked),
            &[
                "npx --no-install turbo run build --filter=ui",
                "npx --no-install turbo run test --filter=ui --filter=app",
                "npx --no-install turbo run smoke --filter=app",
            ],
        ),
    ];
    for (project, expected) in table {
        assert_eq!(
            commands(std::slice::from_ref(project), &ui),
            Ok(texts(expected))
        );
    }
}

#[test]
fn a_change_of_the_root_concerns_every_node_package() {
    let lone = commands(
        &[node(NodeManager::Npm, false, Installed::AsAsked)],
        &changed(&["packages/lone/x"]),
    );
    assert_eq!(lone, Ok(texts(&["npm run test --workspace=lone"])));
    let root = commands(
        &[node(NodeManager::Npm, false, Installed::AsAsked)],
        &changed(&["turbo.json"]),
    );
    assert_eq!(
        root,
        Ok(texts(&[
            "npm run build --workspace=ui",
            "npm run test --workspace=ui --workspace=app --workspace=lone",
            "npm run smoke --workspace=app",
        ]))
    );
}

#[test]
fn what_was_installed_for_other_manifests_is_installed_anew() {
    let table: &[(Installed, &str, bool)] = &[
        (Installed::AsAsked, "packages/lone/a.ts", false),
        (Installed::AsAsked, "packages/lone/package.json", true),
        (Installed::AsAsked, "package.json", true),
        (Installed::AsAsked, "package-lock.json", true),
        (Installed::AsAsked, "npm-shrinkwrap.json", true),
        (Installed::AsAsked, "pnpm-lock.yaml", true),
        (Installed::AsAsked, "pnpm-workspace.yaml", true),
        (Installed::AsAsked, ".npmrc", true),
        (Installed::ForOthers, "packages/lone/a.ts", true),
        (Installed::Nothing, "packages/lone/a.ts", true),
    ];
    for (installed, path, expected) in table {
        let project = node(NodeManager::Npm, false, *installed);
        let commands = commands(&[project], &changed(&[path])).unwrap();
        let installs = commands[0] == "npm ci --no-audit --no-fund";
        assert_eq!(installs, *expected, "{installed:?} {path}: {commands:?}");
    }
}

#[test]
fn a_project_that_names_no_test_is_refused() {
    let refused = |route: &str, missing| {
        let route = route.to_owned();
        Err(RouteProblem::Untested { route, missing })
    };
    assert_eq!(
        commands(&[make(&["all"])], &changed(&["Makefile"])),
        refused("make", "`test` target")
    );
    let mut lone = node(NodeManager::Npm, false, Installed::AsAsked);
    lone.dir = "web".to_owned();
    if let ProjectKind::Node(workspace) = &mut lone.kind {
        workspace.packages.clear();
        workspace.root_scripts = scripts(&[("build", "true")]);
    }
    let web = std::slice::from_ref(&lone);
    assert_eq!(
        commands(web, &changed(&["web/package.json"])),
        refused("node:web", "`test` script")
    );
    assert_eq!(
        commands(web, &Scope::Everything),
        refused("node:web", "`test` script")
    );
    // The tests of one project say nothing about another.
    assert_eq!(
        commands(
            &[cargo("rust"), lone],
            &changed(&["rust/crates/web/a.rs", "web/package.json"])
        ),
        refused("node:web", "`test` script")
    );
    let problem = RouteProblem::Untested {
        route: "make".to_owned(),
        missing: "`test` target",
    };
    assert_eq!(
        (problem.reason(), problem.hint()),
        (
            "project `make` has no `test` target, so no test would run".to_owned(),
            "add a `test` target, or a `[[verify.routes]]` to `drive.toml` on the base".to_owned()
        )
    );
}

#[test]
fn a_node_heap_fits_the_memory_limit() {
    let plan = plan_projects(
        &[node(NodeManager::Npm, false, Installed::AsAsked)],
        &Scope::Everything,
        &bounds(),
    )
    .unwrap();
    for stage in plan.stages {
        if let Work::Run(command) = stage.work {
            let expected = (
                "NODE_OPTIONS".to_owned(),
                "--max-old-space-size=3072".to_owned(),
            );
            assert!(command.env.contains(&expected), "{command:?}");
        }
    }
}

#[test]
fn go_builds_and_tests_the_packages_a_change_reaches() {
    let package = |path: &str, dir: &str, uses: &[&str]| GoPackage {
        import_path: path.to_owned(),
        dir: dir.to_owned(),
        uses: texts(uses),
    };
    let packages = vec![
        package("x", "", &["x/a"]),
        package("x/a", "a", &["fmt"]),
        package("x/b", "b", &["fmt"]),
    ];
    let [go, needy] = [false, true].map(|has_needs| {
        let mut module = GoModule::default();
        (module.packages, module.has_needs) = (packages.clone(), has_needs);
        [Project::new("", ProjectKind::Go(module))]
    });
    assert_eq!(
        commands(&needy, &changed(&["b/b.go"])),
        Ok(texts(&["go mod download", "go build x/b", "go test x/b"]))
    );
    let table: &[(&[&str], &str)] = &[
        (&["a/a.go"], "x x/a"),
        (&["b/b.go"], "x/b"),
        (&["go.mod"], "./..."),
        (&["a/a.go", "b/b.go"], "./..."),
    ];
    for (paths, selection) in table {
        let expected = vec![
            format!("go build {selection}"),
            format!("go test {selection}"),
        ];
        assert_eq!(commands(&go, &changed(paths)), Ok(expected), "{paths:?}");
    }
    let unknown = [Project::new("", ProjectKind::Go(GoModule::default()))];
    assert_eq!(
        commands(&unknown, &changed(&["a/a.go"])),
        Ok(texts(&["go build ./...", "go test ./..."]))
    );
}

#[test]
fn a_candidate_that_writes_its_own_rules_is_noted() {
    let plan = plan_projects(
        &[cargo("")],
        &changed(&["crates/web/Cargo.toml"]),
        &bounds(),
    )
    .unwrap();
    assert_eq!(
        plan.notes,
        ["the commit changes `crates/web/Cargo.toml`, which affects what is verified"]
    );
}

#[test]
fn make_targets_are_rules_and_nothing_else() {
    let text = "CC := gcc\nX ?= a:b\n.PHONY: all test\nall test: dep\n\tcc a:b\n%.o: %.c\n# no: comment\nurl=http://x\nlib/a.o: a.c\n$(OUT): x\ncheck::\n";
    assert_eq!(make_targets(text), ["all", "test", "lib/a.o", "check"]);
}

#[test]
fn a_makefile_does_not_cover_a_source_that_it_never_builds() {
    let mut project = make(&["all", "test"]);
    if let ProjectKind::Make(makefile) = &mut project.kind {
        makefile.unbuilt = ["src/never.c".to_owned()].into();
    }
    project.dir = "lib".to_owned();
    let projects = [project];
    assert_eq!(
        commands(&projects, &changed(&["lib/src/a.c", "lib/README.md"])),
        Ok(texts(&["lib$ make all", "lib$ make test"]))
    );
    let problem = commands(&projects, &changed(&["lib/src/a.c", "lib/src/never.c"])).unwrap_err();
    assert_eq!(
        problem.reason(),
        "`lib/src/never.c` is not tested: not used by `make all` or `make test`"
    );
    assert_eq!(
        problem.hint(),
        "build and test it with a Makefile target, or add a `[[verify.routes]]` to `drive.toml` on the base"
    );
}

#[test]
fn cargo_checks_benchmarks_only_where_a_stable_compiler_builds_them() {
    let mut project = cargo("");
    if let ProjectKind::Cargo(workspace) = &mut project.kind {
        workspace.locked = false;
        workspace.packages[0].has_nightly_bench = true;
        workspace.packages[2].has_lib = false;
    }
    let projects = [project];
    let check = |path: &str| commands(&projects, &changed(&[path])).unwrap().remove(0);
    assert_eq!(check("crates/web/a.rs"), "cargo check --all-targets -p web");
    // Without a library in one of them `--lib` would be an error.
    assert_eq!(
        check("crates/core/a.rs"),
        "cargo check --bins --tests --examples -p cli -p core -p engine"
    );
    for (text, expected) in [
        ("#![feature(test)]\nextern crate test;\n", true),
        ("  #! [feature(test)]\n", false),
        ("#![ feature (test)]\n", true),
        ("#![cfg_attr(nightly, feature(test))]\n", false),
        ("// #![feature(test)]\n", false),
        ("fn main() {}\n", false),
    ] {
        assert_eq!(needs_nightly(text), expected, "{text}");
    }
}

#[test]
fn a_program_that_is_missing_is_the_machines_problem() {
    let mut project = cargo("");
    project.missing = texts(&["go", "cargo"]);
    let problem = commands(&[project], &Scope::Everything).unwrap_err();
    let of_machine = problem.of_machine().unwrap();
    assert_eq!(
        (of_machine.to_string().as_str(), of_machine.hint.as_deref()),
        (
            "`cargo` is not installed, and project `cargo` needs it",
            Some("install Rust with rustup: https://rustup.rs")
        )
    );
    assert_eq!(of_machine.class(), crate::Class::Environment);
    // Another project's program does not matter.
    let mut project = cargo("");
    project.missing = texts(&["go"]);
    assert!(commands(&[project], &Scope::Everything).is_ok());
    assert!(RouteProblem::NothingChanged.of_machine().is_none());
}

#[test]
fn only_commands_that_install_packages_reach_the_registries() {
    let project = node(NodeManager::Npm, false, Installed::Nothing);
    let networks = |network| {
        let bounds = Bounds {
            network,
            ..bounds()
        };
        let plan = plan_projects(
            std::slice::from_ref(&project),
            &changed(&["packages/lone/a.ts"]),
            &bounds,
        );
        let stages = plan.unwrap().stages.into_iter();
        let networks = stages.filter_map(|stage| match stage.work {
            Work::Run(command) => Some((command.argv[1].clone(), command.network)),
            Work::Nothing(_) => None,
        });
        networks.collect::<Vec<_>>()
    };
    let with = |network| vec![("ci".to_owned(), network), ("run".to_owned(), None)];
    assert_eq!(
        networks(StageNetwork::Off),
        with(Some(StageNetwork::Registries))
    );
    assert_eq!(networks(StageNetwork::Open), with(None));
}
