//! Pure decisions about landing the tasks of an approved plan.

pub mod train;

pub use train::{Car, Cause, Left, Move, Train, Verdict, Why};
