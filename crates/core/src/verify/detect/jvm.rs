use super::command::Wanted;
use crate::verify::envelope::StageName;

/// A project of Maven or Gradle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JvmProject {
    /// The build tool.
    pub tool: JvmTool,
    /// Whether the tool's wrapper script is tracked.
    pub has_wrapper: bool,
}

/// A build tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JvmTool {
    /// Apache Maven.
    Maven,
    /// The Gradle build tool.
    Gradle,
}

impl JvmProject {
    /// The commands for the whole project, because a module's tests may need any other module.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let (program, wrapper, options, compile): (_, _, &[&str], _) = match self.tool {
            JvmTool::Maven => ("mvn", "./mvnw", &["-B"], "test-compile"),
            // A daemon would keep running after its stage.
            JvmTool::Gradle => (
                "gradle",
                "./gradlew",
                &["--no-daemon", "--console=plain"],
                "testClasses",
            ),
        };
        let program = if self.has_wrapper { wrapper } else { program };
        let stage = |name, task: &str| {
            let options = options.iter().map(|&option| option.to_owned());
            Wanted::new(name, &[program])
                .args(options)
                .args([task.to_owned()])
        };
        vec![
            // The compile stage fetches the dependencies of the project and of the tool.
            Wanted {
                installs: true,
                ..stage(StageName::Compile, compile)
            },
            stage(StageName::TargetedTests, "test"),
        ]
    }
}
