//! Runs one review of one case: a temporary repository, a run of `drive spawn-team`, and its report.

use super::case::Case;
use super::child;
use super::options::{Configuration, Order};
use super::score::{Finding, Reviewed};
use drive_core::settings::Period;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The primary, which applies the change. A user's agent has another name.
const PRIMARY: &str = "seeded-change";
/// For git in a repository of a few files.
const GIT_LIMIT: Duration = Duration::from_secs(60);
/// The caller's own settings, state and account are no part of an evaluation.
const WITHHELD: [&str; 8] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "DRIVE_STATE_DIR",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "NO_COLOR",
];

/// The caller's environment.
pub type Environment = [(OsString, OsString)];

/// The result of one review.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trial {
    pub(super) reviewed: Reviewed,
    pub(super) tokens: Option<u64>,
    pub(super) cost_usd: Option<f64>,
    pub(super) time: Duration,
}

/// Lets the agent review a case once. A failure is a trial without a verdict.
pub(super) fn run(
    case: &Case,
    configuration: Configuration,
    order: &Order,
    environment: &Environment,
) -> Trial {
    let start = Instant::now();
    let trial = attempt(case, configuration, order, environment);
    let trial = trial.unwrap_or_else(Trial::failed);
    Trial {
        time: start.elapsed(),
        ..trial
    }
}

fn attempt(
    case: &Case,
    configuration: Configuration,
    order: &Order,
    environment: &Environment,
) -> Result<Trial, String> {
    let place = Place::make(case, configuration, &order.settings, environment)?;
    let mut command = place.command(&order.drive);
    if let Some(home) = &order.home {
        command.env("HOME", home);
    }
    command
        .args(["spawn-team", &case.task, "--json", "--quiet"])
        .args(["--mode", configuration.mode(), "--max-iterations", "1"])
        .args(["--primary", PRIMARY, "--reviewer", &order.agent])
        .arg("--config")
        .arg(place.path("team.toml"));
    let ended = child::run(&mut command, order.limit, &place.path("output"))?;
    let document = serde_json::from_str(&ended.stdout).ok();
    let mut trial = match &document {
        Some(document) => Trial::of(document),
        None => Trial::failed(format!(
            "drive printed no report: {}",
            last_line(&ended.stderr)
        )),
    };
    if ended.timed_out {
        let limit = Period::new(order.limit);
        trial.reviewed = Reviewed {
            unjudged: Some(format!("the limit of {limit} was reached")),
            ..Reviewed::default()
        };
    }
    Ok(trial)
}

impl Trial {
    fn failed(why: String) -> Self {
        Self {
            reviewed: Reviewed {
                unjudged: Some(why),
                ..Reviewed::default()
            },
            ..Self::default()
        }
    }

    /// Reads what `drive spawn-team --json` printed.
    fn of(document: &Value) -> Self {
        if document["schema"] != "drive.run/1" {
            return Self::failed(
                reason(document).unwrap_or_else(|| "no report of a run".to_owned()),
            );
        }
        let reviews = list(&document["record"]["reviews"]);
        let blocking = findings(&document["openFindings"], None);
        let all = reviews
            .iter()
            .flat_map(|review| findings(&review["suggestions"], text(&review["domain"])));
        let other = all.filter(|one| !blocking.contains(one)).collect();
        Self {
            reviewed: Reviewed {
                other,
                blocking,
                unjudged: unjudged(document, reviews),
            },
            tokens: document["tokens"].as_u64(),
            cost_usd: document["costUsd"].as_f64(),
            time: Duration::ZERO,
        }
    }
}

/// Why a run lacks a verdict of some reviewer; `None` if it has them all.
fn unjudged(document: &Value, reviews: &[Value]) -> Option<String> {
    let is_judged = document["verdict"] == "approved" || document["verdict"] == "needsChanges";
    let is_over = document["status"] == "succeeded" || document["failure"]["kind"] == "notApproved";
    if is_judged && is_over {
        return None;
    }
    let mut reasons = Vec::new();
    for (index, review) in reviews.iter().enumerate() {
        let is_repeated = |later: &Value| later["domain"] == review["domain"];
        if review["verdict"].is_null() && !reviews[index + 1..].iter().any(is_repeated) {
            let why = text(&review["failure"]).unwrap_or_else(|| "no verdict".to_owned());
            let domain = text(&review["domain"]);
            reasons.push(domain.map_or_else(|| why.clone(), |domain| format!("{domain}: {why}")));
        }
    }
    if reasons.is_empty() {
        reasons.extend(reason(&document["failure"]));
    }
    if reasons.is_empty() {
        reasons.push("the run has no verdict".to_owned());
    }
    Some(reasons.join("; "))
}

