//! Output: the answer on standard output, progress and warnings on standard error.

use crate::answer::{Answer, Outcome};
use crate::exit::Exit;
use crate::global_args::{ColorChoice, GlobalArgs};
use drive_adapters::Environment;
use drive_adapters::environment::{GITHUB_ACTIONS, NO_COLOR, PAGER, TERM};
use drive_adapters::process::page;
use drive_core::problem::{Kind, Problem};
use drive_core::verify::render::inert;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const CYAN: &str = "\x1b[1;36m";
const RESET: &str = "\x1b[0m";
/// Moves the cursor to the start of the line and clears the line.
const CLEAR_LINE: &str = "\r\x1b[2K";
/// Keeps a long line from wrapping at the edge of the terminal, because a second row could not be cleared.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// The amount of progress to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for people.
    Text,
    /// One JSON document.
    Json,
}

/// How tables on standard output look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// The width of a line; `None` if lines are not cut.
    pub(crate) width: Option<usize>,
    pub(crate) colour: bool,
}

/// Both streams and how to write to them.
pub(crate) struct Output {
    format: Format,
    verbosity: Verbosity,
    colour: bool,
    /// Whether and how tables on standard output are cut and coloured.
    look: Look,
    /// The command that shows long answers; `None` where standard output is no terminal.
    pager: Option<String>,
    /// Whether the runner of a workflow reads both streams and executes lines that look like commands.
    in_workflow: bool,
    /// The first error when writing the answer, except a closed pipe.
    broken: Mutex<Option<io::Error>>,
    live: Mutex<Live>,
    /// Whether a long-running command has already printed its answer.
    answered: AtomicBool,
}

/// The live line at the bottom of a terminal.
#[derive(Default)]
struct Live {
    /// Whether a live line is on the screen.
    shown: bool,
    /// When it was last updated.
    last: Option<Instant>,
    /// Whether standard error is a terminal that can rewrite a line.
    rewritable: bool,
}

/// The minimum time between updates of the live line: on a terminal, and as plain lines elsewhere.
const LIVE_EVERY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

