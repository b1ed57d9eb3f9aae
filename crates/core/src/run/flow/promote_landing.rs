//! Compares the landed tree with the verified one, and reports comments that a merge missed.

use super::super::model::{
    ClosingPost, Effect, EffectResult, Entry, ForgeAct, LandedAs, Objected, OutcomeStatus, PostKey,
    Stage,
};
use super::phase::{PhaseFlow, merged_unheard, objected, post};
use super::proof::{failure_of, is_proof};
use crate::forge::text::first_line;
use crate::ids::{BranchName, CommitSha};
use crate::problem::{Kind, Problem};
use crate::process::missing_essentials;
use crate::settings::TeamMode;
use crate::verify::{Overall, Verification, promotable, render};

/// Comments and objections that a merge missed.
#[derive(Default)]
struct Overtaken {
    unread: Vec<Entry>,
    objections: Vec<Objected>,
    /// Why the last comments could not be read.
    missing: Option<String>,
}

impl Overtaken {
    /// The first comment or objection, as one line.
    fn first(&self) -> Option<String> {
        match self.unread.first() {
            Some(first) => Some(format!(
                "reading a comment by {}: {}",
                first.author,
                first_line(&first.body)
            )),
            None if self.objections.is_empty() => None,
            None => Some(format!("reading that {}", objected(&self.objections))),
        }
    }
}

