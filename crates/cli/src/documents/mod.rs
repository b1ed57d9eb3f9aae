//! The documents of `--json`: one struct for each `drive.X/1`, whose derived JSON Schema is
//! published as `schemas/X.schema.json`.
//!
//! To add a document, write its struct, list it below, and run the tests of this module with
//! `DRIVE_UPDATE_DOCS=1`: they write the schema. Fields may be added, never renamed or removed.

mod audit;
mod config;
mod cruise;
mod doctor;
mod document;
mod error;
mod hooks;
mod init;
mod kept;
mod notice;
mod prune;
mod pull_request;
mod record;
mod run;
mod run_log;
mod sandbox;
mod serve;
mod stats;
mod text;
mod value;

pub(crate) use audit::AuditDocument;
pub(crate) use config::{
    ConfigCheckDocument, ConfigDefaultDocument, ConfigDocument, ConfigSchemaDocument, SettingsFile,
};
pub(crate) use cruise::{
    AskedDocument, CruiseDocument, CruiseSummary, CruisesDocument, OwnedCruise, ResumedDocument,
    open_first,
};
pub(crate) use doctor::DoctorDocument;
pub(crate) use document::Document;
pub(crate) use error::{ErrorDocument, Failure};
pub(crate) use hooks::{HooksDocument, HooksState};
pub(crate) use init::InitDocument;
pub(crate) use kept::{KeptDocument, KeptWorkDocument};
pub(crate) use notice::NoticeDocument;
pub(crate) use prune::PruneDocument;
pub(crate) use pull_request::{
    CommentDocument, PullRequestDiffDocument, PullRequestDocument, PullRequestsDocument,
};
pub(crate) use run::{
    DemoDocument, JournalLine, ListedVerification, RunDetailDocument, RunDocument, RunSummary,
    RunningVerification, RunsDocument,
};
pub(crate) use run_log::{AgentHeadDocument, AgentLogDocument, RunLogDocument};
pub(crate) use sandbox::{PrunedSandbox, SandboxDocument, SandboxEntry};
pub(crate) use serve::ServeDocument;
pub(crate) use stats::{ReviewerStats, StatsDocument};
pub(crate) use text::{CompletionsDocument, HelpDocument, VersionDocument};
pub(crate) use value::path_text;

use drive_core::verify::{self, Verification};

/// Names documents, and lists their schemas for the test that publishes them.
macro_rules! documents {
    ($($document:ty = $schema:literal,)+) => {
        $(impl Document for $document {
            const SCHEMA: &'static str = $schema;
        })+

        #[cfg(test)]
        fn derived_schemas() -> Vec<(&'static str, String)> {
            vec![$(($schema, tests::derived_schema::<$document>()),)+]
        }
    };
}

documents! {
    AskedDocument = "drive.asked/1",
    AuditDocument = "drive.audit/1",
    CommentDocument = "drive.comment/1",
    CompletionsDocument = "drive.completions/1",
    ConfigCheckDocument = "drive.configCheck/1",
    ConfigDefaultDocument = "drive.configDefault/1",
    ConfigDocument = "drive.config/1",
    ConfigSchemaDocument = "drive.configSchema/1",
    CruiseDocument = "drive.cruise/1",
    CruisesDocument = "drive.cruises/1",
    DemoDocument = "drive.demo/1",
    DoctorDocument = "drive.doctor/1",
    ErrorDocument = "drive.error/1",
    HelpDocument = "drive.help/1",
    HooksDocument = "drive.hooks/1",
    InitDocument = "drive.init/1",
    KeptDocument = "drive.kept/1",
    NoticeDocument = "drive.notice/1",
    PruneDocument = "drive.prune/1",
    PullRequestDiffDocument = "drive.pullRequestDiff/1",
    PullRequestDocument = "drive.pullRequest/1",
    PullRequestsDocument = "drive.pullRequests/1",
    ResumedDocument = "drive.resumed/1",
    RunDetailDocument = "drive.runDetail/1",
    RunDocument = "drive.run/1",
    RunLogDocument = "drive.runLog/1",
    RunsDocument = "drive.runs/1",
    SandboxDocument = "drive.sandbox/1",
    ServeDocument = "drive.serve/1",
    StatsDocument = "drive.stats/1",
    VersionDocument = "drive.version/1",
}

/// The core stores this document too, with the name inside; its tests publish the schema.
impl Document for Verification {
    const SCHEMA: &'static str = verify::SCHEMA;
}

#[cfg(test)]
mod tests;
