use super::Wanted;
use crate::verify::envelope::StageName;

/// A Makefile and the targets it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Makefile {
    /// Explicit targets, in order.
    pub targets: Vec<String>,
}

const TARGETS: [(StageName, &[&str]); 3] = [
    (StageName::Compile, &["build", "compile", "all"]),
    (StageName::TargetedTests, &["test", "tests", "check"]),
    (StageName::StartupSmoke, &["startup-smoke", "smoke"]),
];

impl Makefile {
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        TARGETS
            .iter()
            .filter_map(|(stage, names)| {
                let name = names
                    .iter()
                    .find(|&&n| self.targets.iter().any(|t| t == n))?;
                Some(Wanted::new(*stage, &["make", name]))
            })
            .collect()
    }
}

/// The explicit targets of a Makefile's text.
pub fn make_targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in text.lines() {
        let Some((names, rest)) = line.split_once(':') else {
            continue;
        };
        let is_rule = !line.starts_with(['\t', ' ', '#', '.'])
            && !rest.starts_with('=')
            && !rest.starts_with(":=")
            && !names.contains(['=', '$', '%', '#', '"']);
        if is_rule {
            targets.extend(names.split_whitespace().map(str::to_owned));
        }
    }
    targets
}
