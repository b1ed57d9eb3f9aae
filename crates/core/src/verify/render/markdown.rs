use super::words::{
    deciding, duration, joined, public, short_hash, status_word, telling_tail, took,
};
use crate::markdown::{self, longest_run};
use crate::verify::envelope::{Stage, Verification};
use crate::verify::text;
use std::fmt::Write;

/// The longest comment that a forge accepts, in characters.
pub const MARKDOWN_CHARS: usize = 65_536;
/// How many characters the part before the tail may have, so that a tail always fits.
const HEAD_CHARS: usize = 40_000;
/// The longest cell of the table.
const CELL_CHARS: usize = 300;

/// The verification for a pull request, at most [`MARKDOWN_CHARS`] characters long. The output of a
/// candidate cannot leave its fence, mention a person or start a heading.
pub fn markdown(report: &Verification) -> String {
    let mut out = head(report);
    if out.chars().count() > HEAD_CHARS {
        out = out.chars().take(HEAD_CHARS).collect();
        out.push_str("…\n");
    }
    if let Some(stage) = deciding(&report.stages) {
        out.push_str(&tail(stage, MARKDOWN_CHARS - out.chars().count()));
    }
    // The text is posted where other people read it.
    public(&out, report)
}

fn head(report: &Verification) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "### Verification: {}\n\n`{}`{} · {} · run `{}`\n",
        report.overall.as_str(),
        short_hash(report.candidate.head_sha.as_deref()),
        report
            .candidate
            .base_sha
            .as_deref()
            .map_or_else(String::new, |base| format!(
                " {} `{}`",
                joined(&report.candidate),
                short_hash(Some(base))
            )),
        duration(report.timing.duration_ms),
        cell(report.run_id.as_str()),
    );
    if !report.stages.is_empty() {
        let _ = writeln!(
            out,
            "| stage | route | status | time | |\n|---|---|---|---|---|"
        );
        for stage in &report.stages {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                stage.name.words(),
                code(&stage.route),
                status_word(stage.status),
                if stage.ended.is_some() {
                    took(stage)
                } else {
                    String::new()
                },
                stage.reason.as_deref().map_or_else(String::new, cell),
            );
        }
        out.push('\n');
    }
    if let Some(failure) = &report.failure {
        let _ = writeln!(
            out,
            "**{}**: {}",
            failure.category.as_str(),
            cell(&failure.reason)
        );
        if let Some(hint) = &failure.hint {
            let _ = writeln!(out, "\nNext: {}", cell(hint));
        }
        out.push('\n');
    }
    for layer in &report.workspace.missing {
        let _ = writeln!(
            out,
            "- not enforced: {}: {}",
            cell(&layer.name),
            cell(&layer.consequence)
        );
    }
    for note in &report.notes {
        let _ = writeln!(out, "- {}", cell(note));
    }
    out
}

/// The folded tail of the deciding stage, in a fence longer than any run of backticks in it.
fn tail(stage: &Stage, room: usize) -> String {
    let all = telling_tail(stage);
    if all.trim().is_empty() {
        return String::new();
    }
    let command = code(&stage.command.join(" "));
    let fence = "`".repeat(longest_run(all, '`').max(2) + 1);
    let wrap = |inner: &str| {
        format!(
            "\n<details><summary>End of the output of \
             {}</summary>\n\n{command}\n\n{fence}text\n{inner}\n{fence}\n\n</details>\n",
            stage.name.words()
        )
    };
    let frame = wrap("").chars().count();
    let Some(left) = room.checked_sub(frame).filter(|&left| left > 0) else {
        return String::new();
    };
    // There are at least as many bytes as characters, so a tail of `left` bytes fits.
    wrap(text::tail_lines(all.trim_end(), left))
}

fn cell(text: &str) -> String {
    markdown::cell(text, CELL_CHARS)
}

fn code(text: &str) -> String {
    markdown::code_cell(text, CELL_CHARS)
}
