//! Building the tasks of an approved plan: decisions without effects.

pub mod train;

pub use train::{Car, Cause, Left, Move, Train, Verdict, Why};
