//! Checks the forge, the token with its permissions, and its remaining requests. The token itself
//! is never shown.

use super::{Check, Doctor, Status};
use crate::environment::GH_TOKEN;
use crate::forge::github::{
    Bounds, Budgets, Credential, Endpoint, GitHub, Route, Surroundings as ClientSurroundings,
    WaysToMerge, find_credential, key_file,
};
use crate::git::{Git, Location, Touches};
use crate::store::{Database, SqliteForgeMemory};
use crate::{StateDir, SystemClock};
use drive_core::Problem;
use drive_core::forge::RequestBudget;
use drive_core::forge::choice::{Chosen, Surroundings, choose};
use drive_core::forge::readiness::{Finding, Intent};
use drive_core::ids::BranchName;
use drive_core::problem::Kind;
use drive_core::settings::{ForgeKind, ForgeSettings};
use drive_core::time::Timestamp;
use drive_engine::ports::{Clock, Forge};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const BUDGET: &str = "forgeBudget";
const TOKEN: &str = "forgeToken";
const KEY: &str = "forgeAppKey";
const ACCESS: &str = "forgeAccess";
const LANDING: &str = "forgeLanding";

/// The branch whose rules are checked: rules are mostly about the part before the slash.
const BRANCH: &str = "drive/doctor";

/// Checks of the forge, its token, the token's permissions, and its request budget.
pub(super) fn checks(doctor: &Doctor<'_>) -> Vec<Check> {
    let forge = &doctor.settings.forge;
    let environment = doctor.environment;
    // The local forge needs no token, so no program is run for one.
    let found = match forge.kind {
        ForgeKind::Local => Ok(None),
        ForgeKind::Auto | ForgeKind::Github => {
            find_credential(forge, environment, doctor.runner, doctor.cancel)
        }
    };
    let source = found.as_ref().ok().and_then(Option::as_ref);
    let token_from = source.map(Credential::source);
    let remote_url = remote_url(doctor);
    let choice = forge.remote_name().and_then(|remote| {
        choose(&Surroundings {
            wanted: forge.kind,
            repo: forge.repo.as_deref(),
            api_url: &forge.api_url,
            remote: &remote,
            remote_url: remote_url.as_deref(),
            token_from,
        })
    });
    let kind = match &choice {
        Ok(choice) => {
            let name = match &choice.chosen {
                Chosen::Github { .. } => "GitHub",
                Chosen::Local => "the local forge",
            };
            Check::ok("forge", format!("{name}: {}", choice.why))
        }
        Err(problem) => Check::from_problem("forge", problem),
    };
    let mut checks = vec![kind, token(forge, found.as_ref())];
    checks.extend(key(doctor));
    let Ok(Some(credential)) = found else {
        return checks;
    };
    let identity = credential.identity().to_owned();
    if let Ok(choice) = &choice
        && let Chosen::Github { repo } = &choice.chosen
    {
        checks.extend(on_github(doctor, repo, credential));
    }
    checks.push(budget(doctor, &identity));
    checks
}

fn token(forge: &ForgeSettings, found: Result<&Option<Credential>, &Problem>) -> Check {
    match (found, forge.kind) {
        // The doctor was stopped, so nobody reads further results.
        (Err(problem), _) => Check::from_problem(TOKEN, problem),
        (Ok(Some(credential)), _) if forge.app().is_some() => {
            Check::ok(TOKEN, format!("from {}", credential.source()))
        }
        (Ok(Some(credential)), _) => Check::ok(TOKEN, format!("found in {}", credential.source())),
        (Ok(None), ForgeKind::Local) => Check::ok(TOKEN, "none (not needed by the local forge)"),
        (Ok(None), ForgeKind::Auto | ForgeKind::Github) => Check::missing(
            TOKEN,
            format!(
                "neither `{}` nor `{GH_TOKEN}` is set, and `gh auth token` prints none",
                forge.token_env
            ),
            "only needed for GitHub: set one of them, or run `gh auth login`",
        ),
    }
}

/// The private key of the app, which only its owner may read.
fn key(doctor: &Doctor<'_>) -> Option<Check> {
    let path = match key_file(&doctor.settings.forge, doctor.environment) {
        Ok(path) => path?,
        Err(problem) => return Some(Check::from_problem(KEY, &problem)),
    };
    Some(judged_key(&path))
}

