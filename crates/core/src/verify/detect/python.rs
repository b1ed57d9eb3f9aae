use super::command::Wanted;
use crate::verify::envelope::StageName;
use toml::{Table, Value};

/// A Python project tested by pytest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonProject {
    /// The tool that installs it.
    pub manager: PythonManager,
    /// Whether the manager's lock file is tracked.
    pub locked: bool,
    /// Optional dependencies for tests, which are installed as well.
    pub extras: Vec<String>,
    /// Dependency groups for tests, which are installed as well.
    pub groups: Vec<String>,
    /// Whether the project itself names pytest as a dependency.
    pub names_pytest: bool,
    /// Whether the machine's Python has pytest.
    pub has_pytest: bool,
    /// The packages that pip must install before the tests can import the project; may be empty.
    pub needs: Vec<String>,
}

/// The tool that installs a Python project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PythonManager {
    /// Astral's uv.
    Uv,
    /// Python Poetry.
    Poetry,
    /// The PDM package manager.
    Pdm,
    /// Hatch, with the environment that contains the tests' dependencies.
    Hatch(String),
    /// pip in a virtual environment, or no tool if nothing must be installed.
    #[default]
    Pip,
}

/// The files of a project that determine how it is installed.
pub struct PythonFiles<'a> {
    /// The text of `pyproject.toml`.
    pub pyproject: Option<&'a str>,
    /// The text of `setup.py` and `setup.cfg`.
    pub setup: Option<&'a str>,
    /// Whether a file is tracked.
    pub has: &'a dyn Fn(&str) -> bool,
    /// Whether there are modules below `src`.
    pub has_src: bool,
    /// Whether the machine's Python has pytest.
    pub has_pytest: bool,
}

/// Names of optional dependencies and groups for tests.
const FOR_TESTS: [&str; 4] = ["dev", "test", "testing", "tests"];
/// Requirement files for pip.
const REQUIREMENTS: [&str; 10] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements_dev.txt",
    "requirements_test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
];
/// The virtual environment for pip.
const VENV: &str = ".venv";
const VENV_PYTHON: &str = ".venv/bin/python";
/// Folders in a project that contain foreign code.
const FOREIGN: &str = r"(^|/)(\.git|\.venv|venv|node_modules|\.tox|build|dist)/";

impl PythonProject {
    /// Reads a project from these files.
    pub fn read(files: &PythonFiles<'_>) -> Self {
        let text = files.pyproject.unwrap_or_default();
        let toml: Table = text.parse().unwrap_or_default();
        let manager = manager(&toml, files.has);
        let lock = match manager {
            PythonManager::Uv => "uv.lock",
            PythonManager::Poetry => "poetry.lock",
            PythonManager::Pdm => "pdm.lock",
            PythonManager::Hatch(_) | PythonManager::Pip => "",
        };
        let mut project = Self {
            locked: (files.has)(lock),
            manager,
            extras: for_tests(&toml, &["project", "optional-dependencies"]),
            groups: for_tests(&toml, &["dependency-groups"]),
            names_pytest: ["\"pytest", "'pytest", "\npytest ="]
                .iter()
                .any(|name| text.contains(name)),
            has_pytest: files.has_pytest,
            needs: Vec::new(),
        };
        project.needs = project.pip_needs(&toml, files);
        project
    }