/// The message and the causes of a failure.
fn reason(failure: &Value) -> Option<String> {
    let causes = list(&failure["causes"]).iter().filter_map(text);
    let parts: Vec<String> = text(&failure["message"])
        .into_iter()
        .chain(causes)
        .collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

/// The findings of a list; those without a domain are of this one.
fn findings(suggestions: &Value, domain: Option<String>) -> Vec<Finding> {
    let finding = |one: &Value| {
        let parts = ["issue", "evidence", "suggestion"].map(|part| text(&one[part]));
        let texts: Vec<String> = parts.into_iter().flatten().collect();
        Finding {
            domain: text(&one["domain"]).or_else(|| domain.clone()),
            file: text(&one["file"]),
            line: one["line"].as_u64(),
            text: texts.join("\n"),
        }
    };
    list(suggestions).iter().map(finding).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn last_line(text: &str) -> &str {
    let mut lines = text.lines().rev();
    lines.find(|line| !line.is_empty()).unwrap_or("no output")
}

/// A repository with the case's files, a home, a state directory and settings.
struct Place {
    folder: TempDir,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Place {
    fn make(
        case: &Case,
        configuration: Configuration,
        settings: &str,
        environment: &Environment,
    ) -> Result<Self, String> {
        let folder = TempDir::with_prefix("drive-reviews-");
        let is_kept = |name: &str| !WITHHELD.contains(&name) && !name.starts_with("GIT_");
        let kept = environment.iter();
        let place = Self {
            folder: folder.map_err(|error| format!("cannot make a folder: {error}"))?,
            environment: kept
                .filter(|(name, _)| is_kept(&name.to_string_lossy()))
                .cloned()
                .collect(),
        };
        let filled = place.fill(case, configuration, settings);
        filled.map_err(|error| format!("cannot prepare the case: {error}"))?;
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Coder"],
            &["config", "user.email", "coder@example.org"],
            &["add", "--all"],
            &["commit", "--quiet", "--message=First version"],
        ] {
            place.git(args)?;
        }
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn fill(&self, case: &Case, configuration: Configuration, settings: &str) -> io::Result<()> {
        for folder in ["home", "state", "output"] {
            fs::create_dir(self.path(folder))?;
        }
        copy(&case.before, &self.path("repo"))?;
        let own = self.path("config/infinite-improbability-drive");
        fs::create_dir_all(&own)?;
        fs::write(own.join("config.toml"), settings)?;
        fs::write(self.path("coder.sh"), coder(&case.patch))?;
        fs::write(
            self.path("team.toml"),
            team(&self.path("coder.sh"), configuration),
        )
    }

    /// A program in the repository, without the caller's own settings and state.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("DRIVE_STATE_DIR", self.path("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.path("repo"));
        command
    }

    fn git(&self, args: &[&str]) -> Result<String, String> {
        let mut command = self.command(Path::new("git"));
        let ended = child::run(command.args(args), GIT_LIMIT, &self.path("output"))?;
        if ended.success {
            return Ok(ended.stdout);
        }
        Err(format!("git {}: {}", args[0], last_line(&ended.stderr)))
    }
}

/// The script of the primary: it names the work and applies the change. Its names say nothing about the
/// case.
fn coder(patch: &str) -> String {
    format!(
        r#"cat > /dev/null
if [ "$DRIVE_ROLE" = namer ]; then
  printf '```json\n{{"pr_title": "Do the task", "branch_name": "change"}}\n```\n'
  exit
fi
git apply --whitespace=nowarn - <<'END_OF_THE_CHANGE' || exit 1
{patch}END_OF_THE_CHANGE
echo "The task is done."
"#
    )
}

/// Settings of the team. A JSON string is a TOML string.
fn team(coder: &Path, configuration: Configuration) -> String {
    let coder = Value::from(coder.to_string_lossy());
    let refute = configuration.refutes();
    format!(
        "[review]\nrefute = {refute}\n[spawn-team]\nnamer_llm = \"{PRIMARY}\"\n[forge]\nkind = \"local\"\n[sandbox]\nseed = []\n\
         [agents.{PRIMARY}]\nkind = \"command\"\ncommand = [\"/bin/sh\", {coder}]\nnetwork = \"off\"\n"
    )
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
