//! Tests the decisions of a cruise, step by step.

mod approving;
mod comments;
mod describing;
mod ending;
mod given_plan;
mod judging;
mod landing;
mod limits;
mod moving;
mod pace;
mod questions;
mod retrying;
mod reviewing;
mod scene;
mod spending;
mod standing;
mod whole;
