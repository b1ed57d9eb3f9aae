//! Secrets: redaction of texts, and the check of commits before a push.

mod patch;
mod results;

pub use patch::SecretPlace;
pub use results::{redact_comments, redact_result};

use crate::agent::Secrets;
use crate::problem::{Kind, Problem};
use globset::{GlobBuilder, GlobMatcher};
use std::sync::{Arc, PoisonError, RwLock};

/// Shorter values are redacted, but do not stop a push: a password of six letters may be a word.
const MIN_GUARDED: usize = 8;
/// How many places a problem names.
const MOST_PLACES: usize = 5;

/// The secrets of a command, and the paths in which a person allows them. Copies share values that
/// are learned later.
#[derive(Clone, Debug, Default)]
pub struct SecretPolicy {
    known: Arc<RwLock<Known>>,
    /// The number of values at the start.
    at_start: usize,
    allow: Vec<GlobMatcher>,
}

#[derive(Debug, Default)]
struct Known {
    values: Vec<String>,
    /// All values, for redaction.
    secrets: Secrets,
    guarded: Secrets,
}

impl Known {
    fn new(values: Vec<String>) -> Self {
        let guarded = values.iter().filter(|value| value.len() >= MIN_GUARDED);
        Self {
            secrets: Secrets::new(&values),
            guarded: Secrets::new(guarded),
            values,
        }
    }
}

/// How many renewed tokens are stored besides the initial values: one per hour for a week.
const MOST_LEARNED: usize = 200;

impl SecretPolicy {
    /// A policy with these values and the known token shapes; `allow` are globs as in `verify.routes`.
    pub fn new(values: &[String], allow: &[String]) -> Result<Self, Problem> {
        Ok(Self {
            known: Arc::new(RwLock::new(Known::new(values.to_vec()))),
            at_start: values.len(),
            allow: allow
                .iter()
                .map(|glob| matcher(glob))
                .collect::<Result<_, _>>()?,
        })
    }

    /// All values, for redaction.
    pub fn secrets(&self) -> Secrets {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.secrets.clone()
    }

    /// Adds a value, such as a renewed token. All copies of this policy know it from now on.
    pub fn learn(&self, value: &str) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.values.iter().any(|one| one == value) {
            return;
        }
        let mut values = std::mem::take(&mut known.values);
        values.push(value.to_owned());
        let spare = values.len().saturating_sub(self.at_start + MOST_LEARNED);
        values.drain(self.at_start..self.at_start + spare);
        *known = Known::new(values);
    }

    /// Refuses a patch that adds a secret. The patch is the result of the engine's
    /// `VersionControl::unpublished`.
    pub fn require_clean(&self, patch: &[u8]) -> Result<(), Problem> {
        let is_allowed = |path: &str| self.allow.iter().any(|glob| glob.is_match(path));
        let guarded = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.guarded.clone()
        };
        let places = patch::find_secrets(patch, &guarded, &is_allowed)?;
        if places.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = places
            .iter()
            .take(MOST_PLACES)
            .map(ToString::to_string)
            .collect();
        let more = match places.len().saturating_sub(MOST_PLACES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let path = places.iter().find_map(|place| place.path.as_deref());
        let allow = match path {
            Some(path) => format!(
                "; if it is meant to be public, set `secrets.allow = [\"{}\"]` in `drive.toml`",
                globset::escape(path)
            ),
            None => String::new(),
        };
        Err(Problem::new(
            Kind::SecretInCommit,
            format!("not pushed: a secret is in {}{more}", named.join(", ")),
        )
        .hint(format!(
            "rewrite that commit without it, and replace the secret where it is used{allow}"
        )))
    }
}

/// The matcher of a glob in the settings: `*` does not match a slash, `**` does.
fn matcher(glob: &str) -> Result<GlobMatcher, Problem> {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| {
        Problem::new(
            Kind::SettingsInvalid,
            format!("`secrets.allow` has the invalid pattern `{glob}`"),
        )
        .because(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(path: &str, line: &str) -> String {
        format!(
            "\0commit {}\nSubject\n\0\ndiff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -4,0 +5 @@\n+{line}\n",
            "c".repeat(40)
        )
    }

    #[test]
    fn a_secret_is_refused_with_file_and_line_and_the_way_to_allow_it() {
        let policy = SecretPolicy::new(&["hunter2-hunter2".to_owned()], &[]).unwrap();
        let patch = patch("src/[a].rs", "key = hunter2-hunter2");
        let problem = policy.require_clean(patch.as_bytes()).unwrap_err();
        assert_eq!(problem.kind, Kind::SecretInCommit);
        assert_eq!(
            problem.message,
            "not pushed: a secret is in `src/[a].rs:5` (commit cccccccc)"
        );
        let hint = problem.hint.unwrap();
        assert!(
            hint.contains("`secrets.allow = [\"src/[[]a[]].rs\"]`"),
            "{hint}"
        );
        assert!(!hint.contains("hunter2"), "{hint}");
    }

    #[test]
    fn what_a_person_allows_is_not_refused_and_only_there() {
        let value = "hunter2-hunter2".to_owned();
        let policy = SecretPolicy::new(&[value], &["tests/**".to_owned()]).unwrap();
        let inside = patch("tests/a/b.txt", "hunter2-hunter2");
        assert_eq!(policy.require_clean(inside.as_bytes()), Ok(()));
        let outside = patch("src/tests.txt", "hunter2-hunter2");
        assert!(policy.require_clean(outside.as_bytes()).is_err());
    }

    #[test]
    fn a_short_value_is_redacted_and_stops_no_push() {
        let policy = SecretPolicy::new(&["secret".to_owned()], &[]).unwrap();
        assert_eq!(policy.secrets().redact("a secret"), "a [redacted]");
        let patch = patch("a.txt", "no secret here");
        assert_eq!(policy.require_clean(patch.as_bytes()), Ok(()));
    }

    #[test]
    fn a_renewed_token_is_redacted_and_refused_from_then_on() {
        let policy = SecretPolicy::new(&["first-value".to_owned()], &[]).unwrap();
        let shared = policy.clone();
        assert_eq!(policy.secrets().redact("a renewed-1 b"), "a renewed-1 b");
        for number in 0..=MOST_LEARNED {
            shared.learn(&format!("renewed-{number}"));
        }
        let redact = |text: &str| policy.secrets().redact(text);
        assert_eq!(redact("a renewed-1 b"), "a [redacted] b");
        assert_eq!(redact("first-value"), "[redacted]", "never forgotten");
        assert_eq!(redact("renewed-0 x"), "renewed-0 x", "the oldest is");
        let patch = patch("a.txt", "key = renewed-199");
        assert!(policy.require_clean(patch.as_bytes()).is_err());
    }
}
