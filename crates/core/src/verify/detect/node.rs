use super::command::{Gap, Wanted};
use super::members::{Member, Touched, affected, owner, with_dependents};
use super::scripts::{Scripts, delegates};
use crate::verify::envelope::StageName;
use crate::verify::plan::TestedMember;
use std::collections::BTreeSet;

/// The smallest heap with which node can start, in MiB.
const SMALLEST_HEAP_MIB: u64 = 64;

/// A workspace of a Node package manager, or a single package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeWorkspace {
    /// The package manager.
    pub manager: NodeManager,
    /// Whether Turborepo is configured.
    pub turbo: bool,
    /// The scripts of the root package, by name.
    pub root_scripts: Scripts,
    /// The packages of the workspace; empty for a single package.
    pub packages: Vec<NodePackage>,
    /// Whether it needs packages that must be installed.
    pub has_needs: bool,
    /// Which packages are installed already.
    pub installed: Installed,
    /// Whether there is a lock file to install from.
    pub locked: bool,
}

/// The packages that are installed before the first stage: a cache from the caller's checkout, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// No packages are installed.
    Nothing,
    /// Packages for the candidate's own manifests and lock files, as far as these tell.
    AsAsked,
    /// Packages for other manifests or lock files.
    ForOthers,
}

/// The package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeManager {
    /// The npm CLI.
    Npm,
    /// The pnpm CLI.
    Pnpm,
    /// Yarn 1.
    YarnClassic,
    /// Yarn 2 and later.
    YarnBerry,
    /// The Bun runtime.
    Bun,
}

impl NodeManager {
    /// The manager that the files in a project's root and its `packageManager` indicate.
    pub fn detect(
        package_manager: Option<&str>,
        yarn_lock: Option<&str>,
        has: &dyn Fn(&str) -> bool,
    ) -> Self {
        let is = |name: &str| package_manager.is_some_and(|text| text.starts_with(name));
        // Since version 2, the lock file is YAML with this key.
        let is_berry = || {
            has(".yarnrc.yml")
                || yarn_lock.is_some_and(|text| text.contains("__metadata:"))
                || (is("yarn@") && !is("yarn@1.") && !is("yarn@0."))
        };
        if is("pnpm@") || has("pnpm-workspace.yaml") || has("pnpm-lock.yaml") {
            NodeManager::Pnpm
        } else if is("yarn@") || has("yarn.lock") || has(".yarnrc.yml") {
            if is_berry() {
                NodeManager::YarnBerry
            } else {
                NodeManager::YarnClassic
            }
        } else if is("bun@") || has("bun.lock") || has("bun.lockb") {
            NodeManager::Bun
        } else {
            NodeManager::Npm
        }
    }

    /// The lock files that it installs from.
    pub fn lock_files(self) -> &'static [&'static str] {
        match self {
            NodeManager::Npm => &["package-lock.json", "npm-shrinkwrap.json"],
            NodeManager::Pnpm => &["pnpm-lock.yaml"],
            NodeManager::YarnClassic | NodeManager::YarnBerry => &["yarn.lock"],
            NodeManager::Bun => &["bun.lock", "bun.lockb"],
        }
    }

    fn program(self) -> &'static str {
        match self {
            NodeManager::Npm => "npm",
            NodeManager::Pnpm => "pnpm",
            NodeManager::YarnClassic | NodeManager::YarnBerry => "yarn",
            NodeManager::Bun => "bun",
        }
    }

    fn install(self, locked: bool) -> &'static [&'static str] {
        match (self, locked) {
            (NodeManager::Npm, true) => &["npm", "ci", "--no-audit", "--no-fund"],
            (NodeManager::Npm, false) => &[
                "npm",
                "install",
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
            ],
            (NodeManager::Pnpm, true) => &["pnpm", "install", "--frozen-lockfile"],
            (NodeManager::Pnpm, false) => &["pnpm", "install", "--no-lockfile"],
            (NodeManager::YarnClassic, true) => {
                &["yarn", "install", "--frozen-lockfile", "--non-interactive"]
            }
            (NodeManager::YarnClassic, false) => {
                &["yarn", "install", "--no-lockfile", "--non-interactive"]
            }
            (NodeManager::YarnBerry, true) => &["yarn", "install", "--immutable"],
            // Yarn refuses to write a lock file if `CI` is set.
            (NodeManager::YarnBerry, false) => &["yarn", "install", "--no-immutable"],
            (NodeManager::Bun, true) => &["bun", "install", "--frozen-lockfile"],
            (NodeManager::Bun, false) => &["bun", "install", "--no-save"],
        }
    }

    fn turbo(self) -> &'static [&'static str] {
        match self {
            NodeManager::Npm => &["npx", "--no-install", "turbo", "run"],
            NodeManager::Pnpm => &["pnpm", "exec", "turbo", "run"],
            NodeManager::YarnClassic | NodeManager::YarnBerry => &["yarn", "run", "turbo", "run"],
            NodeManager::Bun => &["bun", "x", "--no-install", "turbo", "run"],
        }
    }
}

