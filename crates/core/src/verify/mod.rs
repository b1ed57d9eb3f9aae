//! Rules of the verifier: routes, stages, their order and status, and the gate.

pub mod detect;
mod envelope;
mod environment_fault;
mod failed_tests;
mod fault;
mod gate;
mod judge;
mod passed_env;
mod plan;
mod quarantine;
mod ready;
pub mod render;
mod route;
mod rule_changes;
mod rules;
mod rules_from;
mod sequence;
mod starts;
mod tests_ran;
pub mod text;
mod tools;
mod verdict;
mod wanted;

pub use envelope::{
    Candidate, Failure, FailureCategory, Fault, MissingLayer, Overall, SCHEMA, Stage, StageEnd,
    StageName, StageResource, StageStatus, StageTests, Timing, Verification, Workspace,
    json_schema,
};
pub use failed_tests::failed_tests;
pub use fault::{
    BaseFailure, OnBase, attributed, blames_machine, deserves_second_look, flaky, gone,
    may_be_flaky, on_base,
};
pub use gate::{passed, promotable, promotable_by};
pub use judge::{Judgement, Observation, category, judge, unstarted};
pub use passed_env::passed_secrets;
pub use plan::{Plan, PlannedStage, Service, StageCommand, StageTimeouts, TestedMember, Work};
pub use quarantine::{expired, quarantined};
pub use ready::{
    LineWatch, Ready, SERVICE_FAILED, SERVICE_PREFIX, SERVICE_WAITING, SMOKE_PREFIX, http_is_ready,
};
pub use route::{Route, RouteProblem, Rule, Scope, split_routes};
pub use rule_changes::{dropped, removed_tests, shrunk, silenced, testing};
pub use rules::Rules;
pub use rules_from::RulesFrom;
pub use sequence::{Next, Sequence, Turn, time_left};
pub use tests_ran::{TestScan, TestTotals, TestsRan};
pub use tools::{install_hint, programs};
pub use verdict::{VerdictKey, answered_by, is_reusable};
pub use wanted::wanted;
