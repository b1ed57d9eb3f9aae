//! Rules that the schema cannot express: combinations of values, and impossible values.

mod routes;
mod rule;
mod tokens;

pub(super) use rule::Broken;

use super::key_path::{KeyPath, is_bare};
use super::model::{
    ForgeSettings, ReviewSettings, SandboxSettings, SecretSettings, Settings, TeamSettings,
};
use crate::agent::AgentConfig;
use crate::did_you_mean::suggestion;
use crate::problem::{Kind, Problem};
use crate::units::Period;
use std::collections::BTreeMap;

/// All rules that the settings break.
pub(super) fn broken(settings: &Settings) -> Vec<Broken> {
    let mut broken = Vec::new();
    broken.extend(periods(settings));
    broken.extend(counts(settings));
    broken.extend(retries(settings));
    broken.extend(review(&settings.review));
    broken.extend(budget(settings));
    broken.extend(notify(settings));
    broken.extend(references(settings));
    broken.extend(forge(&settings.forge));
    broken.extend(tokens::broken(&settings.forge));
    broken.extend(sandbox(&settings.sandbox));
    broken.extend(secrets(&settings.secrets));
    broken.extend(agents(settings));
    broken.extend(agent_limits(settings));
    broken.extend(limits(settings));
    broken.extend(routes::broken(&settings.verify));
    broken
}

fn notify(settings: &Settings) -> Option<Broken> {
    let program = settings.notify.command.first()?;
    program
        .is_empty()
        .then(|| Broken::new(&["notify.command"], "`notify.command` names no program"))
}

/// The maximum number of review domains: each costs one agent run per round.
const MOST_DOMAINS: usize = 20;

fn review(review: &ReviewSettings) -> Vec<Broken> {
    let domains = &review.domains;
    let key = ["review.domains"];
    let twice = |at: usize| domains[..at].contains(&domains[at]);
    let mut broken = Vec::new();
    if domains.is_empty() {
        broken
            .push(Broken::new(&key, "`review.domains` is empty").hint("name at least one domain"));
    }
    if domains.len() > MOST_DOMAINS {
        let message = format!("`review.domains` has more than {MOST_DOMAINS} domains");
        broken.push(Broken::new(&key, message));
    }
    if let Some(at) = (0..domains.len()).find(|&at| twice(at)) {
        let message = format!("`review.domains` names {} twice", domains[at]);
        broken.push(Broken::new(&key, message));
    }
    if review.refuter_llm.is_some() && !review.refute {
        let keys = ["review.refuter_llm", "review.refute"];
        let message = "`review.refuter_llm` does nothing while `review.refute` is `false`";
        broken
            .push(Broken::new(&keys, message).hint("set `refute = true`, or remove `refuter_llm`"));
    }
    broken
}

fn periods(settings: &Settings) -> Vec<Broken> {
    let spawn = &settings.spawn;
    let cruise = &settings.cruise;
    let mut broken: Vec<Broken> = [
        ("spawn.idle_timeout", spawn.idle_timeout),
        ("spawn.total_timeout", spawn.total_timeout),
        ("cruise.poll_initial", cruise.poll_initial),
        ("cruise.poll_max", cruise.poll_max),
        ("cruise.inactivity_timeout", cruise.inactivity_timeout),
        ("cruise.max_age", cruise.max_age),
        ("verify.deadline", settings.verify.deadline),
    ]
    .into_iter()
    .filter_map(|(key, period)| no_time(key, period))
    .collect();
    if !broken.is_empty() {
        return broken;
    }
    if spawn.idle_timeout >= spawn.total_timeout {
        broken.push(Broken::new(
            &["spawn.idle_timeout", "spawn.total_timeout"],
            format!(
                "`spawn.idle_timeout` ({}) must be shorter than `spawn.total_timeout` ({})",
                spawn.idle_timeout, spawn.total_timeout
            ),
        ));
    }
    for (short_key, short, long_key, long) in [
        (
            "cruise.poll_initial",
            cruise.poll_initial,
            "cruise.poll_max",
            cruise.poll_max,
        ),
        (
            "cruise.poll_max",
            cruise.poll_max,
            "cruise.inactivity_timeout",
            cruise.inactivity_timeout,
        ),
    ] {
        if short > long {
            let message =
                format!("`{short_key}` ({short}) must not be longer than `{long_key}` ({long})");
            broken.push(Broken::new(&[short_key, long_key], message));
        }
    }
    broken
}

fn no_time(key: &str, period: Period) -> Option<Broken> {
    period
        .is_zero()
        .then(|| Broken::new(&[key], format!("`{key}` must be longer than 0")))
}

