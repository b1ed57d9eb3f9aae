//! Buckets of keys.

pub mod buckets;
