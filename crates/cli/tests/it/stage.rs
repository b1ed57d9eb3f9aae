//! A repository, a home and a team of agents, for tests.

use drive_testkit::github::Simulator;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names the work, writes a file, and appends to it whatever it is asked to fix.
pub(crate) const PRIMARY: &str = r#"
prompt=$(cat)
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Greet by name", "branch_name": "greet-by-name"}\n```\n' ;;
coder) printf 'one\ntwo\nthree\n' > greet.txt; echo "A greeting." ;;
fixer) echo fixed >> greet.txt; echo "Appended."
  ids=$(printf '%s\n' "$prompt" | sed -n 's/^Comment `\([^`]*\)` by .*/{"id": "\1", "action": "fixed"}/p' | paste -sd, -)
  [ -z "$ids" ] || printf '```json\n{"comments": [%s]}\n```\n' "$ids" ;;
esac
"#;

/// Approves once the file that it reviews was fixed.
pub(crate) const REVIEWER: &str = r#"
cat > /dev/null
if grep -q fixed greet.txt; then
  echo '{"verdict": "approved"}'
else
  echo '{"verdict": "needs_changes", "suggestions": [{"file": "greet.txt", "line": 2, "issue": "two is wrong", "severity": "high"}]}'
fi
"#;

pub(crate) const APPROVES: &str = "cat > /dev/null\necho '{\"verdict\": \"approved\"}'\n";
pub(crate) const TASK: &str = "Greet people by name";
pub(crate) const LOCAL: &str = "[forge]\nkind = \"local\"\n";
const GIT_USER: &str = "[user]\nname = Ann\nemail = ann@example.org\n";

/// The result of one call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) document: Value,
}

pub(crate) struct Stage {
    folder: TempDir,
    /// The caller's environment.
    variables: Vec<(String, String)>,
}

impl Stage {
    /// A repository with one commit on `main`, and these scripts as primary and reviewer.
    pub(crate) fn new(primary: &str, reviewer: &str) -> Self {
        Self::of_scripts(LOCAL, None).cast(primary, reviewer)
    }

    /// A clone of a repository on a forge.
    pub(crate) fn clone_of(url: &str, settings: &str, primary: &str, reviewer: &str) -> Self {
        Self::of_scripts(settings, Some(url)).cast(primary, reviewer)
    }

    fn cast(self, primary: &str, reviewer: &str) -> Self {
        self.script("primary", primary);
        self.script("reviewer", reviewer);
        self
    }

    /// The same with agents whose scripts are written later; a clone of `origin` if that is given.
    pub(crate) fn of_scripts(settings: &str, origin: Option<&str>) -> Self {
        let stage = Self::of_agents(Vec::new(), origin);
        stage.settle(&format!(
            "[spawn-team]\nprimary_llm = \"primary\"\nreviewer_llm = \"reviewer\"\n{settings}{}{}",
            stage.scripted("primary"),
            stage.scripted("reviewer")
        ));
        stage
    }

