use super::*;

fn commands(kind: ProjectKind, path: &str) -> Result<Vec<String>, String> {
    let bounds = Bounds {
        timeouts: StageTimeouts::default(),
        memory_bytes: None,
        network: StageNetwork::Off,
    };
    let scope = Scope::Changed(vec![path.to_owned()]);
    let plan = plan_projects(&[Project::new("", kind)], &scope, &bounds);
    let stages = plan.map_err(|problem| problem.reason())?.stages;
    let run = stages.into_iter().filter_map(|stage| match stage.work {
        Work::Run(command) => {
            let mark = match command.network {
                Some(StageNetwork::Registries) => "net: ",
                Some(StageNetwork::Off | StageNetwork::Open) | None => "",
            };
            Some(format!("{mark}{}", command.argv.join(" ")))
        }
        Work::Nothing(_) => None,
    });
    Ok(run.collect())
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&s| s.to_owned()).collect()
}

#[test]
fn every_build_tool_is_run_in_its_own_words() {
    let jvm = |tool, has_wrapper| ProjectKind::Jvm(JvmProject { tool, has_wrapper });
    let ruby = |runner| {
        ProjectKind::Ruby(RubyProject {
            locked: true,
            runner: Some(runner),
        })
    };
    let php = |runner| {
        ProjectKind::Php(PhpProject {
            has_needs: true,
            runner: Some(runner),
        })
    };
    let table: Vec<(ProjectKind, &[&str])> = vec![
        (
            jvm(JvmTool::Maven, false),
            &["net: mvn -B test-compile", "mvn -B test"],
        ),
        (
            jvm(JvmTool::Maven, true),
            &["net: ./mvnw -B test-compile", "./mvnw -B test"],
        ),
        (
            jvm(JvmTool::Gradle, true),
            &[
                "net: ./gradlew --no-daemon --console=plain testClasses",
                "./gradlew --no-daemon --console=plain test",
            ],
        ),
        (
            ruby(RubyRunner::Rspec),
            &["net: bundle install", "bundle exec rspec"],
        ),
        (
            ruby(RubyRunner::Rake),
            &["net: bundle install", "bundle exec rake test"],
        ),
        (
            php(PhpRunner::Script),
            &[
                "net: composer install --no-interaction --no-progress",
                "composer run-script test",
            ],
        ),
        (
            php(PhpRunner::Phpunit),
            &[
                "net: composer install --no-interaction --no-progress",
                "vendor/bin/phpunit",
            ],
        ),
        (
            ProjectKind::Dotnet(DotnetProject {
                file: "x.sln".to_owned(),
            }),
            &[
                "net: dotnet restore x.sln",
                "dotnet build --no-restore --nologo x.sln",
                "dotnet test --no-build --nologo x.sln",
            ],
        ),
        (
            ProjectKind::CMake(CMakeProject {
                has_tests: true,
                unbuilt: BTreeSet::new(),
            }),
            &[
                "cmake -S . -B .drive-build",
                "cmake --build .drive-build",
                "ctest --test-dir .drive-build --output-on-failure",
            ],
        ),
    ];
    for (kind, expected) in table {
        assert_eq!(commands(kind.clone(), "a"), Ok(texts(expected)), "{kind:?}");
    }
}

#[test]
fn a_project_without_a_test_is_refused_in_the_words_of_its_tool() {
    let table = [
        (
            ProjectKind::CMake(CMakeProject::default()),
            "project `cmake` has no test that CTest knows (`enable_testing()`), so no test would run",
        ),
        (
            ProjectKind::Ruby(RubyProject::default()),
            "project `ruby` has no RSpec file or Rake task `test`, so no test would run",
        ),
        (
            ProjectKind::Php(PhpProject {
                has_needs: true,
                runner: None,
            }),
            "project `php` has no Composer script `test` or PHPUnit configuration, so no test would run",
        ),
    ];
    for (kind, expected) in table {
        assert_eq!(commands(kind, "a"), Err(expected.to_owned()));
    }
}

#[test]
fn cmake_does_not_cover_a_source_that_no_target_names() {
    let project = CMakeProject {
        has_tests: true,
        unbuilt: ["src/never.c".to_owned()].into(),
    };
    let kind = ProjectKind::CMake(project);
    assert_eq!(
        commands(kind.clone(), "src/never.c"),
        Err("`src/never.c` is not tested: not named in any CMake file".to_owned())
    );
    assert!(commands(kind, "src/a.c").is_ok());
}

