use super::Wanted;
use crate::verify::envelope::StageName;

/// A Python project tested by pytest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PythonProject;

/// Folders of other people's code that a project may hold.
const FOREIGN: &str = r"(^|/)(\.git|\.venv|venv|node_modules|\.tox|build|dist)/";

impl PythonProject {
    /// The whole project: Python says nothing reliable about which test needs which file.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        vec![
            Wanted::new(
                StageName::Compile,
                &["python3", "-m", "compileall", "-q", "-x", FOREIGN, "."],
            ),
            Wanted::new(StageName::TargetedTests, &["python3", "-m", "pytest"]),
        ]
    }
}
