use super::super::members::Touched;
use super::*;

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&s| s.to_owned()).collect()
}

fn workspace(manager: NodeManager, root_test: Option<&str>) -> NodeWorkspace {
    let package = |name: &str, scripts: &[&str], uses: &[&str]| NodePackage {
        name: name.to_owned(),
        dir: format!("packages/{name}"),
        scripts: texts(scripts),
        uses: texts(uses),
    };
    NodeWorkspace {
        manager,
        turbo: false,
        root_scripts: root_test
            .map(|text| ("test".to_owned(), text.to_owned()))
            .into_iter()
            .collect(),
        packages: vec![
            package("app", &["test"], &["util"]),
            package("util", &[], &["deep"]),
            package("deep", &[], &[]),
            package("lone", &["build"], &[]),
        ],
        has_needs: false,
        installed: Installed::Nothing,
        locked: false,
    }
}

/// The command lines of a change, or why it is not tested.
fn planned(workspace: &NodeWorkspace, paths: &[&str]) -> Result<Vec<String>, String> {
    let touched = Touched::Paths(paths.iter().map(|&path| path.to_owned()).collect());
    let wanted = workspace.wanted(&touched, None).map_err(|gap| gap.why)?;
    Ok(wanted.iter().map(|wanted| wanted.argv.join(" ")).collect())
}

#[test]
fn a_package_without_a_script_is_tested_by_its_dependents() {
    let npm = workspace(NodeManager::Npm, None);
    for path in ["packages/util/a.js", "packages/deep/a.js"] {
        assert_eq!(
            planned(&npm, &[path]),
            Ok(texts(&["npm run test --workspace=app"])),
            "{path}"
        );
    }
}

#[test]
fn each_changed_package_must_run_tests_where_one_command_runs_those_of_several() {
    let mut pnpm = workspace(NodeManager::Pnpm, None);
    pnpm.packages[3].scripts.push("test".to_owned());
    let touched = |paths: &[&str]| Touched::Paths(texts(paths).into_iter().collect());
    let members = |workspace: &NodeWorkspace, paths: &[&str]| {
        let wanted = workspace.wanted(&touched(paths), None).unwrap();
        let last = wanted.last().unwrap().members.clone();
        let named = last.into_iter().map(|member| (member.name, member.units));
        named.collect::<Vec<_>>()
    };
    let both = ["packages/util/a.js", "packages/lone/a.js"];
    let expected = |lone: &str, app: &str| {
        vec![
            ("lone".to_owned(), texts(&[lone])),
            ("util".to_owned(), texts(&[app])),
        ]
    };
    assert_eq!(
        members(&pnpm, &both),
        expected("packages/lone", "packages/app")
    );
    // The only count is that of the whole stage.
    assert_eq!(members(&pnpm, &both[..1]), []);
    let npm = NodeWorkspace {
        manager: NodeManager::Npm,
        ..pnpm
    };
    assert_eq!(members(&npm, &both), expected("lone", "app"));
}

#[test]
fn a_package_that_nothing_tests_is_refused_with_the_reason() {
    let path = "packages/lone/a.js";
    assert_eq!(
        planned(&workspace(NodeManager::Npm, None), &[path]),
        Err("package `lone`, its dependents and the root have no `test` script".to_owned())
    );
    let starts = workspace(NodeManager::Npm, Some("npm test --workspaces --if-present"));
    let reason = "package `lone` and its dependents have no `test` script, and the root's only runs package scripts";
    for paths in [
        &[path][..],
        &["packages/app/a.js", path],
        &["package.json", path],
    ] {
        assert_eq!(planned(&starts, paths), Err(reason.to_owned()), "{paths:?}");
    }
    let touched = Touched::Paths([path.to_owned(), "packages/app/a.js".to_owned()].into());
    let gap = starts.wanted(&touched, None).unwrap_err();
    assert_eq!(gap.paths, [path]);
}

#[test]
fn the_roots_own_tests_cover_a_package_without_a_script() {
    let jest = workspace(NodeManager::Npm, Some("jest"));
    let table: &[(&[&str], &[&str])] = &[
        (
            &["packages/lone/a.js"],
            &["npm run build --workspace=lone", "npm run test"],
        ),
        (&["packages/util/a.js"], &["npm run test --workspace=app"]),
        (
            &["packages/lone/a.js", "packages/app/a.js"],
            &[
                "npm run build --workspace=lone",
                "npm run test",
                "npm run test --workspace=app",
            ],
        ),
        // The root may test only itself, so that a changed package's own script runs as well.
        (
            &["jest.config.js", "packages/app/a.js"],
            &[
                "npm run build --workspace=lone",
                "npm run test",
                "npm run test --workspace=app",
            ],
        ),
    ];
    for (paths, expected) in table {
        assert_eq!(planned(&jest, paths), Ok(texts(expected)), "{paths:?}");
    }
}

#[test]
fn every_manager_runs_the_script_in_its_own_words() {
    let paths = ["packages/deep/a.js"];
    for (manager, locked, install, test) in [
        (
            NodeManager::Pnpm,
            false,
            "pnpm install --no-lockfile",
            "pnpm --filter=app run test",
        ),
        (
            NodeManager::YarnClassic,
            true,
            "yarn install --frozen-lockfile --non-interactive",
            "yarn workspace app run test",
        ),
        (
            NodeManager::YarnBerry,
            true,
            "yarn install --immutable",
            "yarn workspace app run test",
        ),
        (
            NodeManager::YarnBerry,
            false,
            "yarn install --no-immutable",
            "yarn workspace app run test",
        ),
        (
            NodeManager::Bun,
            true,
            "bun install --frozen-lockfile",
            "bun run --filter=app test",
        ),
    ] {
        let workspace = NodeWorkspace {
            has_needs: true,
            locked,
            ..workspace(manager, None)
        };
        assert_eq!(
            planned(&workspace, &paths),
            Ok(texts(&[install, test])),
            "{manager:?}"
        );
    }
}

#[test]
fn the_manager_is_known_by_its_files() {
    let berry = "__metadata:\n  version: 8\n";
    type Row<'a> = (Option<&'a str>, Option<&'a str>, &'a [&'a str], NodeManager);
    let table: &[Row<'_>] = &[
        (None, None, &[], NodeManager::Npm),
        (None, None, &["package-lock.json"], NodeManager::Npm),
        (None, None, &["pnpm-lock.yaml"], NodeManager::Pnpm),
        (Some("pnpm@10.20.0"), None, &[], NodeManager::Pnpm),
        (
            None,
            Some("# yarn lockfile v1\n"),
            &["yarn.lock"],
            NodeManager::YarnClassic,
        ),
        (Some("yarn@1.22.22"), None, &[], NodeManager::YarnClassic),
        (None, Some(berry), &["yarn.lock"], NodeManager::YarnBerry),
        (None, None, &[".yarnrc.yml"], NodeManager::YarnBerry),
        (
            Some("yarn@4.5.0"),
            None,
            &["yarn.lock"],
            NodeManager::YarnBerry,
        ),
        (None, None, &["bun.lock"], NodeManager::Bun),
        (None, None, &["bun.lockb"], NodeManager::Bun),
        (Some("bun@1.2.0"), None, &[], NodeManager::Bun),
    ];
    for (package_manager, lock, files, expected) in table {
        let has = |name: &str| files.contains(&name);
        assert_eq!(
            NodeManager::detect(*package_manager, *lock, &has),
            *expected,
            "{package_manager:?} {files:?}"
        );
    }
}
