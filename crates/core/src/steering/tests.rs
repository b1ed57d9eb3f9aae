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
        "Cargo.toml",
        "web/package.json",
        "tests/conftest.py",
        "pytest.ini",
        "Makefile",
        "rules.mk",
        "web/vitest.config.mts",
        "api/build.gradle.kts",
        "src/App.csproj",
        "api/requirements-dev.txt",
        "gradle/deps.gradle",
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
        "docs/makefile.md",
        "docs/requirements.md",
        "config/jest.rs",
        "github/workflows/x",
    ] {
        assert!(!is_steering(Path::new(path)), "{path}");
    }
}

#[test]
fn the_last_glob_that_matches_decides_and_the_settings_stay_protected() {
    let globs = [
        "migrations/**",
        "!**/Cargo.lock",
        "!drive.toml",
        "vendor/Cargo.lock",
    ];
    let protected = Protected::new(&globs).unwrap();
    let changed = [
        "drive.toml",
        "migrations/1.sql",
        "Cargo.lock",
        "vendor/Cargo.lock",
        "src/main.rs",
        "AGENTS.md",
    ];
    assert_eq!(
        protected.among(changed),
        [
            "AGENTS.md",
            "drive.toml",
            "migrations/1.sql",
            "vendor/Cargo.lock"
        ]
    );
    assert!(Protected::new(&["!["]).is_err());
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
