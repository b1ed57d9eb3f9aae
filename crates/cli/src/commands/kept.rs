//! `drive kept`: work saved from sandboxes before they were removed.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{KeptDocument, KeptWorkDocument};
use crate::wiring::Wiring;
use clap::{Args, Subcommand};
use drive_adapters::git::Git;
use drive_adapters::sandbox::kept;
use drive_core::Problem;
use drive_core::ids::BranchName;
use drive_core::problem::Kind;
use drive_core::sandbox::{KEPT_PREFIX, KeptWork};
use std::fmt::Write;
use std::path::Path;

/// Candidates named in an error.
const LISTED: usize = 10;

/// The arguments of `drive kept`.
#[derive(Debug, Args)]
pub(crate) struct KeptArgs {
    #[command(subcommand)]
    command: KeptCommand,
}

#[derive(Debug, Subcommand)]
enum KeptCommand {
    /// List the saved work of this repository, oldest first
    List,
    /// Create a branch from saved work
    Restore {
        /// Saved work: its ref, `RUN/N`, or `RUN` if there is only one [default: the only one]
        #[arg(value_name = "REF")]
        reference: Option<String>,
        /// Name of the branch [default: kept/RUN-N]
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
    },
    /// Delete saved work
    Drop {
        /// Saved work: its ref, `RUN/N`, or `RUN` if there is only one
        #[arg(value_name = "REF")]
        reference: String,
    },
}

/// Lists, restores or drops saved work.
pub(crate) fn run(args: &KeptArgs, app: &App) -> Outcome {
    let repo = app.start_dir()?;
    let wiring = Wiring::new(app, &app.settings()?.settings, &repo)?;
    let git = wiring.git;
    match &args.command {
        KeptCommand::List => list(&git, &repo),
        KeptCommand::Restore { reference, branch } => {
            let reference = match reference {
                Some(reference) => reference.clone(),
                None => only(app, &git, &repo)?,
            };
            restore(&git, &repo, &reference, branch.as_deref())
        }
        KeptCommand::Drop { reference } => {
            let work = kept::drop(&git, &repo, reference)?;
            let text = format!("dropped {} (was {})\n", work.reference, work.sha);
            let dropped = KeptWorkDocument::from(&work);
            Answer::new(&KeptDocument::Dropped { dropped }, text)
        }
    }
}

fn list(git: &Git, repo: &Path) -> Outcome {
    let all = kept::list(git, repo)?;
    let mut text = String::new();
    for work in &all {
        let _ = writeln!(text, "{}", line(work));
    }
    if all.is_empty() {
        text.push_str("no saved work\n");
    }
    let kept = all.iter().map(KeptWorkDocument::from).collect();
    Answer::new(&KeptDocument::List { kept }, text)
}

/// The ref of the only saved work. The user is always told what is deleted.
fn only(app: &App, git: &Git, repo: &Path) -> Result<String, Problem> {
    let all = kept::list(git, repo)?;
    let problem = |message: String, hint: String| {
        Err(Problem::new(Kind::UnknownKeptWork, message).hint(hint))
    };
    match all.as_slice() {
        [one] => {
            app.output().narrate(line(one));
            Ok(one.reference.clone())
        }
        [] => problem(
            "this repository has no saved work".to_owned(),
            "`drive kept list` lists what was saved".to_owned(),
        ),
        several => {
            let names = several.iter().rev().take(LISTED);
            let names: Vec<String> = names.map(|one| format!("`{}`", one.reference)).collect();
            problem(
                format!("{} pieces of work are saved here", several.len()),
                format!("name one of {}", names.join(", ")),
            )
        }
    }
}

fn restore(git: &Git, repo: &Path, reference: &str, branch: Option<&str>) -> Outcome {
    let work = kept::find(git, repo, reference)?;
    let name = match branch {
        Some(name) => BranchName::parse(name)?.for_new()?,
        None => default_branch(&work)?,
    };
    let work = kept::restore(git, repo, &work.reference, &name)?;
    let text = format!("created branch {name} from {}\n", work.reference);
    let document = KeptDocument::Restored {
        restored: KeptWorkDocument::from(&work),
        branch: name,
    };
    Answer::new(&document, text)
}

fn default_branch(work: &KeptWork) -> Result<BranchName, Problem> {
    let short = work.reference.strip_prefix(KEPT_PREFIX);
    let short = short.unwrap_or(&work.reference).replace('/', "-");
    BranchName::parse(&format!("kept/{short}"))?.for_new()
}

fn line(work: &KeptWork) -> String {
    let about = &work.about;
    let mut line = format!(
        "{}  {}  {} files, {} commits",
        work.reference, about.kept_at, about.dirty_files, about.unpushed_commits
    );
    if let Some(branch) = &about.branch {
        let _ = write!(line, "  on {branch}");
    }
    if let Some(what) = about.in_progress {
        let _ = write!(line, "  ({} in progress)", what.name());
    }
    line
}
