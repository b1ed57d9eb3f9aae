use super::complete_ids::BASH;
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

/// Prints the completion script for a command line.
pub(crate) fn run(args: &CompletionsArgs, mut line: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut line, "drive", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Bash {
        script.push_str(BASH);
    }
    let document = CompletionsDocument {
        shell: args.shell.to_string(),
        script: script.clone(),
    };
    Answer::new(&document, script)
}
