//! Prompts for agents: templates with typed inputs, each of which a user can replace.
//!
//! Foreign text (a task, a diff, a comment) is inserted between fences that it cannot close, and
//! the template declares it as data.

mod batch;
mod earlier;
mod fencing;
mod holes;
mod notes;
mod rules;
#[cfg(test)]
mod tests;
mod validation;

pub use batch::{BatchComment, Claimed, GivenOn};
pub use earlier::{Answered, Earlier, PartOf};
pub use fencing::fenced;
pub(crate) use notes::{Attempt, HANDOFF, asked_again, earlier_attempt};
pub use rules::{LONGEST_RULES, RULE_FILES, cut_rules, rule_files, with_rules};
pub use validation::{JudgeEntry, ShownReceipt};

use crate::problem::{Kind, Problem};
use crate::review::{Domain, Subject};
use fencing::one_line;
use holes::{holes, next_hole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest template, in bytes.
pub const LONGEST_TEMPLATE: usize = 64 * 1024;

/// The name of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptName {
    /// Choose a title and a branch name.
    Name,
    /// Review everything at once.
    Review,
    /// Review one domain of a pull request.
    ReviewDomain,
    /// Refute findings.
    Refute,
    /// Do the task.
    Code,
    /// Answer the findings of a review, or all comments since the last round.
    Fix,
    /// Write the plan of a cruise.
    Plan,
    /// Resolve the conflicts of a merge.
    Merge,
    /// Judge the work against its acceptance criteria.
    Validate,
}

impl PromptName {
    /// All values.
    pub const ALL: [PromptName; 9] = [
        PromptName::Name,
        PromptName::Review,
        PromptName::ReviewDomain,
        PromptName::Refute,
        PromptName::Code,
        PromptName::Fix,
        PromptName::Plan,
        PromptName::Merge,
        PromptName::Validate,
    ];

    /// The name of the template's file, without `.md`.
    pub fn as_str(self) -> &'static str {
        match self {
            PromptName::Name => "name",
            PromptName::Review => "review",
            PromptName::ReviewDomain => "review-domain",
            PromptName::Refute => "refute",
            PromptName::Code => "code",
            PromptName::Fix => "fix",
            PromptName::Plan => "plan",
            PromptName::Merge => "merge",
            PromptName::Validate => "validate",
        }
    }

    fn shipped(self) -> &'static str {
        match self {
            PromptName::Name => include_str!("name.md"),
            PromptName::Review => include_str!("review.md"),
            PromptName::ReviewDomain => include_str!("review-domain.md"),
            PromptName::Refute => include_str!("refute.md"),
            PromptName::Code => include_str!("code.md"),
            PromptName::Fix => include_str!("fix.md"),
            PromptName::Plan => include_str!("plan.md"),
            PromptName::Merge => include_str!("merge.md"),
            PromptName::Validate => include_str!("validate.md"),
        }
    }

    /// The placeholders that the template may use.
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            PromptName::Name => &["task"],
            PromptName::Review => &["task", "base", "earlier", "diff", "part", "verified"],
            PromptName::ReviewDomain => &[
                "task",
                "base",
                "earlier",
                "diff",
                "part",
                "verified",
                "domain",
                "instructions",
                "pull_request",
            ],
            PromptName::Refute => &["task", "base", "findings", "ids"],
            PromptName::Code => &["task"],
            PromptName::Fix => &[
                "task",
                "read_first",
                "round",
                "plan_error",
                "comments",
                "ids",
            ],
            PromptName::Plan => &["task", "plan_path"],
            PromptName::Merge => &["task", "branch", "files"],
            PromptName::Validate => &["commit", "entries", "receipts", "ids"],
        }
    }

    /// The placeholders without which an agent cannot do its job.
    pub fn required(self) -> &'static [&'static str] {
        match self {
            PromptName::Name | PromptName::Code => &["task"],
            PromptName::Review => &["task", "earlier", "diff"],
            PromptName::ReviewDomain => &["task", "earlier", "diff", "instructions"],
            PromptName::Refute => &["findings", "ids"],
            PromptName::Fix => &["plan_error", "comments", "ids"],
            PromptName::Plan => &["task", "plan_path"],
            PromptName::Merge => &["task", "branch", "files"],
            PromptName::Validate => &["entries", "receipts", "ids"],
        }
    }
}

