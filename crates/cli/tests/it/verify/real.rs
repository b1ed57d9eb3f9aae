//! Published projects of many build systems, verified as they are: without a `drive.toml`, each with a
//! harmless change, a change that does not compile, and a change that breaks a test.
//!
//! Needs the registries and the tools of each build system, so that it runs on request only:
//! `DRIVE_UPDATE_DOCS=1 cargo nextest run --run-ignored only -E 'test(real_projects)'` writes
//! `docs/real-projects.md`; `DRIVE_REAL=itoa,uuid` picks some.

use crate::verify::support::{Answer, PATH, Scene};
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const DATA: &str = "tests/it/verify/real_projects.toml";
const DOCUMENT: &str = "../../docs/real-projects.md";

#[derive(Deserialize)]
struct Data {
    project: Vec<Published>,
}

/// A project, and the changes that are made to it.
#[derive(Deserialize)]
struct Published {
    name: String,
    version: String,
    from: Registry,
    /// Its build and test tools, for the table.
    system: String,
    /// Programs that it needs besides those of its registry.
    #[serde(default)]
    needs: Vec<String>,
    /// The package's name in its registry, if it differs.
    package: Option<String>,
    /// The folder of the sources in a Debian package.
    #[serde(default)]
    within: String,
    /// Lines for `.gitignore`, which archives often lack.
    #[serde(default)]
    ignore: Vec<String>,
    harmless: Change,
    broken: Change,
    failing: Change,
    /// The category of the second change: in languages without a compiler, it is detected when a test runs.
    #[serde(default = "compile")]
    broken_is: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Registry {
    Crates,
    Npm,
    Pypi,
    /// A Debian package that contains sources, such as those of Go.
    Debian,
    /// A source package of Debian.
    DebianSource,
}

/// Text that is appended to a file, or that replaces other text.
#[derive(Deserialize)]
struct Change {
    file: String,
    replace: Option<String>,
    with: String,
}

fn compile() -> String {
    "compile".to_owned()
}

fn all() -> Vec<Published> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DATA);
    let data: Data = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    data.project
}

/// Runs a command with the environment of the person who runs the tests, including their registry settings.
fn run(program: &str, args: &[&str], dir: &Path) -> Result<String, String> {
    let output = Command::new(program).args(args).current_dir(dir).output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.trim().lines().last().unwrap_or_default();
            Err(format!("`{program} {}`: {last}", args.join(" ")))
        }
        Err(error) => Err(format!("`{program}`: {error}")),
    }
}

fn shell(script: &str, dir: &Path) -> Result<String, String> {
    run("sh", &["-ec", script], dir)
}

impl Published {
    fn package(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.name)
    }

    /// The sources from the registry, in a folder that later runs reuse.
    fn sources(&self) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("real-projects");
        let name = self.name.replace('/', "-");
        let sources = folder.join(format!("{name}-{}", self.version));
        if sources.exists() {
            return Ok(sources);
        }
        fs::create_dir_all(&folder).unwrap();
        let fetched = tempfile::tempdir_in(&folder).unwrap();
        let (package, version) = (self.package(), &self.version);
        let unpack = "mkdir unpacked && tar xf archive -C unpacked --strip-components=1";
        let script = match self.from {
            // Cargo has no command that only downloads.
            Registry::Crates => format!(
                "mkdir -p src && touch src/lib.rs && printf '[package]\\nname = \"fetch\"\\nversion = \"0.0.0\"\\n\
                 edition = \"2021\"\\n[workspace]\\n[dependencies]\\n{package} = \"={version}\"\\n' > Cargo.toml && \
                 cargo fetch -q && \
                 cp \"${{CARGO_HOME:-$HOME/.cargo}}\"/registry/cache/*/{package}-{version}.crate archive && {unpack}"
            ),
            Registry::Npm => {
                format!("npm pack --silent {package}@{version} && mv *.tgz archive && {unpack}")
            }
            Registry::Pypi => format!(
                "python3 -m pip download -q --no-deps --no-binary :all: {package}=={version} && \
                 mv *.tar.gz archive && {unpack}"
            ),
            Registry::Debian => format!(
                "apt-get download -qq {package}={version} && dpkg-deb -x *.deb root && mv root/{} unpacked",
                self.within
            ),
            // A separate list: the machine's own contains no sources.
            Registry::DebianSource => format!(
                "mkdir -p apt/lists/partial && sed 's/^Types:.*/Types: deb-src/' \
                 /etc/apt/sources.list.d/debian.sources > apt/own.sources && \
                 lists=\"-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$PWD/apt \
                 -o Dir::State::Lists=$PWD/apt/lists\" && \
                 apt-get $lists -qq update && apt-get $lists source -qq --download-only {package}={version} && \
                 rm -f *.asc && mv *.orig.tar.* archive && {unpack}"
            ),
        };
        shell(&script, fetched.path())?;
        fs::rename(fetched.path().join("unpacked"), &sources).unwrap();
        Ok(sources)
    }

    /// A repository with one commit of the sources on `main`, and one branch per change.
    fn repository(&self, sources: &Path) -> Scene {
        let scene = Scene::me();
        scene.shell(&format!(
            "rm -rf repo && cp -r '{}' repo && cd repo && rm -rf .git && git init -q -b main",
            sources.display()
        ));
        let ignore = scene.path("repo/.gitignore");
        let mut lines = fs::read_to_string(&ignore).unwrap_or_default();
        for line in &self.ignore {
            writeln!(lines, "{line}").unwrap();
        }
        fs::write(&ignore, lines).unwrap();
        scene.shell("cd repo && git add -A && git commit -qm published");
        for (branch, change) in self.changes() {
            scene.shell(&format!("cd repo && git switch -q -c {branch} main"));
            change.make(&scene.path("repo"));
            scene.shell(&format!("cd repo && git commit -qam {branch}"));
        }
        scene
    }

    fn changes(&self) -> [(&'static str, &Change); 3] {
        [
            ("harmless", &self.harmless),
            ("broken", &self.broken),
            ("failing", &self.failing),
        ]
    }

    /// A row of the table, or why there is none.
    fn verify(&self) -> Result<Row, String> {
        let missing = self.needs.iter().find(|program| !is_program(program));
        if let Some(program) = missing {
            return Err(format!("`{program}` is not installed"));
        }
        let scene = self.repository(&self.sources()?);
        let mut verdicts = Vec::new();
        for (branch, _) in self.changes() {
            scene.shell(&format!("cd repo && git switch -q {branch}"));
            let started = Instant::now();
            let mut command = scene.drive(&["verify", "--base", "main", "--json"]);
            command.envs(environment());
            let answer = scene.answer(&command.output().unwrap());
            let seconds = started.elapsed().as_secs_f64();
            verdicts.push((verdict(&answer), seconds, answer));
        }
        let expected = ["pass", &format!("fail: {}", self.broken_is), "fail: test"];
        let is_right = verdicts
            .iter()
            .map(|(text, _, _)| text.as_str())
            .eq(expected);
        for (text, _, answer) in &verdicts {
            if !is_right {
                eprintln!("{}: {text}\n{:#}", self.name, answer.report);
            }
        }
        let verdicts = verdicts
            .into_iter()
            .map(|(text, seconds, _)| (text, seconds));
        Ok(Row {
            verdicts: verdicts.collect(),
            is_right,
        })
    }
}

