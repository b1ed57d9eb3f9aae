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
    /// List open pull requests, the newest first
    List(ListArgs),
    /// Print the changes of a pull request
    Diff(Named),
    /// Show a pull request with its comments
    Show(Named),
    /// Open a pull request for a branch
    Open(OpenArgs),
    /// Comment in the conversation, on a line, or in reply to a comment
    Comment(CommentArgs),
    /// Approve the current head
    Approve(ApproveArgs),
    /// Merge a verified pull request into its base with a merge commit
    Merge(MergeArgs),
    /// Mark a draft as ready for review
    Ready(Named),
    /// Close without merging
    Close(Named),
    /// Reopen a closed pull request
    Reopen(Named),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Show pull requests in this state
    #[arg(long, value_enum, default_value_t = State::Open)]
    pub(super) state: State,
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
    // Whatever its state.
    All,
}

impl State {
    /// Whether a pull request in this state is shown.
    pub(super) fn shows(self, state: PrState) -> bool {
        match self {
            State::All => true,
            State::Open => state == PrState::Open,
            State::Merged => state == PrState::Merged,
            State::Closed => state == PrState::Closed,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// Number or branch; optional if there is only one
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// Branch with the work [default: the one checked out]
    pub(super) branch: Option<String>,
    /// Branch to merge into [default: the main branch]
    #[arg(long)]
    pub(super) base: Option<String>,
    /// Title [default: the subject of the newest commit]
    #[arg(long)]
    pub(super) title: Option<String>,
    /// Description; `-` reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) body: Option<String>,
    /// Open it as a draft
    #[arg(long)]
    pub(super) draft: bool,
}

#[derive(Debug, Args)]
pub(super) struct CommentArgs {
    /// Number or branch
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
    /// Text of the comment; `-` reads it from standard input
    #[arg(value_name = "TEXT", conflicts_with = "body")]
    pub(super) text: Option<String>,
    /// Text of the comment if the pull request is omitted; `-` reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) body: Option<String>,
    /// File to comment on; needs `--line`
    #[arg(long, value_name = "PATH", requires = "line")]
    pub(super) file: Option<String>,
    /// Line in the new version of the file
    #[arg(long, value_name = "N", requires = "file")]
    pub(super) line: Option<u64>,
    /// Id of the comment to reply to
    #[arg(long, value_name = "ID", conflicts_with_all = ["file", "line"])]
    pub(super) reply_to: Option<u64>,
    #[command(flatten)]
    pub(super) author: AuthorArgs,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// Number or branch; optional if only one is open
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
    /// Text of the review; `-` reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) body: Option<String>,
    #[command(flatten)]
    pub(super) author: AuthorArgs,
}

#[derive(Debug, Args)]
pub(super) struct AuthorArgs {
    /// Author name, trusted only if `forge.trusted` lists it [default: git's `user.name`]
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Number or branch; optional if only one is open
    #[arg(value_name = "PR")]
    pub(super) pr: Option<String>,
    /// Merge only if this commit is still the head
    #[arg(long, value_name = "SHA")]
    pub(super) head: Option<String>,
    /// Merge without a passing verification; the merge commit says so
    #[arg(long)]
    pub(super) unverified: bool,
}
