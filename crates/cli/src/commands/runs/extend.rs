//! `drive runs extend`: raises the limits of a run.

use super::{pick, resume};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::cruise::extend_limits;
use crate::documents::AskedDocument;
use clap::Args;
use drive_adapters::SystemClock;
use drive_adapters::entropy::random_u32;
use drive_core::agent::{Budget, Cost};
use drive_core::ids::DedupeKey;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Ask, Event, NotResumable, Run, is_cruise, require_resumable};
use drive_engine::journal::Journal;
use drive_engine::ports::{Owner, Store};

/// The arguments of `drive runs extend`.
#[derive(Debug, Args)]
pub(super) struct ExtendArgs {
    /// Id of the run [default: the only one of this repository that runs or used up a limit]
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Dollars to add to the cost limit
    #[arg(long, value_name = "USD")]
    cost: Option<f64>,

    /// Tokens to add to the token limit
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,

    /// Fixer rounds to add to the limit
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
}

pub(super) fn extend(app: &App, args: &ExtendArgs) -> Outcome {
    let cost = args.cost.map(checked_cost).transpose()?;
    if cost.is_none() && args.tokens.is_none() && args.rounds.is_none() {
        return Err(Problem::new(Kind::NothingToExtend, "no limit to raise")
            .hint("pass `--cost USD`, `--tokens N` or `--rounds N`"));
    }
    let budget = Budget {
        tokens: args.tokens,
        cost,
    };
    let has_rounds = |run: &Run| args.rounds.is_none() || is_cruise(run);
    let fits = |run: &Run| is_limited(run) && has_rounds(run);
    let run = pick::only(app, args.id.as_deref(), "extended", fits)?;
    require_root(&run, args)?;
    if !is_cruise(&run) {
        require_no_rounds(args)?;
        return match app.store()?.owner(&run.id)? {
            Some(owner) if run.is_active() => tell_owner(app, &run, budget, &owner),
            Some(_) | None => resume::go_on(app, &run, Some(budget)),
        };
    }
    let id = Some(run.id.as_str());
    extend_limits(app, id, budget, args.rounds.unwrap_or(0))
}

/// Whether higher limits let a run continue, now or later.
fn is_limited(run: &Run) -> bool {
    let is_over_budget = require_resumable(run, None) == Err(NotResumable::OverBudget);
    run.parent().is_none() && (run.is_active() || is_over_budget)
}

/// Journals a larger budget for a team or spawn that another process owns. If the run has ended by
/// then, it continues here.
fn tell_owner(app: &App, run: &Run, budget: Budget, owner: &Owner) -> Outcome {
    let store = app.store()?;
    let journal = Journal {
        store: &store,
        clock: &SystemClock,
    };
    let ask = Ask::Extend { budget, rounds: 0 };
    let name = format!("ask/{:08x}{:08x}", random_u32()?, random_u32()?);
    journal.deliver(&run.id, &Event::Asked { ask }, &DedupeKey::new(name), None)?;
    let now = journal.require(&run.id)?;
    if !now.is_active() {
        return resume::go_on(app, &now, None);
    }
    let pid = owner.process.pid;
    let document = AskedDocument {
        id: run.id.to_string(),
        pid: Some(pid),
    };
    let text = format!(
        "run {}: process {pid} received the new limits; its next agent has them\n",
        run.id
    );
    Answer::new(&document, text)
}

/// Refuses a budget for a child: the root divides its budget among its children.
fn require_root(run: &Run, args: &ExtendArgs) -> Result<(), Problem> {
    let Some(parent) = run
        .parent()
        .filter(|_| args.cost.is_some() || args.tokens.is_some())
    else {
        return Ok(());
    };
    let (id, parent) = (&run.id, &parent.run);
    let message = format!("run `{id}` gets its budget from run `{parent}`");
    let next = format!(
        "raise that one: `drive runs extend {parent} {}`",
        run.extension()
    );
    Err(Problem::new(Kind::NothingToExtend, message).hint(next))
}

fn require_no_rounds(args: &ExtendArgs) -> Result<(), Problem> {
    match args.rounds {
        None => Ok(()),
        Some(_) => Err(Problem::new(
            Kind::NothingToExtend,
            "only a cruise has a fixer round limit",
        )
        .hint("leave out `--rounds`")),
    }
}

fn checked_cost(usd: f64) -> Result<Cost, Problem> {
    Cost::from_usd(usd).filter(|_| usd > 0.0).ok_or_else(|| {
        Problem::new(
            Kind::NothingToExtend,
            format!("`--cost {usd}` is not an amount of dollars"),
        )
        .hint("pass a positive number, such as `--cost 5`")
    })
}
