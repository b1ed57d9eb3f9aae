//! Archived repositories, and rules for branches.
//!
//! The stored part of GitHub's description lacks the operations of single rulesets, so requests for
//! one are checked here by their shape.

use super::http::{Answer, Refusal, Request};
use super::state::{Repo, World};
use serde_json::{Value, json};

/// The rules for a branch, in GitHub's form.
pub(crate) fn rules_of(repo: &Repo, branch: &str) -> Vec<Value> {
    let rules = repo.rules.iter();
    let rules = rules.filter(|rule| branch.starts_with(&rule.prefix));
    let shown = rules.map(|rule| {
        let mut shown = json!({
            "type": rule.kind, "ruleset_source_type": "Repository",
            "ruleset_source": repo.full_name(), "ruleset_id": rule.id,
        });
        if let Some(parameters) = &rule.parameters {
            shown["parameters"] = parameters.clone();
        }
        shown
    });
    shown.collect()
}

/// The answer to a request for one ruleset; `None` for all others.
pub(crate) fn answer(world: &World, request: &Request) -> Option<Answer> {
    let rest = request.path.strip_prefix("/repos/")?;
    let mut parts = rest.splitn(3, '/');
    let name = format!("{}/{}", parts.next()?, parts.next()?);
    let ruleset = parts.next()?.strip_prefix("rulesets/")?;
    if request.method != "GET" {
        return None;
    }
    let rules = world.repos.get(&name).map(|repo| repo.rules.iter());
    let id = ruleset.parse::<u64>().ok();
    let rule = rules.and_then(|mut rules| rules.find(|rule| Some(rule.id) == id));
    let Some(rule) = rule else {
        return Some(Refusal::not_found().answer());
    };
    let bypass = if rule.bypass { "always" } else { "never" };
    let body = json!({
        "id": rule.id, "name": rule.kind, "target": "branch", "source": name,
        "enforcement": "active", "current_user_can_bypass": bypass,
    });
    Some(Answer::json(200, &body))
}

/// Refuses a write to an archived repository.
pub(crate) fn refuse_write(world: &World, request: &Request) -> Option<Answer> {
    let rest = request.path.strip_prefix("/repos/")?;
    let mut parts = rest.splitn(3, '/');
    let name = format!("{}/{}", parts.next()?, parts.next()?);
    let archived = world.repos.get(&name).is_some_and(|repo| repo.archived);
    let words = "Repository was archived so is read-only.";
    archived.then(|| Refusal::new(403, words).answer())
}
