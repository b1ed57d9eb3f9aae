//! `drive init`: writes a commented `drive.toml` that fits the repository.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{InitDocument, path_text};
use crate::wiring::Wiring;
use clap::Args;
use drive_adapters::files;
use drive_adapters::settings::checkout_root;
use drive_core::forge::choice::Chosen;
use drive_core::problem::{Kind, Problem};
use drive_core::settings::{Findings, resolve};
use std::fmt::Write;
use std::path::Path;

/// The arguments of `drive init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Replace an existing `drive.toml`
    #[arg(long)]
    force: bool,
}

/// The name of the settings file.
const FILE: &str = "drive.toml";

/// The files by which projects are recognised.
const PROJECTS: [(&str, &str); 12] = [
    ("Cargo.toml", "Cargo"),
    ("package.json", "Node"),
    ("go.mod", "Go"),
    ("pyproject.toml", "Python"),
    ("setup.py", "Python"),
    ("CMakeLists.txt", "CMake"),
    ("Makefile", "Make"),
    ("pom.xml", "Maven"),
    ("build.gradle", "Gradle"),
    ("build.gradle.kts", "Gradle"),
    ("Gemfile", "Ruby"),
    ("composer.json", "PHP"),
];

/// The facts about the repository.
struct Found {
    /// Usable agents, in the order of the settings.
    agents: Vec<String>,
    /// The forge, and why it was chosen.
    forge: &'static str,
    why: String,
    /// Build systems, each with the file by which it was recognised.
    projects: Vec<(&'static str, &'static str)>,
}

/// Writes the settings file.
pub(crate) fn run(args: &InitArgs, app: &App) -> Outcome {
    let root = checkout_root(&app.start_dir()?).ok_or_else(no_repository)?;
    let path = root.join(FILE);
    if path.exists() && !args.force {
        let message = format!("`{}` already exists", path.display());
        return Err(Problem::new(Kind::SettingsExist, message)
            .hint("edit it, or replace it with `drive init --force`"));
    }
    let found = find(app, &root)?;
    let text = text(&found);
    files::replace(&path, text.as_bytes()).map_err(|error| {
        let message = format!("cannot write `{}`", path.display());
        Problem::new(Kind::NotWritten, message).because(error)
    })?;
    let document = InitDocument {
        path: path_text(&path),
        agents: found.agents.clone(),
        forge: found.forge.to_owned(),
        projects: found
            .projects
            .iter()
            .map(|(_, name)| (*name).to_owned())
            .collect(),
    };
    Answer::new(&document, render_found(&path, &found))
}

/// Finds the facts, with the defaults and the user's own settings. An existing file that will be
/// replaced is ignored.
fn find(app: &App, root: &Path) -> Result<Found, Problem> {
    let settings = match app.settings() {
        Ok(effective) => effective.settings.clone(),
        Err(_) => resolve(&[]).map_err(Findings::into_problem)?.settings,
    };
    let wiring = Wiring::new(app, &settings, root)?;
    let open = wiring.forge(&settings, root);
    let (forge, why) = match &open {
        Ok(open) => match &open.choice.chosen {
            Chosen::Github { .. } => ("github", open.choice.why.to_string()),
            Chosen::Local => ("local", open.choice.why.to_string()),
        },
        Err(problem) => ("auto", problem.message.clone()),
    };
    let projects = PROJECTS
        .into_iter()
        .filter(|(file, _)| root.join(file).is_file());
    Ok(Found {
        agents: wiring.usable_agents(app)?,
        forge,
        why,
        projects: projects.collect(),
    })
}

fn text(found: &Found) -> String {
    let mut text = "# The settings of drive for this repository. A line that begins with `#` shows the default;\n\
                    # `drive config default` prints all settings, `drive config check` finds mistakes.\n\n"
        .to_owned();
    let primary = found.agents.first();
    match primary {
        Some(agents) => {
            let all = found.agents.join(", ");
            let _ = writeln!(text, "# Agents that can run here: {all}.");
            let reviewer = found.agents.get(1).unwrap_or(agents);
            let _ = writeln!(
                text,
                "[spawn]\nagent = {agents:?}\n# idle_timeout = \"2m\"\n# total_timeout = \"30m\"\n\n\
                 [spawn-team]\nprimary_llm = {agents:?}\nreviewer_llm = {reviewer:?}\n# mode = \"github\"\n"
            );
        }
        None => text.push_str(
            "# No agent can run here yet: `drive doctor` says what each needs.\n\
             # [spawn]\n# agent = \"claude-code\"\n\n\
             # [spawn-team]\n# primary_llm = \"claude-code\"\n# reviewer_llm = \"gemini-cli\"\n\n",
        ),
    }
    let why = found.why.replace('\n', " ");
    let _ = writeln!(
        text,
        "# Where pull requests are opened. Found: {} ({why}).\n# [forge]\n# kind = \"auto\"\n# remote = \"origin\"\n",
        found.forge
    );
    text.push_str("# Limits for one run.\n# [budget]\n# cost_usd = 20.0\n# tokens = 5_000_000\n\n");
    if found.projects.is_empty() {
        text.push_str(
            "# `drive verify` recognises no project at the root. Say how changes are verified:\n\
             # [[verify.routes]]\n# paths = [\"**\"]\n# compile = [\"make\"]\n# targeted_tests = [\"make\", \"test\"]\n",
        );
    } else {
        let of = |(file, name): &(&str, &str)| format!("{name} (`{file}`)");
        let names: Vec<String> = found.projects.iter().map(of).collect();
        let _ = writeln!(
            text,
            "# `drive verify` recognises {} and runs its own tools. To replace that:\n\
             # [[verify.routes]]\n# paths = [\"**\"]\n# compile = [\"make\"]\n# targeted_tests = [\"make\", \"test\"]",
            names.join(", ")
        );
    }
    text
}

fn render_found(path: &Path, found: &Found) -> String {
    let mut text = format!("wrote {}\n", path.display());
    let agents = match found.agents.as_slice() {
        [] => "none can run yet; see `drive doctor`".to_owned(),
        names => names.join(", "),
    };
    let _ = writeln!(text, "agents   {agents}");
    let _ = writeln!(
        text,
        "forge    {}: {}",
        found.forge,
        found.why.replace('\n', " ")
    );
    let mut names: Vec<&str> = found.projects.iter().map(|(_, name)| *name).collect();
    names.dedup();
    let projects = match names.as_slice() {
        [] => "none recognised; add `[[verify.routes]]`".to_owned(),
        names => names.join(", "),
    };
    let _ = writeln!(text, "projects {projects}");
    text
}

fn no_repository() -> Problem {
    Problem::new(Kind::NotARepository, "there is no git repository here")
        .hint("run it in a checkout, or pass `--repo PATH`")
}
