//! Errors in settings, as a user sees them.

mod agents;
mod keys;
mod reports;
mod values;

use super::*;

/// The errors in a text, as a user sees them: origin, message and hint.
fn mistakes(text: &str) -> Vec<String> {
    let findings = resolve(&[file(text)]).expect_err(text).0;
    let shown = findings.iter().map(|finding| match &finding.hint {
        Some(hint) => format!("{}: {} ({hint})", finding.origin, finding.message),
        None => format!("{}: {}", finding.origin, finding.message),
    });
    shown.collect()
}

#[track_caller]
fn assert_mistake(text: &str, expected: &str) {
    assert_eq!(mistakes(text), [expected], "{text}");
}
