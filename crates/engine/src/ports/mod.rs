//! Ports: the traits through which drive uses the outside world, one per file. Adapters implement
//! them; `crate::fakes` has in-memory versions for tests.

mod agent;
mod clock;
mod forge;
mod notifier;
mod nudges;
mod phase_files;
mod process;
mod promotion;
mod pull_requests;
mod sandboxes;
mod store;
mod version_control;

pub use agent::{
    Agent, AgentRequest, AgentSource, AgentVersion, INSTRUCTION_FILES, InstructionFile,
};
pub use clock::Clock;
pub use drive_core::network::NetworkAccess;
pub use drive_core::process::Stream;
pub use drive_core::settings::IsolationMode;
pub use forge::{
    CheckReport, CommitStatus, Forge, GoAhead, LineComment, MergeOutcome, NewPullRequest,
    NewReview, Polled, Post, Posted, PostedReview, Reaction, Reported, Since, StatusState,
};
pub use notifier::Notifier;
pub use nudges::{Deliveries, KeptNudge, NudgeLog, Nudges};
pub use phase_files::{FoundState, PhaseFiles};
pub use process::{
    Collect, CommandSpec, Containment, Discard, Isolation, LayeredFolder, OrphanPolicy, OutputSink,
    ProcessRunner, Started, Stdin, Writes,
};
pub use promotion::{Promotion, PromotionGate};
pub use pull_requests::PullRequests;
pub use sandboxes::{Left, Removal, Sandboxes, SweepReport, Swept, WhyLeft};
pub use store::{
    Append, Appended, Claimed, Entry, Fold, LeaseAnswer, LeaseToken, Liveness, News, Owner,
    RunFilter, Store,
};
pub use version_control::{
    CollectedWork, CommitObject, DiffStats, FileChange, LargeFile, Leftovers, MergeCommit, Merged,
    NestedRepository, OwnBranch, Place, Push, Pushed, Repository, UsersBranch, VersionControl,
    WorkState,
};
