//! The only builder of git calls.
//!
//! Nothing of the caller's `GIT_*` environment, locale, hooks, monitors, filters or pagers reaches
//! a call. Results are read from exit codes and machine-readable formats, never from messages.

mod absorb;
mod answer;
mod branch;
mod builder;
mod call;
mod case_clash;
mod commit;
mod config;
mod config_cache;
mod credentials;
mod descent;
mod discover;
mod environment;
mod history;
mod ignored_files;
mod large_files;
mod location;
mod lock;
mod login;
mod merge;
mod merge_tree;
mod messages;
mod object_folders;
mod raw_commits;
mod remote;
mod sandbox;
mod scratch;
mod signing;
mod stage;
mod stale_lock;
mod state;
mod sweep;
mod take;
mod tracked;
mod unpublished;
mod usual;
mod version_control;

pub use answer::Answer;
pub(crate) use answer::path_from;
pub use builder::{Deadlines, Git};
pub use call::{Call, Touches};
pub use config::Overrides;
pub(crate) use config::{Entry as Setting, last as last_setting};
pub use login::GitLogin;

pub(crate) use absorb::{absorb, has_unpushed};
pub(crate) use call::{is_partial, load_config as load_settings};
pub(crate) use commit::{commit_tree, commit_tree_at};
pub(crate) use discover::{Look, filters_of, look_at, tree_bytes};
pub(crate) use history::{committed_at, is_ancestor, resolve, unbranched, unpushed};
pub(crate) use ignored_files::{IgnoredFiles, stamp_of};
pub(crate) use location::Location;
pub(crate) use lock::ref_problem;
pub(crate) use merge_tree::{Trial, merge_tree};
pub(crate) use messages::Judged;
pub(crate) use object_folders::{as_file, object_folders};
pub(crate) use sandbox::{bring_out, head_of, own_tip, pin_of, put_branch, take, theirs_of};
pub(crate) use scratch::ScratchIndex;
pub(crate) use signing::{signed, try_signing};
pub(crate) use stage::stage;
pub(crate) use stale_lock::remove_if_stale;
pub(crate) use state::{
    Status, has_reftable, head_branch, in_progress, load_head, load_in_progress, status,
};
pub(crate) use sweep::sweep_takes;
pub(crate) use take::{Held, Take};
pub(crate) use tracked::{Tracked, declared, has_entry};
pub(crate) use usual::usual_bases;
