//! The HTTP server, which runs in its own thread, listens on loopback by default, and stops cleanly.

use crate::connections::{BoundedListener, Limits, Ticket};
use axum::Router;
use axum::body::HttpBody;
use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use drive_core::problem::{Kind, Problem};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long active requests may take to end after a stop was requested.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// The maximum number of pages that are rendered at once: each may use the database and git.
const BLOCKING_THREADS: usize = 4;

/// The address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// On this machine only.
    Loopback {
        /// The port; 0 takes any free one.
        port: u16,
    },
    /// On an address that other machines may reach. The user chose it explicitly.
    Exposed(SocketAddr),
}

/// Whether the user allows access from other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// Only this machine has access.
    #[default]
    Unasked,
    /// The user allowed it.
    Wanted,
}

impl Listen {
    /// Interprets an address that a user passed. One that other machines may reach needs `exposure`.
    pub fn parse(address: SocketAddr, exposure: Exposure) -> Result<Self, Problem> {
        if address.ip() == Ipv4Addr::LOCALHOST {
            return Ok(Listen::Loopback {
                port: address.port(),
            });
        }
        if exposure == Exposure::Wanted || address.ip().is_loopback() {
            return Ok(Listen::Exposed(address));
        }
        Err(Problem::new(
            Kind::ListenExposed,
            format!("`{address}` can be reached from other machines"),
        )
        .hint("listen on `127.0.0.1` behind a proxy with TLS, or pass `--expose webhooks`"))
    }

    fn address(self) -> SocketAddr {
        match self {
            Listen::Loopback { port } => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            Listen::Exposed(address) => address,
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the server. When this returns, it is listening.
    pub fn start(listen: Listen, router: Router) -> Result<Self, Problem> {
        Self::start_within(listen, router, Limits::default())
    }

    /// Like `start`, with other limits.
    pub fn start_within(listen: Listen, router: Router, limits: Limits) -> Result<Self, Problem> {
        let wanted = listen.address();
        let cannot = |error: io::Error| {
            Problem::new(Kind::ListenFailed, format!("cannot listen on `{wanted}`"))
                .because(error)
                .hint("choose another port, or stop the program that uses it")
        };
        let listener = TcpListener::bind(wanted).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()
            .map_err(cannot)?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("drive-web".to_owned())
            .spawn(move || {
                // A server that fails while running has lost its socket: nothing can be done.
                let _ = runtime.block_on(serve(listener, router, limits, stopped));
                runtime.shutdown_timeout(STOP_PATIENCE);
            })
            .map_err(cannot)?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Whether it is still running.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = BoundedListener::new(tokio::net::TcpListener::from_std(listener)?, limits);
    let service = router
        .layer(from_fn(follow))
        .into_make_service_with_connect_info::<Ticket>();
    let streams = listener.streams();
    let (draining, drained) = oneshot::channel::<()>();
    let server = axum::serve(listener, service).with_graceful_shutdown(async move {
        let _ = stopped.await;
        streams.end();
        let _ = draining.send(());
    });
    let patience = async {
        if drained.await.is_ok() {
            tokio::time::sleep(STOP_PATIENCE).await;
        }
    };
    tokio::select! {
        ended = server.into_future() => ended,
        () = patience => Ok(()),
    }
}

/// Reports the progress of a request to its connection. A connection serves only one request: so
/// its deadlines need no reset, and no idle connection keeps a slot.
async fn follow(
    ConnectInfo(ticket): ConnectInfo<Ticket>,
    request: Request,
    next: Next,
) -> Response {
    if request.body().is_end_stream() {
        ticket.request_is_complete();
    } else {
        ticket.header_is_complete();
    }
    let mut response = next.run(request).await;
    ticket.request_is_complete();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
