//! The files that control what is verified, by the kind of project.

pub(super) const CARGO: &[&str] = &["Cargo.toml", ".cargo/config.toml", ".config/nextest.toml"];
pub(super) const NODE: &[&str] = &["package.json", "turbo.json"];
pub(super) const GO: &[&str] = &["go.mod"];
pub(super) const PYTHON: &[&str] = &[
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "conftest.py",
];
pub(super) const MAKE: &[&str] = &["Makefile", "GNUmakefile", "makefile"];
pub(super) const CMAKE: &[&str] = &["CMakeLists.txt"];
pub(super) const JVM: &[&str] = &[
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
];
pub(super) const RUBY: &[&str] = &["Gemfile", "Rakefile", ".rspec"];
pub(super) const PHP: &[&str] = &["composer.json", "phpunit.xml", "phpunit.xml.dist"];
pub(super) const DOTNET: &[&str] = &["Directory.Build.props", "global.json"];

const ALL: [&[&str]; 10] = [CARGO, NODE, GO, PYTHON, MAKE, CMAKE, JVM, RUBY, PHP, DOTNET];

/// Whether a path is one of these files, in any folder.
pub(super) fn names(files: &[&str], path: &str) -> bool {
    files.iter().any(|file| {
        let dir = path.strip_suffix(file);
        dir.is_some_and(|dir| dir.is_empty() || dir.ends_with('/'))
    })
}

/// Whether projects and their commands are detected from this file.
pub fn is_rule_file(path: &str) -> bool {
    ALL.iter().any(|files| names(files, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_file_is_one_in_any_folder_and_by_its_whole_name() {
        for (path, expected) in [
            ("package.json", true),
            ("web/package.json", true),
            ("web/.cargo/config.toml", true),
            ("my-package.json", false),
            ("src/a.rs", false),
        ] {
            assert_eq!(is_rule_file(path), expected, "{path}");
        }
    }
}