    /// The same for a caller with this environment and without settings.
    pub(crate) fn of_agents(variables: Vec<(String, String)>, origin: Option<&str>) -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
            variables,
        };
        for folder in ["home", "repo", "agents"] {
            fs::create_dir(stage.path(folder)).unwrap();
        }
        fs::write(stage.home().join(".gitconfig"), GIT_USER).unwrap();
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        match origin {
            None => {
                fs::write(stage.path("repo/README.md"), "read me\n").unwrap();
                stage.git(&["add", "README.md"]);
                stage.git(&["commit", "--quiet", "--message=First"]);
            }
            Some(url) => {
                stage.git(&["remote", "add", "origin", url]);
                stage.git(&["fetch", "--quiet", "origin"]);
                stage.git(&["reset", "--quiet", "--hard", "origin/main"]);
            }
        }
        stage
    }

    /// Writes the caller's settings, which are not committed. A scripted reviewer has only one
    /// answer, so refuting is disabled unless the settings configure it.
    pub(crate) fn settle(&self, settings: &str) {
        let settings = if settings.contains("[review]") {
            settings.to_owned()
        } else {
            format!("[review]\nrefute = false\n\n{settings}")
        };
        fs::write(self.path("repo/drive.toml"), settings).unwrap();
    }

    /// Lets agents write everywhere, like on a kernel that cannot confine them.
    pub(crate) fn unconfine(&self) {
        let settings = fs::read_to_string(self.path("repo/drive.toml")).unwrap();
        self.settle(&format!("{settings}[sandbox]\nisolation = \"off\"\n"));
    }

    /// The settings of an agent that is a script.
    pub(crate) fn scripted(&self, name: &str) -> String {
        let path = self.path(&format!("agents/{name}"));
        format!("[agents.{name}]\nkind = \"command\"\ncommand = [\"/bin/sh\", {path:?}]\n")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        let own = self.variables.iter().find(|(name, _)| name == "HOME");
        own.map_or_else(|| self.path("home"), |(_, home)| home.into())
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        fs::write(self.path(&format!("agents/{name}")), text).unwrap();
    }

    /// A command in the repository, with its own environment.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GITHUB_TOKEN", Simulator::TOKEN)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("repo"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The names of existing sandboxes.
    pub(crate) fn sandboxes(&self) -> Vec<String> {
        let state = self.path("home/.local/state/infinite-improbability-drive/sandboxes");
        let entries = std::fs::read_dir(state).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name != ".trash").collect()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        output.unwrap_or_else(|stderr| panic!("{args:?}: {stderr}"))
    }

    /// Git's output, or its error.
    pub(crate) fn try_git(&self, args: &[&str]) -> Result<String, String> {
        let output = self.command("git").args(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().trim_end().to_owned();
        if output.status.success() {
            Ok(text(output.stdout))
        } else {
            Err(text(output.stderr))
        }
    }

    /// Starts `drive … --json`.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(env!("CARGO_BIN_EXE_drive"))
            .args(args)
            .arg("--json")
            .spawn()
            .unwrap()
    }

    /// Runs `drive … --json` to its end.
    pub(crate) fn drive(&self, args: &[&str]) -> Ended {
        ended(self.start(args))
    }

    pub(crate) fn team(&self, mode: &str) -> Ended {
        self.drive(&["spawn-team", TASK, "--mode", mode])
    }

    /// The pull request with everything on it.
    pub(crate) fn pull_request(&self) -> Value {
        let ended = self.drive(&["pr", "show", "1"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.document
    }
}

/// The maximum wait of a test for a condition.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until a condition is true. A slow condition is checked less often, because other tests run
/// meanwhile.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let begun = Instant::now();
        if holds() {
            return;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        let pause = (3 * begun.elapsed()).min(Duration::from_millis(500));
        sleep(pause.max(Duration::from_millis(50)));
    }
}

/// Waits for a started `drive`.
pub(crate) fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    // Shown if the test fails.
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout).unwrap();
    Ended {
        code: output.status.code(),
        document: crate::document::read(&stdout),
    }
}

/// The texts on a pull request without their hidden lines, oldest first.
pub(crate) fn said(pull_request: &Value) -> Vec<String> {
    pull_request["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|comment| {
            let body = comment["body"].as_str().unwrap();
            let visible = body.split("\n\n<!-- drive:").next().unwrap();
            visible.trim_end().to_owned()
        })
        .collect()
}

/// The fields of a run that do not differ between runs.
pub(crate) fn gist(document: &Value) -> Value {
    let commits: Vec<&Value> = document["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| &commit["subject"])
        .collect();
    serde_json::json!({
        "kind": document["kind"],
        "status": document["status"],
        "verdict": document["verdict"],
        "branch": document["branch"],
        "prNumber": document["prNumber"],
        "rounds": document["rounds"],
        "commits": commits,
        "failure": document["failure"]["kind"],
    })
}
