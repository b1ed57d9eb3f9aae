use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic of one thread of a test must not hide what another one found.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
