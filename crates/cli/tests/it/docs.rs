//! Tests that the documents are true: paths exist, commands run.

use drive_core::prompts::PromptName;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Every piece of text in backticks.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|piece| !piece.contains('\n'))
        .collect()
}

/// Lines of the fenced `sh` blocks of a text, without comments.
fn shell_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap();
        lines.extend(
            block
                .lines()
                .map(|line| line.split(" #").next().unwrap().trim().to_owned()),
        );
    }
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_path_in_the_documents_exists() {
    for document in [
        "AGENTS.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "README.md",
        "RELEASING.md",
        "SECURITY.md",
    ] {
        let text = read(document);
        let paths = quoted(&text).into_iter().filter(|piece| {
            ["crates/", "benches/", "scripts/", "schemas/", ".ci/"]
                .iter()
                .any(|p| piece.starts_with(p))
        });
        for path in paths {
            assert!(
                root().join(path).exists(),
                "{document} names `{path}`, which does not exist"
            );
        }
    }
}

#[test]
fn the_architecture_says_where_to_change_what_a_stranger_looks_for() {
    let architecture = read("ARCHITECTURE.md");
    let (_, table) = architecture.split_once("## Where to change\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    for what in [
        "how a reply is worded",
        "when a poll happens",
        "what a reviewer is told",
        "how a lock is recovered",
        "which exit code a failure gives",
        "how a budget is split",
    ] {
        let start = format!("| {what} | ");
        let row = table.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row says {what}"));
        let places = quoted(row);
        assert!(!places.is_empty(), "{row}");
        for place in places {
            let file = root().join(place);
            assert!(file.is_file(), "`{place}` for {what} is no file");
        }
    }
}

#[test]
fn every_crate_and_dependency_is_explained() {
    let architecture = read("ARCHITECTURE.md");
    let explained = quoted(&architecture);
    let manifest = read("Cargo.toml");
    let table = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .unwrap()
        .split("\n[")
        .next()
        .unwrap();
    for line in table.lines().filter(|line| line.contains('=')) {
        let name = line.split('=').next().unwrap().trim();
        if name.starts_with("drive-") {
            continue;
        }
        assert!(
            explained.contains(name),
            "ARCHITECTURE.md gives no reason for `{name}`"
        );
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    let place = Place::make();
    let mut run = 0;
    for line in shell_lines(&read("README.md")) {
        let arguments = match line.as_str() {
            "bash scripts/test" => {
                // A test that runs all tests would not end; it must suffice that bash can parse the script.
                let checked = Command::new("bash")
                    .arg("-n")
                    .arg(root().join("scripts/test"))
                    .status();
                assert!(checked.unwrap().success());
                continue;
            }
            "cargo install --path crates/cli" => continue,
            "bash scripts/demo" => "demo",
            line if line.starts_with("drive ") => line.trim_start_matches("drive "),
            other => panic!("README.md shows `{other}`, and no test runs it"),
        };
        let output = place.drive(&words(arguments));
        assert!(
            output.status.success(),
            "`{line}` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        run += 1;
    }
    assert!(run >= 5, "only {run} commands were run");
}

#[test]
fn the_commands_of_the_required_check_run() {
    let place = Place::make();
    let text = read("docs/required-check.md");
    let workflow = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("run: "));
    let workflow = workflow.map(|line| line.replace("$BASE", "main"));
    let mut run = 0;
    for line in shell_lines(&text).into_iter().chain(workflow) {
        let Some(arguments) = line.strip_prefix("drive ") else {
            panic!("docs/required-check.md shows `{line}`, and no test runs it");
        };
        let output = place.drive(&words(arguments));
        assert!(
            output.status.success(),
            "`{line}` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        run += 1;
    }
    assert_eq!(run, 4);
    for file in ["drive-junit.xml", "drive.sarif"] {
        assert!(place.dir.path().join("repo").join(file).is_file());
    }
    let readme = read("README.md");
    assert!(readme.contains("(docs/required-check.md)"));
}

#[test]
fn the_commands_of_the_table_exist() {
    let text = read("README.md");
    let table = text
        .split("## Commands")
        .nth(1)
        .unwrap()
        .split("##")
        .next()
        .unwrap();
    let place = Place::make();
    for row in table.lines().filter(|line| line.starts_with("| `drive")) {
        let cell = row.split('|').nth(1).unwrap();
        let commands: Vec<&str> = quoted_in_order(cell);
        let first: Vec<&str> = commands[0]
            .trim_start_matches("drive ")
            .split(' ')
            .collect();
        for other in
            std::iter::once(*first.get(1).unwrap_or(&"")).chain(commands[1..].iter().copied())
        {
            let mut arguments = vec![first[0].to_owned()];
            if other.chars().next().is_some_and(char::is_lowercase) {
                arguments.push(other.to_owned());
            }
            arguments.push("--help".to_owned());
            let output = place.drive(&arguments);
            assert!(
                output.status.success(),
                "`drive {}` does not exist",
                arguments.join(" ")
            );
        }
    }
}

#[test]
fn the_prompts_of_the_readme_are_those_there_are() {
    let text = read("README.md");
    let section = text.split("## Prompts").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let told: Vec<(&str, Vec<&str>)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            (quoted_in_order(cells[1])[0], quoted_in_order(cells[3]))
        })
        .collect();
    let known = PromptName::ALL.map(|name| (name.as_str(), name.inputs().to_vec()));
    assert_eq!(told, known);
}

