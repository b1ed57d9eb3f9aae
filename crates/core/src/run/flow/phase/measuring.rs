//! Measures a fixer round: which findings it touched, and what it changed beyond them.

use super::super::super::model::{
    ChangedLines, Makes, PLAN_PATH, ReviewOf, Round, RoundJob, RoundRecord, changed_tests,
};
use super::PhaseFlow;
use crate::ids::CommitSha;
use crate::problem::{Kind, Problem};
use crate::review::{Named, is_blocking, outside, resolution};

/// How many reviewed commits a round's result is compared with.
const MOST_COMMITS: usize = 8;
/// How many changed places of a round are listed.
const MOST_PLACES: usize = 50;

impl PhaseFlow<'_> {
    /// The commits that a round is compared with: its first commit, and the reviewed ones.
    pub(super) fn measured_since(&self, round: &Round) -> Vec<CommitSha> {
        let scope = self.terms.scope.as_ref().map(|_| self.base_sha());
        let mut commits: Vec<CommitSha> = scope.into_iter().collect();
        match round.job {
            RoundJob::Fix { .. } => {
                let before = round.head_before.iter();
                let before = before.filter(|head| !commits.contains(head));
                let before: Vec<CommitSha> = before.cloned().collect();
                commits.extend(before);
            }
            // People's commits can fix findings too.
            RoundJob::CatchUp => {}
            RoundJob::Make | RoundJob::Adopt | RoundJob::CheckBase => return commits,
        }
        let reviews = self.state.record.reviews.iter().rev();
        for head in reviews.filter_map(|review| review.head.as_ref()) {
            if commits.len() < MOST_COMMITS && !commits.contains(head) {
                commits.push(head.clone());
            }
        }
        commits
    }

    /// The problem if the work changed files that hold its task's checks. Other changed files
    /// outside the task's paths are only noted.
    pub(super) fn strayed(&mut self, changed: &[ChangedLines]) -> Option<Problem> {
        let scope = self.terms.scope.as_ref()?;
        let base = self.base_sha();
        let lines = changed.iter().find(|one| one.since == base)?;
        self.state.outside = scope.outside(&lines.files);
        self.state.tests = changed_tests(&lines.files);
        let touched = scope.touched(&lines.files);
        let hint = "only reviewers may change the files with the checks of a task";
        if let Some(first) = touched.first() {
            let message = format!("it changed `{first}`, which it may not change");
            return Some(Problem::new(Kind::ChecksChanged, message).hint(hint));
        }
        let is_unknown = lines.is_cut && !scope.checks.is_empty();
        is_unknown.then(|| {
            let message = "it changed too many files to see whether its checks are among them";
            Problem::new(Kind::ChecksChanged, message).hint(hint)
        })
    }

    /// What a fixer of the plan changed besides the plan while tasks are built on the same branch,
    /// if anything.
    pub(super) fn is_beyond_plan(&self, round: &Round, changed: &[ChangedLines]) -> Option<String> {
        let (Makes::Amendments { .. }, RoundJob::Fix { .. }) = (&self.terms.makes, &round.job)
        else {
            return None;
        };
        let mut all = changed.iter();
        let found = all.find(|one| Some(&one.since) == round.head_before.as_ref());
        let Some(lines) = found else {
            // Without a new commit there is nothing to measure.
            let is_same = round.head_before == self.run.work.head_sha;
            return (!is_same).then(|| "its changes cannot be read".to_owned());
        };
        let paths = lines.files.iter();
        let mut paths = paths.flat_map(|file| [&file.old_path, &file.new_path]);
        let other = paths.find_map(|path| path.as_deref().filter(|path| *path != PLAN_PATH));
        match other {
            Some(path) => Some(format!(
                "it changed `{path}`; while tasks are built, only `{PLAN_PATH}` changes here"
            )),
            None => lines.is_cut.then(|| "it changed too many files".to_owned()),
        }
    }

    /// Records which findings were touched so far, and what the round changed beyond its findings.
    pub(super) fn measure(&mut self, round: &Round, changed: &[ChangedLines]) {
        let since = |commit: Option<&CommitSha>| {
            let mut all = changed.iter();
            all.find(|one| Some(&one.since) == commit)
        };
        for lines in changed {
            self.measure_since(lines);
        }
        let is_fix = matches!(round.job, RoundJob::Fix { .. });
        let before = round.head_before.as_ref().filter(|_| is_fix);
        let Some(lines) = since(before) else {
            return;
        };
        let named = self.named_places(round);
        let mut places = named.map_or(Vec::new(), |named| outside(&lines.files, &named));
        let more = places.len().saturating_sub(MOST_PLACES) as u64;
        places.truncate(MOST_PLACES);
        self.state.record.rounds.push(RoundRecord {
            number: round.number,
            head: self.run.work.head_sha.clone(),
            outside: places,
            more,
        });
    }

    /// Records which findings of a commit's reviews were touched since, by anybody.
    pub(in crate::run) fn measure_since(&mut self, lines: &ChangedLines) {
        for review in &mut self.state.record.reviews {
            if review.head.as_ref() == Some(&lines.since) {
                review.resolution = Some(resolution(&review.findings, &lines.files));
            }
        }
    }

    /// The places that the findings and comments of a round name. `None` if one of them names no
    /// place: then it is unknown which changes are beyond them.
    fn named_places(&self, round: &Round) -> Option<Vec<Named>> {
        let RoundJob::Fix { batch, findings } = &round.job else {
            return None;
        };
        let mut all = Vec::new();
        for remark in findings {
            all.extend(self.named_by_review(&remark.review, round)?);
        }
        for key in batch {
            let entry = self.state.ledger.get(key)?;
            match (&entry.review, &entry.path) {
                (Some(review), _) => all.extend(self.named_by_review(review, round)?),
                (None, Some(path)) => {
                    let is_same = entry.commit == round.head_before;
                    let line = entry.line.filter(|_| is_same);
                    all.push(Named {
                        file: path.clone(),
                        lines: line.map(|line| line..line + 1),
                        text: entry.body.clone(),
                    });
                }
                (None, None) => return None,
            }
        }
        Some(all)
    }

    /// The places of a review's blocking findings. If the review was of another commit, its line
    /// numbers do not fit, and only the file counts.
    fn named_by_review(&self, of: &ReviewOf, round: &Round) -> Option<Vec<Named>> {
        let mut latest = self.state.record.reviews.iter().rev();
        let review = latest.find(|one| one.domain == of.domain && one.round == of.round)?;
        let is_same = review.head == round.head_before;
        let min = self.terms.review.min_confidence;
        let blocking = review.findings.iter().filter(|one| is_blocking(one, min));
        blocking
            .map(|one| Named::of(one).map(|named| named.on_lines(is_same)))
            .collect()
    }
}
