//! A run of any command.
//!
//! `model` is what is stored; `flow` decides what comes next. A run moves only by [`step`]: the
//! engine journals an event, folds it, and performs what is [pending](Run::pending); results come
//! back as events. There are three flows: `spawn` (one agent in a throw-away sandbox), `phase` (a
//! sandbox, a branch and a pull request that are written, reviewed and perhaps watched) and `cruise`
//! (a run without a sandbox that builds tasks as child runs). A team is a phase whose terms say that it
//! ends with its reviews.

mod audit;
mod debrief;
mod estimate;
mod flow;
mod model;
mod needs;
mod standing;
mod stats;
mod status;
mod tasks;

pub use audit::{Audit, Evidence, TaskAudit, TaskResult, audit};
pub use debrief::{Debrief, PhaseTook, RoleTook, Said, debrief};
pub use estimate::task_costs;
pub use flow::{
    IllegalEvent, NotContinuable, NotResumable, against_landing, amending_run, fold,
    is_same_cruise, planning_run, require_continuable, require_resumable, step, validating_run,
};
pub use model::{
    Adopted, AfterEnd, AgentJob, Amending, Answer, Approved, Ask, Asking, AtWork, AuditFinding,
    BranchAt, BranchTip, Build, BuildStage, BuildTerms, CarOrder, ChangeDone, ChangedLines,
    Checked, Child, ChildReport, ChildStage, ChildState, Ci, ClosingPost, CommitSummary, Confirmed,
    ContractCheck, Counts, Description, Diagnosis, Doubt, EVENT_FORMAT, Effect, EffectResult,
    Ending, Entry, Event, FinishTerms, FixerResult, Flow, ForgeAct, ForgeAnswer, GivenPlan, Halt,
    HeldTask, HoldFor, IgnoredComment, Injected, Interrupted, JobComment, JobEntry, JobFinding,
    JobInput, JobRecord, JudgeCheck, Judged, JudgedEntry, Landable, LandedAs, LastReading, Ledger,
    Left, LeftBy, Level, Life, Line, LineAct, LineAnswer, LineRemark, LineTerms, Listening, Makes,
    Mark, Merge, MergeStep, MergeWhen, Note, Notice, NoticeEvent, Notices, Objected, Offer,
    OpenNotice, Opinion, Outcome, OutcomeStatus, OwnPost, PLAN_PATH, PadNote, Panel, Parent, Part,
    Pause, PerTask, PermissionRecord, Phase, PhaseEnd, PhaseTerms, PlanApproval, PlanCheck,
    PlanFrom, PollResult, PostKey, Posting, Publish, Published, Reading, Receipt, ReceiptResult,
    Record, Remark, RemarkRecord, Request, ResumeStep, Resumption, Retry, ReviewOf, ReviewRecord,
    ReviewTerms, RollBackCost, Round, RoundJob, RoundRecord, RoundStep, RoundVerified, Run,
    RunCommand, RunKind, RunMessage, STATE_FORMAT, SeverityTotals, Shows, Shutdown, ShutdownStep,
    SpawnStage, Spent, Stage, Tally, TaskCosts, TaskOrder, TaskRecord, TaskScope, TaskState,
    Threads, Timer, UnreadableFormat, Validation, VerifiedAgainst, Wants, Watch, WatchTerms, Whole,
    WholeTerms, Work, is_actionable, read_event, read_run, reply_key, write_event, write_run,
};
pub use needs::Need;
pub use standing::{Group, Standing, State, root_of, standing, waiting_for};
pub use stats::{ReviewStats, Reviewing, review_stats};
pub use status::{
    CruiseStatus, DomainVerdict, cruise_status, domain_verdicts, is_cruise, is_fix_unreviewed,
    open_findings, paused_for, phase_state, verdict, waits_for_person,
};
pub use tasks::{TaskLabel, TaskView, task_like, tasks};
