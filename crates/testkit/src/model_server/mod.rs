//! A model that answers with a test's script.
//!
//! The server listens on loopback and supports the wire protocols of the three agent CLIs,
//! distinguished by the path of the request. It keeps no cursor: the number of the model's turns in
//! a request's history determines the next turn. So any number of conversations may share one
//! script, and a retried request gets the same turn again. Side calls of the CLIs (titles, token
//! counts, model lists) are answered without using the script.

mod anthropic;
mod delivery;
mod dialect;
mod gemini;
mod http;
mod protocol;
mod record;
mod responses;
mod script;
mod shared;

pub use dialect::ToolResult;
pub use protocol::Protocol;
pub use record::{Purpose, RecordedRequest};
pub use script::{Call, DECLINED, FIXED, Fault, Script, Times, Turn, Usage, WHY_DECLINED};

use shared::Shared;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A running model server. Dropping it ends every open stream and joins its thread.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server on a free loopback port that follows `script`.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared::new(script));
        let (stop, stopped) = oneshot::channel();
        let app = http::router(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("model-server".into())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    let serving = axum::serve(listener, app);
                    // Ending here drops the runtime, and so every handler that hangs on purpose.
                    tokio::select! {
                        _ = serving.into_future() => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for a CLI with this protocol.
    pub fn base_url(&self, protocol: Protocol) -> String {
        match protocol {
            Protocol::Anthropic | Protocol::Gemini => format!("http://{}", self.address),
            Protocol::Responses => format!("http://{}/v1", self.address),
        }
    }

    /// Every request so far, in order of arrival, without keys.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.requests()
    }

    /// The requests that were answered from the script, in order of arrival.
    pub fn turns(&self) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| matches!(request.purpose, Purpose::Turn(_)));
        requests
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A closed channel means that the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
