//! Removes a transient sandbox at the end of its scope, also on panic and early return.

use crate::ports::{Removal, Sandboxes};
use drive_core::Problem;
use drive_core::sandbox::{Sandbox, SandboxSpec};

/// Owns a sandbox for the length of a scope.
pub struct SandboxGuard<'a> {
    sandboxes: &'a dyn Sandboxes,
    sandbox: Option<Sandbox>,
}

impl<'a> SandboxGuard<'a> {
    /// Creates a sandbox that goes when the guard does.
    pub fn create(sandboxes: &'a dyn Sandboxes, spec: &SandboxSpec) -> Result<Self, Problem> {
        let sandbox = sandboxes.create(spec)?;
        Ok(Self {
            sandboxes,
            sandbox: Some(sandbox),
        })
    }

    /// The sandbox.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Removes it now, and tells what was kept.
    pub fn remove(mut self) -> Result<Removal, Problem> {
        match self.sandbox.take() {
            Some(sandbox) => self.sandboxes.remove(&sandbox),
            None => Ok(Removal {
                kept: None,
                existed: false,
            }),
        }
    }

    /// Lets it live on, as `--keep` asks.
    pub fn release(mut self) -> Option<Sandbox> {
        self.sandbox.take()
    }
}

impl Drop for SandboxGuard<'_> {
    fn drop(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            // Nobody is left to tell; what could not be done now, the next sweep does and reports.
            let _ = self.sandboxes.remove(&sandbox);
        }
    }
}
