//! Rebuilds a cruise whose journal was lost from the state file in its sandbox.
//!
//! An agent can write to that file, so it must agree with git, the record of the sandbox and the forge.

use super::host::Host;
use crate::app::App;
use crate::commands::phase_terms::usual_terms;
use drive_core::ids::{RunId, SandboxId};
use drive_core::phase::{Evidence, PhaseName, PhaseState};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Adopted, AfterEnd, PhaseTerms, Publish, Published, Request, RunKind};
use drive_core::sandbox::Sandbox;
use drive_core::settings::Settings;
use drive_engine::ports::{PhaseFiles, Place, Sandboxes, Store, VersionControl};
use std::path::{Path, PathBuf};

/// Rebuilds a cruise from the only sandbox whose cruise is not in the journal. `None` without such
/// a sandbox.
pub(super) fn rebuild(
    app: &App,
    folder: &Path,
    id: Option<&str>,
) -> Result<Option<(Host, RunId)>, Problem> {
    let settings = app.settings()?.settings.clone();
    let host = Host::new(app, &settings, folder)?;
    let Some((path, state)) = only_one(app, &host, id)? else {
        return Ok(None);
    };
    let request = request(app, &host, &settings, &path, &state)?;
    app.output().warn(format_args!(
        "cruise `{}` is not in the journal; rebuilding it from its sandbox, git and the forge",
        state.run_id
    ));
    host.with_service(app, |cruises| cruises.enter(&state.run_id, request))?;
    Ok(Some((host, state.run_id)))
}

fn only_one(
    app: &App,
    host: &Host,
    id: Option<&str>,
) -> Result<Option<(PathBuf, PhaseState)>, Problem> {
    let mut candidates = Vec::new();
    let mut unusable = None;
    for found in host.wiring.sandboxes.list()? {
        let folder = found.sandbox_path.file_name();
        match found.state {
            Err(problem) if id.is_none_or(|id| folder.is_some_and(|name| name == id)) => {
                let shown = found.sandbox_path.display();
                app.output()
                    .warn(format_args!("cannot use `{shown}`: {problem}"));
                unusable.get_or_insert(problem.cause(format!("the file is `{shown}`")));
            }
            Err(_) => {}
            Ok(state) => {
                // A child run is useless without its root.
                let is_whole = state.phase == PhaseName::Planning;
                let is_meant = is_whole && id.is_none_or(|id| state.run_id.as_str() == id);
                if is_meant && host.wiring.store.load(&state.run_id)?.is_none() {
                    candidates.push((found.sandbox_path, state));
                }
            }
        }
    }
    match (candidates.len(), unusable) {
        (0, Some(problem)) => Err(problem),
        (0 | 1, _) => Ok(candidates.pop()),
        _ => {
            let names: Vec<String> = candidates
                .iter()
                .map(|(_, state)| format!("`{}`", state.run_id))
                .collect();
            Err(Problem::new(
                Kind::SeveralCruises,
                format!(
                    "{} sandboxes belong to cruises that are not in the journal",
                    names.len()
                ),
            )
            .hint(format!("name one of {}", names.join(", "))))
        }
    }
}

fn request(
    app: &App,
    host: &Host,
    settings: &Settings,
    path: &Path,
    state: &PhaseState,
) -> Result<Request, Problem> {
    let wiring = &host.wiring;
    let repository = wiring.git.discover(&host.folder)?;
    let sandbox = recorded(host, path, state)?;
    if sandbox.git_dir != repository.common_dir {
        return Err(refused(state, "its sandbox belongs to another repository")
            .hint("run the command in the repository of the cruise"));
    }
    let place = Place::Sandbox(&sandbox);
    let branch = wiring.git.state(place)?.branch;
    let Some(number) = state.pr_number else {
        return Err(refused(state, "it had no pull request yet")
            .hint("its work is on its branch; start a new one with `drive cruise run TASK`"));
    };
    let pull_request = host.forge()?.fetch(number)?;
    state.check(&Evidence {
        read_from: path,
        sandboxes_root: wiring.sandboxes.root(),
        sandbox_branch: branch.as_ref(),
        pull_request: Some(&pull_request),
        now: app.now(),
    })?;
    let head_sha = wiring.git.resolve(place, &state.branch_name.full())?;
    let base_sha = wiring.git.resolve(place, &state.base_sha)?;
    if !wiring.git.is_ancestor(place, &base_sha, &head_sha)? {
        return Err(refused(
            state,
            "its branch does not contain its base commit",
        ));
    }
    let adopted = Adopted {
        sandbox,
        pull_request: Published {
            number,
            url: pull_request.url,
        },
        title: pull_request.title,
        head_sha,
        domain: state.current_review_domain.clone(),
        rounds: state.completed_rounds,
    };
    let terms = PhaseTerms {
        adopted: Some(adopted),
        ..usual_terms(settings, &host.folder)?
    };
    Ok(Request {
        kind: RunKind::Cruise(Box::new(terms)),
        task: state.task.clone(),
        repo: repository.top.unwrap_or(repository.common_dir),
        base_sha,
        base_branch: Some(pull_request.base),
        branch: pull_request.branch,
        agent: settings.spawn_team.primary_llm.clone(),
        model: None,
        idle_timeout: settings.spawn.idle_timeout.get(),
        total_timeout: settings.spawn.total_timeout.get(),
        budget: settings.budget.of_run(),
        max_escalations: settings.spawn_team.max_escalations,
        publish: Publish::PullRequest {
            remote: host.remote.clone(),
        },
        after_end: AfterEnd::Remove,
        copy: Vec::new(),
        seed: Vec::new(),
        notify: !settings.notify.command.is_empty(),
        prompts: None,
        parent: None,
        git_dir: None,
    })
}

/// The sandbox according to the record outside of it.
fn recorded(host: &Host, path: &Path, state: &PhaseState) -> Result<Sandbox, Problem> {
    let id = SandboxId::new(state.run_id.as_str());
    let sandbox = host.wiring.sandboxes.find(&id)?;
    sandbox
        .filter(|sandbox| sandbox.path == path)
        .ok_or_else(|| {
            refused(
                state,
                "the folder is not recorded as a sandbox of that cruise",
            )
        })
}

fn refused(state: &PhaseState, why: &str) -> Problem {
    Problem::new(
        Kind::NotRebuilt,
        format!("cruise `{}` cannot be rebuilt: {why}", state.run_id),
    )
}
