use super::command::Wanted;
use crate::verify::envelope::StageName;

/// A .NET solution or project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotnetProject {
    /// The solution or project file.
    pub file: String,
}

impl DotnetProject {
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let stages = [
            Wanted::install(&["dotnet", "restore", &self.file]),
            Wanted::new(
                StageName::Compile,
                &["dotnet", "build", "--no-restore", "--nologo", &self.file],
            ),
            Wanted::new(
                StageName::TargetedTests,
                &["dotnet", "test", "--no-build", "--nologo", &self.file],
            ),
        ];
        // The servers of MSBuild and the compiler would keep running after their stage.
        let alone = |wanted: Wanted| {
            wanted
                .env("DOTNET_CLI_TELEMETRY_OPTOUT", "1")
                .env("DOTNET_NOLOGO", "1")
                .env("MSBUILDDISABLENODEREUSE", "1")
                .env("UseSharedCompilation", "false")
        };
        stages.into_iter().map(alone).collect()
    }
}