    /// The commands for the whole project, because Python does not tell reliably which test needs which file.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let mut wanted = self.install();
        wanted.push(Wanted::new(
            StageName::Compile,
            &["python3", "-m", "compileall", "-q", "-x", FOREIGN, "."],
        ));
        let hatch_run;
        let start: &[&str] = match &self.manager {
            PythonManager::Uv => &["uv", "run", "--no-sync", "python"],
            PythonManager::Poetry => &["poetry", "run", "python"],
            PythonManager::Pdm => &["pdm", "run", "python"],
            PythonManager::Hatch(environment) => {
                hatch_run = format!("{environment}:python");
                &["hatch", "run", &hatch_run]
            }
            PythonManager::Pip if self.needs_venv() => &["env", VENV_PYTHON],
            PythonManager::Pip => &["python3"],
        };
        let tests = Wanted::new(StageName::TargetedTests, start);
        wanted.push(self.environment(tests.args(["-m".to_owned(), "pytest".to_owned()])));
        wanted
    }

    fn install(&self) -> Vec<Wanted> {
        let pairs = |flag: &str, names: &[String]| -> Vec<String> {
            let names = names.iter();
            names
                .flat_map(|name| [flag.to_owned(), name.clone()])
                .collect()
        };
        let locked = |flag: &str| self.locked.then(|| flag.to_owned());
        let mut wanted = match &self.manager {
            PythonManager::Uv => vec![
                Wanted::install(&["uv", "sync"])
                    .args(locked("--frozen"))
                    .args(pairs("--extra", &self.extras))
                    .args(pairs("--group", &self.groups)),
            ],
            PythonManager::Poetry => vec![
                Wanted::install(&["poetry", "install", "--no-interaction"])
                    .args(pairs("--extras", &self.extras)),
            ],
            PythonManager::Pdm => vec![
                Wanted::install(&["pdm", "install"])
                    .args(locked("--frozen-lockfile"))
                    .args(pairs("-G", &self.extras))
                    .args(pairs("-G", &self.groups)),
            ],
            PythonManager::Hatch(environment) => {
                vec![Wanted::install(&["hatch", "env", "create", environment])]
            }
            PythonManager::Pip if self.needs_venv() => {
                // The machine's packages are included, so that an installed pytest needs no network.
                let venv = ["python3", "-m", "venv", "--system-site-packages", VENV];
                let pip = ["env", VENV_PYTHON, "-m", "pip", "install", "--quiet"];
                let install = Wanted::install(&pip).args(self.needs.clone());
                vec![
                    Wanted::new(StageName::Compile, &venv),
                    install.args(["pytest".to_owned()]),
                ]
            }
            PythonManager::Pip => Vec::new(),
        };
        if !self.names_pytest {
            let pytest: Option<&[&str]> = match &self.manager {
                PythonManager::Uv => Some(&["uv", "pip", "install", "pytest"]),
                PythonManager::Poetry => Some(&["poetry", "run", "pip", "install", "pytest"]),
                PythonManager::Pdm | PythonManager::Hatch(_) | PythonManager::Pip => None,
            };
            wanted.extend(pytest.map(Wanted::install));
        }
        wanted.into_iter().map(|w| self.environment(w)).collect()
    }

    fn environment(&self, wanted: Wanted) -> Wanted {
        match &self.manager {
            // The environment is in the workspace, which every stage sees.
            PythonManager::Poetry => wanted.env("POETRY_VIRTUALENVS_IN_PROJECT", "true"),
            PythonManager::Uv
            | PythonManager::Pdm
            | PythonManager::Hatch(_)
            | PythonManager::Pip => wanted,
        }
    }

    fn needs_venv(&self) -> bool {
        !self.needs.is_empty() || !self.has_pytest
    }

    /// The packages for pip. Tests of modules below `src`, or of a project with dependencies, import the
    /// installed project; a flat project without dependencies is imported from the current folder.
    fn pip_needs(&self, toml: &Table, files: &PythonFiles<'_>) -> Vec<String> {
        let setup = files.setup.unwrap_or_default();
        let is_installable =
            toml.contains_key("build-system") || toml.contains_key("project") || !setup.is_empty();
        let project = toml.get("project").and_then(Value::as_table);
        let list = |key: &str| project?.get(key)?.as_array();
        let has_dependencies = list("dependencies").is_some_and(|list| !list.is_empty())
            || list("dynamic")
                .is_some_and(|l| l.iter().any(|v| v.as_str() == Some("dependencies")))
            || setup.contains("install_requires");
        let mut needs = Vec::new();
        if is_installable && (files.has_src || has_dependencies || !self.extras.is_empty()) {
            let extras = match self.extras.as_slice() {
                [] => String::new(),
                extras => format!("[{}]", extras.join(",")),
            };
            needs.extend(["-e".to_owned(), format!(".{extras}")]);
        }
        for group in &self.groups {
            needs.extend(group_members(toml, group, 0));
        }
        for file in REQUIREMENTS.iter().filter(|file| (files.has)(file)) {
            needs.extend(["-r".to_owned(), (*file).to_owned()]);
        }
        needs
    }
}

fn manager(toml: &Table, has: &dyn Fn(&str) -> bool) -> PythonManager {
    let at = |keys: &[&str]| find(toml, keys);
    if has("uv.lock") {
        PythonManager::Uv
    } else if has("poetry.lock") || at(&["tool", "poetry"]).is_some() {
        PythonManager::Poetry
    // Tables such as `tool.pdm.version` belong to PDM's build backend, which pip can run.
    } else if has("pdm.lock")
        || at(&["tool", "pdm", "dev-dependencies"]).is_some()
        || at(&["tool", "pdm", "scripts"]).is_some()
    {
        PythonManager::Pdm
    } else if at(&["tool", "uv"]).is_some() {
        PythonManager::Uv
    } else if let Some(environment) = hatch_environment(toml) {
        PythonManager::Hatch(environment)
    } else {
        PythonManager::Pip
    }
}

/// The Hatch environment that contains pytest.
fn hatch_environment(toml: &Table) -> Option<String> {
    let environments = find(toml, &["tool", "hatch", "envs"])?.as_table()?;
    let with_pytest = |(_, environment): &(&String, &Value)| {
        ["dependencies", "extra-dependencies"]
            .iter()
            .filter_map(|key| environment.get(key)?.as_array())
            .flatten()
            .any(|one| one.as_str().is_some_and(|one| one.starts_with("pytest")))
    };
    environments
        .iter()
        .find(with_pytest)
        .map(|(name, _)| name.clone())
}

/// The keys of a table whose names stand for tests.
fn for_tests(toml: &Table, keys: &[&str]) -> Vec<String> {
    let table = find(toml, keys).and_then(Value::as_table);
    let names = table.into_iter().flat_map(Table::keys);
    names
        .filter(|name| FOR_TESTS.contains(&name.as_str()))
        .cloned()
        .collect()
}

/// The requirements of a group, including those of the groups it includes.
fn group_members(toml: &Table, group: &str, depth: u8) -> Vec<String> {
    const DEEPEST: u8 = 8;
    let members = find(toml, &["dependency-groups", group]).and_then(Value::as_array);
    let members = members.into_iter().flatten();
    members
        .flat_map(|member| match member {
            Value::String(requirement) => vec![requirement.clone()],
            Value::Table(table) if depth < DEEPEST => {
                let included = table.get("include-group").and_then(Value::as_str);
                included.map_or_else(Vec::new, |name| group_members(toml, name, depth + 1))
            }
            Value::Table(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => Vec::new(),
        })
        .collect()
}

fn find<'a>(toml: &'a Table, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter()
        .try_fold(toml.get(*first)?, |value, key| value.get(key))
}

#[cfg(test)]
#[path = "../detect_python_tests.rs"]
mod tests;
