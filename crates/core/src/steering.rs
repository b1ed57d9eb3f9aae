//! Steering files: files that control what tools, tests, agents and CI do.
//!
//! A run that changes one could widen its own rights, plant instructions for the next agent, choose which
//! foreign code is installed, or disable the tests that judge it. Such a change is flagged on the pull
//! request and in every report of a verification, and is only merged with a person's approval.

use crate::forge::text::plain_line;
use globset::{Glob, GlobBuilder, GlobMatcher};
use std::path::Path;

/// Drive's own settings, which no setting can exempt.
const OWN_SETTINGS: &str = "drive.toml";

/// File names that count in any folder.
const FILES: &[&str] = &[
    OWN_SETTINGS,
    // Instructions for agents, and programs that agents start.
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "contributing.md",
    "gemini.md",
    "copilot-instructions.md",
    ".clinerules",
    ".cursorrules",
    ".goosehints",
    ".mcp.json",
    ".windsurfrules",
    ".aider.conf.yml",
    "opencode.json",
    "opencode.jsonc",
    // CI.
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".travis.yml",
    ".drone.yml",
    ".cirrus.yml",
    ".woodpecker.yml",
    "appveyor.yml",
    ".appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "jenkinsfile",
    "codeowners",
    // Hooks, and files that git or a shell runs automatically.
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".gitattributes",
    ".gitmodules",
    ".envrc",
    // Sources of packages.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "pip.conf",
    // Lock files.
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "gemfile.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.resolved",
    "packages.lock.json",
    "paket.lock",
    "pdm.lock",
    "pipfile.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "podfile.lock",
    "poetry.lock",
    "pubspec.lock",
    "pylock.toml",
    "uv.lock",
    "yarn.lock",
];

/// Files that control the build and its tests, by name in any folder.
const BUILD_FILES: &[&str] = &[
    // Rust.
    "build.rs",
    "cargo.toml",
    "nextest.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    // JavaScript.
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".swcrc",
    ".taprc",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
    "jsconfig.json",
    "lerna.json",
    "nx.json",
    "package.json",
    "pnpm-workspace.yaml",
    "turbo.json",
    // Python.
    ".coveragerc",
    ".pytest.ini",
    ".pytest.toml",
    "conftest.py",
    "hatch.toml",
    "noxfile.py",
    "pdm.toml",
    "pipfile",
    "poetry.toml",
    "pyproject.toml",
    "pytest.ini",
    "pytest.toml",
    "setup.cfg",
    "setup.py",
    "sitecustomize.py",
    "tox.ini",
    "tox.toml",
    "uv.toml",
    // Go, C and C++.
    "cmakelists.txt",
    "cmakepresets.json",
    "cmakeuserpresets.json",
    "configure",
    "configure.ac",
    "ctestcustom.cmake",
    "ctesttestfile.cmake",
    "go.mod",
    "go.work",
    "gnumakefile",
    "makefile",
    "makefile.am",
    "makefile.in",
    "meson.build",
    "meson.options",
    "meson_options.txt",
    // The JVM.
    "build.sbt",
    "build.xml",
    "gradle.properties",
    "gradlew",
    "gradlew.bat",
    "libs.versions.toml",
    "mvnw",
    "mvnw.cmd",
    "pom.xml",
    // Ruby, PHP, .NET and task runners.
    ".rspec",
    "composer.json",
    "directory.build.props",
    "directory.build.targets",
    "gemfile",
    "global.json",
    "justfile",
    "nuget.config",
    "dotnet-tools.json",
    "mix.exs",
    "package.swift",
    "pest.php",
    "phpunit.dist.xml",
    "phpunit.xml",
    "phpunit.xml.dist",
    "rails_helper.rb",
    "rakefile",
    "spec_helper.rb",
    "taskfile.yaml",
    "taskfile.yml",
    "test_helper.rb",
    "xunit.runner.json",
    // Versions of tools.
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    "mise.toml",
];

/// Beginnings of the names of test runner configurations that exist in several languages.
const BUILD_BEGINNINGS: &[&str] = &[
    ".babelrc",
    ".mocharc.",
    ".nycrc",
    "ava.config.",
    "babel.config.",
    "cypress.config.",
    "jest.config.",
    "jest.setup.",
    "karma.conf.",
    "playwright.config.",
    "setuptests.",
    "tsconfig.",
    "vite.config.",
    "vitest.config.",
    "vitest.setup.",
    "vitest.workspace.",
    "webpack.config.",
];

/// Endings of the names of build files.
const BUILD_ENDINGS: &[&str] = &[
    ".cmake",
    ".csproj",
    ".gradle",
    ".gradle.kts",
    ".mak",
    ".props",
    ".rake",
    ".runsettings",
    ".targets",
    ".fsproj",
    ".gemspec",
    ".mk",
    ".sln",
    ".slnx",
    ".vbproj",
];

/// Folders that count anywhere: every file below them, and a link with such a name.
const FOLDERS: &[&str] = &[
    ".aider",
    ".agents",
    ".bundle",
    ".buildkite",
    ".cargo",
    ".circleci",
    ".claude",
    ".claude-plugin",
    ".clinerules",
    ".codex",
    ".continue",
    ".cruise",
    ".cursor",
    ".devcontainer",
    ".drive",
    ".gemini",
    ".git-hooks",
    ".githooks",
    ".husky",
    ".lefthook",
    ".mvn",
    ".opencode",
    ".roo",
    ".vscode",
    ".windsurf",
    ".woodpecker",
    ".yarn",
    "buildsrc",
];

