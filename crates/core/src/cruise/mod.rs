//! Building the tasks of an approved plan: decisions without effects.

pub mod train;
