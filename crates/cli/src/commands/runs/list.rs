//! `drive runs list`: the newest runs and verifications, as a table.

use super::{tree, verifications};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::verify::{Running, running};
use crate::documents::{ListedVerification, RunSummary, RunsDocument};
use crate::output::{Format, Look};
use crate::repository::{git_dir_of, repository_of};
use crate::table::{Cell, Column, Tone, age, length, render};
use crate::wiring::Wiring;
use clap::{Args, ValueEnum};
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Group, Run, RunKind, Standing, State, standing, waiting_for};
use drive_core::time::Timestamp;
use drive_core::verify::{Overall, Verification, render as verdict};
use drive_engine::lease;
use drive_engine::ports::{RunFilter, Store};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How many runs are searched at most.
const MOST: u32 = 10_000;
/// How often a watched list is refreshed.
const WATCH_EVERY: Duration = Duration::from_secs(2);
/// Moves the cursor to the top left and clears the terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// The arguments of `drive runs list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Maximum number of runs, each with its children, and of verifications to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// Show the runs of all repositories
    #[arg(long)]
    all: bool,

    /// Show only runs in this state; `active` shows all that have not ended
    #[arg(long, value_enum)]
    state: Option<Wanted>,

    /// Show only runs of this command
    #[arg(long, value_enum)]
    kind: Option<Command>,

    /// Show the list again every two seconds until Ctrl-C
    #[arg(long)]
    watch: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    Active,
    Running,
    Waiting,
    NeedsYou,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Command {
    Spawn,
    SpawnTeam,
    Cruise,
    Verify,
}

/// The listed runs and verifications.
struct Listed {
    runs: Vec<Run>,
    standings: Standings,
    verifications: Vec<Verification>,
    /// The verifications that have no report yet.
    verifying: Vec<Running>,
    /// Whether the runs are of several repositories.
    everywhere: bool,
}

/// The standing of each run.
type Standings = BTreeMap<RunId, Standing>;

pub(super) fn list(app: &App, wiring: &Wiring, args: &ListArgs) -> Outcome {
    if args.watch {
        watch(app, wiring, args)?;
    }
    let listed = load(app, wiring, args)?;
    let text = text(&listed, app.now(), app.output().look());
    let document = RunsDocument {
        runs: listed
            .each()
            .map(|(run, its)| RunSummary::standing(run, its))
            .collect(),
        verifications: listed
            .verifications
            .iter()
            .map(ListedVerification::from)
            .collect(),
        running_verifications: listed.verifying.iter().map(Running::document).collect(),
    };
    Answer::new(&document, if args.watch { String::new() } else { text })
}

/// Shows the list until it is interrupted: it is redrawn on a terminal, and printed after each
/// change elsewhere.
fn watch(app: &App, wiring: &Wiring, args: &ListArgs) -> Result<(), Problem> {
    let output = app.output();
    if output.format() == Format::Json {
        let message = "`--watch` cannot be used with `--json`";
        return Err(Problem::new(Kind::Usage, message).hint("leave one of them out"));
    }
    let look = output.look();
    let mut shown = String::new();
    loop {
        let now = text(&load(app, wiring, args)?, app.now(), look);
        let clear = if look.width.is_some() { CLEAR } else { "" };
        let is_news = look.width.is_some() || now != shown;
        if is_news
            && output
                .line(format_args!("{clear}{}", now.trim_end()))
                .is_break()
        {
            return Ok(());
        }
        shown = now;
        let mut left = WATCH_EVERY;
        while !left.is_zero() {
            if app.cancel()?.asked().is_some() {
                return Ok(());
            }
            let nap = left.min(Duration::from_millis(100));
            std::thread::sleep(nap);
            left = left.saturating_sub(nap);
        }
    }
}