/// Folders that only count inside another one.
const NESTED: &[(&str, &str)] = &[
    (".github", "workflows"),
    (".github", "actions"),
    (".github", "instructions"),
    (".github", "prompts"),
    (".github", "agents"),
    (".gitlab", "ci"),
    (".forgejo", "workflows"),
    (".gitea", "workflows"),
    ("gradle", "wrapper"),
];

/// Endings of files whose names depend on the project.
const ENDINGS: &[&str] = &[".instructions.md", ".prompt.md", ".code-workspace"];

/// How many names a text lists at most.
const MOST_NAMED: usize = 20;
/// The longest name in a text, in characters.
const NAME_CHARS: usize = 200;

/// Whether a change of this path, relative to the repository's root, needs a person's approval.
/// Letter case is ignored, because case-insensitive file systems also read `claude.MD`.
pub fn is_steering(path: &Path) -> bool {
    let text = path.to_string_lossy().to_lowercase();
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.last() else {
        return false;
    };
    let is_in_folder = parts.iter().any(|part| FOLDERS.contains(part));
    let is_nested = NESTED.iter().any(|(outer, inner)| {
        // A link in place of the outer folder brings its own inner one.
        name == outer || parts.windows(2).any(|pair| pair == [*outer, *inner])
    });
    let begins = |all: &[&str]| all.iter().any(|beginning| name.starts_with(beginning));
    let ends = |all: &[&str]| all.iter().any(|ending| name.ends_with(ending));
    // pip reads lists of packages from files with such names.
    let is_list = (name.starts_with("requirements") || name.starts_with("constraints"))
        && (name.ends_with(".txt") || name.ends_with(".in"));
    is_in_folder
        || is_nested
        || is_list
        || FILES.contains(name)
        || BUILD_FILES.contains(name)
        || begins(BUILD_BEGINNINGS)
        || ends(ENDINGS)
        || ends(BUILD_ENDINGS)
}

/// Whether a path, relative to the root of the repository, affects what is built or how tests run.
pub fn is_build_file(path: &str) -> bool {
    let text = path.to_lowercase();
    let name = text.rsplit('/').next().unwrap_or(&text);
    BUILD_FILES.contains(&name)
        || BUILD_BEGINNINGS.iter().any(|one| name.starts_with(one))
        || BUILD_ENDINGS.iter().any(|one| name.ends_with(one))
}

/// The paths that need a person's approval: the steering files, with the additions and exemptions
/// of `verify.protected_paths`.
#[derive(Clone, Debug, Default)]
pub struct Protected {
    /// Globs, each with whether it protects or exempts what it matches.
    own: Vec<(bool, GlobMatcher)>,
}

impl Protected {
    /// The steering files combined with these globs: a glob that begins with `!` exempts, and the
    /// last one that matches a path decides.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, globset::Error> {
        let own = globs.iter().map(|glob| {
            let glob = glob.as_ref();
            let exempt = glob.strip_prefix('!');
            Ok((
                exempt.is_none(),
                parse(exempt.unwrap_or(glob))?.compile_matcher(),
            ))
        });
        Ok(Self {
            own: own.collect::<Result<_, globset::Error>>()?,
        })
    }

    /// Whether a change of this path, relative to the repository's root, needs a person's approval.
    pub fn covers(&self, path: &Path) -> bool {
        let is_own_settings = path.to_string_lossy().to_lowercase() == OWN_SETTINGS;
        let last = self.own.iter().rev().find(|(_, glob)| glob.is_match(path));
        is_own_settings || last.map_or_else(|| is_steering(path), |(protects, _)| *protects)
    }

    /// The protected paths among changed ones, as text, in order and without duplicates. Both sides
    /// of a rename count, because the caller lists changes without following renames.
    pub fn among<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Vec<String> {
        let paths = paths.into_iter();
        let mut files: Vec<String> = paths
            .filter(|path| self.covers(path.as_ref()))
            .map(|path| path.as_ref().to_string_lossy().into_owned())
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

fn parse(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build()
}

/// The [protected](Protected::among) paths if no setting adds or exempts any.
pub fn steering_files<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<String> {
    Protected::default().among(paths)
}

/// The names as part of a sentence, without markup and shortened, because they are foreign text.
pub fn named(files: &[String]) -> String {
    let mut names: Vec<String> = files
        .iter()
        .take(MOST_NAMED)
        .map(|file| format!("`{}`", plain_line(file, NAME_CHARS)))
        .collect();
    if files.len() > MOST_NAMED {
        names.push(format!("{} more", files.len() - MOST_NAMED));
    }
    names.join(", ")
}

/// The paragraph about changed steering files for a pull request's description; `None` if there are none.
pub fn notice(files: &[String]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    Some(format!(
        "**Steering files changed:** {}. They decide what agents, CI, tests and tools do next: read them \
         before you merge. Drive merges this by itself only after a person approved its latest \
         commit.",
        named(files)
    ))
}

#[cfg(test)]
mod tests;
