//! Stored data of a run: the contents of the journal and of the state. No decisions are made here.

mod ask;
mod build;
mod ci;
mod comment_answer;
mod effect;
mod entry;
mod event;
mod forge_act;
mod format;
mod inert;
mod job;
mod landable;
mod ledger;
mod level;
mod line;
mod merge;
mod notice;
mod notices;
mod outcome;
mod panel;
mod phase;
mod phase_terms;
mod post_key;
mod private;
mod promotion;
mod record;
mod remark;
mod request;
mod resume;
mod round;
mod run;
mod scope;
mod shutdown;
mod spawn;
mod task_costs;
mod threads;
mod timer;
mod tree;
mod validation;
mod watch;
mod whole;

pub use ask::{Ask, Injected};
pub use build::{
    Amending, Build, BuildStage, Diagnosis, Doubt, Ending, Line, Listening, PadNote, Tally,
    TaskRecord, TaskState,
};
pub use ci::Ci;
pub use comment_answer::{Answer, FixerResult};
pub use effect::{ChangedLines, Effect, EffectResult, LandedAs};
pub use entry::{Entry, Life, Part, is_actionable, reply_key};
pub use event::{Event, Note};
pub use forge_act::{
    ForgeAct, ForgeAnswer, IgnoredComment, LineRemark, PollResult, VerifiedAgainst,
};
pub use format::{
    EVENT_FORMAT, STATE_FORMAT, UnreadableFormat, read_event, read_run, write_event, write_run,
};
pub use job::{AgentJob, JobComment, JobEntry, JobFinding, JobInput};
pub use landable::Landable;
pub use ledger::Ledger;
pub use level::Level;
pub use line::{
    CarOrder, ContractCheck, HeldTask, LineAct, LineAnswer, Offer, Receipt, ReceiptResult, Shows,
};
pub use merge::{BranchAt, Merge, MergeStep, MergeWhen};
pub use notice::{Notice, NoticeEvent};
pub use notices::{Notices, OpenNotice};
pub use outcome::{BranchTip, CommitSummary, Outcome, OutcomeStatus, Published, Spent, Work};
pub use panel::{AtWork, Halt, Panel};
pub use phase::{
    ClosingPost, Counts, Description, HoldFor, PLAN_PATH, Pause, Phase, PhaseEnd, PlanCheck,
    Posting, Retry, Stage,
};
pub(in crate::run) use phase_terms::DoneWhen;
pub use phase_terms::{
    Adopted, ChangeDone, GivenPlan, Makes, PhaseTerms, PlanApproval, ReviewTerms, WatchTerms,
};
pub use post_key::PostKey;
pub use promotion::{Judged, Mark, RoundVerified};
pub use record::{JobRecord, PermissionRecord, Record, RemarkRecord, ReviewRecord, SeverityTotals};
pub use remark::{Remark, ReviewOf};
pub use request::{
    AfterEnd, BuildTerms, FinishTerms, LineTerms, Parent, PerTask, PlanFrom, Publish, Request,
    RunCommand, RunKind, TaskOrder,
};
pub use resume::{ResumeStep, Resumption};
pub use round::{RollBackCost, Round, RoundJob, RoundRecord, RoundStep};
pub use run::{Flow, OwnPost, Run};
pub use scope::TaskScope;
pub(in crate::run) use scope::{changed_tests, is_among};
pub use shutdown::{Shutdown, ShutdownStep};
pub use spawn::SpawnStage;
pub use task_costs::TaskCosts;
pub use threads::Threads;
pub use timer::Timer;
pub use tree::{Child, ChildReport, ChildStage, ChildState, RunMessage, Wants};
pub use validation::{AuditFinding, Confirmed, JudgeCheck, JudgedEntry, Opinion, Validation};
pub use watch::{Approved, Asking, Interrupted, LastReading, Objected, Reading, Watch};
pub use whole::{Checked, Left, LeftBy, Whole, WholeTerms};

pub(super) use entry::thread_of;
pub(super) use ledger::MOST_TRIES;
