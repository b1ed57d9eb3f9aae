//! `drive hooks`: the git hook that verifies commits before a push.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{HooksDocument, HooksState};
use clap::{Args, Subcommand};
use drive_adapters::git::Git;
use drive_adapters::hooks::{self, Hook};
use drive_core::problem::{Kind, Problem};

/// The arguments of `drive hooks`.
#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    command: HooksCommand,
}

#[derive(Debug, Subcommand)]
enum HooksCommand {
    /// Install a pre-push hook that runs `drive verify` on what is pushed
    Install,
    /// Remove the pre-push hook that `drive hooks install` wrote
    Uninstall,
}

/// Installs or removes the hook.
pub(crate) fn run(args: &HooksArgs, app: &App) -> Outcome {
    let git = Git::new(app.runner().clone(), app.environment());
    let folder = app.start_dir()?;
    match args.command {
        HooksCommand::Install => {
            let drive = std::env::current_exe().map_err(|error| {
                Problem::new(Kind::Internal, "cannot find the path of drive").because(error)
            })?;
            let hook = hooks::install(&git, &folder, &drive)?;
            if hook.shared {
                app.output().warn(
                    "`core.hooksPath` names a folder outside this repository: other repositories \
                     that use it get this hook too",
                );
            }
            installed(&hook)
        }
        HooksCommand::Uninstall => uninstalled(&hooks::uninstall(&git, &folder)?),
    }
}

fn installed(hook: &Hook) -> Outcome {
    let path = hook.path.display();
    let (state, done) = if hook.changed {
        (HooksState::Installed, format!("installed `{path}`"))
    } else {
        (HooksState::Unchanged, format!("`{path}` is up to date"))
    };
    let text = format!("{done}\n`git push --no-verify` pushes without verification\n");
    Answer::new(&HooksDocument::new(&hook.path, state), text)
}

fn uninstalled(hook: &Hook) -> Outcome {
    let path = hook.path.display();
    let (state, text) = if hook.changed {
        (HooksState::Removed, format!("removed `{path}`\n"))
    } else {
        let text = format!("no hook of drive at `{path}`\n");
        (HooksState::Absent, text)
    };
    Answer::new(&HooksDocument::new(&hook.path, state), text)
}
