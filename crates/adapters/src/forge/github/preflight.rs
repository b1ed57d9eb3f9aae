//! Checks before a run whether it will be able to publish.

use super::budget;
use super::client::Client;
use super::endpoint::encode;
use super::refusal::{date, limited_until, rate_limited, refused, unreadable};
use super::transport::{Ask, JSON, Reply};
use drive_core::forge::readiness::{Access, BranchRule, Intent, NamePlace, Readiness, judge};
use drive_core::problem::{Kind, Problem};
use drive_core::time::after;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use ureq::http::Method;

/// How often a request is tried. A person waits for the answer.
const ATTEMPTS: u32 = 2;
/// How many rules of one branch are read: more than anybody has.
const RULES: usize = 100;

#[derive(Deserialize)]
struct Repository {
    full_name: String,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    disabled: bool,
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Option<NamePattern>,
    ruleset_id: Option<u64>,
}

/// The parameters of rules about names. Other rules have other parameters.
#[derive(Default, Deserialize)]
struct NamePattern {
    operator: Option<String>,
    pattern: Option<String>,
    negate: Option<bool>,
}

#[derive(Deserialize)]
struct Ruleset {
    #[serde(default)]
    current_user_can_bypass: Option<String>,
}

impl Client {
    /// Reads the repository and, with an intent, the rules of its branch.
    pub(super) fn preflight(&self, intent: Option<&Intent>) -> Result<Readiness, Problem> {
        let url = self.endpoint.rest("");
        let reply = self.ask_now(url.trim_end_matches('/'))?;
        if matches!(reply.status, 404 | 410) {
            return Err(self.unknown_repository());
        }
        let repository: Repository = self.understood(&reply)?;
        let mut told = budget::describe_budget(&reply);
        if let Some(budget) = &mut told {
            // The reset time is given by the forge's clock.
            let theirs = date(&reply).unwrap_or_else(|| self.now());
            let wait = budget.resets_at.duration_since(theirs);
            budget.resets_at = after(self.now(), Duration::try_from(wait).unwrap_or_default());
        }
        let mut access = Access {
            asked: self.repo(),
            name: repository.full_name,
            archived: repository.archived,
            disabled: repository.disabled,
            private: repository.private,
            may_push: self.may_push(repository.permissions),
            scopes: scopes(&reply),
            granted: self.credential.granted(),
            rules: Vec::new(),
            budget: told,
        };
        if let Some(intent) = intent {
            access.rules = self.rules_against(intent)?;
        }
        Ok(judge(&access, intent, self.now()))
    }

    /// Whether the account may push. For an app GitHub's answer is wrong: an installation token
    /// always gets `push: false`.
    fn may_push(&self, permissions: Option<Permissions>) -> Option<bool> {
        let token = self.credential.token(&self.around).ok()?;
        let is_app = token.kind() == "ghs" || self.credential.granted().is_some();
        permissions
            .filter(|_| !is_app)
            .map(|permissions| permissions.push)
    }

    /// The rules that refuse the push and that the token cannot bypass.
    fn rules_against(&self, intent: &Intent) -> Result<Vec<BranchRule>, Problem> {
        let branch = encode(intent.branch.as_str());
        let url = self
            .endpoint
            .rest(&format!("rules/branches/{branch}?per_page={RULES}"));
        let reply = self.ask_now(&url)?;
        // A server without rulesets lacks this page, and so do private repositories of some plans.
        if matches!(reply.status, 403 | 404 | 410) {
            return Ok(Vec::new());
        }
        let rules: Vec<Rule> = self.understood(&reply)?;
        let mut against = Vec::new();
        for rule in rules {
            let Some(known) = known_rule(&rule).filter(|known| known.refuses(intent)) else {
                continue;
            };
            if !self.can_bypass(rule.ruleset_id)? {
                against.push(known);
            }
        }
        Ok(against)
    }

