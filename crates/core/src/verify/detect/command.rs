//! The commands that a detector plans, and the changes that no command tests.

use crate::verify::envelope::StageName;
use crate::verify::plan::TestedMember;

/// A command that a detector plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: StageName,
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Whether it installs packages and may therefore reach the package registries.
    pub(crate) installs: bool,
    /// Changed members; the command must test each.
    pub(crate) members: Vec<TestedMember>,
}

impl Wanted {
    pub(crate) fn new(name: StageName, argv: &[&str]) -> Self {
        Self {
            name,
            argv: argv.iter().map(|&s| s.to_owned()).collect(),
            env: Vec::new(),
            installs: false,
            members: Vec::new(),
        }
    }

    /// A command of the compile stage that installs packages.
    pub(crate) fn install(argv: &[&str]) -> Self {
        Self {
            installs: true,
            ..Self::new(StageName::Compile, argv)
        }
    }

    pub(crate) fn args(mut self, more: impl IntoIterator<Item = String>) -> Self {
        self.argv.extend(more);
        self
    }

    pub(crate) fn members(mut self, members: Vec<TestedMember>) -> Self {
        self.members = members;
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Changed paths of a project that no planned command tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The paths, relative to the project.
    pub(crate) paths: Vec<String>,
    /// Why they are not tested.
    pub(crate) why: String,
    /// How to get them tested.
    pub(crate) remedy: String,
}
