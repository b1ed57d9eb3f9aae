//! The briefing of a task's agent: the task, its acceptance criteria, handoffs of earlier tasks, and
//! earlier failures.

use super::super::super::model::{Build, Diagnosis, TaskRecord, TaskState};
use crate::agent::answer::{Added, Handoff};
use crate::forge::text::fit;
use crate::plan::{Check, PlanTask};
use crate::prompts::{HANDOFF, fenced};
use std::fmt::Write;

/// How many bytes of an earlier agent's handoff are passed on.
const LONGEST_HANDOFF: usize = 4 << 10;
/// How many bytes of the scratchpad are passed on.
const LONGEST_SCRATCHPAD: usize = 8 << 10;
/// How many bytes of a diagnosis are passed on.
const LONGEST_DIAGNOSIS: usize = 8 << 10;

/// The briefing of a task's agent: the task, its criteria, earlier handoffs, and earlier failures.
pub(super) fn describe_task(build: &Build, task: &PlanTask, record: &TaskRecord) -> String {
    let mut text = format!("{}\n\n{}\n", task.title, task.description);
    text.push_str("\nIt is done when:\n");
    for entry in &task.acceptance {
        let run = match &entry.check {
            Check::Judge => None,
            Check::Command(run) | Check::Observe(run) => Some(run),
        };
        let _ = match run {
            Some(run) => writeln!(
                text,
                "- {} (`{}` ends with {}{})",
                entry.text,
                run.command.join(" "),
                run.expect.exit,
                match &run.expect.contains {
                    Some(words) => format!(" and prints `{words}`"),
                    None => String::new(),
                }
            ),
            None => writeln!(text, "- {}", entry.text),
        };
    }
    list(&mut text, "Change only these paths", &task.paths);
    list(&mut text, "Do not change these files", &task.checks);
    before(&mut text, build, record);
    scratchpad(&mut text, build);
    if let TaskState::Waiting {
        diagnosis: Some(diagnosis),
    } = &record.state
    {
        text.push_str(&earlier(diagnosis));
    }
    text.push_str(HANDOFF);
    text
}

fn list(text: &mut String, what: &str, entries: &[String]) {
    if !entries.is_empty() {
        let _ = write!(text, "\n{what}: {}\n", entries.join(", "));
    }
}

/// The failure of the previous attempt, as text.
fn earlier(diagnosis: &Diagnosis) -> String {
    let mut text = String::from("\nAn earlier attempt at this task did not land.\n");
    let _ = writeln!(text, "{}", fit(&diagnosis.what, LONGEST_DIAGNOSIS));
    if let Some(head) = &diagnosis.head {
        let _ = writeln!(
            text,
            "Its commits are in this repository: `git merge {head}` brings them here, `git show \
             {head}` shows the last one. Keep what is right, and mend what went wrong."
        );
    }
    text
}

/// Adds the handoffs of the tasks that it depends on.
fn before(text: &mut String, build: &Build, record: &TaskRecord) {
    let mut notes = record.after.iter().filter_map(|id| {
        let task = build.tasks.get(id)?;
        Some((id, &task.title, task.handoff.as_ref()?))
    });
    let Some(first) = notes.next() else {
        return;
    };
    text.push_str(
        "\nThe tasks before it have landed. Their agents left these notes. Nobody checked them: look \
         at the code where they differ.\n",
    );
    for (id, title, handoff) in std::iter::once(first).chain(notes) {
        let note = fit(&in_words(handoff), LONGEST_HANDOFF);
        let _ = write!(text, "\n{id} ({title}):\n{}\n", fenced(&note, ""));
    }
}

fn in_words(handoff: &Handoff) -> String {
    let Handoff {
        added,
        decisions,
        commands,
        undone,
        // The scratchpad contains them.
        notes: _,
        said,
    } = handoff;
    let mut text = said.clone().unwrap_or_default();
    let added: Vec<String> = added.iter().map(in_line).collect();
    for (what, items) in [
        ("Added", &added),
        ("Decided", decisions),
        ("Passed, it says", commands),
        ("Left undone", undone),
    ] {
        if !items.is_empty() {
            let _ = writeln!(text, "{what}:\n- {}", items.join("\n- "));
        }
    }
    text
}

fn in_line(added: &Added) -> String {
    match added.what.as_str() {
        "" => added.name.clone(),
        what => format!("{}: {what}", added.name),
    }
}

/// Adds the notes for all agents of the cruise.
fn scratchpad(text: &mut String, build: &Build) {
    if build.scratchpad.is_empty() {
        return;
    }
    // The newest notes are the most useful, so they are added first.
    let mut lines: Vec<String> = Vec::new();
    let mut room = LONGEST_SCRATCHPAD;
    for note in build.scratchpad.iter().rev() {
        let line = format!("- {} (from `{}`)", note.text, note.task);
        let Some(left) = room.checked_sub(line.len() + 1) else {
            break;
        };
        room = left;
        lines.push(line);
    }
    lines.reverse();
    let _ = write!(
        text,
        "\nNotes of this cruise, from the agents of tasks that landed. Nobody checked them:\n{}\n",
        fenced(&lines.join("\n"), "")
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::read_handoff;
    use crate::ids::TaskId;
    use crate::plan::Acceptance;
    use crate::run::model::PadNote;

    fn planned(id: &str) -> PlanTask {
        PlanTask {
            id: TaskId::new(id),
            title: format!("Build {id}"),
            description: "Do it.".to_owned(),
            acceptance: vec![Acceptance::judged("a1", "it is there")],
            depends_on: Vec::new(),
            paths: Vec::new(),
            checks: Vec::new(),
        }
    }

    fn noted(notes: usize) -> Build {
        let note = r#"{"added": [{"name": "parse", "what": "reads a line"}], "commands": ["make test"],
            "undone": ["``` ends no fence"], "notes": ["for all"]}"#;
        let first = TaskRecord {
            handoff: read_handoff(note),
            ..TaskRecord::new("Build a".to_owned(), Vec::new())
        };
        let pad = (0..notes).map(|n| PadNote {
            task: TaskId::new("a"),
            text: format!("note {n} {}", "x".repeat(280)),
        });
        Build {
            tasks: [(TaskId::new("a"), first)].into(),
            scratchpad: pad.collect(),
            ..Build::default()
        }
    }

    #[test]
    fn a_task_is_told_what_the_tasks_before_it_left_and_others_are_not() {
        let build = noted(0);
        let after = TaskRecord::new("Build b".to_owned(), vec![TaskId::new("a")]);
        let text = describe_task(&build, &planned("b"), &after);
        for words in [
            "a (Build a):\n````\nAdded:\n- parse: reads a line\nPassed, it says:\n- make test\nLeft undone:\n- ``` ends no fence\n````",
            "\"undone\": [\"what is left undone\"]",
        ] {
            assert!(text.contains(words), "{text}");
        }
        let alone = TaskRecord::new("Build b".to_owned(), Vec::new());
        assert!(!describe_task(&build, &planned("b"), &alone).contains("parse"));
    }

    #[test]
    fn every_task_is_told_the_newest_notes_of_the_cruise_within_a_bound() {
        let alone = TaskRecord::new("Build b".to_owned(), Vec::new());
        let text = describe_task(&noted(100), &planned("b"), &alone);
        assert!(text.contains("- note 99 x") && !text.contains("- note 0 x"));
        assert!(text.len() < LONGEST_SCRATCHPAD + 2_000, "{}", text.len());
        assert!(!describe_task(&noted(0), &planned("b"), &alone).contains("Notes of this cruise"));
    }
}
