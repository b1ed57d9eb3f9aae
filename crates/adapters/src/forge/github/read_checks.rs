//! Decodes response bodies about checks and the rules of branches.

use super::lists::Listed;
use drive_core::forge::Check;
use drive_core::forge::checks::Annotation;
use drive_core::forge::github::checks::{
    Branch, BranchDemands, BranchRule, CheckRun, Job, RunAnnotation, RunRead, Status,
};
use serde::Deserialize;
use serde_json::Value;

type Read<T> = Result<T, serde_json::Error>;

pub(super) fn check_runs(body: &[u8]) -> Read<Listed<RunRead>> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        total_count: Value,
        check_runs: Vec<CheckRun>,
    }
    let answer: Answer = serde_json::from_slice(body)?;
    let runs = answer.check_runs.into_iter();
    Ok(Listed {
        total: answer.total_count.as_u64(),
        items: runs.map(CheckRun::into_read).collect(),
    })
}

pub(super) fn statuses(body: &[u8]) -> Read<Listed<Check>> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        total_count: Value,
        statuses: Vec<Status>,
    }
    let answer: Answer = serde_json::from_slice(body)?;
    let statuses = answer.statuses.into_iter();
    Ok(Listed {
        total: answer.total_count.as_u64(),
        items: statuses.map(Status::into_check).collect(),
    })
}

/// Parses annotations, failures before warnings, because not all may be stored.
pub(super) fn annotations(body: &[u8]) -> Read<Vec<Annotation>> {
    let mut all: Vec<RunAnnotation> = serde_json::from_slice(body)?;
    all.sort_by_key(|one| !one.is_failure());
    let all = all.into_iter();
    Ok(all.filter_map(RunAnnotation::into_annotation).collect())
}

pub(super) fn job(body: &[u8]) -> Read<(String, Option<String>)> {
    serde_json::from_slice::<Job>(body).map(Job::into_names)
}

pub(super) fn rules(body: &[u8]) -> Read<BranchDemands> {
    let rules: Vec<BranchRule> = serde_json::from_slice(body)?;
    let demands = rules.into_iter().map(BranchRule::into_demands);
    Ok(demands.fold(BranchDemands::default(), BranchDemands::and))
}

pub(super) fn branch(body: &[u8]) -> Read<BranchDemands> {
    serde_json::from_slice::<Branch>(body).map(Branch::into_demands)
}
