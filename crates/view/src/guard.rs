//! Who may talk to the page, and what the page may do.
//!
//! A page on 127.0.0.1 can be reached by every web site that its user visits: by a request across origins, or by a name
//! that the site's owner lets point to 127.0.0.1. So a request must name one of our own hosts, and if a browser says
//! that it comes from another place, it is refused.

use crate::error::{Answer, Refusal};
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Nothing but our own files, and nobody may put the page in a frame.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";
/// Longer requests are cut in the log.
const LOGGED: usize = 120;

/// The hosts that are ours.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    hosts: Vec<String>,
}

impl Guard {
    /// This machine on `port`, and the `others` that the user allows, with a port of their own or with ours.
    pub fn new(port: u16, others: &[String]) -> Guard {
        let mut hosts = vec![];
        let names = ["127.0.0.1", "localhost", "[::1]"].map(String::from);
        for host in names.iter().chain(others) {
            let host = host.to_ascii_lowercase();
            let has_port = host
                .rsplit_once(':')
                .is_some_and(|(name, port)| !name.ends_with(':') && port.parse::<u16>().is_ok());
            if has_port {
                hosts.push(host);
                continue;
            }
            hosts.push(format!("{host}:{port}"));
            // Browsers leave the usual port out.
            if port == 80 {
                hosts.push(host);
            }
        }
        Guard { hosts }
    }

    fn knows(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// Refuses requests that are not meant for us or do not come from our page.
    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Answer<()> {
        let forbidden = |why: String| Err(Refusal::new(StatusCode::FORBIDDEN, why));
        let mut named = headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().unwrap_or(""),
            (None, _) => return Err(Refusal::bad("the request names no host")),
            _ => return Err(Refusal::bad("the request names two hosts")),
        };
        if !self.knows(host) || uri.authority().is_some_and(|a| !self.knows(a.as_str())) {
            return forbidden(format!(
                "this page is not served as {host:?}; if that is right, start it with --allow-host"
            ));
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let origin = origin.to_str().unwrap_or("");
            if !origin.strip_prefix("http://").is_some_and(|o| self.knows(o)) {
                return forbidden(format!("the page {origin:?} may not ask here"));
            }
        }
        // Browsers say where a request comes from; other programs say nothing.
        let site = headers.get("sec-fetch-site").map(|v| v.to_str().unwrap_or(""));
        let ours = site.is_none_or(|s| matches!(s, "same-origin" | "none"));
        let reads_page = method == Method::GET && !uri.path().starts_with("/api/");
        if !ours && !reads_page {
            return forbidden("another site may not ask here".into());
        }
        if method == Method::POST {
            let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
            if kind.split(';').next().map(str::trim) != Some("application/json") {
                return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json"));
            }
        }
        Ok(())
    }
}

/// Checks every request, gives every answer its headers, and writes a line for everything that is refused.
pub(crate) async fn watch(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let mut response = match guard.check(&method, &uri, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        let why = response.extensions().get::<Refusal>().map_or("", |r| r.why.as_str());
        // Quoted, so that no request can write lines of its own.
        let (asked, why) = (short(&uri.to_string()), short(why));
        eprintln!("refused {} {method} {asked:?}: {why:?}", status.as_u16());
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LOGGED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(guard: &Guard, method: Method, path: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        guard.check(&method, &path.parse().unwrap(), &map).err().map(|r| r.status.as_u16())
    }

    #[test]
    fn only_our_hosts_and_our_page() {
        let guard = Guard::new(7000, &["Lab.example".into(), "box:99".into(), "[fe80::1]".into()]);
        let get = |host: &str| ask(&guard, Method::GET, "/", &[("host", host)]);
        for host in [
            "127.0.0.1:7000",
            "localhost:7000",
            "LOCALHOST:7000",
            "[::1]:7000",
            "lab.example:7000",
            "box:99",
            "[fe80::1]:7000",
        ] {
            assert_eq!(get(host), None, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1",
            "localhost:7001",
            "localhost:7000.evil",
            "box:7000",
            "",
            "lab.example",
        ] {
            assert_eq!(get(host), Some(403), "{host}");
        }
        assert_eq!(ask(&guard, Method::GET, "/", &[]), Some(400));
        assert_eq!(ask(&guard, Method::GET, "/", &[("host", "localhost:7000"), ("host", "evil")]), Some(400));
        let local = ("host", "localhost:7000");
        assert_eq!(ask(&guard, Method::GET, "http://evil/", &[local]), Some(403));
        let json = ("content-type", "application/json; charset=utf-8");
        let post = |more: &[(&str, &str)]| ask(&guard, Method::POST, "/api/x", &[&[local], more].concat());
        assert_eq!(post(&[json]), None);
        assert_eq!(post(&[json, ("origin", "http://localhost:7000")]), None);
        assert_eq!(post(&[json, ("origin", "http://evil.example")]), Some(403));
        assert_eq!(post(&[json, ("origin", "https://localhost:7000")]), Some(403));
        assert_eq!(post(&[json, ("origin", "null")]), Some(403));
        assert_eq!(post(&[json, ("sec-fetch-site", "cross-site")]), Some(403));
        assert_eq!(post(&[("content-type", "text/plain")]), Some(415));
        let api = |site: &str| ask(&guard, Method::GET, "/api/runs", &[local, ("sec-fetch-site", site)]);
        assert_eq!((api("cross-site"), api("same-origin")), (Some(403), None));
    }
}