fn counts(settings: &Settings) -> Vec<Broken> {
    [
        (
            "spawn-team.max_iterations",
            settings.spawn_team.max_iterations,
        ),
        ("cruise.max_rounds", settings.cruise.max_rounds),
        ("cruise.max_parallel", settings.cruise.max_parallel),
        ("review.max_parallel", settings.review.max_parallel),
        ("verify.max_parallel", settings.verify.max_parallel),
        ("verify.limits.processes", settings.verify.limits.processes),
    ]
    .into_iter()
    .filter(|(_, count)| *count == 0)
    .map(|(key, _)| Broken::new(&[key], format!("`{key}` must be at least 1, not 0")))
    .collect()
}

/// More runs of one failing stage show nothing new.
const MOST_RETRIES: u32 = 10;

fn retries(settings: &Settings) -> Option<Broken> {
    let key = "verify.retries";
    let message = format!("`{key}` must be at most {MOST_RETRIES}");
    (settings.verify.retries > MOST_RETRIES).then(|| Broken::new(&[key], message))
}

fn budget(settings: &Settings) -> Vec<Broken> {
    let mut broken = Vec::new();
    let cost = settings.budget.cost_usd;
    if cost <= 0.0 || !cost.is_finite() {
        let message = format!("`budget.cost_usd` must be more than 0, not {cost}");
        broken.push(Broken::new(&["budget.cost_usd"], message));
    }
    if settings.budget.tokens == 0 {
        let message = "`budget.tokens` must be more than 0";
        broken.push(Broken::new(&["budget.tokens"], message));
    }
    broken
}

/// Agents that are named but not configured.
fn references(settings: &Settings) -> Vec<Broken> {
    let TeamSettings {
        primary_llm,
        reviewer_llm,
        namer_llm,
        ..
    } = &settings.spawn_team;
    let mut references = BTreeMap::from([
        ("spawn.agent", &settings.spawn.agent),
        ("spawn-team.primary_llm", primary_llm),
        ("spawn-team.reviewer_llm", reviewer_llm),
    ]);
    references.extend(namer_llm.iter().map(|name| ("spawn-team.namer_llm", name)));
    let refuter = settings.review.refuter_llm.iter();
    references.extend(refuter.map(|name| ("review.refuter_llm", name)));
    let known = || settings.agents.keys().map(String::as_str);
    references
        .into_iter()
        .filter(|(_, name)| !settings.agents.contains_key(*name))
        .map(|(key, name)| Broken {
            paths: vec![KeyPath::dotted(key), agent_path(name)],
            message: format!("`{key}` names the unknown agent `{name}`"),
            hint: suggestion(name, known().collect::<Vec<_>>())
                .map(|hint| format!("{hint}; or add a table `[agents.{name}]`")),
        })
        .collect()
}

fn forge(forge: &ForgeSettings) -> Vec<Broken> {
    let mut broken = Vec::new();
    if let Some(repo) = &forge.repo
        && !is_owner_and_name(repo)
    {
        let message = format!("`forge.repo` must be `owner/name`, not `{repo}`");
        broken.push(Broken::new(&["forge.repo"], message));
    }
    if !["https://", "http://"]
        .iter()
        .any(|scheme| has_host_after(&forge.api_url, scheme))
    {
        let message = format!("`forge.api_url` is not a URL: `{}`", forge.api_url);
        broken
            .push(Broken::new(&["forge.api_url"], message).hint(
                "use `https://api.github.com`, or `https://HOST/api/v3` for your own server",
            ));
    }
    for (key, name, what) in [
        ("forge.token_env", &forge.token_env, "token"),
        (
            "forge.webhook_secret_env",
            &forge.webhook_secret_env,
            "secret",
        ),
    ] {
        if !is_variable(name) {
            let message = format!("`{key}` is not a variable name: `{name}`");
            broken.push(Broken::new(&[key], message).hint(format!(
                "set the name of the variable that contains the {what}, not the {what} itself"
            )));
        }
    }
    if let Err(Problem { message, hint, .. }) = forge.remote_name() {
        broken.push(Broken {
            hint,
            ..Broken::new(&["forge.remote"], message)
        });
    }
    broken
}

fn is_owner_and_name(repo: &str) -> bool {
    let fits = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    repo.split_once('/')
        .is_some_and(|(owner, name)| fits(owner) && fits(name))
}

fn has_host_after(url: &str, scheme: &str) -> bool {
    url.strip_prefix(scheme).is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace)
    })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sandbox(sandbox: &SandboxSettings) -> Vec<Broken> {
    let mut broken = Vec::new();
    if sandbox.root.as_deref() == Some("") {
        broken.push(
            Broken::new(&["sandbox.root"], "`sandbox.root` is empty")
                .hint("remove it to use `sandboxes` in the state directory"),
        );
    }
    for (key, paths) in [
        ("sandbox.copy", &sandbox.copy),
        ("sandbox.seed", &sandbox.seed),
    ] {
        for path in paths.iter().filter(|path| !is_inside(path)) {
            let message =
                format!("`{key}` names `{path}`, which is not a path inside the repository");
            broken.push(Broken::new(&[key], message));
        }
    }
    broken
}

