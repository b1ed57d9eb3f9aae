//! Turns errors of the argument parser into problems.

use crate::answer::Answer;
use crate::documents::{Document, HelpDocument, VersionDocument};
use crate::exit::Exit;
use crate::global_args::ColorChoice;
use crate::output::{Format, Output};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, ValueEnum};
use drive_core::problem::{Kind, Problem};
use std::ffi::OsString;

/// Shows help, the version, or what is wrong with the arguments.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "clap's list of kinds is open"
)]
pub(crate) fn report(error: &Error, arguments: &[OsString]) -> Exit {
    let output = Output::plain(format_of(arguments), color_of(arguments));
    match error.kind() {
        ErrorKind::DisplayHelp => show(&output, error, |help| HelpDocument { help }),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if output.format() == Format::Text => {
            // If standard error cannot be written, there is nowhere to report it.
            let _ = error.print();
            Exit::Usage
        }
        ErrorKind::DisplayVersion => show(&output, error, |version| VersionDocument { version }),
        _ => output.finish(Err(problem(error))),
    }
}

/// Prints help as clap formats it, with colours, unless a document is requested.
fn show<D: Document>(output: &Output, error: &Error, document: fn(String) -> D) -> Exit {
    let text = error.render().to_string();
    match output.format() {
        Format::Text => match error.print() {
            Ok(()) => Exit::Done,
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Done,
            Err(_) => Exit::Environment,
        },
        Format::Json => {
            let document = document(text.trim_end().to_owned());
            output.finish(Answer::new(&document, ""))
        }
    }
}

/// The facts of a clap error as a problem.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "clap's list of kinds is open"
)]
fn problem(error: &Error) -> Problem {
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let message = match error.kind() {
        ErrorKind::UnknownArgument => format!("unexpected argument {argument}"),
        ErrorKind::InvalidSubcommand => {
            format!(
                "unknown command {}",
                text(error, ContextKind::InvalidSubcommand)
            )
        }
        ErrorKind::MissingRequiredArgument => format!("missing {argument}"),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a command is missing".to_owned()
        }
        ErrorKind::InvalidValue if value.is_empty() || value == "``" => {
            format!("{argument} needs a value")
        }
        ErrorKind::InvalidValue => format!("invalid value {value} for {argument}"),
        ErrorKind::ArgumentConflict => {
            format!(
                "{argument} cannot be used with {}",
                text(error, ContextKind::PriorArg)
            )
        }
        _ => first_line(error),
    };
    Problem::new(Kind::Usage, message).hint(hint(error))
}

fn hint(error: &Error) -> String {
    for kind in [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ] {
        if error.get(kind).is_some() {
            return format!("did you mean {}?", text(error, kind));
        }
    }
    let possible = text(error, ContextKind::ValidValue);
    if !possible.is_empty() {
        return format!("possible values: {possible}");
    }
    let usage = text(error, ContextKind::Usage);
    let command: Vec<&str> = usage
        .trim_matches('`')
        .trim_start_matches("Usage: ")
        .split_whitespace()
        .take_while(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect();
    match command.as_slice() {
        [] => "run `drive --help`".to_owned(),
        words => format!("run `{} --help`", words.join(" ")),
    }
}

/// One fact of clap's error, with every item in backticks.
fn text(error: &Error, kind: ContextKind) -> String {
    let quoted = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("`{item}`")).collect();
        items.join(", ")
    };
    match error.get(kind) {
        Some(ContextValue::String(item)) => quoted(std::slice::from_ref(item)),
        Some(ContextValue::Strings(items)) => quoted(items),
        Some(ContextValue::StyledStr(item)) => quoted(&[item.to_string()]),
        Some(ContextValue::StyledStrs(items)) => {
            quoted(&items.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn first_line(error: &Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").replace('\'', "`")
}

/// The requested output format, searched by hand because the arguments did not parse.
fn format_of(arguments: &[OsString]) -> Format {
    let asked = options(arguments).any(|argument| argument == "--json");
    if asked { Format::Json } else { Format::Text }
}

fn color_of(arguments: &[OsString]) -> ColorChoice {
    let arguments: Vec<&str> = options(arguments)
        .filter_map(|argument| argument.to_str())
        .collect();
    let value = arguments
        .iter()
        .enumerate()
        .find_map(|(at, argument)| match *argument {
            "--color" => arguments.get(at + 1).copied(),
            other => other.strip_prefix("--color="),
        });
    value
        .and_then(|value| ColorChoice::from_str(value, false).ok())
        .unwrap_or_default()
}

/// The arguments before `--`, after which there are no options of drive.
fn options(arguments: &[OsString]) -> impl Iterator<Item = &OsString> {
    arguments.iter().take_while(|argument| *argument != "--")
}
