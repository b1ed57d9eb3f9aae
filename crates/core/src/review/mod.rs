//! Reviews: domains, their order, the number of reviews, and the final verdict.
//!
//! One plan serves every mode of `spawn-team` and every phase of a cruise; the modes differ only in
//! their [`ReviewPlan`].

mod attributes;
mod change;
mod domain;
mod folded;
mod merge;
mod origin;
mod parts;
mod plan;
mod quotes;
mod resolution;
mod shown;
mod verdict;

pub use change::{Change, ChangeReader, ChangedFile};
pub use domain::{Domain, Subject, verdict_title};
pub use folded::Folded;
pub use merge::{Meaning, distinct, levelled, merged};
pub use origin::require_older;
pub use parts::{MOST_PARTS, shown_in_parts};
pub use plan::{LastWord, Move, PartReview, ReviewPlan, Seat};
pub use resolution::{ChangedPlace, Named, Resolution, outside, resolution};
pub use shown::shown;
pub use verdict::{derive, is_blocking};
