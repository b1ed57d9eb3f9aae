//! Tests `drive spawn-team` as users run it: the real binary, real git, the local forge or a
//! simulated GitHub, and scripts or the real CLIs as agents.

mod approvals;
mod arena;
mod branch_taken;
mod checks;
mod deaths;
mod domains;
mod github;
mod hearing;
mod inert;
mod locks;
mod matrix;
mod measuring;
mod merging;
mod modes;
mod opening;
mod people;
mod play;
mod promoting;
mod resuming;
mod sandbox;
mod seeing;
mod straying;
mod verdicts;