    fn can_bypass(&self, ruleset: Option<u64>) -> Result<bool, Problem> {
        let Some(id) = ruleset else {
            return Ok(false);
        };
        let reply = self.ask_now(&self.endpoint.rest(&format!("rulesets/{id}")))?;
        if reply.status != 200 {
            return Ok(false);
        }
        let ruleset: Ruleset = self.understood(&reply)?;
        let can = ruleset.current_user_can_bypass;
        Ok(matches!(can.as_deref(), Some("always" | "exempt")))
    }

    /// Sends a request that a person waits for. A reached limit is an answer, and no reason to wait.
    fn ask_now(&self, url: &str) -> Result<Reply, Problem> {
        let mut attempt = 1;
        loop {
            let asked = self.ask_once(url);
            let may_pass = asked.as_ref().is_err_and(|problem| {
                matches!(
                    problem.kind,
                    Kind::ForgeFailed | Kind::ForgeUnreachable | Kind::ForgeTimeout
                )
            });
            if !may_pass || attempt >= ATTEMPTS || self.settle(attempt).is_err() {
                return asked.map_err(|problem| {
                    let is_unreachable =
                        matches!(problem.kind, Kind::ForgeUnreachable | Kind::ForgeTimeout);
                    if is_unreachable {
                        problem.hint(UNREACHABLE)
                    } else {
                        problem
                    }
                });
            }
            attempt += 1;
        }
    }

    fn ask_once(&self, url: &str) -> Result<Reply, Problem> {
        let reply = self.send(Ask {
            method: Method::GET,
            url,
            etag: None,
            accept: JSON,
            body: None,
        })?;
        self.observe(&reply)?;
        if let Some(until) = limited_until(&reply, self.now()) {
            return Err(rate_limited(until));
        }
        match reply.status {
            200 | 404 | 410 | 403 => Ok(reply),
            _ => Err(refused(&reply, &self.repo())),
        }
    }

    fn understood<T: DeserializeOwned>(&self, reply: &Reply) -> Result<T, Problem> {
        if reply.status != 200 {
            return Err(refused(reply, &self.repo()));
        }
        serde_json::from_slice(&reply.body).map_err(|error| unreadable(&self.repo(), error))
    }

    fn unknown_repository(&self) -> Problem {
        Problem::new(
            Kind::ForgeNotFound,
            format!(
                "the token from {} sees no repository `{}`",
                self.credential.source(),
                self.repo()
            ),
        )
        .hint("check `forge.repo`, and that the token may read the repository")
    }
}

const UNREACHABLE: &str =
    "check the network and `forge.api_url`; `--no-pr` works without the forge";

/// The scopes of a classic token; `None` for other tokens, whose answers lack the header.
fn scopes(reply: &Reply) -> Option<Vec<String>> {
    let listed = reply.header("x-oauth-scopes")?;
    let scopes = listed.split(',').map(|scope| scope.trim().to_owned());
    Some(scopes.filter(|scope| !scope.is_empty()).collect())
}

/// A rule that may refuse a push. A name pattern that is a regular expression is not evaluated.
fn known_rule(rule: &Rule) -> Option<BranchRule> {
    match rule.kind.as_str() {
        "creation" => Some(BranchRule::Creation),
        "update" => Some(BranchRule::Update),
        "required_signatures" => Some(BranchRule::Signatures),
        "pull_request" | "merge_queue" => Some(BranchRule::PullRequest),
        "required_status_checks" | "workflows" => Some(BranchRule::Checks),
        "branch_name_pattern" => {
            let pattern = rule.parameters.as_ref()?;
            let place = match pattern.operator.as_deref()? {
                "starts_with" => NamePlace::Start,
                "ends_with" => NamePlace::End,
                "contains" => NamePlace::Anywhere,
                _ => return None,
            };
            Some(BranchRule::Name {
                place,
                text: pattern.pattern.clone()?,
                negate: pattern.negate.unwrap_or(false),
            })
        }
        _ => None,
    }
}
