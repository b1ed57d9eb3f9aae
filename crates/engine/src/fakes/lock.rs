use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if a thread panicked with it, so that the panic does not hide another thread's result.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
