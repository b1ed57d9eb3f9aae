//! `drive pr`: the pull requests of the local forge.

mod args;
mod body;
mod pick;
mod render;

pub(crate) use args::PrArgs;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{CommentDocument, PullRequestDocument, PullRequestsDocument};
use args::{ApproveArgs, CommentArgs, MergeArgs, OpenArgs, PrCommand};
use drive_adapters::SystemClock;
use drive_adapters::forge::local::{CommentTarget, LocalForge, PersonalComment, Wish};
use drive_adapters::git::Git;
use drive_adapters::store::Database;
use drive_core::forge::{CommentRef, PrState, ReviewState};
use drive_core::ids::{CommentId, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Forge, MergeOutcome, Repository, VersionControl};
use pick::Pick;
use std::sync::Arc;

/// Runs a `drive pr` command.
pub(crate) fn run(args: &PrArgs, app: &App) -> Outcome {
    let desk = Desk::open(app)?;
    match &args.command {
        PrCommand::List(list) => desk.list(list.state.map(PrState::from)),
        PrCommand::Show(named) => desk.show(named.pr.as_deref()),
        PrCommand::Open(open) => desk.propose(open),
        PrCommand::Comment(comment) => desk.comment(comment),
        PrCommand::Approve(approve) => desk.approve(approve),
        PrCommand::Merge(merge) => desk.merge(merge),
        PrCommand::Ready(named) => desk.ready(named.pr.as_deref()),
        PrCommand::Close(named) => desk.close(named.pr.as_deref()),
        PrCommand::Reopen(named) => desk.reopen(named.pr.as_deref()),
    }
}

/// The local forge of the current repository.
struct Desk {
    forge: LocalForge,
    repository: Repository,
}

impl Desk {
    fn open(app: &App) -> Result<Self, Problem> {
        let git = Git::new(app.runner().clone(), app.environment());
        let repository = git.discover(&app.start_dir()?)?;
        let database = Database::open(&app.state_dir()?.database())?;
        let forge = LocalForge::open(
            Arc::new(database),
            git,
            Arc::new(SystemClock),
            &repository.common_dir,
        )?;
        Ok(Self { forge, repository })
    }

    fn list(&self, state: Option<PrState>) -> Outcome {
        let mut pull_requests = self.forge.list()?;
        pull_requests.retain(|pr| state.is_none_or(|state| pr.state == state));
        pull_requests.reverse();
        let text = render::table(&pull_requests);
        let document = PullRequestsDocument::new(&pull_requests);
        Answer::new(&document, text)
    }

    fn show(&self, named: Option<&str>) -> Outcome {
        self.answer(self.pick(named, Pick::Any)?)
    }

    fn propose(&self, args: &OpenArgs) -> Outcome {
        let branch = match (&args.branch, &self.repository.branch) {
            (Some(branch), _) => branch.clone(),
            (None, Some(branch)) => branch.to_string(),
            (None, None) => {
                return Err(
                    Problem::new(Kind::NoBranch, "no branch is checked out here")
                        .hint("pass the branch: `drive pr open BRANCH`"),
                );
            }
        };
        let wish = Wish {
            branch,
            base: args.base.clone(),
            title: args.title.clone(),
            body: match &args.body {
                Some(body) => body::text(body)?,
                None => String::new(),
            },
            draft: args.draft,
        };
        let new = self.forge.propose(&wish)?;
        self.answer(self.forge.open(&new)?.number)
    }

    fn comment(&self, args: &CommentArgs) -> Outcome {
        let pr = self.pick(args.pr.as_deref(), Pick::Open)?;
        let text = body::require(args.text.as_deref(), args.body.as_deref())?;
        let target = match (&args.file, args.line, args.reply_to) {
            (Some(path), Some(line), _) => CommentTarget::Line { path, line },
            (_, _, Some(to)) => CommentTarget::Reply {
                to: CommentId::new(to),
            },
            (_, _, None) => CommentTarget::Conversation,
        };
        let said = PersonalComment {
            author: args.author.name.as_deref(),
            body: &text,
            target,
        };
        let comment = self.forge.comment(pr, &said)?;
        self.answer_comment(pr, comment)
    }

    fn approve(&self, args: &ApproveArgs) -> Outcome {
        let pr = self.pick(args.pr.as_deref(), Pick::Open)?;
        let text = match &args.body {
            Some(body) => body::text(body)?,
            None => String::new(),
        };
        let author = args.author.name.as_deref();
        let verdict = ReviewState::Approved;
        let review = self.forge.personal_review(pr, author, verdict, &text)?;
        self.answer_comment(pr, review)
    }

    fn merge(&self, args: &MergeArgs) -> Outcome {
        let number = self.pick(args.pr.as_deref(), Pick::Open)?;
        let head = match &args.head {
            Some(head) => full_id(head)?,
            None => self.forge.fetch(number)?.head_sha,
        };
        match self.forge.merge(number, &head, None)? {
            MergeOutcome::Merged { sha: _ } => self.answer(number),
            MergeOutcome::HeadMoved => Err(Problem::new(
                Kind::HeadMoved,
                format!("the head of pull request {number} is not `{head}`"),
            )
            .hint(format!("review what is new: `drive pr show {number}`"))),
            MergeOutcome::BaseMoved => Err(not_merged(number, "its base moved")),
            MergeOutcome::Refused { reason } => Err(not_merged(number, &reason)),
        }
    }

    fn ready(&self, named: Option<&str>) -> Outcome {
        let number = self.pick(named, Pick::Open)?;
        self.forge.mark_ready(number)?;
        self.answer(number)
    }

    fn close(&self, named: Option<&str>) -> Outcome {
        let number = self.pick(named, Pick::Open)?;
        self.forge.close(number)?;
        self.answer(number)
    }

    fn reopen(&self, named: Option<&str>) -> Outcome {
        let number = self.pick(named, Pick::Closed)?;
        self.forge.reopen(number)?;
        self.answer(number)
    }

    /// The pull request meant, from what was said or because there is only one.
    fn pick(&self, named: Option<&str>, pick: Pick) -> Result<PrNumber, Problem> {
        pick::number(&self.forge.list()?, named, pick)
    }

    fn answer(&self, number: PrNumber) -> Outcome {
        let pull_request = self.forge.fetch(number)?;
        let comments = self.forge.comments(number)?;
        let text = render::page(&pull_request, &comments);
        let document = PullRequestDocument::new(&pull_request, &comments);
        Answer::new(&document, text)
    }

    fn answer_comment(&self, pr: PrNumber, wanted: CommentRef) -> Outcome {
        let comments = self.forge.comments(pr)?;
        let Some(comment) = comments.iter().find(|c| c.key.comment() == wanted) else {
            return Err(Problem::new(
                Kind::CommentLost,
                format!("comment {} was written but cannot be found", wanted.id),
            ));
        };
        let text = render::comment_line(comment);
        Answer::new(&CommentDocument::from(comment), text)
    }
}

/// The commit a person named: a merge compares whole ids.
fn full_id(text: &str) -> Result<CommitSha, Problem> {
    CommitSha::parse(text).ok_or_else(|| {
        Problem::new(
            Kind::UnknownRevision,
            format!("`{text}` is not the full id of a commit"),
        )
        .hint(format!("use the output of `git rev-parse {text}`"))
    })
}

fn not_merged(number: PrNumber, reason: &str) -> Problem {
    let message = format!("pull request {number} was not merged: {reason}");
    let next = format!("resolve that, then run `drive pr merge {number}` again");
    Problem::new(Kind::MergeRefused, message).hint(next)
}
