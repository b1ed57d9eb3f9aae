//! Steering files: records which ones a run changes, and keeps them from being merged without approval.

use super::World;
use crate::executor::Task;
use crate::ports::Place;
use drive_core::forge::Approval;
use drive_core::forge::trust::{Verdict, is_bot};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Flow, Note};
use drive_core::steering::{named, steering_files};

/// The number of this note. The note about a repaired sandbox has 0, and no agent runs at the same time.
const STEERING: u32 = 1;

impl World<'_> {
    /// Journals which steering files the branch changes, if that is new.
    pub(super) fn note_steering(
        &self,
        task: &Task<'_>,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<(), Problem> {
        let files = steering_files(self.history.changed_paths(place, base, head)?);
        if files == task.run.work.steering {
            return Ok(());
        }
        task.note(STEERING, Note::Steering { files })
    }

    /// Refuses to promote protected files without a person's approval. The approvals are read from
    /// the forge now, and each counts only for its own commit.
    pub(super) fn require_approved(
        &self,
        task: &Task<'_>,
        head: &CommitSha,
        files: &[String],
    ) -> Result<(), Problem> {
        if files.is_empty() || self.is_approved_by_person(task, head)? {
            return Ok(());
        }
        let those = named(files);
        Err(Problem::new(
            Kind::SteeringUnapproved,
            format!("{those} changed, and no person approved {head}"),
        ))
    }

    fn is_approved_by_person(&self, task: &Task<'_>, head: &CommitSha) -> Result<bool, Problem> {
        if let Flow::Phase { phase } = &task.run.flow
            && phase.watch.granted.iter().any(|one| one.head == *head)
        {
            return Ok(true);
        }
        let Some(pr) = task.run.work.pull_request.as_ref() else {
            return Ok(false);
        };
        let talk = self.require_forge()?;
        let counts = |given: &Approval| {
            let judged = talk.permissions.judge_author(&given.author, &talk.trusted);
            given.head == *head && !is_bot(&given.author) && judged.verdict == Verdict::Act
        };
        let opinions = talk.forge.opinions(pr.number)?;
        Ok(opinions.approvals.iter().any(counts))
    }
}
