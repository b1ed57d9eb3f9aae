//! Warnings at the start of a run, about facts of the caller's checkout and forge that are easy to
//! overlook and affect the run.

use crate::app::App;
use drive_adapters::git::Git;
use drive_core::forge::choice::Choice;
use drive_core::run::Request;
use drive_core::settings::Settings;
use drive_engine::ports::{Place, VersionControl};

/// Warns that pull requests stay on this machine although the repository is on GitHub.
pub(super) fn warn_without_token(app: &App, settings: &Settings, choice: &Choice) {
    if let Some(repo) = &choice.token_missing_for {
        let variable = &settings.forge.token_env;
        app.output().warn(format_args!(
            "no GitHub token for `{repo}`, so pull requests go to the local forge on this machine; \
             set `{variable}` or run `gh auth login`"
        ));
    }
}

/// Warns about uncommitted changes in the checkout, which the run will not see. There is no warning
/// if the run starts from another commit than the checked-out one.
pub(super) fn warn_of_uncommitted_changes(app: &App, git: &Git, request: &Request) {
    // A bare repository has no such state, and a checkout that cannot be read must not stop the
    // run, which does not use it.
    let Ok(state) = git.state(Place::Checkout(&request.repo)) else {
        return;
    };
    if state.dirty_files == 0 || state.head_sha != request.base_sha {
        return;
    }
    let (count, path) = (state.dirty_files, request.repo.display());
    let (changes, are) = match count {
        1 => ("change", "is"),
        _ => ("changes", "are"),
    };
    app.output().warn(format_args!(
        "{count} uncommitted {changes} in {path} {are} not part of this run"
    ));
}
