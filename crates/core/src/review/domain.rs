use crate::agent::answer::Verdict;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The subject area of a review.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Domain {
    /// Whether the change does its task, with tests that prove it.
    Correctness,
    /// Whether it can be abused.
    Security,
    /// Whether the approach can work.
    TechnicalFeasibility,
    /// Whether its tasks have the right size.
    TaskGranularity,
    /// Whether everything that the work needs is there.
    DependencyCompleteness,
    /// Everything else.
    GeneralPolish,
    /// A domain of the project's own.
    Own(OwnDomain),
}

/// The name of a project's own domain: a letter, then letters and digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnDomain(String);

/// The longest name of a domain.
const LONGEST_NAME: usize = 40;

/// The kind of work under review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A plan, before anything is built.
    Plan,
    /// A change of the code.
    Code,
}

impl Domain {
    /// The built-in domains, in the order of their reviews.
    pub const SHIPPED: [Domain; 6] = [
        Domain::Correctness,
        Domain::Security,
        Domain::TechnicalFeasibility,
        Domain::TaskGranularity,
        Domain::DependencyCompleteness,
        Domain::GeneralPolish,
    ];

    /// The pattern of a name, for the schema of the settings.
    pub const PATTERN: &str = "^[A-Za-z][A-Za-z0-9]{0,39}$";

    /// Parses a name; `None` if it is not a valid one.
    pub fn parse(name: &str) -> Option<Self> {
        let shipped = Self::SHIPPED.into_iter().find(|one| one.name() == name);
        shipped.or_else(|| {
            let is_name = name.len() <= LONGEST_NAME
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric());
            is_name.then(|| Domain::Own(OwnDomain(name.to_owned())))
        })
    }

    /// The name in settings, in prompts, in `DRIVE_DOMAIN` and in state files.
    pub fn name(&self) -> &str {
        match self {
            Domain::Correctness => "Correctness",
            Domain::Security => "Security",
            Domain::TechnicalFeasibility => "TechnicalFeasibility",
            Domain::TaskGranularity => "TaskGranularity",
            Domain::DependencyCompleteness => "DependencyCompleteness",
            Domain::GeneralPolish => "GeneralPolish",
            Domain::Own(OwnDomain(name)) => name,
        }
    }

    /// Whether the domain reviews this kind of work: the correctness of a plan cannot be reviewed.
    pub fn reviews(&self, subject: Subject) -> bool {
        !matches!((self, subject), (Domain::Correctness, Subject::Plan))
    }

    /// Whether the domain may find nothing to review. Every change is correct or not, and every
    /// plan is feasible and well divided or not.
    pub fn may_not_apply(&self, subject: Subject) -> bool {
        match (self, subject) {
            (Domain::Correctness, _)
            | (Domain::TechnicalFeasibility | Domain::TaskGranularity, Subject::Plan) => false,
            (
                Domain::Security
                | Domain::TechnicalFeasibility
                | Domain::TaskGranularity
                | Domain::DependencyCompleteness
                | Domain::GeneralPolish
                | Domain::Own(_),
                _,
            ) => true,
        }
    }

    /// The name in capital letters, such as `TECHNICAL FEASIBILITY`.
    fn title(&self) -> String {
        let mut title = String::new();
        let mut before = ' ';
        for letter in self.name().chars() {
            if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
                title.push(' ');
            }
            title.push(letter.to_ascii_uppercase());
            before = letter;
        }
        title
    }

    /// The questions of a built-in domain for its reviewers.
    pub fn instructions(&self, subject: Subject) -> Option<&'static str> {
        Some(match (self, subject) {
            (Domain::Own(_), _) => return None,
            (Domain::Correctness, _) => {
                "Check whether the change does what the task asks, all of it, and meets its \
                 acceptance criteria: wrong results, forgotten cases, empty, huge and hostile \
                 input, errors that are swallowed, behaviour that worked before and no longer \
                 does. Check whether tests prove it: would one fail if the change were wrong? \
                 Say so if the results of a test run are shown to you and something failed."
            }
            (Domain::Security, Subject::Plan) => {
                "Check whether following the plan would open a hole: missing authentication or \
                 permission checks, secrets that end up in code, logs or history, injection into \
                 commands, queries, paths or pages, unsafe defaults, and what else of the OWASP \
                 Top 10 its parts are exposed to."
            }
            (Domain::Security, Subject::Code) => {
                "Look for vulnerabilities that the change brings: input that is trusted without a \
                 check, missing authentication or permission checks, secrets in code or logs, \
                 injection into commands, queries, paths or pages, unsafe defaults, dependencies \
                 with known vulnerabilities, and what else of the OWASP Top 10 it is exposed to."
            }
            (Domain::TechnicalFeasibility, Subject::Plan) => {
                "Check whether the plan can work as written: does the architecture carry it, do \
                 the libraries and the rest of the tech stack do what it assumes, will the \
                 performance hold, do its steps contradict each other or the code as it is?"
            }
            (Domain::TechnicalFeasibility, Subject::Code) => {
                "Check whether the change can work under real conditions: wrong assumptions about \
                 libraries, protocols or data, races, missing error handling, performance that \
                 will not hold, a structure that does not fit the architecture around it."
            }
            (Domain::TaskGranularity, Subject::Plan) => {
                "Check whether each task has the right size for parallel work: it does one thing, \
                 can be reviewed and tested alone, and is neither a whole project nor a single \
                 line; and whether its acceptance criteria can be checked."
            }
            (Domain::TaskGranularity, Subject::Code) => {
                "Check whether the change is one unit that a person can review: name what has \
                 nothing to do with the task and should be split off, and what was left half done."
            }
            (Domain::DependencyCompleteness, Subject::Plan) => {
                "Check whether every dependency of a task is listed: earlier tasks, modules, \
                 settings, migrations, documentation, tests; and whether tasks wait for each other \
                 that could run in parallel."
            }
            (Domain::DependencyCompleteness, Subject::Code) => {
                "Check whether everything that the change needs is in it: callers and other \
                 platforms that must follow, settings, migrations, lock files, documentation, \
                 tests; and whether it adds a dependency that it could do without."
            }
            (Domain::GeneralPolish, Subject::Plan) => {
                "Read the plan as the person who will carry it out: unclear or missing steps, \
                 names that will not last, documentation that nobody is asked to write."
            }
            (Domain::GeneralPolish, Subject::Code) => {
                "Read the change as the next maintainer: names, structure, duplication, comments \
                 that are no longer true, messages a user will see, documentation that was not \
                 updated."
            }
        })
    }

    /// The first line of a posted review, such as `[SECURITY REVIEW - APPROVED]`.
    pub fn heading(&self, verdict: Option<Verdict>) -> String {
        format!("[{} REVIEW - {}]", self.title(), verdict_title(verdict))
    }
}

