//! Tests `drive cruise` as users run it: the real binary, real git, both forges, scripts as agents,
//! and real deaths.

mod amending;
mod bad_input;
mod branches;
mod building;
mod building_deaths;
mod checkouts;
mod closing;
mod comments;
pub(crate) mod crew;
mod deaths;
mod demo;
mod disk;
mod extending;
mod faults;
mod flight;
mod github;
mod half_written;
mod judging;
mod leaving;
mod life;
mod notices;
mod owners;
mod per_task;
mod rules;
mod sandboxes;
mod strategies;
mod terminals;
mod tokens;
mod tree;
mod unsound;