/// One package of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePackage {
    /// The name.
    pub name: String,
    /// Its folder, relative to the workspace.
    pub dir: String,
    /// The names of its scripts.
    pub scripts: Vec<String>,
    /// The packages of the workspace that it depends on.
    pub uses: Vec<String>,
}

impl NodePackage {
    fn has(&self, script: &str) -> bool {
        self.scripts.iter().any(|name| name == script)
    }
}

/// The name of the script that tests a package.
const TEST: &str = "test";
/// The script names that are searched for; the first existing one is used.
const COMPILE: [&str; 3] = ["build", "compile", "typecheck"];
const SMOKE: [&str; 2] = ["startup-smoke", "smoke"];

impl NodeWorkspace {
    pub(super) fn wanted(
        &self,
        touched: &Touched,
        memory_bytes: Option<u64>,
    ) -> Result<Vec<Wanted>, Gap> {
        let affected = self.affected(touched);
        let mut wanted = self.script(StageName::Compile, &COMPILE, affected.as_ref());
        wanted.extend(self.tests(touched, affected.as_ref())?);
        wanted.extend(self.script(StageName::StartupSmoke, &SMOKE, affected.as_ref()));
        if self.must_install(touched) && !wanted.is_empty() {
            wanted.splice(0..0, self.install());
        }
        for stage in &mut wanted {
            stage.env = environment(memory_bytes);
        }
        Ok(wanted)
    }

    /// Whether packages must be installed: a candidate that changes its dependencies must not be
    /// tested with the old ones.
    fn must_install(&self, touched: &Touched) -> bool {
        match self.installed {
            Installed::Nothing => self.has_needs,
            Installed::ForOthers => true,
            Installed::AsAsked => touched.paths().any(|path| decides_packages(path)),
        }
    }

    fn install(&self) -> Vec<Wanted> {
        let mut wanted = vec![Wanted::install(self.manager.install(self.locked))];
        let keeps_others = self.manager == NodeManager::Npm && !self.locked;
        if keeps_others && self.installed != Installed::Nothing {
            // Without a lock file, npm leaves packages in place that are no longer needed.
            let prune = [
                "npm",
                "prune",
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
            ];
            wanted.push(Wanted::install(&prune));
        }
        wanted
    }

