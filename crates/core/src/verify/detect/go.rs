use super::command::Wanted;
use super::members::{Member, Touched, affected, changed_sources};
use crate::verify::envelope::StageName;
use crate::verify::plan::TestedMember;
use std::collections::BTreeSet;

/// A Go module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoModule {
    /// Its packages, as `go list` describes them; empty if that failed.
    pub packages: Vec<GoPackage>,
    /// Whether it requires modules that it does not vendor.
    pub has_needs: bool,
}

/// One package of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoPackage {
    /// The import path.
    pub import_path: String,
    /// Its folder, relative to the module; empty for the module's root.
    pub dir: String,
    /// The import paths that it uses, including those of its tests.
    pub uses: Vec<String>,
}

impl GoModule {
    pub(super) fn wanted(&self, touched: &Touched) -> Vec<Wanted> {
        let selection = self.selection(touched);
        // The build itself has no network.
        let fetch = || Wanted::install(&["go", "mod", "download"]);
        let mut wanted: Vec<Wanted> = self.has_needs.then(fetch).into_iter().collect();
        wanted.extend([
            Wanted::new(StageName::Compile, &["go", "build"]).args(selection.clone()),
            Wanted::new(StageName::TargetedTests, &["go", "test"])
                .args(selection)
                .members(self.changed(touched)),
        ]);
        wanted
    }

    fn selection(&self, touched: &Touched) -> Vec<String> {
        let affected = self
            .affected(touched)
            .filter(|a| a.len() < self.packages.len());
        affected.map_or_else(|| vec!["./...".to_owned()], |a| a.into_iter().collect())
    }

    /// The affected packages; `None` if a changed file concerns every package.
    fn affected(&self, touched: &Touched) -> Option<BTreeSet<String>> {
        affected(&self.members(), touched, concerns_all)
    }

    /// The packages with changed sources, each with the packages whose tests exercise it.
    fn changed(&self, touched: &Touched) -> Vec<TestedMember> {
        let changed = changed_sources(&self.members(), touched, ".go").into_iter();
        changed
            .map(|(name, packages)| TestedMember {
                units: packages.into_iter().collect(),
                name,
            })
            .collect()
    }

    fn members(&self) -> Vec<Member<'_>> {
        let members = self.packages.iter().map(|package| Member {
            name: &package.import_path,
            dir: &package.dir,
            uses: &package.uses,
        });
        members.collect()
    }
}

fn concerns_all(path: &str) -> bool {
    matches!(path, "go.mod" | "go.sum") || path.starts_with("vendor/")
}
