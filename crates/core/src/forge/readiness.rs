//! Checks, before an agent costs anything, whether a run will be able to publish.

use super::budget::RequestBudget;
use crate::ids::BranchName;
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The forge's data about a repository and about the permissions of the token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The requested `owner/name`.
    pub asked: String,
    /// The forge's `owner/name`.
    pub name: String,
    /// Whether the repository is archived, so that nobody can write to it.
    pub archived: bool,
    /// Whether the forge disabled it.
    pub disabled: bool,
    /// Whether the account may push; `None` if the forge does not report it.
    pub may_push: Option<bool>,
    /// Whether the repository is private.
    pub private: bool,
    /// The scopes of a classic token; `None` for other tokens.
    pub scopes: Option<Vec<String>>,
    /// The permissions of an app, such as `contents` with `write`; `None` for other tokens.
    pub granted: Option<BTreeMap<String, String>>,
    /// Rules for the branch that the token cannot bypass.
    pub rules: Vec<BranchRule>,
    /// The remaining requests.
    pub budget: Option<RequestBudget>,
}

/// A rule of the forge for a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchRule {
    /// Nobody may create the branch.
    Creation,
    /// Nobody may push to the branch once it exists.
    Update,
    /// Every commit needs a signature.
    Signatures,
    /// The branch may change only through pull requests.
    PullRequest,
    /// Only commits whose checks have passed may be pushed to the branch once it exists.
    Checks,
    /// The name must, or must not, begin or end with a text or contain it.
    Name {
        /// How the text is compared.
        place: NamePlace,
        /// The text.
        text: String,
        /// Whether the name must not match.
        negate: bool,
    },
}

/// Where a branch name must match the text of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamePlace {
    /// At the beginning.
    Start,
    /// At the end.
    End,
    /// The text may be anywhere in the name.
    Anywhere,
}

/// What a run will publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The branch to push; if an agent may choose another name, drive's default one.
    pub branch: BranchName,
    /// Whether commits are signed.
    pub signs: bool,
}

/// A fact that affects whether a run can publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The repository takes no writes.
    ReadOnly {
        /// Whether it is disabled, not archived.
        disabled: bool,
    },
    /// The account may not push.
    NoPush,
    /// A classic token lacks this scope.
    NoScope(&'static str),
    /// The permissions that the app lacks for writing.
    NotGranted(Vec<&'static str>),
    /// The permissions that the app lacks even for reading.
    NotReadable(Vec<&'static str>),
    /// A rule would refuse the push.
    Rule(BranchRule),
    /// The rate limit is reached until this time.
    RateLimited(Timestamp),
    /// The repository was renamed. Requests are redirected.
    Renamed(String),
}

/// The permissions with which an app must be able to write.
const WRITTEN: [&str; 3] = ["contents", "pull_requests", "statuses"];
/// The permissions with which an app must be able to read: without readable checks, nothing is approved.
const READ: [&str; 2] = ["checks", "metadata"];

/// Whether a run can publish. Without findings it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// The repository as it was asked for.
    pub repo: String,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The branch whose rules were read.
    pub branch: Option<BranchName>,
    /// The remaining requests.
    pub budget: Option<RequestBudget>,
}

/// Judges the forge's data.
pub fn judge(access: &Access, intent: Option<&Intent>, now: Timestamp) -> Readiness {
    let mut findings = Vec::new();
    if access.archived || access.disabled {
        findings.push(Finding::ReadOnly {
            disabled: access.disabled,
        });
    }
    if access.may_push == Some(false) {
        findings.push(Finding::NoPush);
    }
    findings.extend(missing_scope(access).map(Finding::NoScope));
    if let Some(granted) = &access.granted {
        findings.extend(not_granted(granted));
    }
    if let Some(intent) = intent {
        let against = access.rules.iter().filter(|rule| rule.refuses(intent));
        findings.extend(against.cloned().map(Finding::Rule));
    }
    if let Some(budget) = &access.budget
        && budget.remaining == 0
        && budget.resets_at > now
    {
        findings.push(Finding::RateLimited(budget.resets_at));
    }
    if !access.name.is_empty() && !access.name.eq_ignore_ascii_case(&access.asked) {
        findings.push(Finding::Renamed(access.name.clone()));
    }
    Readiness {
        repo: access.asked.clone(),
        findings,
        branch: intent.map(|intent| intent.branch.clone()),
        budget: access.budget.clone(),
    }
}

/// The scope that a classic token lacks for pull requests and statuses of this repository, if any.
fn missing_scope(access: &Access) -> Option<&'static str> {
    let scopes = access.scopes.as_ref()?;
    let has = |name: &str| scopes.iter().any(|scope| scope == name);
    match (access.private, has("repo"), has("public_repo")) {
        (_, true, _) | (false, _, true) => None,
        (true, false, _) => Some("repo"),
        (false, false, false) => Some("public_repo"),
    }
}

