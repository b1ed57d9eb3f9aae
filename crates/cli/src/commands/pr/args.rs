use clap::{Args, Subcommand, ValueEnum};
use drive_core::forge::PrState;

/// The arguments of `drive pr`.
#[derive(Debug, Args)]
pub(crate) struct PrArgs {
    #[command(subcommand)]
    pub(super) command: PrCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum PrCommand {
    /// List pull requests, the newest first
    List(ListArgs),
    /// Show a pull request with everything said about it
    Show(Named),
    /// Open a pull request for a branch
    Open(OpenArgs),
    /// Say something in the conversation, on a line, or in answer to a comment
    Comment(CommentArgs),
    /// Approve the head as it stands now
    Approve(ApproveArgs),
    /// Merge into the base with a real merge commit
    Merge(MergeArgs),
    /// End the draft state
    Ready(Named),
    /// Close without merging
    Close(Named),
    /// Open a closed pull request again
    Reopen(Named),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Show only those in this state
    #[arg(long, value_enum)]
    pub(super) state: Option<State>,
}

/// Plain comments, so that `--help` stays one line an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum State {
    // Still discussed.
    Open,
    // In its base.
    Merged,
    // Ended without a merge.
    Closed,
}

impl From<State> for PrState {
    fn from(state: State) -> Self {
        match state {
            State::Open => PrState::Open,
            State::Merged => PrState::Merged,
            State::Closed => PrState::Closed,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// Its number or its branch; may be left out where there is only one
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The branch with the work; the one checked out when left out
    pub(super) branch: Option<String>,
    /// Where it goes; the usual main branch when left out
    #[arg(long)]
    pub(super) base: Option<String>,
    /// Its title; the newest commit's subject when left out
    #[arg(long)]
    pub(super) title: Option<String>,
    /// Its description; `-` reads standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) body: Option<String>,
    /// Open it as a draft
    #[arg(long)]
    pub(super) draft: bool,
}

#[derive(Debug, Args)]
pub(super) struct CommentArgs {
    /// Its number or its branch
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
    /// What to say; `-` reads standard input
    #[arg(value_name = "TEXT", conflicts_with = "body")]
    pub(super) text: Option<String>,
    /// What to say, where the pull request is left out; `-` reads standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) body: Option<String>,
    /// Say it on a line of this file
    #[arg(long, value_name = "PATH", requires = "line")]
    pub(super) file: Option<String>,
    /// The line in the new version of the file
    #[arg(long, value_name = "N", requires = "file")]
    pub(super) line: Option<u64>,
    /// Answer this comment
    #[arg(long, value_name = "ID", conflicts_with_all = ["file", "line"])]
    pub(super) reply_to: Option<u64>,
    #[command(flatten)]
    pub(super) author: AuthorArgs,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// Its number or its branch; may be left out where there is only one open
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
    /// What to say with it; `-` reads standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) body: Option<String>,
    #[command(flatten)]
    pub(super) author: AuthorArgs,
}

#[derive(Debug, Args)]
pub(super) struct AuthorArgs {
    /// Speak under this name instead of git's `user.name`
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Its number or its branch; may be left out where there is only one open
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
    /// Merge only if this is still its head
    #[arg(long, value_name = "SHA")]
    pub(super) head: Option<String>,
}
