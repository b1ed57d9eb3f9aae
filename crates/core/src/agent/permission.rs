//! Permissions an agent asks for while it runs, and the rules that answer.

use super::role::Access;
use serde::{Deserialize, Serialize};

/// Something an agent wants to be allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// The tool, as the agent calls it.
    pub tool: String,
    /// What it would do with it: a command line, a path, or the raw input.
    pub detail: String,
}

/// What may be granted while an agent runs, from the settings.
///
/// A rule is a tool name, or `Tool(pattern)` where `*` in the pattern stands for any text without
/// shell operators: `Bash(git log*)` must not allow `git log; rm -rf .`. A tool name is compared
/// without regard to case. What no rule allows is denied, and a denial wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionRules {
    /// What is granted.
    pub allow: Vec<String>,
    /// What is denied even where it is allowed.
    pub deny: Vec<String>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "decision")]
pub enum Decision {
    /// It may, this once.
    Grant,
    /// It may not.
    Deny {
        /// Why, as the agent is told.
        reason: String,
    },
    /// It may not, and it has asked too often: the run ends.
    Exhausted {
        /// How many requests are allowed.
        allowed: u32,
    },
}

impl PermissionRules {
    /// Whether a rule denies it, whatever else allows it.
    pub fn denies(&self, request: &PermissionRequest) -> bool {
        self.deny.iter().any(|rule| matches(rule, request))
    }
}

/// Answers one request. `used` counts the requests answered before this one.
pub fn decide(
    request: &PermissionRequest,
    access: Access,
    rules: &PermissionRules,
    used: u32,
    max_escalations: u32,
) -> Decision {
    if used >= max_escalations {
        return Decision::Exhausted {
            allowed: max_escalations,
        };
    }
    if access == Access::ReadOnly {
        return deny("this role may not change anything");
    }
    if let Some(rule) = rules.deny.iter().find(|rule| matches(rule, request)) {
        return deny(&format!("denied by the rule `{rule}`"));
    }
    match rules.allow.iter().any(|rule| matches(rule, request)) {
        true => Decision::Grant,
        false => deny("no rule in the settings allows it"),
    }
}

fn deny(reason: &str) -> Decision {
    Decision::Deny {
        reason: reason.to_owned(),
    }
}

fn matches(rule: &str, request: &PermissionRequest) -> bool {
    let (tool, pattern) = match rule.split_once('(') {
        Some((tool, rest)) => (tool, Some(rest)),
        None => (rule, None),
    };
    let tool_matches = tool == "*" || tool.trim().eq_ignore_ascii_case(request.tool.trim());
    let detail_matches = match pattern.map(|p| p.strip_suffix(')')) {
        None => true,
        Some(Some(pattern)) => glob(pattern, &request.detail),
        // A bracket that is never closed is a typo, and a typo must not allow more.
        Some(None) => false,
    };
    tool_matches && detail_matches
}

/// Whether `text` has the shape of `pattern`, where `*` is any text without shell operators.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        let at = match parts.peek() {
            Some(_) => rest.find(part),
            None => rest
                .ends_with(part)
                .then(|| rest.len().saturating_sub(part.len())),
        };
        let Some(at) = at else { return false };
        if rest[..at].contains(SHELL_OPERATORS) {
            return false;
        }
        rest = &rest[at + part.len()..];
    }
    true
}

const SHELL_OPERATORS: [char; 9] = [';', '|', '&', '<', '>', '$', '`', '\n', '\r'];

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(tool: &str, detail: &str) -> PermissionRequest {
        PermissionRequest {
            tool: tool.to_owned(),
            detail: detail.to_owned(),
        }
    }

    fn rules(allow: &[&str], deny: &[&str]) -> PermissionRules {
        PermissionRules {
            allow: allow.iter().map(|s| (*s).to_owned()).collect(),
            deny: deny.iter().map(|s| (*s).to_owned()).collect(),
        }
    }

    #[test]
    fn a_rule_grants_exactly_what_it_names() {
        let table = [
            ("Bash", "Bash", "rm -rf /", true),
            ("bash", "Bash", "ls", true),
            ("*", "WebFetch", "https://example.org", true),
            ("Edit", "Bash", "ls", false),
            ("Bash(git log*)", "Bash", "git log --oneline", true),
            ("Bash(git log*)", "Bash", "git log; rm -rf .", false),
            ("Bash(git log*)", "Bash", "git log $(id)", false),
            ("Bash(git log*)", "Bash", "git log\nrm x", false),
            ("Bash(git log*)", "Bash", "git push", false),
            ("Bash(cargo test)", "Bash", "cargo test", true),
            ("Bash(cargo test)", "Bash", "cargo test --all", false),
            (
                "Bash(cargo * --locked)",
                "Bash",
                "cargo test --locked",
                true,
            ),
            ("Bash(cargo * --locked)", "Bash", "cargo --locked", false),
            ("Bash(a;b)", "Bash", "a;b", true),
            ("Bash(npm", "Bash", "npm", false),
            ("Bash()", "Bash", "", true),
            ("Bash()", "Bash", "ls", false),
            ("", "Bash", "ls", false),
        ];
        for (rule, tool, detail, granted) in table {
            let decision = decide(
                &ask(tool, detail),
                Access::Write,
                &rules(&[rule], &[]),
                0,
                5,
            );
            assert_eq!(
                decision == Decision::Grant,
                granted,
                "`{rule}` for `{tool}` `{detail}`: {decision:?}"
            );
        }
    }

    #[test]
    fn what_no_rule_allows_is_denied() {
        assert_eq!(
            decide(
                &ask("Bash", "ls"),
                Access::Write,
                &PermissionRules::default(),
                0,
                5
            ),
            deny("no rule in the settings allows it")
        );
    }

    #[test]
    fn a_denial_wins_over_a_grant() {
        assert_eq!(
            decide(
                &ask("Bash", "git push"),
                Access::Write,
                &rules(&["Bash"], &["Bash(git push*)"]),
                0,
                5
            ),
            deny("denied by the rule `Bash(git push*)`")
        );
    }

    #[test]
    fn a_read_only_role_is_granted_nothing_whatever_the_rules_say() {
        assert_eq!(
            decide(
                &ask("Write", "a.txt"),
                Access::ReadOnly,
                &rules(&["*"], &[]),
                0,
                5
            ),
            deny("this role may not change anything")
        );
    }

    #[test]
    fn the_request_after_the_last_allowed_one_ends_the_run() {
        let all = rules(&["*"], &[]);
        let answers: Vec<Decision> = (0..4)
            .map(|used| decide(&ask("Bash", "ls"), Access::Write, &all, used, 2))
            .collect();
        let exhausted = Decision::Exhausted { allowed: 2 };
        assert_eq!(
            answers,
            [
                Decision::Grant,
                Decision::Grant,
                exhausted.clone(),
                exhausted
            ]
        );
    }
}
