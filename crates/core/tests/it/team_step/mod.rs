//! Tests the flow of a team: its reactions to reviewers, people and results of effects.

mod continuing;
mod description;
mod ending;
mod failures;
mod findings;
mod hearing;
mod inert;
mod landing;
mod measuring;
mod merging;
mod modes;
mod older;
mod panel;
mod parts;
mod people;
mod private;
mod promoting;
mod properties;
mod reading;
mod refuting;
mod resuming;
mod scene;
mod suggesting;
mod summary;
mod verdicts;
mod worse;