fn load(app: &App, wiring: &Wiring, args: &ListArgs) -> Result<Listed, Problem> {
    let here = repository_of(&app.start_dir()?).filter(|_| !args.all);
    let (verifications, verifying) = if args.shows_verifications() {
        (verifications::newest(app, args.limit)?, running(app)?)
    } else {
        (Vec::new(), Vec::new())
    };
    let (runs, standings) = args.runs(wiring, here.as_ref())?;
    Ok(Listed {
        runs,
        standings,
        verifications,
        verifying,
        everywhere: here.is_none(),
    })
}

impl Listed {
    /// The runs with their standings.
    fn each(&self) -> impl Iterator<Item = (&Run, &Standing)> {
        let runs = self.runs.iter();
        runs.filter_map(|run| Some((run, self.standings.get(&run.id)?)))
    }
}

/// The standing of each run, computed from its children and from whether a process owns it.
fn standings(wiring: &Wiring, runs: &[Run]) -> Result<Standings, Problem> {
    let (store, whoami) = (&wiring.store, &wiring.whoami);
    let of = |run: &Run| {
        let its = lease::with_owner(store, whoami, run, standing(run, runs))?;
        Ok((run.id.clone(), its))
    };
    runs.iter().map(of).collect()
}

impl ListArgs {
    /// The newest runs that pass the filter, with their children. More runs are read only while
    /// some are missing.
    fn runs(
        &self,
        wiring: &Wiring,
        here: Option<&PathBuf>,
    ) -> Result<(Vec<Run>, Standings), Problem> {
        let mut most = self.limit;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        loop {
            let mut runs = wiring.store.list(RunFilter::All, most)?;
            let is_all = runs.len() < usize::try_from(most).unwrap_or(usize::MAX);
            runs.retain(|run| here.is_none_or(|here| git_dir_of(run).as_ref() == Some(here)));
            let is_last = is_all || most >= MOST;
            let standings = standings(wiring, &runs)?;
            let wants = |run: &Run| self.wants(run, standings.get(&run.id));
            if let Some(newest) = tree::newest(&runs, limit, is_last, wants) {
                return Ok((newest, standings));
            }
            most = most.saturating_mul(8).clamp(1, MOST);
        }
    }

    fn wants(&self, run: &Run, its: Option<&Standing>) -> bool {
        let kind = run.request.as_ref().map(|request| match &request.kind {
            RunKind::Spawn => Command::Spawn,
            RunKind::Team(_) => Command::SpawnTeam,
            RunKind::Cruise(_) | RunKind::Build(_) => Command::Cruise,
        });
        let is_in = |wanted: Wanted| its.is_some_and(|its| wanted.includes(State::of(run, its)));
        let is_active = run.is_active() && self.state == Some(Wanted::Active);
        (is_active || self.state.is_none_or(is_in))
            && self.kind.is_none_or(|wanted| kind == Some(wanted))
    }

    /// Whether verifications are listed. They belong to no repository, so a filter for runs excludes them.
    fn shows_verifications(&self) -> bool {
        match self.kind {
            Some(kind) => kind == Command::Verify,
            None => self.state.is_none(),
        }
    }
}

impl Wanted {
    fn includes(self, state: State) -> bool {
        match state {
            State::Running => self == Wanted::Running,
            State::Waiting => self == Wanted::Waiting,
            State::NeedsYou => self == Wanted::NeedsYou,
            State::Succeeded => self == Wanted::Succeeded,
            State::Failed => self == Wanted::Failed,
            State::TimedOut => self == Wanted::TimedOut,
            State::Cancelled => self == Wanted::Cancelled,
        }
    }
}

fn tone(state: State) -> Tone {
    match state {
        State::Running => Tone::Working,
        State::Waiting | State::NeedsYou => Tone::Waiting,
        State::Succeeded => Tone::Good,
        State::Failed | State::TimedOut => Tone::Bad,
        State::Cancelled => Tone::Plain,
    }
}

/// The columns. A narrow terminal drops those with larger numbers first.
const COLUMNS: [Column; 8] = [
    Column::left("ID", 0),
    Column::left("STATE", 0),
    Column::right("AGE", 2),
    Column::right("DURATION", 5),
    Column::right("COST", 4),
    Column::right("PR", 3),
    Column::left("REPOSITORY", 1),
    Column::left("TASK", 0),
];

