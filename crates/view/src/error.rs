//! What can go wrong, for the program and for the page.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What should be shown is not there, or is nothing that can be shown.
    #[error("{0}")]
    Nothing(String),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// Address and port.
        address: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// The system gives no threads or timers.
    #[error("cannot start the server: {0}")]
    Start(std::io::Error),
    /// From learning: settings, models.
    #[error(transparent)]
    Learn(#[from] equimarl_learn::Error),
    /// From the networks.
    #[error(transparent)]
    Network(#[from] equimarl_nn::Error),
}

/// A request that is not answered as it wished: a status, and one line for the page and the log.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub why: String,
}

/// What a request gets.
pub(crate) type Answer<T> = std::result::Result<T, Refusal>;

impl Refusal {
    pub fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into() }
    }

    /// The request makes no sense.
    pub fn bad(why: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, why)
    }

    /// There is no such thing.
    pub fn unknown(why: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, why)
    }

    /// The request is well formed, and asks for what cannot be.
    pub fn impossible(why: impl std::fmt::Display) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why.to_string())
    }
}

impl From<equimarl_worlds::Error> for Refusal {
    fn from(error: equimarl_worlds::Error) -> Refusal {
        Refusal::impossible(error)
    }
}

impl From<equimarl_learn::Error> for Refusal {
    fn from(error: equimarl_learn::Error) -> Refusal {
        Refusal::impossible(error)
    }
}

impl From<equimarl_nn::Error> for Refusal {
    fn from(error: equimarl_nn::Error) -> Refusal {
        Refusal::impossible(error)
    }
}

impl From<equimarl_group::Error> for Refusal {
    fn from(error: equimarl_group::Error) -> Refusal {
        Refusal::impossible(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.why }).to_string();
        let mut response = (self.status, [(CONTENT_TYPE, "application/json")], body).into_response();
        // The log says why, too.
        response.extensions_mut().insert(self);
        response
    }
}