    fn members(&self) -> Vec<Member<'_>> {
        let members = self.packages.iter().map(|package| Member {
            name: &package.name,
            dir: &package.dir,
            uses: &package.uses,
        });
        members.collect()
    }

    /// The affected packages; `None` if the root or a file above all packages changed.
    fn affected(&self, touched: &Touched) -> Option<BTreeSet<String>> {
        affected(&self.members(), touched, |_| false)
    }

    /// The commands that run a script in the affected packages. If all are affected, the root's own
    /// script comes first.
    fn script(
        &self,
        stage: StageName,
        names: &[&str],
        affected: Option<&BTreeSet<String>>,
    ) -> Vec<Wanted> {
        let root = names
            .iter()
            .find(|name| self.root_scripts.contains_key(**name));
        if let (None, Some(name)) = (affected, root) {
            return vec![self.run_root(stage, name)];
        }
        let found = names.iter().find_map(|name| {
            let with = self.with_script(name, affected);
            (!with.is_empty()).then(|| self.run_in(stage, name, &with))
        });
        found.unwrap_or_default()
    }

    /// The commands that test every changed package: its own test script and those of its
    /// dependents. A package that none of them tests is left to the root's script, unless that only
    /// starts the scripts of packages.
    fn tests(
        &self,
        touched: &Touched,
        affected: Option<&BTreeSet<String>>,
    ) -> Result<Vec<Wanted>, Gap> {
        let stage = StageName::TargetedTests;
        let members = self.members();
        let changed: BTreeSet<String> = touched
            .paths()
            .filter_map(|path| Some(owner(&members, path)?.name.to_owned()))
            .collect();
        let is_untested = |name: &&String| {
            let reached = with_dependents(&members, BTreeSet::from([(*name).clone()]));
            self.with_script(TEST, Some(&reached)).is_empty()
        };
        let untested: Vec<&String> = changed.iter().filter(is_untested).collect();
        let root = self.root_scripts.contains_key(TEST);
        let root_starts_packages = delegates(&self.root_scripts, TEST);
        if let Some(name) = untested.first().filter(|_| !root || root_starts_packages) {
            return Err(self.gap(name, touched, root));
        }
        let own = match affected {
            Some(affected) => self.with_script(TEST, Some(affected)),
            None if root && root_starts_packages => Vec::new(),
            None if root => {
                self.with_script(TEST, Some(&with_dependents(&members, changed.clone())))
            }
            None => self.with_script(TEST, None),
        };
        let mut wanted = Vec::new();
        let with_root = root && (affected.is_none() || !untested.is_empty());
        if with_root {
            wanted.push(self.run_root(stage, TEST));
        }
        if !own.is_empty() {
            let mut runs = self.run_in(stage, TEST, &own);
            if let ([run], false, 2..) = (runs.as_mut_slice(), with_root, own.len()) {
                run.members = self.tested(&changed);
            }
            wanted.extend(runs);
        }
        Ok(wanted)
    }

    /// The changed packages, each with the packages whose tests exercise it: if one command runs
    /// the tests of several packages, those of one must not count for all.
    fn tested(&self, changed: &BTreeSet<String>) -> Vec<TestedMember> {
        let tested = changed.iter().map(|name| {
            let reached = with_dependents(&self.members(), BTreeSet::from([name.clone()]));
            let units = self.with_script(TEST, Some(&reached)).into_iter();
            TestedMember {
                name: name.clone(),
                units: units.map(|unit| self.told_as(unit)).collect(),
            }
        });
        tested.collect()
    }

    /// The name of a package in the output; for pnpm, its folder.
    fn told_as(&self, name: &str) -> String {
        let package = self.packages.iter().find(|package| package.name == name);
        match (self.manager, package) {
            (NodeManager::Pnpm, Some(package)) if !self.turbo => package.dir.clone(),
            _ => name.to_owned(),
        }
    }

    fn gap(&self, name: &str, touched: &Touched, root: bool) -> Gap {
        let members = self.members();
        let is_own = |path: &&String| owner(&members, path).is_some_and(|m| m.name == name);
        let why = if root {
            format!(
                "package `{name}` and its dependents have no `test` script, and the root's only runs \
                 package scripts"
            )
        } else {
            format!("package `{name}`, its dependents and the root have no `test` script")
        };
        Gap {
            paths: touched.paths().filter(is_own).cloned().collect(),
            why,
            remedy: format!("add a `test` script to package `{name}`"),
        }
    }

    /// The affected packages with this script.
    fn with_script(&self, script: &str, affected: Option<&BTreeSet<String>>) -> Vec<&str> {
        let packages = self.packages.iter();
        packages
            .filter(|p| affected.is_none_or(|affected| affected.contains(&p.name)))
            .filter(|p| p.has(script))
            .map(|p| p.name.as_str())
            .collect()
    }

    fn run_root(&self, stage: StageName, script: &str) -> Wanted {
        Wanted::new(stage, &[self.manager.program(), "run", script])
    }

    fn run_in(&self, stage: StageName, script: &str, packages: &[&str]) -> Vec<Wanted> {
        let filters = packages.iter().map(|p| format!("--filter={p}"));
        if self.turbo {
            let turbo = Wanted::new(stage, self.manager.turbo());
            return vec![turbo.args([script.to_owned()]).args(filters)];
        }
        match self.manager {
            NodeManager::Npm => vec![
                Wanted::new(stage, &["npm", "run", script])
                    .args(packages.iter().map(|p| format!("--workspace={p}"))),
            ],
            NodeManager::Pnpm => vec![
                Wanted::new(stage, &["pnpm"])
                    .args(filters)
                    .args(["run".to_owned(), script.to_owned()]),
            ],
            // Yarn can run a script in only one workspace at a time.
            NodeManager::YarnClassic | NodeManager::YarnBerry => packages
                .iter()
                .map(|package| Wanted::new(stage, &["yarn", "workspace", package, "run", script]))
                .collect(),
            NodeManager::Bun => vec![
                Wanted::new(stage, &["bun", "run"])
                    .args(filters)
                    .args([script.to_owned()]),
            ],
        }
    }
}

/// The files, at the root or in a member, that decide which packages are installed.
pub const PACKAGE_FILES: [&str; 12] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".npmrc",
    "yarn.lock",
    ".yarnrc",
    ".yarnrc.yml",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
];

fn decides_packages(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    PACKAGE_FILES.contains(&name)
}

/// Variables of node's environment. The heap limit leaves a quarter of the memory limit to everything else:
/// without it, node sizes its heap by the machine, and is killed at the limit instead of collecting garbage.
fn environment(memory_bytes: Option<u64>) -> Vec<(String, String)> {
    let mut env = vec![("TURBO_TELEMETRY_DISABLED".to_owned(), "1".to_owned())];
    if let Some(bytes) = memory_bytes {
        let heap = (bytes / 4 * 3 / (1024 * 1024)).max(SMALLEST_HEAP_MIB);
        env.push((
            "NODE_OPTIONS".to_owned(),
            format!("--max-old-space-size={heap}"),
        ));
    }
    env
}

#[cfg(test)]
#[path = "../detect_node_tests.rs"]
mod tests;