fn text(listed: &Listed, now: Timestamp, look: Look) -> String {
    let runs = tree::in_order(&listed.runs).into_iter();
    let mut rows: Vec<[Cell; 8]> = runs
        .filter_map(|(depth, run)| {
            let state = State::of(run, listed.standings.get(&run.id)?);
            Some(row(run, state, depth, listed.everywhere, now))
        })
        .collect();
    rows.extend(listed.verifying.iter().map(|one| verifying(one, now)));
    rows.extend(listed.verifications.iter().map(|one| verified(one, now)));
    let mut text = render(COLUMNS, &rows, look);
    if rows.is_empty() {
        text.push_str(if listed.everywhere {
            "no runs yet\n"
        } else {
            "no runs of this repository; `drive runs list --all` shows those of all\n"
        });
    }
    for (run, its) in listed.each() {
        if let Some(why) = waiting_for(run, its) {
            let why = Cell::new(&why);
            let whom = match its.group {
                Group::Waiting => "waiting for ",
                Group::NeedsYou | Group::Working | Group::Done => "",
            };
            let _ = writeln!(text, "{}: {whom}{}", run.id, why.text());
        }
    }
    for one in &listed.verifying {
        let seconds = now.duration_since(one.stage_since).as_secs();
        let (id, stage) = (&one.run, Cell::new(&one.stage));
        let _ = writeln!(
            text,
            "{id}: {} (for {}); stop it with `drive runs stop {id}`",
            stage.text(),
            length(seconds)
        );
    }
    text
}

fn row(run: &Run, state: State, depth: usize, everywhere: bool, now: Timestamp) -> [Cell; 8] {
    let request = run.request.as_ref();
    let ended = run.outcome.as_ref().map(|outcome| outcome.ended_at);
    let took = run.started_at.map(|from| {
        let until = ended.unwrap_or(now);
        length(until.duration_since(from).as_secs())
    });
    let cost = run.spent_in_all().cost.map(|cost| cost.to_string());
    let pr = run.work.pull_request.as_ref();
    let pr = pr.map(|pr| format!("#{}", pr.number));
    let repo = request.filter(|_| everywhere).and_then(|request| {
        let name = request.repo.file_name()?;
        Some(name.to_string_lossy().into_owned())
    });
    [
        Cell::new(format!("{}{}", "  ".repeat(depth), run.id)),
        Cell::toned(state.as_str(), tone(state)),
        Cell::new(run.started_at.map_or(String::new(), |at| age(at, now))),
        Cell::new(took.unwrap_or_default()),
        Cell::new(cost.unwrap_or_default()),
        Cell::new(pr.unwrap_or_default()),
        Cell::new(repo.unwrap_or_default()),
        Cell::new(request.map_or(String::new(), |request| title_of(&request.task))),
    ]
}

/// A verification that has no report yet.
fn verifying(one: &Running, now: Timestamp) -> [Cell; 8] {
    [
        Cell::new(one.run.as_str()),
        Cell::toned("verifying", Tone::Working),
        Cell::new(age(one.started_at, now)),
        Cell::new(length(now.duration_since(one.started_at).as_secs())),
        Cell::new(""),
        Cell::new(""),
        Cell::new(""),
        Cell::new(&one.what),
    ]
}

fn verified(report: &Verification, now: Timestamp) -> [Cell; 8] {
    let tone = if report.overall == Overall::Pass {
        Tone::Good
    } else {
        Tone::Bad
    };
    let seconds = i64::try_from(report.timing.duration_ms / 1000).unwrap_or(i64::MAX);
    [
        Cell::new(report.run_id.as_str()),
        Cell::toned(format!("verify {}", report.overall.as_str()), tone),
        Cell::new(age(report.timing.started_at, now)),
        Cell::new(length(seconds)),
        Cell::new(""),
        Cell::new(""),
        Cell::new(""),
        Cell::new(verdict::subject(report)),
    ]
}
