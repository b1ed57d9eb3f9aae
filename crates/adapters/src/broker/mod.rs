//! The broker: keys and logins stay with drive, and the agent shows a dummy in their place.
//!
//! Each run of an agent has a broker of its own on a free port of loopback. It takes the calls that
//! a model needs and no other, puts the real key where the dummy was, sends the call on over a
//! verified connection, and counts the tokens of the answers. Nobody without a dummy of the run
//! is answered.
//!
//! An answer is read to its end also where the agent has closed the connection: models name the tokens
//! last, and bill them anyway. An answer that names none counts as a quarter of the request's bytes.

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

/// A running broker. Dropping it ends every call: the agent is told at once, the model's server when
/// it sends the next piece or by the call's own timeout.
pub(crate) struct Broker {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Broker {
    /// A free port of loopback, and its number.
    pub(crate) fn bind() -> io::Result<(TcpListener, u16)> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    }

    /// Starts to serve.
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

    /// The same once the agent has gone, with an estimate for each call that has not been answered yet: at
    /// least its request is paid for.
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
