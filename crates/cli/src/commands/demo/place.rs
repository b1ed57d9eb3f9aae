//! The temporary repository, state directory and home of the demonstration.

use crate::app::App;
use crate::wiring::Wiring;
use drive_adapters::environment::{DRIVE_STATE_DIR, HOME, PATH};
use drive_adapters::files::replace;
use drive_adapters::git::Touches;
use drive_adapters::process::ThisProcess;
use drive_adapters::temp_dir::{self, TempDir};
use drive_adapters::{Environment, StateDir};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::{Findings, Layer, Settings, resolve};
use drive_engine::ports::{Place, VersionControl};
use std::io;
use std::path::{Path, PathBuf};

/// The beginning of the folder's name.
const PREFIX: &str = "drive-demo-";
/// The script that acts as every agent: it does what its role requires.
const AGENT: &str = include_str!("agent.sh");
const GREETER: &str = "#!/bin/sh\necho \"Hello!\"\n";
/// The test of the program: all of its output must end like a greeting.
const TEST: &str = r#"#!/bin/sh
for script in greet farewell; do
  [ -e "$script.sh" ] || continue
  said=$(sh "$script.sh" Ada) || exit 1
  case "$said" in
  *'!') echo "ok: $script.sh says: $said" ;;
  *) echo "FAILED: $script.sh must end with an exclamation mark, and says: $said"; exit 1 ;;
  esac
done
"#;
/// The verification settings of the demonstration's repository.
const RULES: &str = r#"[verify]
baseline = "off"
[[verify.routes]]
paths = ["**"]
targeted_tests = ["/bin/sh", "test.sh"]
"#;
const GIT_USER: &str = "[user]\nname = Demo\nemail = demo@localhost\n";
const SETTINGS: &str = r#"
[spawn-team]
primary_llm = "script"
reviewer_llm = "script"
[review]
domains = ["Correctness", "Security", "TaskGranularity"]
refute = false
[cruise]
poll_initial = "200ms"
poll_max = "1s"
merge = "auto"
[forge]
kind = "local"
[sandbox]
seed = []
[agents.script]
kind = "command"
command = ["/bin/sh", AGENT]
"#;

/// A folder with a repository, a state directory and a home, for this demonstration only.
pub(super) struct DemoPlace {
    folder: TempDir,
    pub(super) root: PathBuf,
    pub(super) repo: PathBuf,
    pub(super) state: StateDir,
    pub(super) environment: Environment,
}

impl DemoPlace {
    pub(super) fn make(app: &App) -> Result<Self, Problem> {
        let (parent, whoami) = (std::env::temp_dir(), ThisProcess::load());
        for gone in temp_dir::sweep(&parent, PREFIX, &whoami) {
            app.output().narrate(format_args!(
                "removed `{}`, left by a demonstration that was killed",
                gone.display()
            ));
        }
        let folder = TempDir::make(&parent, PREFIX, &whoami)?;
        let root = folder.path().to_path_buf();
        let (repo, home, state) = (
            root.join("repository"),
            root.join("home"),
            root.join("state"),
        );
        for folder in [&repo, &home, &state] {
            std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        }
        let path = app.environment().get(PATH).unwrap_or_default();
        let environment = Environment::from_pairs([
            (PATH, path.to_owned()),
            (HOME, home.into_os_string()),
            (DRIVE_STATE_DIR, state.into_os_string()),
        ]);
        let state = StateDir::open(&environment)?;
        Ok(Self {
            folder,
            root,
            repo,
            state,
            environment,
        })
    }

    pub(super) fn settings(&self) -> Result<Settings, Problem> {
        let agent = self.root.join("agent.sh");
        replace(&agent, AGENT.as_bytes()).map_err(|error| cannot(&agent, &error))?;
        let agent = format!("{:?}", agent.to_string_lossy());
        let text = SETTINGS.replace("AGENT", &agent);
        let layers = [Layer::file("the demonstration's settings", text)];
        Ok(resolve(&layers).map_err(Findings::into_problem)?.settings)
    }

    pub(super) fn make_repository(&self, wiring: &Wiring) -> Result<(), Problem> {
        for (file, text) in [
            (self.root.join("home/.gitconfig"), GIT_USER),
            (self.repo.join("greet.sh"), GREETER),
            (self.repo.join("test.sh"), TEST),
            (self.repo.join("drive.toml"), RULES),
        ] {
            replace(&file, text.as_bytes()).map_err(|error| cannot(&file, &error))?;
        }
        let git = |args: &[&str]| {
            let identity = [("user.name", "Demo"), ("user.email", "demo@localhost")];
            identity
                .iter()
                .fold(
                    wiring.git.call(Place::Checkout(&self.repo), Touches::Files),
                    |call, (key, value)| call.config(key, value),
                )
                .args(args.iter().copied())
                .ok()
        };
        git(&["init", "--quiet", "--initial-branch=main"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message=A greeter"])?;
        wiring.git.discover(&self.repo).map(drop)
    }

    /// Keeps the folder, because the person asked for it.
    pub(super) fn leave(&self, app: &App) {
        let shown = self.root.display();
        match self.folder.leave() {
            Ok(()) => app.output().narrate(format_args!("\nkept: {shown}")),
            Err(error) => app.output().warn(format_args!(
                "could not remove `{shown}`; the next demonstration will: {error}"
            )),
        }
    }

    /// Removes the folder. If that fails, a warning names it.
    pub(super) fn remove(&self, app: &App) {
        if let Err(error) = self.folder.remove() {
            app.output().warn(format_args!(
                "cannot remove `{}`: {error}",
                self.root.display()
            ));
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        Kind::DemoPlace,
        format!("cannot write `{}`", path.display()),
    )
    .because(error)
    .hint("point `TMPDIR` at a folder with free space")
}