fn not_granted(granted: &BTreeMap<String, String>) -> Vec<Finding> {
    let may = |name: &str, levels: &[&str]| {
        let level = granted.get(name);
        level.is_some_and(|level| levels.contains(&level.as_str()))
    };
    let unwritten = WRITTEN
        .into_iter()
        .filter(|name| !may(name, &["write", "admin"]));
    let unread = READ
        .into_iter()
        .filter(|name| !may(name, &["read", "write", "admin"]));
    let (unwritten, unread): (Vec<_>, Vec<_>) = (unwritten.collect(), unread.collect());
    let unwritten = (!unwritten.is_empty()).then_some(Finding::NotGranted(unwritten));
    let unread = (!unread.is_empty()).then_some(Finding::NotReadable(unread));
    unwritten.into_iter().chain(unread).collect()
}

impl BranchRule {
    /// Whether the rule refuses the push. A run pushes a branch more than once.
    pub fn refuses(&self, intent: &Intent) -> bool {
        match self {
            BranchRule::Creation
            | BranchRule::Update
            | BranchRule::PullRequest
            | BranchRule::Checks => true,
            BranchRule::Signatures => !intent.signs,
            BranchRule::Name {
                place,
                text,
                negate,
            } => {
                let name = intent.branch.as_str();
                let matches = match place {
                    NamePlace::Start => name.starts_with(text.as_str()),
                    NamePlace::End => name.ends_with(text.as_str()),
                    NamePlace::Anywhere => name.contains(text.as_str()),
                };
                matches == *negate
            }
        }
    }

    /// The rule, in words that follow the name of the branch.
    pub fn describe(&self) -> String {
        match self {
            BranchRule::Creation => "creating it is restricted".to_owned(),
            BranchRule::Update => "pushes to it are not permitted".to_owned(),
            BranchRule::Signatures => "its commits must be signed".to_owned(),
            BranchRule::PullRequest => "it changes through pull requests only".to_owned(),
            BranchRule::Checks => "it takes only commits whose checks have passed".to_owned(),
            BranchRule::Name {
                place,
                text,
                negate,
            } => {
                let must = if *negate { "must not" } else { "must" };
                let how = match place {
                    NamePlace::Start => "start with",
                    NamePlace::End => "end with",
                    NamePlace::Anywhere => "contain",
                };
                format!("its name {must} {how} `{text}`")
            }
        }
    }
}

