use crate::answer::{Answer, Outcome};
use crate::documents::CompletionsDocument;
use clap::Args;
use clap_complete::Shell;

/// The arguments of `drive completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script for a command line.
pub(crate) fn run(args: &CompletionsArgs, mut line: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut line, "drive", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let document = CompletionsDocument {
        shell: args.shell.to_string(),
        script: script.clone(),
    };
    Answer::new(&document, script)
}