fn judged_key(path: &Path) -> Check {
    let shown = path.display();
    match path.metadata() {
        Err(error) => Check::missing(
            KEY,
            format!("cannot read `{shown}`: {error}"),
            "set `forge.private_key_file` to the `.pem` file that GitHub made for the app",
        ),
        Ok(file) if file.permissions().mode() & 0o077 != 0 => Check::degraded(
            KEY,
            format!("other users may read `{shown}`"),
            format!("run `chmod 600 {shown}`"),
        ),
        Ok(_) => Check::ok(KEY, format!("`{shown}`, for its owner only")),
    }
}

/// What the forge says about the repository.
fn on_github(doctor: &Doctor<'_>, repo: &str, credential: Credential) -> Vec<Check> {
    let github = match connect(doctor, repo, credential) {
        Ok(github) => github,
        Err(problem) => return vec![Check::from_problem(ACCESS, &problem)],
    };
    let access = access(doctor, repo, &github);
    // Where nothing can be published nothing lands.
    let landing = (access.status == Status::Ok).then(|| landing(doctor, &github));
    std::iter::once(access).chain(landing.flatten()).collect()
}

/// How the branch that is checked out takes what was built: by a merge on the forge, and by a push.
fn landing(doctor: &Doctor<'_>, github: &GitHub) -> Option<Check> {
    let base = current_branch(doctor)?;
    let git = Git::new(doctor.runner.clone(), doctor.environment);
    let ways = github.ways_to_merge(&base);
    let intent = Intent {
        branch: base.clone(),
        signs: git.signs_commits(doctor.folder),
    };
    let against = github.preflight(Some(&intent)).map(|readiness| {
        let rules = readiness.findings.into_iter();
        let rules = rules.filter_map(|finding| match finding {
            Finding::Rule(rule) => Some(rule.describe()),
            Finding::ReadOnly { .. }
            | Finding::NoPush
            | Finding::NoScope(_)
            | Finding::NotGranted(_)
            | Finding::NotReadable(_)
            | Finding::RateLimited(_)
            | Finding::Renamed(_) => None,
        });
        rules.collect::<Vec<String>>()
    });
    match (ways, against) {
        (Ok(ways), Ok(against)) => Some(judged_landing(&base, &ways, &against)),
        // A branch that the forge does not have takes nothing yet.
        (Err(problem), _) if problem.kind == Kind::BranchNotFound => None,
        (Err(problem), _) | (Ok(_), Err(problem)) => Some(Check::degraded(
            LANDING,
            format!("cannot tell how `{base}` takes changes: {problem}"),
            "a merge will show it; only rules that the token may read are told",
        )),
    }
}

fn judged_landing(base: &BranchName, ways: &WaysToMerge, against: &[String]) -> Check {
    let merge = match (ways.queue, ways.methods.as_slice()) {
        (true, _) => "merges through its merge queue".to_owned(),
        (false, []) => "no merge method is allowed".to_owned(),
        (false, methods) => format!("merges by {}", methods.join(", ")),
    };
    let push = match against {
        [] => "no rule refuses a push".to_owned(),
        rules => format!("no push: {}", rules.join("; ")),
    };
    let detail = format!("`{base}`: {merge}; {push}");
    if !ways.queue && ways.methods.is_empty() {
        return Check::degraded(
            LANDING,
            detail,
            "allow a merge method that the rules of the branch allow too, in the repository's settings",
        );
    }
    Check::ok(LANDING, detail)
}

fn current_branch(doctor: &Doctor<'_>) -> Option<BranchName> {
    let git =
        Git::new(doctor.runner.clone(), doctor.environment).with_cancel(doctor.cancel.clone());
    let answer = git
        .call_at(Location::checkout(doctor.folder), Touches::Objects)
        .args(["symbolic-ref", "--quiet", "--short", "HEAD"])
        .interruptible()
        .run()
        .ok()?;
    let name = (answer.code == 0).then(|| answer.line())?;
    BranchName::parse(&name).ok()
}

/// Checks with the forge whether a run could publish.
fn access(doctor: &Doctor<'_>, repo: &str, github: &GitHub) -> Check {
    match ask(doctor, github) {
        Ok(warnings) if warnings.is_empty() => Check::ok(
            ACCESS,
            format!("can push and open pull requests in `{repo}`"),
        ),
        Ok(warnings) => Check::degraded(
            ACCESS,
            warnings.join("; "),
            "runs still work; update `forge.repo` or the remote",
        ),
        Err(problem) => {
            let check = Check::from_problem(ACCESS, &problem);
            let passes = matches!(
                problem.kind,
                Kind::RateLimited | Kind::ForgeUnreachable | Kind::ForgeTimeout | Kind::ForgeFailed
            );
            if passes {
                return Check::degraded(ACCESS, check.detail, check.hint.unwrap_or_default());
            }
            check
        }
    }
}

