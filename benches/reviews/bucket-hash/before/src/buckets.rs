//! Which bucket a key is in.
