//! What drive needs of the world, one trait a file. Adapters implement them, the simulated world
//! fakes them.

mod agent;
mod clock;
mod forge;
mod process;
mod sandboxes;

pub use agent::{Agent, AgentRequest, AgentVersion, IsolationMode, OnStarted};
pub use clock::Clock;
pub use forge::{
    CommitStatus, Forge, LineComment, MergeOutcome, NewPullRequest, NewReview, Polled, Post,
    Posted, PostedReview, Reaction, Since, StatusState,
};
pub use process::{
    CommandSpec, Isolation, LeakPolicy, Network, OrphanPolicy, OutputSink, ProcessRunner, Stdin,
    Stream,
};
pub use sandboxes::{Removal, Sandboxes};