fn connect(doctor: &Doctor<'_>, repo: &str, credential: Credential) -> Result<GitHub, Problem> {
    let state_dir = StateDir::open(doctor.environment)?;
    let database = Arc::new(Database::open(&state_dir.database())?);
    let around = ClientSurroundings {
        cancel: doctor.cancel.clone(),
        ..ClientSurroundings::of_machine(database)
    };
    Ok(GitHub::new(
        Endpoint::new(&doctor.settings.forge.api_url, repo)?,
        credential,
        Bounds::default(),
        Route::Environment,
        around,
    ))
}

fn ask(doctor: &Doctor<'_>, github: &GitHub) -> Result<Vec<String>, Problem> {
    let git = Git::new(doctor.runner.clone(), doctor.environment);
    let intent = Intent {
        branch: BranchName::parse(BRANCH)?,
        signs: git.signs_commits(doctor.folder),
    };
    let readiness = github.preflight(Some(&intent))?;
    match readiness.problem() {
        Some(problem) => Err(problem),
        None => Ok(readiness.warnings().collect()),
    }
}

/// The token's remaining requests, as last reported to any process of this machine.
fn budget(doctor: &Doctor<'_>, identity: &str) -> Check {
    let known = StateDir::open(doctor.environment)
        .and_then(|state_dir| Database::open(&state_dir.database()))
        .and_then(|database| {
            let memory = SqliteForgeMemory::new(Arc::new(database));
            Budgets::load(&memory, identity)
        });
    match known {
        Ok(Some(budget)) => spoken_budget(&budget, SystemClock.now()),
        Ok(None) => Check::ok(BUDGET, "no requests with this token yet"),
        Err(problem) => Check::from_problem(BUDGET, &problem),
    }
}

fn spoken_budget(budget: &RequestBudget, now: Timestamp) -> Check {
    let standing = budget.standing(now);
    if standing.waits {
        Check::degraded(BUDGET, standing.words, "drive waits until then")
    } else {
        Check::ok(BUDGET, standing.words)
    }
}

/// The address of the remote for pushes; `None` without git, repository or remote.
fn remote_url(doctor: &Doctor<'_>) -> Option<String> {
    doctor.find("git")?;
    let git =
        Git::new(doctor.runner.clone(), doctor.environment).with_cancel(doctor.cancel.clone());
    let answer = git
        .call_at(Location::checkout(doctor.folder), Touches::Objects)
        .args(["remote", "get-url", "--", &doctor.settings.forge.remote])
        .interruptible()
        .run()
        .ok()?;
    (answer.code == 0).then(|| answer.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_makes_everybody_wait_is_degraded() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let check = |remaining| {
            let budget = RequestBudget {
                limit: 5000,
                remaining,
                resets_at: at(3600),
                paused_until: None,
            };
            spoken_budget(&budget, at(100))
        };
        let words = |count| format!("{count} of 5000 requests left until 1970-01-01T01:00:00Z");
        assert_eq!(check(42), Check::ok(BUDGET, words(42)));
        let wait = "drive waits until then";
        assert_eq!(check(0), Check::degraded(BUDGET, words(0), wait));
    }

    #[test]
    fn how_a_branch_takes_changes_is_told_and_one_that_takes_none_is_degraded() {
        let base = BranchName::parse("main").unwrap();
        let told = |queue, methods: &[&'static str], rules: &[&str]| {
            let ways = WaysToMerge {
                methods: methods.to_vec(),
                queue,
            };
            let rules: Vec<String> = rules.iter().map(|&rule| rule.to_owned()).collect();
            let check = judged_landing(&base, &ways, &rules);
            (check.status, check.detail)
        };
        let open = "`main`: merges by merge, squash; no rule refuses a push";
        let expected = (Status::Ok, open.to_owned());
        assert_eq!(told(false, &["merge", "squash"], &[]), expected);
        let rule = ["it changes through pull requests only"];
        let queued = "`main`: merges through its merge queue; no push: it changes through pull \
                      requests only";
        assert_eq!(told(true, &[], &rule), (Status::Ok, queued.to_owned()));
        assert_eq!(told(false, &[], &rule).0, Status::Degraded);
    }

    #[test]
    fn a_key_that_others_may_read_is_degraded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.pem");
        assert_eq!(judged_key(&path).status, super::super::Status::Missing);
        crate::files::replace(&path, b"key").unwrap();
        for (mode, status) in [
            (0o600, super::super::Status::Ok),
            (0o400, super::super::Status::Ok),
            (0o640, super::super::Status::Degraded),
            (0o604, super::super::Status::Degraded),
        ] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(judged_key(&path).status, status, "{mode:o}");
        }
    }
}