/// A verdict in the form used in headings.
pub fn verdict_title(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Approved) => "APPROVED",
        Some(Verdict::NeedsChanges) => "NEEDS CHANGES",
        Some(Verdict::NotApplicable) => "NOT APPLICABLE",
        None => "INCONCLUSIVE",
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Domain> for String {
    fn from(domain: Domain) -> Self {
        domain.name().to_owned()
    }
}

impl TryFrom<String> for Domain {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse(&name).ok_or_else(|| format!("`{name}` is not the name of a review domain"))
    }
}

impl JsonSchema for Domain {
    fn schema_name() -> Cow<'static, str> {
        "ReviewDomain".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A shipped review domain, or one of the project's own.",
            "pattern": Domain::PATTERN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_read_by_its_name_and_written_as_it() {
        for domain in Domain::SHIPPED {
            assert_eq!(Domain::parse(domain.name()), Some(domain));
        }
        let own = Domain::parse("Accessibility2").unwrap();
        assert_eq!(serde_json::to_string(&own).unwrap(), r#""Accessibility2""#);
        for name in ["", "2fa", "a b", "../x", "é", &"a".repeat(41)] {
            assert_eq!(Domain::parse(name), None, "{name}");
            let json = serde_json::to_string(name).unwrap();
            assert!(serde_json::from_str::<Domain>(&json).is_err(), "{name}");
        }
    }

    #[test]
    fn headings_keep_their_form() {
        let heading = |name, verdict| Domain::parse(name).unwrap().heading(verdict);
        assert_eq!(
            heading("Security", Some(Verdict::Approved)),
            "[SECURITY REVIEW - APPROVED]"
        );
        assert_eq!(
            heading("TechnicalFeasibility", Some(Verdict::NeedsChanges)),
            "[TECHNICAL FEASIBILITY REVIEW - NEEDS CHANGES]"
        );
        assert_eq!(
            heading("OurA11y", Some(Verdict::NotApplicable)),
            "[OUR A11Y REVIEW - NOT APPLICABLE]"
        );
        assert_eq!(
            heading("GeneralPolish", None),
            "[GENERAL POLISH REVIEW - INCONCLUSIVE]"
        );
    }

    #[test]
    fn plans_and_code_are_asked_different_questions() {
        for domain in Domain::SHIPPED
            .iter()
            .filter(|one| one.reviews(Subject::Plan))
        {
            let (plan, code) = (Subject::Plan, Subject::Code);
            assert_ne!(
                domain.instructions(plan),
                domain.instructions(code),
                "{domain}"
            );
        }
        assert!(!Domain::Correctness.reviews(Subject::Plan));
        assert!(Domain::Correctness.reviews(Subject::Code));
    }
}