fn secrets(secrets: &SecretSettings) -> Vec<Broken> {
    let broken = secrets.allow.iter().filter_map(|glob| {
        let error = globset::Glob::new(glob).err()?;
        let message = format!(
            "`secrets.allow` has the invalid glob `{glob}`: {}",
            error.kind()
        );
        Some(Broken::new(&["secrets.allow"], message))
    });
    broken.collect()
}

/// Whether a path is relative, stays below its start, and does not enter `.git`.
fn is_inside(path: &str) -> bool {
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .peekable();
    let leads_out = path.starts_with('/') || path.starts_with('~');
    !leads_out
        && parts.peek().is_some_and(|first| *first != ".git")
        && parts.all(|part| part != "..")
}

/// Limits so low that an agent could not even start.
fn agent_limits(settings: &Settings) -> Vec<Broken> {
    let zero = |(name, agent): (&String, &AgentConfig)| {
        let limits = &agent.limits;
        let path = agent_path(name).join("limits");
        [
            ("memory", limits.memory.bytes() == 0),
            ("processes", limits.processes == 0),
            ("disk", limits.disk.bytes() == 0),
            ("files", limits.files == 0),
        ]
        .into_iter()
        .filter(|(_, is_zero)| *is_zero)
        .map(|(key, _)| Broken {
            message: format!("`{}` must be more than 0", path.join(key)),
            paths: vec![path.join(key)],
            hint: None,
        })
        .collect::<Vec<_>>()
    };
    settings.agents.iter().flat_map(zero).collect()
}

fn agents(settings: &Settings) -> Vec<Broken> {
    let secrets = [
        &settings.forge.token_env,
        &settings.forge.webhook_secret_env,
    ];
    let checked = settings.agents.iter().filter_map(|(name, agent)| {
        // The name is used in flags, file names and reports.
        if !is_bare(name) {
            return Some(Broken {
                paths: vec![agent_path(name)],
                message: format!("invalid agent name `{name}`"),
                hint: Some("use letters, digits, `-` and `_`".to_owned()),
            });
        }
        let checks = secrets.iter().map(|secret| agent.check(name, secret));
        let problem = checks.filter_map(Result::err).next()?;
        Some(Broken {
            paths: if problem.kind == Kind::AgentPermissions {
                permission_culprits(name)
            } else {
                agent_culprits(name)
            },
            message: problem.message,
            hint: problem.hint,
        })
    });
    checked.collect()
}

/// The settings that may have made an agent impossible; the one that was set last is reported.
fn agent_culprits(name: &str) -> Vec<KeyPath> {
    let fields = [
        "kind",
        "command",
        "env",
        "home",
        "mcp",
        "network",
        "allow_hosts",
    ]
    .map(|field| agent_path(name).join(field));
    std::iter::once(agent_path(name))
        .chain(fields)
        .chain(["forge.token_env", "forge.webhook_secret_env"].map(KeyPath::dotted))
        .collect()
}

fn permission_culprits(name: &str) -> Vec<KeyPath> {
    let permissions = agent_path(name).join("permissions");
    let lists = ["deny", "allow"].map(|list| permissions.join(list));
    lists.into_iter().chain([permissions]).collect()
}

fn agent_path(name: &str) -> KeyPath {
    KeyPath::dotted("agents").join(name)
}

fn limits(settings: &Settings) -> Vec<Broken> {
    let limits = &settings.verify.limits;
    let mut broken: Vec<Broken> = [
        ("verify.limits.memory", limits.memory),
        ("verify.limits.disk", limits.disk),
        ("verify.limits.output_tail", limits.output_tail),
        ("verify.limits.output_total", limits.output_total),
    ]
    .into_iter()
    .filter(|(_, size)| size.bytes() == 0)
    .map(|(key, _)| Broken::new(&[key], format!("`{key}` must be more than 0")))
    .collect();
    if limits.files == 0 {
        let key = "verify.limits.files";
        broken.push(Broken::new(&[key], format!("`{key}` must be more than 0")));
    }
    if broken.is_empty() && limits.output_tail > limits.output_total {
        broken.push(Broken::new(
            &["verify.limits.output_tail", "verify.limits.output_total"],
            format!(
                "`verify.limits.output_tail` ({}) must not be larger than `output_total` ({})",
                limits.output_tail, limits.output_total
            ),
        ));
    }
    broken
}
