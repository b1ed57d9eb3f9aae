use super::{Member, Touched, Wanted, affected};
use crate::verify::envelope::StageName;
use std::collections::BTreeSet;

/// Below this heap node itself hardly starts.
const SMALLEST_HEAP_MIB: u64 = 64;

/// An npm or pnpm workspace, or a single package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeWorkspace {
    /// The package manager.
    pub manager: NodeManager,
    /// Whether Turborepo is set up.
    pub turbo: bool,
    /// The scripts of the root package.
    pub root_scripts: Vec<String>,
    /// The packages of the workspace; empty for a single package.
    pub packages: Vec<NodePackage>,
    /// Whether it needs packages that something must install.
    pub has_needs: bool,
    /// The state of installed packages.
    pub installed: Installed,
    /// Whether a lock file is there to install from.
    pub locked: bool,
}

/// What is installed before the first stage: a cache from the caller's checkout, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// No packages are installed.
    Nothing,
    /// What the candidate's manifests and lock files ask for, as far as these tell.
    AsAsked,
    /// What other manifests or lock files asked for.
    ForOthers,
}

/// The package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeManager {
    /// npm.
    Npm,
    /// pnpm.
    Pnpm,
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
    /// The packages of the workspace it depends on.
    pub uses: Vec<String>,
}

/// The script names looked for, the first that exists is taken.
const SCRIPTS: [(StageName, &[&str]); 3] = [
    (StageName::Compile, &["build", "compile", "typecheck"]),
    (StageName::TargetedTests, &["test"]),
    (StageName::StartupSmoke, &["startup-smoke", "smoke"]),
];

impl NodeWorkspace {
    pub(super) fn wanted(&self, touched: &Touched, memory_bytes: Option<u64>) -> Vec<Wanted> {
        let affected = self.affected(touched);
        let mut wanted: Vec<Wanted> = SCRIPTS
            .iter()
            .filter_map(|(stage, names)| self.script(*stage, names, affected.as_ref()))
            .collect();
        if self.must_install(touched) && !wanted.is_empty() {
            wanted.splice(0..0, self.install());
        }
        for stage in &mut wanted {
            stage.env = environment(memory_bytes);
        }
        wanted
    }

    /// A candidate that changes what it needs is not judged by what was installed before.
    fn must_install(&self, touched: &Touched) -> bool {
        match self.installed {
            Installed::Nothing => self.has_needs,
            Installed::ForOthers => true,
            Installed::AsAsked => match touched {
                Touched::All => false,
                Touched::Paths(paths) => paths.iter().any(|path| decides_packages(path)),
            },
        }
    }

    fn install(&self) -> Vec<Wanted> {
        let argv: &[&str] = match (self.manager, self.locked) {
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
        };
        let mut wanted = vec![Wanted::new(StageName::Compile, argv)];
        let keeps_others = self.manager == NodeManager::Npm && !self.locked;
        if keeps_others && self.installed != Installed::Nothing {
            // Without a lock file npm leaves what nothing asks for any more where it is.
            let prune = [
                "npm",
                "prune",
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
            ];
            wanted.push(Wanted::new(StageName::Compile, &prune));
        }
        wanted
    }

    /// `None` when the root or something above all packages changed.
    fn affected(&self, touched: &Touched) -> Option<BTreeSet<String>> {
        let members = self.packages.iter().map(|package| Member {
            name: &package.name,
            dir: &package.dir,
            uses: &package.uses,
        });
        affected(&members.collect::<Vec<_>>(), touched, |_| false)
    }

    /// The script of the affected packages. Where all are, the root's own script comes first.
    fn script(
        &self,
        stage: StageName,
        names: &[&str],
        affected: Option<&BTreeSet<String>>,
    ) -> Option<Wanted> {
        let has = |scripts: &[String], name: &str| scripts.iter().any(|script| script == name);
        let root = names.iter().find(|name| has(&self.root_scripts, name));
        if let (None, Some(name)) = (affected, root) {
            return Some(Wanted::new(stage, &[self.program(), "run", name]));
        }
        names.iter().find_map(|name| {
            let with: Vec<&str> = self
                .packages
                .iter()
                .filter(|p| affected.is_none_or(|affected| affected.contains(&p.name)))
                .filter(|p| has(&p.scripts, name))
                .map(|p| p.name.as_str())
                .collect();
            (!with.is_empty()).then(|| self.run_in(stage, name, &with))
        })
    }

    fn run_in(&self, stage: StageName, script: &str, packages: &[&str]) -> Wanted {
        if self.turbo {
            let start: &[&str] = match self.manager {
                NodeManager::Npm => &["npx", "--no-install", "turbo", "run"],
                NodeManager::Pnpm => &["pnpm", "exec", "turbo", "run"],
            };
            let filters = packages.iter().map(|p| format!("--filter={p}"));
            return Wanted::new(stage, start)
                .args([script.to_owned()])
                .args(filters);
        }
        match self.manager {
            NodeManager::Npm => Wanted::new(stage, &["npm", "run", script])
                .args(packages.iter().map(|p| format!("--workspace={p}"))),
            NodeManager::Pnpm => Wanted::new(stage, &["pnpm"])
                .args(packages.iter().map(|p| format!("--filter={p}")))
                .args(["run".to_owned(), script.to_owned()]),
        }
    }

    fn program(&self) -> &'static str {
        match self.manager {
            NodeManager::Npm => "npm",
            NodeManager::Pnpm => "pnpm",
        }
    }
}

/// The files that decide what is installed, at the root or in a member.
pub const PACKAGE_FILES: [&str; 6] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".npmrc",
];

fn decides_packages(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    PACKAGE_FILES.contains(&name)
}

/// A heap that leaves a quarter of the limit to everything that is not JavaScript's heap: without
/// it node sizes its heap by the machine, and is killed at the limit instead of collecting garbage.
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
