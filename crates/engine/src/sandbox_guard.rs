//! Removes a transient sandbox at the end of its scope, even on panic or early return.

use crate::ports::{Removal, Sandboxes};
use drive_core::Problem;
use drive_core::sandbox::{Sandbox, SandboxSpec};

/// Owns a sandbox for the duration of a scope.
pub struct SandboxGuard<'a> {
    sandboxes: &'a dyn Sandboxes,
    sandbox: Option<Sandbox>,
}

impl<'a> SandboxGuard<'a> {
    /// Creates a sandbox that is removed with the guard.
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

    /// Removes the sandbox now, and returns what was saved.
    pub fn remove(mut self) -> Result<Removal, Problem> {
        match self.sandbox.take() {
            Some(sandbox) => self.sandboxes.remove(&sandbox),
            None => Ok(Removal {
                kept: None,
                existed: false,
            }),
        }
    }

    /// Keeps the sandbox, as `--keep` asks.
    pub fn release(mut self) -> Option<Sandbox> {
        self.sandbox.take()
    }
}

impl Drop for SandboxGuard<'_> {
    fn drop(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            // Nobody receives a result here; the next sweep repeats and reports what fails.
            let _ = self.sandboxes.remove(&sandbox);
        }
    }
}