fn quoted_in_order(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Words of a command line, with double quotes as the README uses them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in line.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Does exactly what its role requires.
const AGENT: &str = r#"
cat > /dev/null
case "$DRIVE_ROLE" in
planner)
  printf 'A plan.\n\n```json tasks\n[{"id": "a", "title": "A", "description": "d", "acceptance": ["it works"]}]\n```\n' > plan.md ;;
reviewer)
  printf '```json\n{"verdict": "approved", "suggestions": []}\n```\n' ;;
*)
  echo more >> greet.sh ;;
esac
echo done
"#;

/// A repository with a scripted agent and a route for the verifier.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn make() -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for folder in ["repo", "home", "state"] {
            fs::create_dir(place.dir.path().join(folder)).unwrap();
        }
        let repo = place.dir.path().join("repo");
        fs::write(repo.join("agent.sh"), AGENT).unwrap();
        fs::write(repo.join("greet.sh"), "echo hello\n").unwrap();
        fs::write(
            repo.join("drive.toml"),
            r#"
[spawn]
agent = "script"
[spawn-team]
primary_llm = "script"
reviewer_llm = "script"
[agents.script]
kind = "command"
command = ["/bin/sh", "agent.sh"]
[[verify.routes]]
paths = ["**"]
compile = ["/bin/sh", "-c", "true"]
targeted_tests = ["/bin/sh", "-c", "true"]
startup_smoke = ["/bin/sh", "-c", "true"]
"#,
        )
        .unwrap();
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@localhost",
                "commit",
                "-qm",
                "first",
            ],
            &["switch", "-qc", "work"],
        ] {
            place.git(arguments);
        }
        fs::write(repo.join("more.sh"), "echo more\n").unwrap();
        place.git(&["add", "."]);
        place.git(&[
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@localhost",
            "commit",
            "-qm",
            "second",
        ]);
        place
    }

    fn git(&self, arguments: &[&str]) {
        assert!(
            self.clean("git")
                .args(arguments)
                .status()
                .unwrap()
                .success(),
            "{arguments:?}"
        );
    }

    fn clean(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path().join("home"))
            .env("DRIVE_STATE_DIR", self.dir.path().join("state"))
            .current_dir(self.dir.path().join("repo"));
        command
    }

    fn drive(&self, arguments: &[String]) -> Output {
        self.clean(env!("CARGO_BIN_EXE_drive"))
            .args(arguments)
            .output()
            .unwrap()
    }
}

#[test]
fn the_binary_of_a_release_is_built_by_the_script_that_releasing_names() {
    let script = "scripts/build-release";
    let releasing = read("RELEASING.md");
    assert!(releasing.contains(&format!("bash {script}")));
    let flag = "--remap-path-prefix";
    assert!(!releasing.contains(flag), "only the script has the flags");
    let script = read(script);
    for part in [flag, "-ffile-prefix-map", "--release --locked", "sha256sum"] {
        assert!(script.contains(part), "{part}");
    }
}

/// Every Rust file under `crates` and `benches`, with its text.
fn rust_files() -> Vec<(PathBuf, String)> {
    let mut open = vec![root().join("crates"), root().join("benches")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 500, "only {} files were found", found.len());
    found
}

#[test]
fn no_source_file_has_more_than_500_lines() {
    let long: Vec<String> = rust_files()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > 500)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "split by noun:\n{}", long.join("\n"));
}

/// A header such as "What a reviewer says." has no main clause.
#[test]
fn no_module_header_is_headless() {
    const BEGINNINGS: [&str; 7] = ["What", "Which", "Where", "When", "How", "Who", "Why"];
    let headless: Vec<String> = rust_files()
        .into_iter()
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == "src"))
        .filter(|(path, _)| !path.starts_with(root().join("benches/reviews")))
        .filter_map(|(path, text)| {
            let header = text.lines().find_map(|line| line.strip_prefix("//! "))?;
            let first = header.split_whitespace().next()?;
            BEGINNINGS
                .contains(&first)
                .then(|| format!("{}: {header}", path.display()))
        })
        .collect();
    assert!(
        headless.is_empty(),
        "say what the module does, in a sentence or a noun phrase:\n{}",
        headless.join("\n")
    );
}

#[test]
fn no_doc_comment_is_one_word() {
    let mut short = Vec::new();
    for (path, text) in rust_files() {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let docs = lines.chunk_by(|a, b| a.starts_with("///") && b.starts_with("///"));
        for doc in docs.filter(|doc| doc[0].starts_with("///")) {
            let words = doc.iter().flat_map(|line| line[3..].split_whitespace());
            if words.count() < 2 {
                short.push(format!("{}: {}", path.display(), doc.join(" ")));
            }
        }
    }
    assert!(
        short.is_empty(),
        "say something useful, or nothing:\n{}",
        short.join("\n")
    );
}