impl Finding {
    /// The problem that ends a run before it starts; `None` if the finding is only worth a warning.
    pub fn problem(&self, repo: &str, branch: Option<&BranchName>) -> Option<Problem> {
        let problem = match self {
            Finding::ReadOnly { disabled } => {
                let state = if *disabled { "disabled" } else { "archived" };
                Problem::new(
                    Kind::ForgeReadOnly,
                    format!("`{repo}` is {state}, so nothing can be pushed there"),
                )
                .hint("unarchive it, set `forge.repo` to another repository, or pass `--no-pr`")
            }
            Finding::NoPush => Problem::new(
                Kind::ForgeForbidden,
                format!("the token's account may not push to `{repo}`"),
            )
            .hint("ask for write access, use a token of another account, or pass `--no-pr`"),
            Finding::NoScope(scope) => Problem::new(
                Kind::ForgeForbidden,
                format!("the token lacks the scope `{scope}`, which `{repo}` needs"),
            )
            .hint(format!(
                "add it with `gh auth refresh --scopes {scope}`, or make a new token"
            )),
            Finding::NotGranted(missing) => not_permitted(repo, "write", missing)
                .hint("give the app read and write access to them, then accept the new permissions for its installation"),
            Finding::NotReadable(missing) => not_permitted(repo, "read", missing)
                .hint("give the app read access to them, then accept the new permissions for its installation"),
            Finding::Rule(rule) => {
                let named = branch.map_or_else(String::new, |branch| format!(" `{branch}`"));
                let hint = match rule {
                    BranchRule::Signatures => {
                        "sign commits: `git config commit.gpgsign true`, with a key that the forge knows"
                    }
                    BranchRule::Creation
                    | BranchRule::Update
                    | BranchRule::PullRequest
                    | BranchRule::Checks
                    | BranchRule::Name { .. } => {
                        "pass `--branch` with a name that the rules allow, or have the token's \
                         account added to their bypass list"
                    }
                };
                Problem::new(
                    Kind::BranchRules,
                    format!(
                        "rules of `{repo}` would refuse branch{named}: {}",
                        rule.describe()
                    ),
                )
                .hint(hint)
            }
            Finding::RateLimited(until) => Problem::new(
                Kind::RateLimited,
                format!("rate limit of the forge reached; resets at `{until}`"),
            )
            .hint("wait, or use a token of another account"),
            Finding::Renamed(_) => return None,
        };
        Some(problem)
    }

    /// The warning about a finding; `None` if the finding ends the run.
    pub fn warning(&self, repo: &str) -> Option<String> {
        match self {
            Finding::Renamed(to) => Some(format!(
                "`{repo}` is called `{to}` now; update the remote: `git remote set-url`, or set \
                 `forge.repo`"
            )),
            Finding::ReadOnly { .. }
            | Finding::NoPush
            | Finding::NoScope(_)
            | Finding::NotGranted(_)
            | Finding::NotReadable(_)
            | Finding::Rule(_)
            | Finding::RateLimited(_) => None,
        }
    }
}

/// The problem of an app whose permissions are insufficient.
fn not_permitted(repo: &str, what: &str, missing: &[&str]) -> Problem {
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    Problem::new(
        Kind::ForgeForbidden,
        format!("the GitHub App may not {what} {names} in `{repo}`"),
    )
}

impl Readiness {
    /// The first problem that prevents a run from publishing.
    pub fn problem(&self) -> Option<Problem> {
        let problem = |finding: &Finding| finding.problem(&self.repo, self.branch.as_ref());
        self.findings.iter().find_map(problem)
    }