impl Output {
    /// The output for these global options.
    pub(crate) fn new(global: &GlobalArgs, environment: &Environment) -> Self {
        let verbosity = match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, false) => Verbosity::Normal,
            (false, true) => Verbosity::Verbose,
        };
        let format = if global.json {
            Format::Json
        } else {
            Format::Text
        };
        Self {
            format,
            verbosity,
            colour: wants_colour(global.color, environment),
            look: look(global.color, environment),
            pager: pager(environment).filter(|_| io::stdout().is_terminal()),
            in_workflow: is_in_workflow(environment),
            broken: Mutex::new(None),
            live: Mutex::new(Live {
                rewritable: is_rewritable(environment),
                ..Live::default()
            }),
            answered: AtomicBool::new(false),
        }
    }

    /// The output for errors before the options are known.
    pub(crate) fn plain(format: Format, color: ColorChoice) -> Self {
        let environment = Environment::load();
        Self {
            format,
            verbosity: Verbosity::Normal,
            colour: wants_colour(color, &environment),
            look: look(color, &environment),
            pager: None,
            in_workflow: is_in_workflow(&environment),
            broken: Mutex::new(None),
            live: Mutex::new(Live::default()),
            answered: AtomicBool::new(false),
        }
    }

    /// The form of the answer.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// The style of tables on standard output.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Prints progress.
    pub(crate) fn narrate(&self, line: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.say(format_args!("{}", Printable(&line.to_string())));
        }
    }

    /// Prints details, which `-v` enables.
    pub(crate) fn detail(&self, line: impl Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.say(format_args!("{}", Printable(&line.to_string())));
        }
    }

    /// Prints a line of the log, which `-v` or `DRIVE_LOG` enables.
    pub(crate) fn log(&self, line: &str) {
        self.say(format_args!("{}", Printable(line)));
    }

    /// Shows the current activity: as the bottom line of a terminal, and as a plain line elsewhere.
    /// Most of many quick updates are skipped.
    pub(crate) fn live(&self, line: &str) {
        if self.verbosity < Verbosity::Normal {
            return;
        }
        let mut live = lock(&self.live);
        let every = if live.rewritable {
            LIVE_EVERY.0
        } else {
            LIVE_EVERY.1
        };
        if live.last.is_some_and(|last| last.elapsed() < every) {
            return;
        }
        live.last = Some(Instant::now());
        let line = Printable(line);
        let mut stderr = io::stderr().lock();
        if live.rewritable {
            live.shown = true;
            let _ = write!(stderr, "{CLEAR_LINE}{NO_WRAP}{line}{WRAP}");
        } else if self.in_workflow {
            let _ = writeln!(stderr, "{}", inert(&line.to_string()));
        } else {
            let _ = writeln!(stderr, "{line}");
        }
    }

    /// Shows the live line again with a newer elapsed time. Does nothing if lines cannot be rewritten.
    pub(crate) fn redraw(&self, line: &str) {
        if lock(&self.live).rewritable {
            self.live(line);
        }
    }

    /// Prints a warning; the command continues.
    pub(crate) fn warn(&self, message: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            let label = self.label("warning:", YELLOW);
            self.say(format_args!("{label} {}", Printable(&message.to_string())));
        }
    }

    /// Prints a problem: the error, its causes, and the hint. It is shown even with `-q`.
    pub(crate) fn problem(&self, problem: &Problem) {
        let label = self.label("error:", RED);
        self.say(format_args!("{label} {}", Printable(&problem.message)));
        for cause in &problem.causes {
            let cause = cause.replace('\n', "\n    ");
            self.say(format_args!("  {}", Printable(&cause)));
        }
        if let Some(hint) = &problem.hint {
            let label = self.label("hint:", CYAN);
            self.say(format_args!("{label} {}", Printable(hint)));
        }
    }

    /// Prints one line of an answer that arrives in pieces, such as a followed log. With `--json`
    /// nothing is printed: the document at the end is the answer. A break means that the reader
    /// closed the pipe.
    pub(crate) fn line(&self, line: impl Display) -> ControlFlow<()> {
        match self.format {
            Format::Text if self.in_workflow => self.write_answer(&inert(&format!("{line}\n"))),
            Format::Text => self.write_answer(&format!("{line}\n")),
            Format::Json => ControlFlow::Continue(()),
        }
    }

    /// Prints the answer of a command that then runs until it is stopped. It is the only answer:
    /// later results appear on standard error and in the exit code.
    pub(crate) fn answer_now(&self, answer: &Answer) {
        self.answered.store(true, Ordering::Relaxed);
        let _ = self.write_answer(&self.rendered(answer));
    }

    /// Prints the result of a command and returns the exit code.
    pub(crate) fn finish(&self, outcome: Outcome) -> Exit {
        let answer = outcome.unwrap_or_else(Answer::from_problem);
        // On a terminal, the answer must come before the error message.
        if !self.answered.load(Ordering::Relaxed) {
            let text = self.rendered(&answer);
            let pager = self.pager.as_deref().filter(|_| answer.is_paged());
            let is_shown = match (self.format, pager) {
                (Format::Text, Some(pager)) => page(pager, &text),
                (Format::Text | Format::Json, _) => false,
            };
            if !is_shown {
                let _ = self.write_answer(&text);
            }
        }
        if let (Format::Json, Some(commands)) = (self.format, answer.workflow_commands()) {
            let _ = write!(io::stderr().lock(), "{commands}");
        }
        let is_said = answer.is_failure_said() && self.format == Format::Text;
        if let Some(problem) = answer.failure().filter(|_| !is_said) {
            self.problem(problem);
        }
        match lock(&self.broken).take() {
            None => answer.exit(),
            Some(error) => {
                let problem = Problem::new(Kind::OutputFailed, "cannot write to standard output")
                    .because(error);
                self.problem(&problem);
                Exit::Environment
            }
        }
    }

    fn rendered(&self, answer: &Answer) -> String {
        match self.format {
            // A document of plain values always serialises; the fallback keeps the promise of one document.
            Format::Json => {
                let text = serde_json::to_string_pretty(answer.document());
                let text = text.map_or_else(|_| "{}\n".to_owned(), |text| text + "\n");
                if self.in_workflow {
                    // This can only occur in a string, where it is another spelling of the same text.
                    text.replace("##[", "##\\u005b")
                } else {
                    text
                }
            }
            Format::Text if answer.text().is_empty() => String::new(),
            Format::Text => {
                let text = format!("{}\n", answer.text().trim_end_matches('\n'));
                match answer.workflow_commands() {
                    Some(commands) => format!("{commands}{text}"),
                    None if self.in_workflow => inert(&text),
                    None => text,
                }
            }
        }
    }

    fn write_answer(&self, text: &str) -> ControlFlow<()> {
        if std::mem::take(&mut lock(&self.live).shown) {
            let _ = write!(io::stderr().lock(), "{CLEAR_LINE}");
        }
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    lock(&self.broken).get_or_insert(error);
                }
                ControlFlow::Break(())
            }
        }
    }

    /// Writes to standard error. Progress that cannot be written is dropped, because it cannot be
    /// reported elsewhere.
    fn say(&self, line: fmt::Arguments<'_>) {
        let mut live = lock(&self.live);
        let clear = if std::mem::take(&mut live.shown) {
            CLEAR_LINE
        } else {
            ""
        };
        let mut stderr = io::stderr().lock();
        let _ = if self.in_workflow {
            writeln!(stderr, "{clear}{}", inert(&line.to_string()))
        } else {
            writeln!(stderr, "{clear}{line}")
        };
    }

    fn label(&self, text: &str, colour: &str) -> String {
        if self.colour {
            format!("{colour}{text}{RESET}")
        } else {
            text.to_owned()
        }
    }
}