/// One prompt with its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt<'a> {
    /// Choose a title and a branch name.
    Name {
        /// The task.
        task: &'a str,
    },
    /// Review everything at once.
    Review {
        /// The task.
        task: &'a str,
        /// The commit that the change is compared with.
        base: &'a str,
        /// The reviewer's earlier review.
        earlier: &'a Earlier<'a>,
        /// The diff.
        diff: &'a str,
        /// The part of the change that the diff shows.
        part: PartOf,
        /// The results of programs for the change; empty if there are none.
        verified: &'a str,
    },
    /// Review one domain of a pull request.
    ReviewDomain {
        /// The task.
        task: &'a str,
        /// The commit that the change is compared with.
        base: &'a str,
        /// The reviewer's earlier review.
        earlier: &'a Earlier<'a>,
        /// The diff.
        diff: &'a str,
        /// The part of the change that the diff shows.
        part: PartOf,
        /// The results of programs for the change; empty if there are none.
        verified: &'a str,
        /// The review domain.
        domain: &'a Domain,
        /// The kind of work under review.
        subject: Subject,
        /// The pull request's address.
        pull_request: &'a str,
    },
    /// Refute findings.
    Refute {
        /// The task.
        task: &'a str,
        /// The commit that the change is compared with.
        base: &'a str,
        /// The findings.
        findings: &'a [Claimed<'a>],
    },
    /// Do the task.
    Code {
        /// The task.
        task: &'a str,
    },
    /// Write the plan of a cruise.
    Plan {
        /// The task.
        task: &'a str,
        /// The file to write, relative to the repository.
        plan_path: &'a str,
    },
    /// Answer the findings of a review, or all comments since the last round.
    Fix {
        /// The task.
        task: &'a str,
        /// The plan's path relative to the repository, if the work is a plan.
        plan_path: Option<&'a str>,
        /// The number of the round, from 1.
        round: u32,
        /// The plan's errors, if it is not valid.
        plan_error: Option<&'a str>,
        /// The comments.
        comments: &'a [BatchComment<'a>],
    },
    /// Resolve the conflicts of a merge.
    Merge {
        /// The task.
        task: &'a str,
        /// The branch to merge.
        branch: &'a str,
        /// The files with conflicts, one per line.
        files: &'a str,
    },
    /// Judge the work against its acceptance criteria.
    Validate {
        /// The commit to judge.
        commit: &'a str,
        /// The entries to judge.
        entries: &'a [JudgeEntry<'a>],
        /// The results of programs for it.
        receipts: &'a [ShownReceipt<'a>],
    },
}

impl Prompt<'_> {
    /// The template of the prompt.
    pub fn name(&self) -> PromptName {
        match self {
            Prompt::Name { .. } => PromptName::Name,
            Prompt::Review { .. } => PromptName::Review,
            Prompt::ReviewDomain { .. } => PromptName::ReviewDomain,
            Prompt::Refute { .. } => PromptName::Refute,
            Prompt::Code { .. } => PromptName::Code,
            Prompt::Fix { .. } => PromptName::Fix,
            Prompt::Plan { .. } => PromptName::Plan,
            Prompt::Merge { .. } => PromptName::Merge,
            Prompt::Validate { .. } => PromptName::Validate,
        }
    }

    fn values(&self, own: &Prompts) -> Vec<(&'static str, String)> {
        match *self {
            Prompt::Name { task } => vec![("task", fenced(task, ""))],
            Prompt::Review {
                task,
                base,
                earlier,
                diff,
                part,
                verified,
            } => earlier::reviewed((task, base), earlier, (diff, part), verified),
            Prompt::ReviewDomain {
                task,
                base,
                earlier,
                diff,
                part,
                verified,
                domain,
                subject,
                pull_request,
            } => {
                let mut values = earlier::reviewed((task, base), earlier, (diff, part), verified);
                values.extend([
                    ("domain", domain.name().to_owned()),
                    ("instructions", own.instructions(domain, subject)),
                    ("pull_request", earlier::address(pull_request)),
                ]);
                values
            }
            Prompt::Refute {
                task,
                base,
                findings,
            } => vec![
                ("task", fenced(task, "")),
                ("base", base.to_owned()),
                ("findings", batch::claims(findings)),
                ("ids", batch::id_list(findings.iter().map(|one| one.id))),
            ],
            Prompt::Code { task } => vec![("task", task.trim().to_owned())],
            Prompt::Fix {
                task,
                plan_path,
                round,
                plan_error,
                comments,
            } => vec![
                ("task", fenced(task, "")),
                ("read_first", batch::read_first(plan_path)),
                ("round", round.to_string()),
                ("plan_error", batch::plan_error(plan_error)),
                ("comments", batch::comments(comments)),
                ("ids", batch::ids(comments)),
            ],
            Prompt::Plan { task, plan_path } => vec![
                ("task", fenced(task, "")),
                ("plan_path", one_line(plan_path)),
            ],
            Prompt::Merge {
                task,
                branch,
                files,
            } => vec![
                ("task", fenced(task, "")),
                ("branch", one_line(branch)),
                ("files", fenced(files, "")),
            ],
            Prompt::Validate {
                commit,
                entries,
                receipts,
            } => vec![
                ("commit", one_line(commit)),
                ("entries", validation::entries(entries)),
                ("receipts", validation::receipts(receipts)),
                ("ids", validation::ids(entries)),
            ],
        }
    }
}

