//! `drive demo`: the main job on a throw-away repository, with a scripted agent and the local forge.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::flown;
use crate::progress::Progress;
use crate::wiring::Wiring;
use clap::Args;
use drive_adapters::environment::{DRIVE_STATE_DIR, HOME, PATH};
use drive_adapters::files::{remove_tree, replace};
use drive_adapters::git::Touches;
use drive_adapters::{Environment, StateDir};
use drive_core::Problem;
use drive_core::agent::Budget;
use drive_core::run::{AfterEnd, Kind, Publish, Run};
use drive_core::settings::{Findings, Layer, Settings, resolve};
use drive_engine::ports::{Place, VersionControl};
use drive_engine::spawn::{self, SpawnOrder};
use std::io;
use std::path::{Path, PathBuf};

/// The program that stands for an agent: it reads its prompt and changes two files.
const AGENT: &str = r#"#!/bin/sh
cat > /dev/null
echo "Reading greet.sh."
printf '#!/bin/sh\necho "Hello, ${1:-world}!"\n' > greet.sh
printf '#!/bin/sh\ntest "$(sh greet.sh Ada)" = "Hello, Ada!"\n' > test.sh
sh test.sh && echo "greet.sh greets by name now, and test.sh proves it."
"#;
const GREETER: &str = "#!/bin/sh\necho \"Hello!\"\n";
const TASK: &str = "Let greet.sh greet by name";

/// The arguments of `drive demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Leave the throw-away repository where it is afterwards
    #[arg(long)]
    keep: bool,
}

/// Flies a scripted agent over a repository made for the purpose.
pub(crate) fn run(args: &DemoArgs, app: &App) -> Outcome {
    let place = DemoPlace::make(app)?;
    app.output().narrate(
        "This is a demonstration: the repository is made for it, and the agent is a script.",
    );
    app.output()
        .narrate("No account, no network, nothing of yours is touched.\n");
    let flown = fly(app, &place);
    match args.keep {
        true => app
            .output()
            .narrate(format_args!("\nkept: {}", place.root.display())),
        false => place.remove(app),
    }
    let (run, diff) = flown?;
    let text = format!(
        "What the scripted agent did, as the pull request shows it:\n\n{diff}\nWith a real agent: `drive spawn \"what is to be done\"` in your own repository."
    );
    Answer::new("drive.demo/1", &flown::document(&run), text)
}

fn fly(app: &App, place: &DemoPlace) -> Result<(Run, String), Problem> {
    let settings = place.settings()?;
    let wiring = Wiring::in_state(&place.state, &place.environment, &settings, &place.repo)?;
    place.make_repository(&wiring)?;
    let open = wiring.forge(&settings, &place.repo)?;
    let id = wiring.new_run()?;
    let order = SpawnOrder {
        kind: Kind::Spawn,
        task: TASK.to_owned(),
        repo: place.repo.clone(),
        base: None,
        branch: None,
        agent: settings.spawn.agent.clone(),
        idle_timeout: settings.spawn.idle_timeout.get(),
        total_timeout: settings.spawn.total_timeout.get(),
        budget: Budget::default(),
        max_escalations: settings.spawn.max_escalations,
        publish: Publish::PullRequest {
            remote: open.remote.clone(),
        },
        after_end: AfterEnd::Remove,
        copy: Vec::new(),
        seed: Vec::new(),
    };
    let request = spawn::request(order, &id, &wiring.git)?;
    let base = request.base_sha.clone();
    let progress = Progress::new(app.output());
    let conversation = wiring.conversation(&open, &settings)?;
    let world = wiring.world(Some(&conversation), &progress);
    let run = spawn::fly(
        request,
        &id,
        wiring.journal(),
        &wiring.whoami,
        &world,
        app.cancel()?,
    )?;
    if let Some(problem) = run
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.failure.clone())
    {
        return Err(problem);
    }
    let head = run.work.head_sha.clone().unwrap_or_default();
    let diff = wiring
        .git
        .call(Place::Checkout(&place.repo), Touches::Objects)
        .args(["diff", "--no-color", "--no-ext-diff", &base, &head])
        .ok()?;
    let title = run
        .work
        .pull_request
        .as_ref()
        .map_or(String::new(), |pr| format!("#{} {TASK}\n", pr.number));
    Ok((
        run,
        format!("{title}{}", String::from_utf8_lossy(&diff.stdout)),
    ))
}

/// A folder with a repository, a state directory and a home, for this demonstration only.
struct DemoPlace {
    root: PathBuf,
    repo: PathBuf,
    state: StateDir,
    environment: Environment,
}

impl DemoPlace {
    fn make(app: &App) -> Result<Self, Problem> {
        let name = format!("drive-demo-{:08x}", drive_adapters::entropy::random_u32()?);
        let root = std::env::temp_dir().join(name);
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
            root,
            repo,
            state,
            environment,
        })
    }

    fn settings(&self) -> Result<Settings, Problem> {
        let agent = self.root.join("agent.sh");
        replace(&agent, AGENT.as_bytes()).map_err(|error| cannot(&agent, &error))?;
        let text = format!(
            "[spawn]\nagent = \"script\"\n[forge]\nkind = \"local\"\n[agents.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", {:?}]\n",
            agent.to_string_lossy()
        );
        let layers = [Layer::file("the demonstration's settings", text)];
        Ok(resolve(&layers).map_err(Findings::into_problem)?.settings)
    }

    fn make_repository(&self, wiring: &Wiring) -> Result<(), Problem> {
        let file = self.repo.join("greet.sh");
        replace(&file, GREETER.as_bytes()).map_err(|error| cannot(&file, &error))?;
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

    /// What cannot be removed is in the temporary folder, and is named.
    fn remove(&self, app: &App) {
        if let Err(error) = remove_tree(&self.root) {
            app.output().warn(format_args!(
                "cannot remove `{}`: {error}",
                self.root.display()
            ));
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> Problem {
    Problem::environment("demoPlace", format!("cannot write `{}`", path.display()))
        .because(error)
        .hint("point `TMPDIR` at a folder with room")
}
