//! The page of a fleet: who is there, rounds, missed and dropped messages by reason, decisions. Live, or a record played back.

use crate::assets;
use crate::error::{Error, Refusal, Result};
use crate::guard::{self, Guard};
use crate::server::{Options, listen, local_url};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;

/// What is known of a fleet at the moment: what `/api/fleet` answers.
pub type FleetSource = Arc<dyn Fn() -> Value + Send + Sync>;

/// The page of a fleet, ready to be served.
pub struct FleetPage {
    listener: std::net::TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    source: FleetSource,
}

const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("../assets/fleet.html")),
    ("/fleet.js", "text/javascript; charset=utf-8", include_str!("../assets/fleet.js")),
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
];

impl FleetPage {
    /// Opens the port.
    ///
    /// # Errors
    /// If the port cannot be used.
    pub fn bind(options: &Options, source: FleetSource) -> Result<FleetPage> {
        let listener = listen(options)?;
        let address = listener.local_addr().map_err(Error::Start)?;
        let guard = Arc::new(Guard::new(address.port(), &options.allow_hosts));
        Ok(FleetPage { listener, address, guard, source })
    }

    /// Where the page is, for a browser on this machine.
    pub fn url(&self) -> String {
        local_url(self.address)
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// If the system does not let it.
    pub fn run(self) -> Result<()> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).max_blocking_threads(2).enable_io().enable_time().build();
        let runtime = runtime.map_err(Error::Start)?;
        self.listener.set_nonblocking(true).map_err(Error::Start)?;
        let mut router = Router::new()
            .route("/api/fleet", get(status))
            .fallback(async || Refusal::unknown("there is nothing of that name"));
        for (path, kind, content) in FILES {
            router = router.route(path, get(async move || assets::file(kind, content)));
        }
        let router = router.with_state(self.source).layer(from_fn_with_state(self.guard, guard::watch));
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Start)?;
            axum::serve(listener, router).await.map_err(Error::Start)
        })
    }
}

async fn status(State(source): State<FleetSource>) -> Response {
    ([(CONTENT_TYPE, "application/json")], Body::from(source().to_string())).into_response()
}
