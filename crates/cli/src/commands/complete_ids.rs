//! The ids that a shell offers while a command is typed. `drive completions bash` prints a script that asks
//! `drive __ids WORDS`, where the words are those before the one that is being typed.

use crate::app::App;
use crate::global_args::{ColorChoice, GlobalArgs};
use crate::repository::{git_dir_of, repository_of};
use crate::wiring::Wiring;
use drive_adapters::sandbox::kept;
use drive_core::problem::Problem;
use drive_core::run::{
    NotResumable, OutcomeStatus, Run, is_cruise, require_continuable, require_resumable,
};
use drive_core::sandbox::KEPT_PREFIX;
use drive_engine::ports::{RunFilter, Store};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The first argument that asks for ids.
const IDS: &str = "__ids";
/// How many ids are offered: more than that nobody reads.
const MOST: usize = 200;
/// How many runs are looked through.
const MOST_RUNS: u32 = 2_000;

/// What the word that is being typed may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Run(Which),
    Cruise { active: bool },
    Sandbox,
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Any,
    Active,
    Resumable,
    Failed,
    Continuable,
    Limited,
}

/// What bash needs besides the generated script: ids where a command takes one.
pub(super) const BASH: &str = r#"
_drive_with_ids() {
    _drive "$@"
    local typed="${COMP_WORDS[COMP_CWORD]}" ids
    [[ "$typed" == -* ]] && return 0
    ids="$(drive __ids "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" || return 0
    [[ -n "$ids" ]] && COMPREPLY=($(compgen -W "$ids" -- "$typed"))
    return 0
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _drive_with_ids -o nosort -o bashdefault -o default drive
else
    complete -F _drive_with_ids -o bashdefault -o default drive
fi
"#;

/// Prints ids, one a line, when the arguments ask for them. Whatever goes wrong is no completion.
pub(crate) fn ids_if_asked(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1)? != OsStr::new(IDS) {
        return None;
    }
    let words: Vec<String> = arguments[2..]
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let found = ids(&words).unwrap_or_default();
    let text: String = found.iter().map(|id| format!("{id}\n")).collect();
    let _ = std::io::stdout().write_all(text.as_bytes());
    Some(ExitCode::SUCCESS)
}

fn ids(words: &[String]) -> Result<Vec<String>, Problem> {
    let Some(wanted) = wanted(words) else {
        return Ok(Vec::new());
    };
    let app = App::new(GlobalArgs {
        repo: repo(words),
        config: None,
        json: false,
        quiet: true,
        verbose: false,
        color: ColorChoice::Never,
    });
    let mut found = match wanted {
        Wanted::Run(which) => runs(&app, |run| fits(which, run))?,
        Wanted::Cruise { active } => {
            runs(&app, |run| is_cruise(run) && (run.is_active() || !active))?
        }
        Wanted::Sandbox => sandboxes(&app)?,
        Wanted::Kept => saved(&app)?,
    };
    found.truncate(MOST);
    Ok(found)
}

/// What comes after these words. An id is the first word after the command that is no option.
fn wanted(words: &[String]) -> Option<Wanted> {
    let mut plain = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--repo" | "--config" | "--color" => {
                rest.next();
            }
            option if option.starts_with('-') => {}
            word => plain.push(word),
        }
    }
    let active = true;
    Some(match plain.as_slice() {
        ["runs", "show" | "logs"] => Wanted::Run(Which::Any),
        ["runs", "stop"] => Wanted::Run(Which::Active),
        ["runs", "resume"] => Wanted::Run(Which::Resumable),
        ["runs", "retry"] => Wanted::Run(Which::Failed),
        ["runs", "continue"] => Wanted::Run(Which::Continuable),
        ["runs", "extend"] => Wanted::Run(Which::Limited),
        ["cruise", "status" | "logs" | "report"] => Wanted::Cruise { active: false },
        ["cruise", "fix" | "approve" | "pause" | "resume" | "cleanup"] => Wanted::Cruise { active },
        ["sandbox", "open" | "remove"] => Wanted::Sandbox,
        ["kept", "restore" | "drop"] => Wanted::Kept,
        _ => return None,
    })
}

/// The repository that the words name.
fn repo(words: &[String]) -> Option<PathBuf> {
    let at = words.iter().position(|word| word == "--repo")?;
    words.get(at + 1).map(PathBuf::from)
}

fn fits(which: Which, run: &Run) -> bool {
    let status = run.outcome.as_ref().map(|outcome| outcome.status);
    let is_over_budget = || require_resumable(run, None) == Err(NotResumable::OverBudget);
    match which {
        Which::Any => true,
        Which::Active => run.is_active(),
        Which::Resumable => {
            is_cruise(run) && run.is_active() || require_resumable(run, None).is_ok()
        }
        Which::Failed => {
            !is_cruise(run) && status.is_some_and(|status| status != OutcomeStatus::Succeeded)
        }
        Which::Continuable => require_continuable(run).is_ok(),
        Which::Limited => run.is_active() || is_over_budget(),
    }
}

/// The fitting runs of this repository, newest first. A child is named by its root.
fn runs(app: &App, fits: impl Fn(&Run) -> bool) -> Result<Vec<String>, Problem> {
    let here = repository_of(&app.start_dir()?);
    let all = app.store()?.list(RunFilter::All, MOST_RUNS)?.into_iter();
    let is_here = |run: &Run| here.is_none() || git_dir_of(run) == here;
    let fitting = all.filter(|run| run.parent().is_none() && is_here(run) && fits(run));
    Ok(fitting.map(|run| run.id.to_string()).collect())
}

fn sandboxes(app: &App) -> Result<Vec<String>, Problem> {
    let wiring = Wiring::new(app, &app.settings()?.settings, &app.start_dir()?)?;
    let all = wiring.sandboxes.load_all()?.into_iter();
    Ok(all.map(|one| one.id.to_string()).collect())
}

fn saved(app: &App) -> Result<Vec<String>, Problem> {
    let folder = app.start_dir()?;
    let wiring = Wiring::new(app, &app.settings()?.settings, &folder)?;
    let all = kept::list(&wiring.git, &folder)?.into_iter().rev();
    let short = |reference: &str| {
        let short = reference.strip_prefix(KEPT_PREFIX);
        short.unwrap_or(reference).to_owned()
    };
    Ok(all.map(|work| short(&work.reference)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(line: &str) -> Option<Wanted> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        wanted(&words)
    }

    #[test]
    fn an_id_is_offered_only_where_a_command_takes_one() {
        assert_eq!(after("runs show"), Some(Wanted::Run(Which::Any)));
        assert_eq!(
            after("--repo /r runs stop -y"),
            Some(Wanted::Run(Which::Active))
        );
        assert_eq!(
            after("cruise report"),
            Some(Wanted::Cruise { active: false })
        );
        assert_eq!(
            after("cruise approve"),
            Some(Wanted::Cruise { active: true })
        );
        assert_eq!(after("sandbox open"), Some(Wanted::Sandbox));
        assert_eq!(after("kept drop"), Some(Wanted::Kept));
        for none in ["", "runs", "runs list", "runs show r1", "spawn", "pr show"] {
            assert_eq!(after(none), None, "{none}");
        }
    }
}
