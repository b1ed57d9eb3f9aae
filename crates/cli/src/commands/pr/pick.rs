//! Finds the pull request that a command refers to.

use super::render::state_word;
use drive_core::forge::{PrState, PullRequest};
use drive_core::ids::PrNumber;
use drive_core::problem::{Kind, Problem};

/// How many candidates an error lists.
const LISTED: usize = 10;

/// Which pull requests are candidates if none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The open ones; all of them if none is open.
    Any,
    Open,
    Closed,
}

/// The number of the pull request that is named by number or branch, or that is the only candidate.
pub(super) fn number(
    all: &[PullRequest],
    named: Option<&str>,
    pick: Pick,
) -> Result<PrNumber, Problem> {
    let Some(named) = named else {
        return only(all, pick);
    };
    let number = PrNumber::parse(named);
    // A branch's newest pull request is used.
    let by_number = |pr: &&PullRequest| number == Some(pr.number);
    let by_branch = |pr: &&PullRequest| pr.branch.as_str() == named;
    let found = all
        .iter()
        .find(by_number)
        .or_else(|| all.iter().rev().find(by_branch));
    found.map(|pr| pr.number).ok_or_else(|| {
        let problem = Problem::new(
            Kind::PullRequestNotFound,
            format!("no pull request `{named}` in this repository"),
        );
        with_candidates(problem, all.iter().rev().collect())
    })
}

fn only(all: &[PullRequest], pick: Pick) -> Result<PrNumber, Problem> {
    let in_state = |state| all.iter().filter(move |pr| pr.state == state).collect();
    let candidates: Vec<&PullRequest> = match pick {
        Pick::Open => in_state(PrState::Open),
        Pick::Closed => in_state(PrState::Closed),
        Pick::Any if all.iter().any(|pr| pr.state == PrState::Open) => in_state(PrState::Open),
        Pick::Any => all.iter().collect(),
    };
    match candidates.as_slice() {
        [one] => Ok(one.number),
        [] => {
            let what = match pick {
                Pick::Any => "no pull request in this repository",
                Pick::Open => "no open pull request in this repository",
                Pick::Closed => "no closed pull request in this repository",
            };
            let problem = Problem::new(Kind::PullRequestNotFound, what);
            Err(with_candidates(problem, all.iter().rev().collect()))
        }
        _ => Err(with_candidates(
            Problem::new(
                Kind::PullRequestAmbiguous,
                "more than one pull request matches",
            ),
            candidates.into_iter().rev().collect(),
        )),
    }
}

fn with_candidates(problem: Problem, candidates: Vec<&PullRequest>) -> Problem {
    if candidates.is_empty() {
        return problem.hint("open one with `drive pr open BRANCH`");
    }
    let named: Vec<String> = candidates
        .iter()
        .take(LISTED)
        .map(|pr| format!("{} (`{}`, {})", pr.number, pr.branch, state_word(pr.state)))
        .collect();
    let rest = match candidates.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    problem.hint(format!("pass one of: {}{rest}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::ids::{BranchName, CommitSha};
    use drive_core::time::Timestamp;

    fn pull(number: u64, branch: &str, state: PrState) -> PullRequest {
        PullRequest {
            number: PrNumber::new(number),
            title: String::new(),
            body: String::new(),
            state,
            draft: false,
            branch: BranchName::parse(branch).unwrap(),
            base: BranchName::parse("main").unwrap(),
            head_sha: CommitSha::new(String::new()),
            mergeable: None,
            merged_sha: None,
            updated_at: Timestamp::UNIX_EPOCH,
            url: String::new(),
        }
    }

    #[test]
    fn a_number_a_branch_or_being_the_only_one_names_a_pull_request() {
        let all = [
            pull(1, "feat/a", PrState::Merged),
            pull(2, "feat/a", PrState::Open),
            pull(3, "feat/b", PrState::Closed),
        ];
        let cases = [
            (Some("1"), Pick::Any, Ok(1)),
            (Some("#3"), Pick::Open, Ok(3)),
            (Some("feat/a"), Pick::Any, Ok(2)),
            (Some("4"), Pick::Any, Err(Kind::PullRequestNotFound)),
            (None, Pick::Any, Ok(2)),
            (None, Pick::Open, Ok(2)),
            (None, Pick::Closed, Ok(3)),
        ];
        for (named, pick, expected) in cases {
            let found = number(&all, named, pick).map(PrNumber::get);
            let found = found.map_err(|problem| problem.kind);
            assert_eq!(found, expected, "{named:?} {pick:?}");
        }
        assert_eq!(number(&all[2..], None, Pick::Any), Ok(PrNumber::new(3)));
        assert_eq!(
            number(&[], None, Pick::Any).unwrap_err().kind,
            Kind::PullRequestNotFound
        );
    }

    #[test]
    fn several_candidates_are_listed() {
        let all = [
            pull(1, "feat/a", PrState::Open),
            pull(2, "feat/b", PrState::Open),
        ];
        assert_eq!(
            number(&all, None, Pick::Open),
            Err(Problem::new(
                Kind::PullRequestAmbiguous,
                "more than one pull request matches"
            )
            .hint("pass one of: 2 (`feat/b`, open), 1 (`feat/a`, open)"))
        );
    }
}
