use super::command::{Gap, Wanted};
use super::members::Touched;
use crate::verify::envelope::StageName;
use std::collections::BTreeSet;

/// A CMake project, tested by CTest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CMakeProject {
    /// Whether it adds tests to CTest.
    pub has_tests: bool,
    /// Source files below its folder that its CMake files never name.
    pub unbuilt: BTreeSet<String>,
}

/// The build directory.
const BUILD: &str = ".drive-build";

impl CMakeProject {
    pub(super) fn wanted(&self, touched: &Touched) -> Result<Vec<Wanted>, Gap> {
        let unbuilt = touched.paths().filter(|path| self.unbuilt.contains(*path));
        let unbuilt: Vec<String> = unbuilt.cloned().collect();
        if !unbuilt.is_empty() {
            return Err(Gap {
                paths: unbuilt,
                why: "not named in any CMake file".to_owned(),
                remedy: "add it to a CMake target".to_owned(),
            });
        }
        let mut wanted = vec![
            Wanted::new(StageName::Compile, &["cmake", "-S", ".", "-B", BUILD]),
            Wanted::new(StageName::Compile, &["cmake", "--build", BUILD]),
        ];
        if self.has_tests {
            let ctest = ["ctest", "--test-dir", BUILD, "--output-on-failure"];
            wanted.push(Wanted::new(StageName::TargetedTests, &ctest));
        }
        Ok(wanted)
    }
}

/// Whether the text of CMake files enables tests.
pub fn cmake_has_tests(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("enable_testing") || text.contains("include(ctest)")
}

/// Whether the text of CMake files collects sources by pattern, so that it covers files without naming them.
pub fn cmake_collects(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let globs = text
        .split("file(")
        .skip(1)
        .any(|rest| rest.trim_start().starts_with("glob"));
    globs || text.contains("aux_source_directory")
}
