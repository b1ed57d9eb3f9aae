//! Steering files: files that decide what tools, agents and CI do next.
//!
//! A run that changes one could widen its own rights, plant instructions for the next agent, or
//! choose which foreign code is installed. Such a change is flagged on the pull request and is not
//! merged without a person's approval.

use crate::forge::text::plain_line;
use std::path::Path;

/// Names of files, in any folder.
const FILES: &[&str] = &[
    // Settings of drive.
    "drive.toml",
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
    // Hooks, and what git or a shell runs by itself.
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".gitattributes",
    ".gitmodules",
    ".envrc",
    // Where packages come from.
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

/// Folders, anywhere: every file below them counts, and so does a link of that name.
const FOLDERS: &[&str] = &[
    ".aider",
    ".agents",
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
];

/// Folders that count only inside another one.
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

/// Files whose names depend on the project.
const ENDINGS: &[&str] = &[".instructions.md", ".prompt.md", ".code-workspace"];

/// How many names a text lists.
const MOST_NAMED: usize = 20;
/// The longest name in a text, in characters.
const NAME_CHARS: usize = 200;

/// Whether a change of this path, relative to the root of the repository, needs a person. Letter
/// case does not matter: file systems that fold it read `claude.MD` as well.
pub fn is_steering(path: &Path) -> bool {
    let text = path.to_string_lossy().to_lowercase();
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.last() else {
        return false;
    };
    let is_in_folder = parts.iter().any(|part| FOLDERS.contains(part));
    let is_nested = NESTED.iter().any(|(outer, inner)| {
        // A link that takes the place of the outer folder brings its own inner one.
        name == outer || parts.windows(2).any(|pair| pair == [*outer, *inner])
    });
    is_in_folder
        || is_nested
        || FILES.contains(name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The steering files among changed paths, as text, in order, each once. A rename counts on both
/// sides: the caller lists changes without following renames.
pub fn steering_files<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<String> {
    let paths = paths.into_iter();
    let mut files: Vec<String> = paths
        .filter(|path| is_steering(path.as_ref()))
        .map(|path| path.as_ref().to_string_lossy().into_owned())
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// The names as part of a sentence: other people's text, so without markup, and not all of many.
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

/// The paragraph in the description of a pull request; nothing where no steering file changed.
pub fn notice(files: &[String]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    Some(format!(
        "**Steering files changed:** {}. They decide what agents, CI and tools do next: read them \
         before you merge. Drive merges this by itself only after a person approved its latest \
         commit.",
        named(files)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_prompts_workflows_hooks_instructions_and_lock_files_are_steering_files() {
        for path in [
            "drive.toml",
            ".drive/prompts/plan.md",
            ".github/workflows/ci.yml",
            ".github/actions/setup/action.yml",
            ".github",
            ".gitlab-ci.yml",
            ".husky/pre-commit",
            ".githooks/post-checkout",
            ".pre-commit-config.yaml",
            "CLAUDE.md",
            "docs/AGENTS.md",
            "CONTRIBUTING.md",
            "sub/dir/gemini.MD",
            ".claude/settings.json",
            "web/.cursor/rules/x.mdc",
            ".codex",
            ".gemini/settings.json",
            ".mcp.json",
            ".vscode/tasks.json",
            ".devcontainer/devcontainer.json",
            "Cargo.lock",
            "web/package-lock.json",
            "pnpm-lock.yaml",
            "yarn.lock",
            "uv.lock",
            "poetry.lock",
            "go.sum",
            ".GitHub/Workflows/CI.yml",
            ".gitattributes",
            "JENKINSFILE",
            ".cargo/config.toml",
            "x/review.prompt.md",
        ] {
            assert!(is_steering(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not_steering_files() {
        for path in [
            "",
            "src/main.rs",
            "README.md",
            "workflows/ci.yml",
            "docs/claude.md.txt",
            "my-drive.toml",
            "claude/settings.json",
            ".github/ISSUE_TEMPLATE/bug.md",
            "src/lock.rs",
            "Cargo.toml",
            "github/workflows/x",
        ] {
            assert!(!is_steering(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn both_sides_of_a_rename_are_listed_once_and_in_order() {
        let paths = ["yarn.lock", "src/a.rs", "AGENTS.md", "yarn.lock"];
        assert_eq!(steering_files(paths), ["AGENTS.md", "yarn.lock"]);
    }

    #[test]
    fn a_name_cannot_bring_markup_into_the_notice_and_a_long_list_is_cut() {
        let files = vec!["a`</b>@all\n/AGENTS.md".to_owned()];
        let text = notice(&files).unwrap();
        assert!(text.contains("`a/b@all/AGENTS.md`"), "{text}");
        let many: Vec<String> = (0..25).map(|n| format!("{n}/go.sum")).collect();
        let text = notice(&many).unwrap();
        assert!(text.contains("`19/go.sum`, 5 more."), "{text}");
        assert!(!text.contains("20/go.sum"), "{text}");
        assert_eq!(notice(&[]), None);
    }
}
