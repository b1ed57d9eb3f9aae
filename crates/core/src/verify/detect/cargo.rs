use super::{Member, Touched, Wanted, affected};
use crate::verify::envelope::StageName;
use std::collections::BTreeSet;

/// A Cargo workspace, as `cargo metadata` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CargoWorkspace {
    /// The packages.
    pub packages: Vec<CargoPackage>,
    /// Whether `Cargo.lock` is tracked, so that a build must not change it.
    pub locked: bool,
    /// Whether the project is set up for nextest.
    pub nextest: bool,
}

/// One member of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CargoPackage {
    /// The name.
    pub name: String,
    /// Its folder, relative to the workspace; empty for a root package.
    pub dir: String,
    /// The members it depends on, for whatever purpose.
    pub uses: Vec<String>,
}

impl CargoWorkspace {
    pub(super) fn wanted(&self, touched: &Touched) -> Vec<Wanted> {
        let selection = self.selection(touched);
        let locked = self.locked.then(|| "--locked".to_owned());
        let tests: &[&str] = if self.nextest {
            &["cargo", "nextest", "run"]
        } else {
            &["cargo", "test"]
        };
        vec![
            Wanted::new(StageName::Compile, &["cargo", "check", "--all-targets"])
                .args(locked.clone())
                .args(selection.clone()),
            Wanted::new(StageName::TargetedTests, tests)
                .args(locked)
                .args(selection),
        ]
    }

    /// The packages that changed and those that depend on them, as arguments.
    fn selection(&self, touched: &Touched) -> Vec<String> {
        let Some(affected) = self
            .affected(touched)
            .filter(|a| a.len() < self.packages.len())
        else {
            return vec!["--workspace".to_owned()];
        };
        affected
            .into_iter()
            .flat_map(|name| ["-p".to_owned(), name])
            .collect()
    }

    /// `None` when something changed that concerns every package.
    fn affected(&self, touched: &Touched) -> Option<BTreeSet<String>> {
        let members = self.packages.iter().map(|package| Member {
            name: &package.name,
            dir: &package.dir,
            uses: &package.uses,
        });
        affected(&members.collect::<Vec<_>>(), touched, concerns_all)
    }
}

/// Files at the root of a workspace that decide how every member is built.
fn concerns_all(path: &str) -> bool {
    matches!(
        path,
        "Cargo.toml" | "Cargo.lock" | "rust-toolchain" | "rust-toolchain.toml"
    ) || path.starts_with(".cargo/")
        || path.starts_with(".config/")
}
