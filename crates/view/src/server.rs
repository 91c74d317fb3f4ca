//! The routes, and the server around them.

use crate::asked::Fields;
use crate::error::{Answer, Error, Refusal, Result};
use crate::events::News;
use crate::guard::{self, Guard};
use crate::live::Live;
use crate::models::Models;
use crate::runs::Runs;
use crate::{assets, curves, episode};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use equimarl_worlds::Registry;
use serde::Deserialize;
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// The port that is tried first.
pub const USUAL_PORT: u16 = 7878;
/// The state of a busy city is some 40 kB.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// What to show, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The worlds that there are.
    pub registry: Registry,
    /// A folder of runs, a run, or a model file; untrained teams can be played without any.
    pub what: Option<PathBuf>,
    /// The address to listen on.
    pub address: IpAddr,
    /// The port: 0 for any free one; without one the usual port, or any free one if somebody has it.
    pub port: Option<u16>,
    /// Names other than this machine's that the page may be asked for by.
    pub allow_hosts: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            registry: equimarl_worlds::builtin(),
            what: None,
            address: IpAddr::from([127, 0, 0, 1]),
            port: None,
            allow_hosts: vec![],
        }
    }
}

/// What all requests share.
pub(crate) struct App {
    pub registry: Registry,
    pub runs: Runs,
    pub models: Models,
    pub live: Live,
    news: News,
}

/// A page that is ready to be served.
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    guard: Arc<Guard>,
}

impl Server {
    /// Opens the port and looks at what is to be shown.
    ///
    /// # Errors
    /// If there is nothing of that name, it is no model, or the port cannot be used.
    pub fn bind(options: &Options) -> Result<Server> {
        let (mut root, mut file) = (None, None);
        if let Some(what) = &options.what {
            let found = std::fs::canonicalize(what)
                .map_err(|e| Error::Nothing(format!("cannot look at {}: {e}", what.display())))?;
            if found.is_dir() { root = Some(found) } else { file = Some(found) }
        }
        let registry = options.registry.clone();
        let (runs, models) = (Runs::new(&registry, root), Models::new(&registry, file)?);
        let app = App { registry, runs, models, news: News::new(), live: Live::default() };
        let listener = listen(options)?;
        let address = listener.local_addr().map_err(Error::Start)?;
        let guard = Arc::new(Guard::new(address.port(), &options.allow_hosts));
        Ok(Server { listener, address, app: Arc::new(app), guard })
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
        let runtime = runtime.worker_threads(2).max_blocking_threads(4).enable_io().enable_time().build();
        let runtime = runtime.map_err(Error::Start)?;
        self.listener.set_nonblocking(true).map_err(Error::Start)?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Start)?;
            tokio::spawn(self.app.news.clone().look(self.app.clone()));
            axum::serve(listener, router(self.app, self.guard)).await.map_err(Error::Start)
        })
    }
}

/// An address for a browser on this machine.
pub(crate) fn local_url(address: SocketAddr) -> String {
    let host = match address {
        SocketAddr::V6(_) => "[::1]",
        SocketAddr::V4(_) => "127.0.0.1",
    };
    format!("http://{host}:{}/", address.port())
}

pub(crate) fn listen(options: &Options) -> Result<std::net::TcpListener> {
    let open = |port: u16| {
        let address = SocketAddr::new(options.address, port);
        std::net::TcpListener::bind(address)
            .map_err(|why| Error::Listen { address: address.to_string(), why })
    };
    match options.port {
        Some(port) => open(port),
        None => open(USUAL_PORT).or_else(|_| open(0)),
    }
}

fn router(app: Arc<App>, guard: Arc<Guard>) -> Router {
    let mut router = Router::new()
        .route("/figures.css", get(assets::figure_style))
        .route("/api/events", get(events))
        .route("/api/curves", post(draw))
        .route("/api/difference", get(difference))
        .route("/api/episode", post(play))
        .fallback(async || Refusal::unknown("there is nothing of that name"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be asked for in that way")
        });
    for (path, kind, content) in assets::FILES {
        router = router.route(path, get(async move || assets::file(kind, content)));
    }
    router.with_state(app).layer(from_fn_with_state(guard, guard::watch))
}

async fn events(State(app): State<Arc<App>>) -> Answer<Response> {
    match app.news.listen(app.clone()) {
        Some(listener) => Ok(Sse::new(listener).keep_alive(KeepAlive::default()).into_response()),
        None => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open")),
    }
}

async fn draw(State(app): State<Arc<App>>, request: Request) -> Answer<Response> {
    let ask = curves::Ask::of(body(request).await?)?;
    work(move || curves::draw(&app.runs, &ask)).await
}

async fn play(State(app): State<Arc<App>>, request: Request) -> Answer<Response> {
    let ask = episode::Ask::of(body(request).await?)?;
    work(move || episode::answer(&app.registry, &*app.models.get(&ask.model, &app.runs)?, &ask, &app.live))
        .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Two {
    a: String,
    b: String,
}

async fn difference(
    State(app): State<Arc<App>>,
    two: std::result::Result<Query<Two>, QueryRejection>,
) -> Answer<Response> {
    let Query(two) = two.map_err(|_| Refusal::bad("give two runs: ?a=...&b=..."))?;
    work(move || curves::difference(&app.runs, &two.a, &two.b)).await
}

/// The JSON that a request brings, if it is not too long.
async fn body(request: Request) -> Answer<Fields> {
    let bytes: Bytes = to_bytes(request.into_body(), MAX_BODY)
        .await
        .map_err(|_| Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("send at most {MAX_BODY} bytes")))?;
    Fields::of(&bytes)
}

/// Does work away from the threads that answer. A panic there is an error of ours, and ends this request only.
async fn work(job: impl FnOnce() -> Answer<Value> + Send + 'static) -> Answer<Response> {
    let done = tokio::task::spawn_blocking(job).await;
    let failed = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server made a mistake");
    let value = done.map_err(failed)??;
    Ok(([(CONTENT_TYPE, "application/json")], Body::from(value.to_string())).into_response())
}
