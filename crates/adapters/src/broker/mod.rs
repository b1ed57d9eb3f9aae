//! The broker: keys and logins stay with drive, and the agent uses a dummy in their place.
//!
//! Each run of an agent has its own broker on a free loopback port. It only accepts calls that a
//! model needs, replaces the dummy by the real key, forwards the call over a verified connection,
//! and counts the tokens of the responses. Callers without a dummy of the run are refused.
//!
//! A response is read to its end even if the agent has closed the connection: models report the
//! tokens last, and charge for them anyway. For a response without token counts, a quarter of the
//! request's bytes is counted.

mod connections;
mod count;
mod dialect;
mod grant;
mod outside;
mod pass;
mod serve;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use dialect::Dialect;
pub(crate) use grant::{Grant, OnUsage, Renew};
pub(crate) use outside::Outside;

use drive_core::agent::Usage;
use shared::Shared;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A running broker. Dropping it ends all calls: for the agent immediately, and for the model's
/// server at its next piece or by the call's own timeout.
pub(crate) struct Broker {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Broker {
    /// Binds a free loopback port, and returns its number.
    pub(crate) fn bind() -> io::Result<(TcpListener, u16)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    }

    /// Starts the broker.
    pub(crate) fn start(
        listener: TcpListener,
        dialect: Dialect,
        grants: &[Grant],
        outside: &Outside,
        renew: Renew,
        on_usage: OnUsage,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(dialect, grants, outside, renew, on_usage));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(shared::MOST_CALLS)
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let app = serve::router(shared.clone());
        let thread = std::thread::Builder::new()
            .name("broker".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = connections::Limited::new(listener) else {
                        return;
                    };
                    tokio::select! {
                        _ = axum::serve(listener, app).into_future() => {}
                        _ = stopped => {}
                    }
                });
                // A call that hangs upstream ends by its own timeout; the run does not wait for it.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The tokens counted so far.
    pub(crate) fn usage(&self) -> Usage {
        self.shared.usage()
    }

    /// The final tokens after the agent has exited, with an estimate for each unanswered call,
    /// whose request costs at least that.
    pub(crate) fn final_usage(&self) -> Usage {
        self.shared.final_usage()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.shared.close(shared::RUN_OVER);
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
