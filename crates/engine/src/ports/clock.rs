use drive_core::time::Timestamp;

/// Civil time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