/// Foreign text with control characters made visible, so that no file name and no agent can control
/// the terminal.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if character.is_control() && character != '\n' && character != '\t' {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is run where `PAGER` names nothing: a text that fits the terminal is only printed.
const USUAL_PAGER: &str = "command -v less > /dev/null && exec less -FRX; exec cat";

/// The pager a person wants, as with git: `PAGER`, else `less`; none where that is empty or `cat`.
fn pager(environment: &Environment) -> Option<String> {
    let wanted = environment.text(PAGER).unwrap_or(USUAL_PAGER).trim();
    (!matches!(wanted, "" | "cat")).then(|| wanted.to_owned())
}

fn is_in_workflow(environment: &Environment) -> bool {
    environment.text(GITHUB_ACTIONS) == Some("true")
}

fn is_rewritable(environment: &Environment) -> bool {
    io::stderr().is_terminal() && environment.text(TERM).is_some_and(|term| term != "dumb")
}

/// How tables look. In a file or a pipe, nothing is cut.
fn look(choice: ColorChoice, environment: &Environment) -> Look {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let size = is_terminal.then(|| rustix::termios::tcgetwinsize(&stdout).ok());
    let width = size.flatten().map(|size| usize::from(size.ws_col));
    Look {
        width: width.filter(|width| *width > 0),
        colour: match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                is_terminal
                    && environment.get(NO_COLOR).is_none()
                    && environment.text(TERM) != Some("dumb")
            }
        },
    }
}

fn wants_colour(choice: ColorChoice, environment: &Environment) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            io::stderr().is_terminal()
                && environment.get(NO_COLOR).is_none()
                && environment.text(TERM) != Some("dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        let text = Printable("red \x1b[31m bell \x07\nnext\tline").to_string();
        assert_eq!(text, "red \\u{1b}[31m bell \\u{7}\nnext\tline");
    }
}
