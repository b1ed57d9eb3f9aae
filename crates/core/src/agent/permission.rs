//! Permissions that an agent requests while it runs, and the rules that answer.

use super::role::Access;
use serde::{Deserialize, Serialize};

/// A permission that an agent requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// The tool's name, as the agent uses it.
    pub tool: String,
    /// What the tool would do: a command line, a path, or the raw input.
    pub detail: String,
}

/// Permissions that may be granted while an agent runs, from the settings.
///
/// A rule is a tool name, or `Tool(pattern)`. In `allow`, `*` matches any text without shell operators:
/// `Bash(git log*)` must not allow `git log; rm -rf .`. In `deny` it matches any text, and each command of a
/// line is checked: `Bash(git push*)` denies `cd a && git push -f`. Tool names are compared without regard to
/// case. Requests that no rule allows are denied, and a denial wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionRules {
    /// The granted requests.
    pub allow: Vec<String>,
    /// The requests that are denied even if they are also allowed.
    pub deny: Vec<String>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "decision")]
pub enum Decision {
    /// The request is granted, this once.
    Grant,
    /// The request is denied.
    Deny {
        /// The reason, for the agent.
        reason: String,
    },
    /// The request is denied, and the agent has asked too often, so the run ends.
    Exhausted {
        /// The number of allowed requests.
        allowed: u32,
    },
}

impl PermissionRules {
    /// Whether a rule denies the request, whatever else allows it.
    pub fn denies(&self, request: &PermissionRequest) -> bool {
        self.denying(request).is_some()
    }

    /// The first malformed rule: one without a tool, or with an unclosed bracket.
    pub fn malformed(&self) -> Option<&str> {
        let is_none = |rule: &&String| match rule.split_once('(') {
            Some((tool, pattern)) => tool.trim().is_empty() || !pattern.ends_with(')'),
            None => rule.trim().is_empty() || rule.contains(')'),
        };
        let mut all = self.deny.iter().chain(&self.allow);
        all.find(is_none).map(String::as_str)
    }

    fn denying(&self, request: &PermissionRequest) -> Option<&String> {
        self.deny.iter().find(|rule| denies(rule, request))
    }
}

/// Answers one request. `used` is the number of earlier requests.
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
        return deny("this role is read-only");
    }
    if let Some(rule) = rules.denying(request) {
        return deny(&format!("denied by the rule `{rule}`"));
    }
    if rules.allow.iter().any(|rule| allows(rule, request)) {
        Decision::Grant
    } else {
        deny("no rule in the settings allows it")
    }
}

fn deny(reason: &str) -> Decision {
    Decision::Deny {
        reason: reason.to_owned(),
    }
}

fn allows(rule: &str, request: &PermissionRequest) -> bool {
    let (tool, pattern) = parts_of(rule);
    let is_plain = |text: &str| !text.contains(SHELL_OPERATORS);
    let detail_matches = match pattern.map(|p| p.strip_suffix(')')) {
        None => true,
        Some(Some(pattern)) => glob(pattern, &request.detail, is_plain),
        // An unclosed bracket is a typo, and a typo must not allow more.
        Some(None) => false,
    };
    is_tool(tool, request) && detail_matches
}

/// Whether a denying rule matches: in doubt it does.
fn denies(rule: &str, request: &PermissionRequest) -> bool {
    let (tool, pattern) = parts_of(rule);
    let detail_matches = match pattern {
        None => true,
        Some(pattern) => {
            let pattern = pattern.strip_suffix(')').unwrap_or(pattern);
            // Claude Code writes "begins with" like this.
            let pattern = match pattern.strip_suffix(":*") {
                Some(beginning) => one_spaced(&format!("{beginning}*")),
                None => one_spaced(pattern),
            };
            let is_any = |_: &str| true;
            commands(&request.detail).any(|command| glob(&pattern, &command, is_any))
        }
    };
    is_tool(tool, request) && detail_matches
}

fn parts_of(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(') {
        Some((tool, rest)) => (tool, Some(rest)),
        None => (rule, None),
    }
}

fn is_tool(tool: &str, request: &PermissionRequest) -> bool {
    tool.trim() == "*" || tool.trim().eq_ignore_ascii_case(request.tool.trim())
}

/// The line itself and each command in it, without the variables set for it.
fn commands(line: &str) -> impl Iterator<Item = String> {
    let parts = line.split([';', '|', '&', '\n', '\r', '(', ')', '{', '}', '`']);
    std::iter::once(one_spaced(line)).chain(parts.map(|part| {
        let is_variable = |word: &&str| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let words = part.split_whitespace().skip_while(is_variable);
        words.collect::<Vec<_>>().join(" ")
    }))
}

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `text` matches `pattern`, where `*` stands for any text that `fits`.
fn glob(pattern: &str, text: &str, fits: impl Fn(&str) -> bool) -> bool {
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
        if !fits(&rest[..at]) {
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
        let table = [
            ("Bash(git push*)", "git push", true),
            ("Bash(git push*)", "git push origin main && true", true),
            ("Bash(git push*)", "git push origin main > log; true", true),
            ("Bash(git push*)", "cd a && git push -f", true),
            ("Bash(git push*)", "true;git  push", true),
            ("Bash(git push*)", "true | git push\n", true),
            ("Bash(git push*)", "echo x\ngit push", true),
            ("Bash(git push*)", "echo $(git push 2>&1)", true),
            ("Bash(git push*)", "echo `git push`", true),
            ("Bash(git push*)", "(git push)", true),
            ("Bash(git push*)", "GIT_TRACE=1 git push", true),
            ("Bash(git push:*)", "git push origin", true),
            ("bash(git push*)", "git push", true),
            ("*(*push*)", "true; git push", true),
            ("Bash(git push*", "git push", true),
            ("Bash(git push)", "git push origin", false),
            ("Bash(git push*)", "git pull", false),
            ("Bash(git push*)", "echo git push", false),
            ("Write(git push*)", "git push", false),
        ];
        for (rule, line, is_denied) in table {
            let rules = rules(&["Bash"], &[rule]);
            let request = ask("Bash", line);
            let expected = if is_denied {
                deny(&format!("denied by the rule `{rule}`"))
            } else {
                Decision::Grant
            };
            let decision = decide(&request, Access::Write, &rules, 0, 5);
            assert_eq!(decision, expected, "`{rule}` for `{line}`");
            assert_eq!(rules.denies(&request), is_denied, "`{rule}` for `{line}`");
        }
    }

    #[test]
    fn a_rule_without_a_tool_or_with_an_open_bracket_is_none() {
        for rule in ["Bash(git push*", "Bash(", "Bash)", "(x)", "", " "] {
            assert_eq!(rules(&[], &["Edit", rule]).malformed(), Some(rule));
            assert_eq!(rules(&[rule], &[]).malformed(), Some(rule));
        }
        let fine = rules(&["Bash", "*"], &["Bash(f (x))", "Bash()"]);
        assert_eq!(fine.malformed(), None);
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
            deny("this role is read-only")
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