impl Change {
    fn make(&self, repo: &Path) {
        let path = repo.join(&self.file);
        let text = fs::read_to_string(&path).unwrap();
        let text = match &self.replace {
            Some(old) => {
                assert!(text.contains(old.as_str()), "{old} in {}", path.display());
                text.replacen(old.as_str(), &self.with, 1)
            }
            None => format!("{text}{}", self.with),
        };
        fs::write(path, text).unwrap();
    }
}

struct Row {
    /// Verdict and seconds of each change.
    verdicts: Vec<(String, f64)>,
    is_right: bool,
}

fn verdict(answer: &Answer) -> String {
    match answer.text("/overall") {
        "pass" => "pass".to_owned(),
        other => format!("{other}: {}", answer.text("/failure/category")),
    }
}

/// The search path with the Rust tool chain and the system's programs; the proxy and certificates
/// of the network.
fn environment() -> Vec<(String, String)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let or =
        |name: &str, below: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{below}"));
    let mut env = vec![
        ("RUSTUP_HOME".to_owned(), or("RUSTUP_HOME", ".rustup")),
        (
            "PATH".to_owned(),
            format!("{}/bin:{PATH}", or("CARGO_HOME", ".cargo")),
        ),
    ];
    let of_network = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.ends_with("_proxy") || name.contains("cert") || name.contains("ca_bundle")
    };
    env.extend(std::env::vars().filter(|(name, _)| of_network(name)));
    env
}

fn is_program(name: &str) -> bool {
    let found = |(variable, path): &(String, String)| {
        variable == "PATH"
            && path
                .split(':')
                .any(|dir| Path::new(dir).join(name).exists())
    };
    environment().iter().any(found)
}

#[test]
#[ignore = "needs package registries and the tools of many build systems"]
fn real_projects_get_the_right_verdict_without_settings() {
    let only = std::env::var("DRIVE_REAL").unwrap_or_default();
    let picked: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    let mut wrong = Vec::new();
    let mut rows = String::new();
    for project in all() {
        if !picked.is_empty() && !picked.contains(&project.name.as_str()) {
            continue;
        }
        let start = format!(
            "| {} | {} | {} |",
            project.name, project.version, project.system
        );
        let row = match project.verify() {
            Err(why) => format!("{start} skipped: {why} | | | |"),
            Ok(row) => {
                if !row.is_right {
                    wrong.push(project.name.clone());
                }
                let verdicts: Vec<&str> = row.verdicts.iter().map(|(v, _)| v.as_str()).collect();
                let seconds: Vec<String> = row
                    .verdicts
                    .iter()
                    .map(|(_, seconds)| format!("{seconds:.0}"))
                    .collect();
                format!(
                    "{start} {} | {} |",
                    verdicts.join(" | "),
                    seconds.join(", ")
                )
            }
        };
        eprintln!("{row}");
        writeln!(rows, "{row}").unwrap();
    }
    assert_eq!(wrong, Vec::<String>::new(), "\n{rows}");
    if std::env::var_os("DRIVE_UPDATE_DOCS").is_some() && picked.is_empty() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
        let text = fs::read_to_string(&path).unwrap();
        let (before, _) = text.split_once("|---|").unwrap();
        let rules = "|---|---|---|---|---|---|---|\n";
        fs::write(&path, format!("{before}{rules}{rows}")).unwrap();
    }
}

#[test]
fn the_table_of_real_projects_names_each_of_them_with_a_verdict() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    let text = fs::read_to_string(path).unwrap();
    let projects = all();
    assert!(projects.len() >= 12, "{}", projects.len());
    for project in projects {
        let row = format!(
            "| {} | {} | {} | pass | fail: {} | fail: test |",
            project.name, project.version, project.system, project.broken_is
        );
        assert!(text.contains(&row), "{row}");
    }
}
