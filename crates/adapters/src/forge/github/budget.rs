//! The request budget of a token, counted for all processes on this machine.

use super::transport::Reply;
use drive_core::Problem;
use drive_core::forge::RequestBudget;
use drive_core::forge::rate_limit::{self, Turn};
use drive_core::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Stores the budget of each token, by its fingerprint.
pub trait Budgets: Send + Sync {
    /// The last known budget.
    fn load(&self, token: &str) -> Result<Option<RequestBudget>, Problem>;
    /// Stores the budget from an answer.
    fn store(&self, token: &str, budget: &RequestBudget) -> Result<(), Problem>;
    /// When the next write could be sent, without booking it.
    fn next_write(&self, token: &str, now: Timestamp) -> Result<Timestamp, Problem>;
    /// Books the next write and returns when it may be sent. A write that would wait too long is not booked.
    fn book_write(&self, token: &str, now: Timestamp) -> Result<Turn, Problem>;
}

/// A store of budgets for the life of the process.
#[derive(Debug, Default)]
pub struct MemoryBudgets {
    state: Mutex<BTreeMap<String, OneToken>>,
}

#[derive(Debug, Default)]
struct OneToken {
    budget: Option<RequestBudget>,
    booked: Vec<Timestamp>,
}

impl Budgets for MemoryBudgets {
    fn load(&self, token: &str) -> Result<Option<RequestBudget>, Problem> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state.get(token).and_then(|one| one.budget.clone()))
    }

    fn store(&self, token: &str, budget: &RequestBudget) -> Result<(), Problem> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.entry(token.to_owned()).or_default().budget = Some(budget.clone());
        Ok(())
    }

    fn next_write(&self, token: &str, now: Timestamp) -> Result<Timestamp, Problem> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let booked = state.get(token).map_or(&[][..], |one| &one.booked);
        Ok(rate_limit::next_write(booked, now).at())
    }

    fn book_write(&self, token: &str, now: Timestamp) -> Result<Turn, Problem> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let booked = &mut state.entry(token.to_owned()).or_default().booked;
        booked.retain(|at| rate_limit::is_credible(*at, now));
        let turn = rate_limit::next_write(booked, now);
        if let Turn::Booked(at) = turn {
            booked.push(at);
        }
        let spare = booked.len().saturating_sub(rate_limit::MOST_REMEMBERED);
        booked.drain(..spare);
        Ok(turn)
    }
}

/// The budget in an answer of the REST API; `None` if it contains none.
pub(super) fn describe_budget(reply: &Reply) -> Option<RequestBudget> {
    if reply
        .header("x-ratelimit-resource")
        .is_some_and(|r| r != "core")
    {
        return None;
    }
    let reset = i64::try_from(reply.number("x-ratelimit-reset")?).ok()?;
    Some(RequestBudget {
        limit: reply.number("x-ratelimit-limit")?,
        remaining: reply.number("x-ratelimit-remaining")?,
        resets_at: Timestamp::from_second(reset).ok()?,
        paused_until: None,
    })
}
