//! A forge, and what is needed to speak there under our own name and to know whom to listen to.

use super::permissions::Permissions;
use crate::ports::{Clock, Forge};
use drive_core::forge::marker::MarkerKey;
use drive_core::forge::trust::Trusted;
use std::sync::Arc;

/// How drive speaks and listens on a forge.
pub struct Conversation {
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// Signs what is posted.
    pub key: MarkerKey,
    /// Logins that are listened to besides those with write permission.
    pub trusted: Trusted,
    /// What the others may do.
    pub permissions: Permissions,
}

impl Conversation {
    /// A conversation on this forge.
    pub fn new(
        forge: Arc<dyn Forge>,
        key: MarkerKey,
        trusted: Trusted,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            permissions: Permissions::new(forge.clone(), clock),
            forge,
            key,
            trusted,
        }
    }
}