#[test]
fn cmake_files_tell_whether_they_test_and_collect() {
    for (text, tests, collects) in [
        ("add_executable(a a.c)\n", false, false),
        (
            "enable_testing()\nadd_test(NAME a COMMAND a)\n",
            true,
            false,
        ),
        ("include(CTest)\n", true, false),
        ("file(GLOB_RECURSE SOURCES src/*.c)\n", false, true),
        ("FILE( GLOB s *.c)\n", false, true),
        ("file(READ VERSION v)\n", false, false),
        ("aux_source_directory(. S)\n", false, true),
    ] {
        assert_eq!(
            (cmake_has_tests(text), cmake_collects(text)),
            (tests, collects),
            "{text}"
        );
    }
}

#[test]
fn the_runner_of_a_ruby_project_is_known_by_its_files() {
    let spec = texts(&["spec/a_spec.rb"]);
    let test = texts(&["test/a_test.rb"]);
    let task = Some("Rake::TestTask.new\n");
    for (files, rakefile, expected) in [
        (&spec, task, Some(RubyRunner::Rspec)),
        (&test, task, Some(RubyRunner::Rake)),
        (&test, Some("task :build\n"), None),
        (&test, None, None),
    ] {
        assert_eq!(RubyRunner::detect(files, rakefile), expected);
    }
}

#[test]
fn php_itself_and_its_extensions_are_no_packages() {
    for (name, expected) in [
        ("php", false),
        ("ext-json", false),
        ("phpunit/phpunit", true),
    ] {
        assert_eq!(is_php_package(name), expected, "{name}");
    }
}

#[test]
fn every_program_of_a_detector_has_a_hint() {
    for program in crate::verify::programs() {
        assert!(crate::verify::install_hint(program).is_some(), "{program}");
    }
    assert_eq!(crate::verify::install_hint("nothing"), None);
}

#[test]
fn a_project_without_tests_beside_another_answers_for_its_own_files_only() {
    let bounds = Bounds {
        timeouts: StageTimeouts::default(),
        memory_bytes: None,
        network: StageNetwork::Off,
    };
    let projects = [
        Project::new("", ProjectKind::Cargo(CargoWorkspace::default())),
        Project::new("", ProjectKind::Ruby(RubyProject::default())),
    ];
    let planned = |scope: &Scope| plan_projects(&projects, scope, &bounds).map(|_| ());
    let changed = |path: &str| planned(&Scope::Changed(vec![path.to_owned()]));
    let untested = Err(RouteProblem::Untested {
        route: "ruby".to_owned(),
        missing: "RSpec file or Rake task `test`",
    });
    assert_eq!(changed("src/lib.rs"), Ok(()));
    assert_eq!(changed("README.md"), Ok(()));
    assert_eq!(changed("docs/plugin.rb"), untested);
    assert_eq!(changed("Gemfile"), untested);
    assert_eq!(planned(&Scope::Everything), Ok(()));
}

#[test]
fn each_changed_package_is_to_be_tested_by_itself_or_by_a_dependent() {
    let package = |name: &str, uses: &[&str], tests: &[&str]| CargoPackage {
        name: name.to_owned(),
        dir: name.to_owned(),
        uses: texts(uses),
        tests: texts(tests),
        ..CargoPackage::default()
    };
    let workspace = CargoWorkspace {
        packages: vec![
            package("a", &[], &["a", "it"]),
            package("b", &["a"], &["b"]),
            package("c", &[], &["c"]),
        ],
        ..CargoWorkspace::default()
    };
    let touched = ["a/src/lib.rs", "b/README.md", "c/src/lib.rs"];
    let touched = Touched::Paths(touched.iter().map(|&path| path.to_owned()).collect());
    let wanted = workspace.wanted(&touched);
    let found: Vec<(&str, &[String])> = wanted
        .iter()
        .flat_map(|wanted| &wanted.members)
        .map(|member| (member.name.as_str(), member.units.as_slice()))
        .collect();
    let expected = [("a", texts(&["a", "it", "b"])), ("c", texts(&["c"]))];
    let expected: Vec<(&str, &[String])> = expected
        .iter()
        .map(|(name, units)| (*name, units.as_slice()))
        .collect();
    assert_eq!(found, expected);
}
