use super::*;

/// The command lines, without the one that compiles every file.
fn planned(pyproject: &str, files: &[&str], has_src: bool, has_pytest: bool) -> Vec<String> {
    let project = PythonProject::read(&PythonFiles {
        pyproject: Some(pyproject),
        setup: None,
        has: &|name| files.contains(&name),
        has_src,
        has_pytest,
    });
    let wanted = project.wanted();
    let lines = wanted.iter().map(|wanted| wanted.argv.join(" "));
    lines.filter(|line| !line.contains("compileall")).collect()
}

const FLAT: &str = "[project]\nname = \"p\"\nversion = \"1\"\n";

#[test]
fn a_flat_project_without_dependencies_is_tested_as_it_lies() {
    assert_eq!(planned(FLAT, &[], false, true), ["python3 -m pytest"]);
}

#[test]
fn modules_below_src_are_installed_before_the_tests() {
    let venv = "python3 -m venv --system-site-packages .venv";
    let pytest = "env .venv/bin/python -m pytest";
    assert_eq!(
        planned(FLAT, &[], true, true),
        [
            venv,
            "env .venv/bin/python -m pip install --quiet -e . pytest",
            pytest
        ]
    );
    // A machine without pytest gets it in the same way.
    assert_eq!(
        planned(FLAT, &[], false, false),
        [
            venv,
            "env .venv/bin/python -m pip install --quiet pytest",
            pytest
        ]
    );
}

#[test]
fn pip_installs_what_the_tests_need() {
    let pyproject = "[project]\nname = \"p\"\ndependencies = [\"attrs\"]\n\
        [project.optional-dependencies]\ntest = [\"pytest\"]\ndocs = [\"sphinx\"]\n\
        [dependency-groups]\nbase = [\"six\"]\ntests = [\"hypothesis>=6\", {include-group = \"base\"}]\n";
    let planned = planned(
        pyproject,
        &["requirements-dev.txt", "requirements.in"],
        false,
        true,
    );
    assert_eq!(
        planned[1],
        "env .venv/bin/python -m pip install --quiet -e .[test] hypothesis>=6 six -r requirements-dev.txt pytest"
    );
}

#[test]
fn every_manager_installs_and_runs_in_its_own_words() {
    let test = "[dependency-groups]\ntest = [\"pytest\"]\n";
    let hatch = "[tool.hatch.envs.docs]\ndependencies = [\"mkdocs\"]\n\
        [tool.hatch.envs.check]\nextra-dependencies = [\"pytest-cov\"]\n";
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            test,
            &["uv.lock"],
            &[
                "uv sync --frozen --group test",
                "uv run --no-sync python -m pytest",
            ],
        ),
        (
            "[tool.uv]\n",
            &[],
            &[
                "uv sync",
                "uv pip install pytest",
                "uv run --no-sync python -m pytest",
            ],
        ),
        (
            "[tool.poetry]\n[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n",
            &["poetry.lock"],
            &[
                "poetry install --no-interaction",
                "poetry run python -m pytest",
            ],
        ),
        (
            test,
            &["pdm.lock"],
            &[
                "pdm install --frozen-lockfile -G test",
                "pdm run python -m pytest",
            ],
        ),
        (
            hatch,
            &[],
            &["hatch env create check", "hatch run check:python -m pytest"],
        ),
        // The build backends of PDM and Hatch are run by pip.
        (
            "[tool.pdm.version]\nsource = \"file\"\n[tool.hatch.build]\n",
            &[],
            &["python3 -m pytest"],
        ),
    ];
    for (pyproject, files, expected) in table {
        assert_eq!(
            planned(pyproject, files, false, true),
            *expected,
            "{pyproject}"
        );
    }
}

#[test]
fn an_old_setup_file_is_read_for_dependencies() {
    let needs = |setup: &str| {
        let files = PythonFiles {
            pyproject: None,
            setup: Some(setup),
            has: &|_| false,
            has_src: false,
            has_pytest: true,
        };
        PythonProject::read(&files).needs
    };
    assert_eq!(needs("setup(install_requires=['six'])"), ["-e", "."]);
    assert_eq!(needs("setup(name='p')"), Vec::<String>::new());
}
