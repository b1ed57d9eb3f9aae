//! Tests the agent adapters with the real claude, gemini and codex, which use a scripted model on
//! loopback: an empty environment, a private home, dummy keys, a time limit.

mod acp;
mod answer_forms;
mod ends;
mod faults;
mod home;
mod keys;
mod lab;
mod project;
mod read_only;
mod work;
