//! `drive pr`: the pull requests of the local forge.

mod args;
mod body;
mod pick;
mod render;

pub(crate) use args::PrArgs;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::verify::kept_reports;
use crate::documents::{
    CommentDocument, PullRequestDiffDocument, PullRequestDocument, PullRequestsDocument,
};
use crate::output::Printable;
use args::{ApproveArgs, CommentArgs, MergeArgs, OpenArgs, PrCommand, State};
use drive_adapters::SystemClock;
use drive_adapters::forge::local::{
    CommentTarget, LocalForge, MergeTerms, PersonalComment, Wish, no_such_branch,
};
use drive_adapters::git::Git;
use drive_adapters::store::Database;
use drive_adapters::verify::FileReports;
use drive_core::forge::trust::{Trusted, Verdict, judge_author};
use drive_core::forge::{Author, CommentRef, PullRequest, ReviewState};
use drive_core::ids::{BranchName, CommentId, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::verify::{RulesFrom, Verification};
use drive_engine::ports::{Forge, MergeOutcome, Place, Repository, VersionControl};
use pick::Pick;
use std::sync::Arc;

/// The maximum number of bytes of a printed diff.
const LONGEST_DIFF: usize = 8 << 20;

/// Runs a `drive pr` command.
pub(crate) fn run(args: &PrArgs, app: &App) -> Outcome {
    let desk = Desk::open(app)?;
    match &args.command {
        PrCommand::List(list) => desk.list(list.state),
        PrCommand::Diff(named) => desk.diff(named.pr.as_deref()),
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
struct Desk<'a> {
    app: &'a App,
    git: Git,
    forge: LocalForge,
    reports: FileReports,
    repository: Repository,
}

impl<'a> Desk<'a> {
    fn open(app: &'a App) -> Result<Self, Problem> {
        let git = Git::new(app.runner().clone(), app.environment());
        let repository = git.discover(&app.start_dir()?)?;
        let state = app.state_dir()?;
        let database = Database::open(&state.database())?;
        let forge = LocalForge::open(
            Arc::new(database),
            git.clone(),
            Arc::new(SystemClock),
            &repository.common_dir,
        )?;
        Ok(Self {
            app,
            git,
            forge,
            reports: kept_reports(app)?,
            repository,
        })
    }

    fn list(&self, state: State) -> Outcome {
        let mut pull_requests = self.forge.list()?;
        let is_empty = pull_requests.is_empty();
        pull_requests.retain(|pr| state.shows(pr.state));
        pull_requests.reverse();
        let text = if pull_requests.is_empty() && !is_empty && state == State::Open {
            "no open pull requests; `drive pr list --state all` shows the others\n".to_owned()
        } else {
            render::table(&pull_requests, self.app.now(), self.app.output().look())
        };
        let document = PullRequestsDocument::new(&pull_requests);
        Answer::new(&document, text)
    }

    fn show(&self, named: Option<&str>) -> Outcome {
        self.answer(self.pick(named, Pick::Any)?)
    }

    /// The changes since the branch left its base, which was the merge's other parent.
    fn diff(&self, named: Option<&str>) -> Outcome {
        let number = self.pick(named, Pick::Any)?;
        let pull_request = self.forge.fetch(number)?;
        let place = Place::Checkout(&self.repository.common_dir);
        let base = match self.forge.merged_as(number)? {
            Some(merge) => format!("{merge}^1"),
            None => pull_request.base.full(),
        };
        let base = self.git.resolve(place, &base)?;
        let head = &pull_request.head_sha;
        let since = self.git.merge_base(place, &base, head)?.unwrap_or(base);
        let (patch, is_cut) = self.git.patch(place, &since, head, LONGEST_DIFF)?;
        let patch = String::from_utf8_lossy(&patch).into_owned();
        if is_cut {
            self.app.output().warn(format_args!(
                "the diff is longer than is shown; see all of it with `git diff {since} {head}`"
            ));
        }
        let text = match patch.as_str() {
            "" => format!("pull request {number} changes nothing\n"),
            patch => Printable(patch).to_string(),
        };
        let document = PullRequestDiffDocument::new(&pull_request, &since, patch, is_cut);
        Answer::new(&document, text)
    }

    fn propose(&self, args: &OpenArgs) -> Outcome {
        let named = |name: &String| BranchName::parse(name).map_err(|_| no_such_branch(name));
        let branch = match (&args.branch, &self.repository.branch) {
            (Some(branch), _) => named(branch)?,
            (None, Some(branch)) => branch.clone(),
            (None, None) => {
                return Err(
                    Problem::new(Kind::NoBranch, "no branch is checked out here")
                        .hint("pass the branch: `drive pr open BRANCH`"),
                );
            }
        };
        let wish = Wish {
            branch,
            base: args.base.as_ref().map(named).transpose()?,
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
        self.warn_of_a_stranger(said.author, "this comment starts no work")?;
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
        self.warn_of_a_stranger(author, "this approval does not count")?;
        self.answer_comment(pr, review)
    }

    fn merge(&self, args: &MergeArgs) -> Outcome {
        let number = self.pick(args.pr.as_deref(), Pick::Open)?;
        let pull_request = self.forge.fetch(number)?;
        let head = match &args.head {
            Some(head) => full_id(head)?,
            None => pull_request.head_sha.clone(),
        };
        if head != pull_request.head_sha {
            return Err(head_moved(number, &head));
        }
        let outcome = if args.unverified {
            self.forge.merge_as(
                number,
                &MergeTerms {
                    head: &head,
                    base: None,
                    tree: None,
                    note: Some("Merged without verification: `drive pr merge --unverified`."),
                },
                &mut || Ok(true),
            )?
        } else {
            let report = self.require_verified(&pull_request)?;
            self.forge.merge_as(
                number,
                &MergeTerms {
                    head: &head,
                    base: report.candidate.base_sha.as_ref(),
                    tree: report.candidate.merged_tree_sha.as_ref(),
                    note: Some(&verified_by(&report)),
                },
                &mut || Ok(true),
            )?
        };
        match outcome {
            MergeOutcome::Merged { sha: _ } => self.answer(number),
            MergeOutcome::HeadMoved => Err(head_moved(number, &head)),
            MergeOutcome::BaseMoved => Err(not_merged(number, "its base moved")),
            MergeOutcome::Queued => Err(not_merged(number, "it waits in a merge queue")),
            MergeOutcome::Stopped => Err(not_merged(number, "it was stopped")),
            MergeOutcome::Refused { reason } => Err(not_merged(number, &reason)),
        }
    }

    /// The report that verified exactly this: the head merged into its base's current commit.
    fn require_verified(&self, pr: &PullRequest) -> Result<Verification, Problem> {
        let place = Place::Checkout(&self.repository.common_dir);
        let base = self.git.resolve(place, &pr.base.full())?;
        self.reports.passed(&pr.head_sha, &base).ok_or_else(|| {
            let message = format!(
                "pull request {} has no passing verification of {} merged into `{}` at {}",
                pr.number,
                pr.head_sha.short(),
                pr.base,
                base.short()
            );
            let hint = format!(
                "run `drive verify {} --base {}`, then `drive pr merge {}`; `--unverified` skips this \
                 check",
                pr.branch, pr.base, pr.number
            );
            Problem::new(Kind::Unverified, message).hint(hint)
        })
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

    /// Warns about what a person without write permission, who is not listed in the settings, cannot do.
    fn warn_of_a_stranger(&self, name: Option<&str>, effect: &str) -> Result<(), Problem> {
        let Some(name) = name.map(str::trim) else {
            return Ok(());
        };
        let author = Author {
            login: Some(name.to_owned()),
            is_bot: false,
        };
        let permission = self.forge.permission(name)?;
        // The comment is written; with unreadable settings nobody is trusted.
        let trusted = self.app.settings().map_or_else(
            |_| Trusted::default(),
            |layers| Trusted::new(&layers.settings.forge.trusted),
        );
        if let Verdict::Ignore(reason) = judge_author(&author, Some(permission), &trusted) {
            self.app.output().warn(format_args!(
                "{effect}: {reason}; to trust `{name}`, add it to `forge.trusted` in your settings"
            ));
        }
        Ok(())
    }

    /// The pull request that was named, or the only one.
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

/// The commit that a person named by its full id, because a merge compares full ids.
fn full_id(text: &str) -> Result<CommitSha, Problem> {
    CommitSha::parse(text).ok_or_else(|| {
        Problem::new(
            Kind::UnknownRevision,
            format!("`{text}` is not the full id of a commit"),
        )
        .hint(format!("use the output of `git rev-parse {text}`"))
    })
}

/// The line of a merge commit that names the verification and the origin of its rules.
fn verified_by(report: &Verification) -> String {
    let from = report.candidate.rules_from.as_ref();
    let base = report.candidate.base_sha.clone().map(RulesFrom::Commit);
    let rules = match from {
        Some(from) if Some(from) != base.as_ref() => format!(" (rules from {from})"),
        Some(_) | None => String::new(),
    };
    format!("Verified: {}{rules}", report.run_id)
}

fn head_moved(number: PrNumber, head: &CommitSha) -> Problem {
    Problem::new(
        Kind::HeadMoved,
        format!("the head of pull request {number} is not `{head}`"),
    )
    .hint(format!("review what is new: `drive pr show {number}`"))
}

fn not_merged(number: PrNumber, reason: &str) -> Problem {
    let message = format!("pull request {number} was not merged: {reason}");
    let next = format!("resolve that, then run `drive pr merge {number}` again");
    Problem::new(Kind::MergeRefused, message).hint(next)
}
