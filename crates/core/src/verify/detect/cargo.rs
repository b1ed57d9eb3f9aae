use super::command::Wanted;
use super::members::{Member, Touched, affected, changed_sources};
use crate::verify::envelope::StageName;
use crate::verify::plan::TestedMember;
use std::collections::BTreeSet;

/// A Cargo workspace, as `cargo metadata` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CargoWorkspace {
    /// The packages.
    pub packages: Vec<CargoPackage>,
    /// Whether `Cargo.lock` is tracked; then a build must not change it.
    pub locked: bool,
    /// Whether the project uses nextest.
    pub nextest: bool,
    /// Whether it depends on crates from a registry or a git repository.
    pub has_needs: bool,
}

/// One member of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CargoPackage {
    /// The name.
    pub name: String,
    /// Its folder, relative to the workspace; empty for a root package.
    pub dir: String,
    /// The members that it depends on, for any purpose.
    pub uses: Vec<String>,
    /// The names of its test binaries, including its documentation tests.
    pub tests: Vec<String>,
    /// Whether it has a library.
    pub has_lib: bool,
    /// Whether a benchmark needs unstable compiler features.
    pub has_nightly_bench: bool,
}

impl CargoWorkspace {
    pub(super) fn wanted(&self, touched: &Touched) -> Vec<Wanted> {
        let affected = self
            .affected(touched)
            .filter(|a| a.len() < self.packages.len());
        let selection = selection(affected.as_ref());
        let locked = self.locked.then(|| "--locked".to_owned());
        let tests: &[&str] = if self.nextest {
            &["cargo", "nextest", "run"]
        } else {
            &["cargo", "test"]
        };
        // The build itself has no network.
        let fetch = || Wanted::install(&["cargo", "fetch"]).args(locked.clone());
        let mut wanted: Vec<Wanted> = self.has_needs.then(fetch).into_iter().collect();
        wanted.extend([
            Wanted::new(StageName::Compile, &["cargo", "check"])
                .args(self.targets(affected.as_ref()))
                .args(locked.clone())
                .args(selection.clone()),
            Wanted::new(StageName::TargetedTests, tests)
                .args(locked)
                .args(selection)
                .members(self.changed(touched)),
        ]);
        wanted
    }

    /// Arguments for every target that the compiler can build. A benchmark with `#![feature(test)]` fails on
    /// stable, so benchmarks are left out there. `--lib` is an error for a package without a library.
    fn targets(&self, affected: Option<&BTreeSet<String>>) -> Vec<String> {
        let selected = || {
            let packages = self.packages.iter();
            packages.filter(|p| affected.is_none_or(|affected| affected.contains(&p.name)))
        };
        if !selected().any(|package| package.has_nightly_bench) {
            return vec!["--all-targets".to_owned()];
        }
        let lib = selected().all(|package| package.has_lib).then_some("--lib");
        let others = ["--bins", "--tests", "--examples"];
        lib.into_iter().chain(others).map(str::to_owned).collect()
    }

    /// The affected packages; `None` if a changed file concerns every package.
    fn affected(&self, touched: &Touched) -> Option<BTreeSet<String>> {
        affected(&self.members(), touched, concerns_all)
    }

    /// The packages with changed sources, each with the binaries that can test it.
    fn changed(&self, touched: &Touched) -> Vec<TestedMember> {
        let binaries = |names: &BTreeSet<String>| -> Vec<String> {
            let packages = self.packages.iter();
            let packages = packages.filter(|package| names.contains(&package.name));
            packages.flat_map(|package| package.tests.clone()).collect()
        };
        changed_sources(&self.members(), touched, ".rs")
            .into_iter()
            .map(|(name, names)| TestedMember {
                units: binaries(&names),
                name,
            })
            .collect()
    }

    fn members(&self) -> Vec<Member<'_>> {
        let members = self.packages.iter().map(|package| Member {
            name: &package.name,
            dir: &package.dir,
            uses: &package.uses,
        });
        members.collect()
    }
}

/// The arguments that select the affected packages.
fn selection(affected: Option<&BTreeSet<String>>) -> Vec<String> {
    let Some(affected) = affected else {
        return vec!["--workspace".to_owned()];
    };
    affected
        .iter()
        .flat_map(|name| ["-p".to_owned(), name.clone()])
        .collect()
}

/// Whether a crate's root file asks for unstable features: `#![feature(…)]`, but not
/// `#![cfg_attr(…, feature(…))]`, which a stable compiler skips.
pub fn needs_nightly(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        let inner = line.strip_prefix("#![").map(str::trim_start);
        inner.is_some_and(|inner| {
            inner
                .strip_prefix("feature")
                .is_some_and(|rest| rest.trim_start().starts_with('('))
        })
    })
}

/// Whether a file at the root of a workspace affects how every member is built.
fn concerns_all(path: &str) -> bool {
    matches!(
        path,
        "Cargo.toml" | "Cargo.lock" | "rust-toolchain" | "rust-toolchain.toml"
    ) || path.starts_with(".cargo/")
        || path.starts_with(".config/")
}
