//! Review statistics of many runs, per agent and domain.

use super::model::{FixerResult, Flow, Run};
use crate::agent::answer::Verdict;
use crate::agent::{Cost, Role};
use crate::review::Domain;
use std::collections::BTreeMap;

/// Review statistics of one agent in one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewStats {
    /// Reviews, with or without a verdict.
    pub reviews: u32,
    /// Reviews that asked for changes: each starts a fix round.
    pub rounds: u32,
    /// Findings reported.
    pub findings: u32,
    /// Findings whose resolution could be measured: those with a place that are about the change
    /// and were not refuted.
    pub measured: u32,
    /// Measured findings whose lines were changed before the end.
    pub resolved: u32,
    /// Findings that a fixer declined.
    pub declined: u32,
    /// Findings that a second agent refuted.
    pub refuted: u32,
    /// The cost of the reviews, as far as agents report it.
    pub cost: Option<Cost>,
}

/// The reviewer: an agent and its domain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reviewing {
    /// The agent.
    pub agent: String,
    /// The domain; `None` for reviews of the whole change.
    pub domain: Option<String>,
}

/// Sums up the reviews of runs.
pub fn review_stats<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
) -> BTreeMap<Reviewing, ReviewStats> {
    let mut all = BTreeMap::new();
    for run in runs {
        add(run, &mut all);
    }
    all
}

fn add(run: &Run, all: &mut BTreeMap<Reviewing, ReviewStats>) {
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    let (Flow::Phase { phase }, Some(terms)) = (&run.flow, terms) else {
        return;
    };
    let of = |agent: &str, domain: Option<&str>| Reviewing {
        agent: agent.to_owned(),
        domain: domain.map(str::to_owned),
    };
    let record = &phase.record;
    // A phase with rounds but no round records was written by an older version, which measured nothing.
    let is_measured = phase.rounds == 0 || !record.rounds.is_empty();
    for review in &record.reviews {
        let domain = review.domain.as_ref().map(Domain::name);
        let stats = all.entry(of(&terms.reviewer, domain)).or_default();
        stats.reviews += 1;
        stats.rounds += u32::from(review.verdict == Some(Verdict::NeedsChanges));
        stats.findings += count(review.findings.len());
        let refuted = review.findings.iter().filter(|one| one.refuted.is_some());
        stats.refuted += count(refuted.count());
        if is_measured {
            let is_placed = |one: &&crate::agent::answer::Finding| {
                one.file.is_some() && one.refuted.is_none() && !one.pre_existing
            };
            stats.measured += count(review.findings.iter().filter(is_placed).count());
            stats.resolved += review.resolution.map_or(0, |one| one.resolved);
        }
    }
    for remark in &record.remarks {
        let declined = remark.action == Some(FixerResult::Declined);
        if let Some(review) = remark.review.as_ref().filter(|_| declined) {
            let domain = review.domain.as_ref().map(Domain::name);
            all.entry(of(&terms.reviewer, domain)).or_default().declined += 1;
        }
    }
    for job in record.jobs.iter().filter(|job| job.role == Role::Reviewer) {
        let stats = all
            .entry(of(&job.agent, job.domain.as_deref()))
            .or_default();
        stats.cost = match (stats.cost, job.cost) {
            (Some(before), Some(more)) => Some(before.plus(more)),
            (before, more) => before.or(more),
        };
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