    /// The warnings of all findings.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let warning = |finding: &Finding| finding.warning(&self.repo);
        self.findings.iter().filter_map(warning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            asked: "acme/widgets".to_owned(),
            name: "acme/widgets".to_owned(),
            may_push: Some(true),
            ..Access::default()
        }
    }

    fn intent(branch: &str, signs: bool) -> Intent {
        Intent {
            branch: BranchName::parse(branch).unwrap(),
            signs,
        }
    }

    fn judged(access: &Access) -> Vec<Finding> {
        judge(
            access,
            Some(&intent("drive/x", false)),
            Timestamp::UNIX_EPOCH,
        )
        .findings
    }

    #[test]
    fn a_repository_that_takes_pushes_is_ready() {
        assert_eq!(judged(&access()), []);
        let unknown = Access {
            may_push: None,
            ..access()
        };
        assert_eq!(judged(&unknown), [], "an unknown permission is no refusal");
    }

    #[test]
    fn an_archived_repository_and_a_reader_are_told() {
        let all = Access {
            archived: true,
            may_push: Some(false),
            name: "acme/gadgets".to_owned(),
            ..access()
        };
        assert_eq!(
            judged(&all),
            [
                Finding::ReadOnly { disabled: false },
                Finding::NoPush,
                Finding::Renamed("acme/gadgets".to_owned()),
            ]
        );
        let readiness = judge(&all, None, Timestamp::UNIX_EPOCH);
        let problem = readiness.problem().unwrap();
        assert_eq!(problem.kind, Kind::ForgeReadOnly);
        assert_eq!(
            problem.message,
            "`acme/widgets` is archived, so nothing can be pushed there"
        );
        assert_eq!(readiness.warnings().count(), 1);
    }

    #[test]
    fn a_classic_token_needs_the_scope_of_the_repository() {
        let with = |private, scopes: &[&str]| {
            judged(&Access {
                private,
                scopes: Some(scopes.iter().map(|scope| (*scope).to_owned()).collect()),
                ..access()
            })
        };
        assert_eq!(with(false, &["public_repo"]), []);
        assert_eq!(with(true, &["repo"]), []);
        assert_eq!(with(true, &["public_repo"]), [Finding::NoScope("repo")]);
        assert_eq!(with(false, &["gist"]), [Finding::NoScope("public_repo")]);
    }

    #[test]
    fn an_app_needs_to_write_contents_pull_requests_and_statuses_and_to_read_checks() {
        let with = |granted: &[(&str, &str)]| {
            let granted = granted.iter();
            let granted = granted.map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
            judged(&Access {
                granted: Some(granted.collect()),
                ..access()
            })
        };
        let enough = [
            ("contents", "write"),
            ("pull_requests", "write"),
            ("statuses", "write"),
            ("checks", "read"),
            ("metadata", "read"),
        ];
        assert_eq!(with(&enough), []);
        for (place, (name, _)) in enough.into_iter().enumerate() {
            let mut less = enough.to_vec();
            less.remove(place);
            let missing = if place < 3 {
                Finding::NotGranted(vec![name])
            } else {
                Finding::NotReadable(vec![name])
            };
            let problem = missing.problem("acme/widgets", None).unwrap();
            assert!(problem.message.contains(&format!("`{name}`")), "{problem}");
            assert_eq!(with(&less), [missing]);
        }
        let read = [
            ("contents", "read"),
            enough[1],
            enough[2],
            enough[3],
            enough[4],
        ];
        assert_eq!(with(&read), [Finding::NotGranted(vec!["contents"])]);
    }

    #[test]
    fn rules_refuse_what_breaks_them_only() {
        let name = |place, text: &str, negate| BranchRule::Name {
            place,
            text: text.to_owned(),
            negate,
        };
        let table = [
            (BranchRule::Creation, false, true),
            (BranchRule::Update, false, true),
            (BranchRule::PullRequest, false, true),
            (BranchRule::Checks, true, true),
            (BranchRule::Signatures, false, true),
            (BranchRule::Signatures, true, false),
            (name(NamePlace::Start, "drive/", false), false, false),
            (name(NamePlace::Start, "feat/", false), false, true),
            (name(NamePlace::End, "x", true), false, true),
            (name(NamePlace::Anywhere, "/", false), false, false),
        ];
        for (rule, signs, refuses) in table {
            let got = rule.refuses(&intent("drive/x", signs));
            assert_eq!(got, refuses, "{rule:?} {signs}");
        }
    }

    #[test]
    fn an_exhausted_budget_is_told_until_it_resets() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let empty = Access {
            budget: Some(RequestBudget {
                limit: 5000,
                remaining: 0,
                resets_at: at(100),
                paused_until: None,
            }),
            ..access()
        };
        let findings = |now| judge(&empty, None, at(now)).findings;
        assert_eq!(findings(50), [Finding::RateLimited(at(100))]);
        assert_eq!(findings(100), []);
    }
}