/// The templates of a run: the built-in ones, and the user's replacements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompts {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    templates: BTreeMap<PromptName, String>,
    /// The questions for the reviewers of each domain, by the domain's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    domains: BTreeMap<String, String>,
}

/// The name of a review domain's file.
fn domain_of(file: &str) -> Option<Domain> {
    let name = file.strip_prefix("domain-")?.strip_suffix(".md")?;
    Domain::parse(name)
}

impl Prompts {
    /// Whether there are questions for the reviewers of a domain.
    pub fn has_domain(&self, domain: &Domain) -> bool {
        let is_shipped = Domain::SHIPPED.contains(domain);
        is_shipped || self.domains.contains_key(domain.name())
    }

    /// The questions for the reviewers of a domain.
    fn instructions(&self, domain: &Domain, subject: Subject) -> String {
        let own = self.domains.get(domain.name()).map(|text| text.trim());
        let asked = own.or_else(|| domain.instructions(subject));
        let mut asked = asked.unwrap_or_default().to_owned();
        if domain.may_not_apply(subject) {
            asked.push_str(
                "\n\nIf nothing here concerns this domain, list no findings and give the verdict \
                 `not_applicable`.",
            );
        }
        asked
    }

    /// Replaces one template. `file` is its name, such as `review.md`.
    pub fn replace(mut self, file: &str, text: &str) -> Result<Self, Problem> {
        let known = |name: &PromptName| file == format!("{}.md", name.as_str());
        if let Some(domain) = domain_of(file) {
            within_bounds(file, text)?;
            if text.trim().is_empty() {
                return Err(Problem::new(
                    Kind::DomainWithoutPrompt,
                    format!("prompt `{file}` is empty"),
                )
                .hint(format!("write there what reviewers of {domain} look for")));
            }
            self.domains
                .insert(domain.name().to_owned(), text.to_owned());
            return Ok(self);
        }
        let Some(name) = PromptName::ALL.into_iter().find(known) else {
            let names = PromptName::ALL.map(|name| format!("`{}.md`", name.as_str()));
            return Err(
                Problem::new(Kind::UnknownPrompt, format!("unknown prompt `{file}`")).hint(
                    format!(
                        "prompts are {}, and `domain-NAME.md` for a review domain",
                        names.join(", ")
                    ),
                ),
            );
        };
        within_bounds(file, text)?;
        if let Some(stranger) = holes(text).find(|hole| !name.inputs().contains(hole)) {
            let inputs: Vec<String> = name
                .inputs()
                .iter()
                .map(|input| format!("`{{{{{input}}}}}`"))
                .collect();
            return Err(Problem::new(
                Kind::UnknownPromptInput,
                format!("prompt `{file}` uses the unknown placeholder `{{{{{stranger}}}}}`"),
            )
            .hint(format!("use one of {}", inputs.join(", "))));
        }
        let used: Vec<&str> = holes(text).collect();
        if let Some(missing) = name.required().iter().find(|input| !used.contains(input)) {
            return Err(Problem::new(
                Kind::PromptInputMissing,
                format!("prompt `{file}` leaves out `{{{{{missing}}}}}`"),
            )
            .hint(format!("add `{{{{{missing}}}}}` to the file")));
        }
        self.templates.insert(name, text.to_owned());
        Ok(self)
    }

    /// A template with its placeholders.
    pub fn template(&self, name: PromptName) -> &str {
        let own = self.templates.get(&name);
        own.map_or(name.shipped(), String::as_str)
    }

    /// The text for an agent. Inserted text is not searched for placeholders.
    pub fn render(&self, prompt: &Prompt<'_>) -> String {
        let name = prompt.name();
        let values = prompt.values(self);
        let mut rest = self.template(name);
        let mut text = String::with_capacity(rest.len());
        while let Some((before, hole, after)) = next_hole(rest) {
            text.push_str(before);
            if let Some((_, value)) = values.iter().find(|(input, _)| *input == hole) {
                text.push_str(value);
            }
            rest = after;
        }
        text.push_str(rest);
        text
    }
}

fn within_bounds(file: &str, text: &str) -> Result<(), Problem> {
    if text.len() <= LONGEST_TEMPLATE {
        return Ok(());
    }
    let length = text.len();
    Err(Problem::new(
        Kind::PromptTooLong,
        format!("prompt `{file}` has {length} bytes; the limit is {LONGEST_TEMPLATE}"),
    ))
}