impl PhaseFlow<'_> {
    /// Whether drive merged or tried to merge, and the landed tree was not compared yet.
    pub(super) fn is_landing_unchecked(&self) -> bool {
        let head = self.head();
        let judged = self.state.judged.as_ref();
        judged.is_some_and(|judged| {
            judged.overall == Overall::Pass
                && judged.tree_sha.is_some()
                && Some(&judged.head_sha) == head.as_ref()
        })
    }

    pub(super) fn check_landed(&mut self, landed: Option<CommitSha>) {
        // A run that was stopped in between recorded the commit earlier.
        let landed = landed.or_else(|| self.state.merged.clone());
        self.state.merged.clone_from(&landed);
        let judged = self.state.judged.clone();
        let verified = judged.and_then(|judged| Some((judged.base_sha, judged.tree_sha?)));
        let (Some((base_sha, tree)), Some(base)) = (verified, self.base()) else {
            // A run of an earlier version verified only the head.
            return self.unchecked("which tree was verified is unknown");
        };
        self.state.stage = Stage::Landing;
        self.run.decide(Effect::CheckLanded {
            landed,
            base,
            base_sha,
            tree,
        });
    }

    /// Handles the comparison: the landed tree is the verified one, or was verified afterwards, or
    /// its failure is reported.
    pub(super) fn landed(&mut self, result: EffectResult) {
        if let EffectResult::Landed {
            sha,
            made,
            report,
            unread,
            objections,
            missing,
        } = result
        {
            self.state.merged = Some(sha.clone());
            let overtaken = Overtaken {
                unread: self.unread(&unread),
                objections,
                missing,
            };
            let Some(report) = report else {
                return self.landed_well(&sha, made, overtaken);
            };
            let base = self.state.judged.as_ref().map(|one| one.base_sha.clone());
            let is_good = base.is_some_and(|base| promotable(&report, &sha, &base).is_some());
            if !is_good {
                return if is_proof(&report) {
                    self.landed_broken(&sha, made, &report)
                } else {
                    self.unchecked(&failure_of(&report))
                };
            }
            self.run.warnings.push(format!(
                "{} differs from the verified tree; it was verified again and passed",
                sha.short()
            ));
            self.landed_well(&sha, made, overtaken)
        } else if let EffectResult::Failed { problem } = result {
            self.unchecked(&problem.to_string())
        } else {
            self.unchecked("the base could not be read")
        }
    }

    /// Ends after a good merge. Authors of comments that the merge missed are informed.
    fn landed_well(&mut self, sha: &CommitSha, made: LandedAs, overtaken: Overtaken) {
        self.warn_of_missing_layers();
        let (short, revert) = (sha.short(), revert(sha, made));
        let Some(first) = overtaken.first() else {
            let failure = overtaken.missing.map(|why| {
                let message = format!("merged as {short}, but could not read the last comments");
                let problem = Problem::new(Kind::MergedUnheard, message).cause(why);
                problem.hint(format!("read them; to revert the merge: `{revert}`"))
            });
            let status = match failure {
                Some(_) => OutcomeStatus::NeedsHuman,
                None => OutcomeStatus::Succeeded,
            };
            return self.leave(status, failure);
        };
        let body = merged_unheard(sha, &revert, &overtaken.unread, &overtaken.objections);
        let problem = Problem::new(
            Kind::MergedUnheard,
            format!("merged as {short} before {first}"),
        )
        .hint(format!("read it; to revert the merge: `{revert}`"));
        let post = ClosingPost {
            act: ForgeAct::PostComment { body },
            key: Some(PostKey::Step(format!("mergedUnheard/{sha}"))),
        };
        self.close_with(vec![post], OutcomeStatus::NeedsHuman, Some(problem));
    }

    /// Reports a broken base on the pull request, with the command that reverts the merge.
    fn landed_broken(&mut self, sha: &CommitSha, made: LandedAs, report: &Verification) {
        let base = self.base().map(|base| base.branch);
        let base = base.as_ref().map_or("the base", BranchName::as_str);
        let why = failure_of(report);
        let revert = revert(sha, made);
        let message = format!(
            "`{base}` fails verification: {} differs from the verified tree: {why}",
            sha.short()
        );
        let body = format!(
            "**`{base}` fails verification.** The merged commit {} differs from the verified tree. \
             To revert it: `{revert}`\n\n{}",
            sha.short(),
            render::markdown(report)
        );
        let problem = Problem::new(Kind::LandedBroken, message)
            .hint(format!("switch to `{base}` and revert it: `{revert}`"));
        let mut posts = Vec::new();
        if self.terms.mode == TeamMode::Github {
            // The earlier status was about another tree.
            let told = self.state.pushed.iter().chain([sha]);
            posts.extend(told.map(|sha| {
                post(ForgeAct::SetStatus {
                    sha: sha.clone(),
                    passed: false,
                    description: format!("`{base}` fails verification after the merge"),
                })
            }));
        }
        posts.push(post(ForgeAct::PostComment { body }));
        self.close_with(posts, OutcomeStatus::NeedsHuman, Some(problem));
    }

    fn unchecked(&mut self, why: &str) {
        if self.state.merged.is_none() {
            self.state.merged.clone_from(&self.run.work.head_sha);
        }
        let message =
            format!("the pull request was merged, but the result could not be verified: {why}");
        let base = self.base();
        let fetch = match base.as_ref().and_then(|base| base.remote.as_ref()) {
            Some(remote) => format!("`git fetch {remote}`, then "),
            None => String::new(),
        };
        let base = base.map_or_else(|| "BASE".to_owned(), |base| base.to_string());
        let since = self.state.judged.as_ref();
        let since = since.map_or("REV", |judged| judged.base_sha.short());
        let problem = Problem::new(Kind::LandedUnchecked, message)
            .hint(format!("run {fetch}`drive verify {base} --base {since}`"));
        self.leave(OutcomeStatus::NeedsHuman, Some(problem));
    }

    fn warn_of_missing_layers(&mut self) {
        let missing = missing_essentials(&self.run.layers, true).map(|layer| layer.name.as_str());
        let missing = missing.collect::<Vec<_>>().join(", ");
        if !missing.is_empty() {
            let text = format!("merged without full isolation: missing layers {missing}");
            self.run.warnings.push(text);
        }
    }
}

/// The command that reverts a merge.
fn revert(sha: &CommitSha, made: LandedAs) -> String {
    match made {
        LandedAs::Merge => format!("git revert -m 1 {sha}"),
        LandedAs::Commits(0 | 1) => format!("git revert {sha}"),
        LandedAs::Commits(count) => format!("git revert {sha}~{count}..{sha}"),
    }
}
