//! Recognises test files by their names.

/// Names of folders that contain tests, at any depth.
const FOLDERS: [&str; 7] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testing",
    "e2e",
];
/// Endings of the names of test files before their extension, and prefixes of these names.
const ENDINGS: [&str; 8] = [
    "_test", "_tests", ".test", ".tests", "_spec", ".spec", "-test", "-spec",
];
const BEGINNINGS: [&str; 2] = ["test_", "conftest"];
/// Endings of the names of test files in languages that name files after classes.
const CLASS_ENDINGS: [&str; 5] = ["Test", "Tests", "TestCase", "Spec", "IT"];
const CLASS_EXTENSIONS: [&str; 7] = ["java", "kt", "scala", "groovy", "cs", "swift", "php"];

/// Whether a file contains tests, according to its path.
pub fn is_test_file(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let Some(name) = parts.pop() else {
        return false;
    };
    let is_folder = |part: &&str| FOLDERS.iter().any(|one| part.eq_ignore_ascii_case(one));
    if parts.iter().any(is_folder) {
        return true;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_class = CLASS_EXTENSIONS.contains(&extension)
        && CLASS_ENDINGS.iter().any(|ending| stem.ends_with(ending));
    let plain = stem.to_ascii_lowercase();
    let is_named = ENDINGS.iter().any(|ending| plain.ends_with(ending))
        || BEGINNINGS.iter().any(|begin| plain.starts_with(begin))
        || matches!(plain.as_str(), "test" | "tests");
    is_class || (is_named && !extension.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_common_languages_are_known() {
        for path in [
            "tests/it/main.rs",
            "src/run/tests.rs",
            "src/tests/mod.rs",
            "pkg/parse_test.go",
            "test_login.py",
            "app/conftest.py",
            "src/App.test.tsx",
            "src/__tests__/app.js",
            "spec/models/user_spec.rb",
            "src/test/java/a/B.java",
            "a/LoginTest.java",
            "a/LoginTests.cs",
            "cypress/e2e/login.cy.js",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "src/latest.rs",
            "src/contest.py",
            "docs/testing.md",
            "src/attestation.go",
            "specification.md",
            "src/Manifest.java",
            "test",
            "",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
