//! Notifications of a run: sent and pending.

use super::effect::Effect;
use crate::ids::EffectKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Notifications of a run, sent and pending. They are kept apart from the pending effects, because
/// no flow waits for a notification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Notices {
    /// The names of all notices so far; each is sent once.
    pub told: BTreeSet<String>,
    /// Notices that were not sent yet, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenNotice>,
}

/// A notice that was not sent yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenNotice {
    /// The key of its effect.
    pub key: EffectKey,
    /// The effect that sends it.
    pub effect: Effect,
    /// Whether the person's program was about to be started. It may have been started, so it is not
    /// started again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
}

impl Notices {
    /// Whether there never was a notice.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty() && self.open.is_empty()
    }

    /// The notice to send now. Notices are sent one at a time, so that they arrive in order.
    pub fn next(&self) -> Option<&OpenNotice> {
        self.open.first()
    }

    /// The open notice of an effect.
    pub fn get(&self, key: &EffectKey) -> Option<&OpenNotice> {
        self.open.iter().find(|open| open.key == *key)
    }

    /// Records that the program is about to be started for this notice. Returns false if the notice
    /// is not open.
    pub(in crate::run) fn begin(&mut self, key: &EffectKey) -> bool {
        match self.open.iter_mut().find(|open| open.key == *key) {
            Some(open) => {
                open.begun = true;
                true
            }
            None => false,
        }
    }
}
