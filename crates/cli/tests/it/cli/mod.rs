//! Tests the real binary as users and scripts run it.

mod config;
mod config_files;
mod config_schema;
mod doctor;
mod kept;
mod output;
mod plugin;
mod pr;
mod pr_at_once;
mod readme;
mod scripts;
mod support;
mod usage;
