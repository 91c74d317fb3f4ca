//! The page itself, part of the program: nothing is fetched from anywhere.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use equimarl_lab::figure::dark_rules;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// All files: path, kind, content.
pub(crate) const FILES: [(&str, &str, &str); 16] = [
    ("/", HTML, include_str!("../assets/index.html")),
    ("/icon.svg", PICTURE, include_str!("../assets/icon.svg")),
    ("/style.css", STYLE, include_str!("../assets/style.css")),
    ("/app.js", SCRIPT, include_str!("../assets/app.js")),
    ("/dom.js", SCRIPT, include_str!("../assets/dom.js")),
    ("/talk.js", SCRIPT, include_str!("../assets/talk.js")),
    ("/runs.js", SCRIPT, include_str!("../assets/runs.js")),
    ("/stage.js", SCRIPT, include_str!("../assets/stage.js")),
    ("/board.js", SCRIPT, include_str!("../assets/board.js")),
    ("/scene.js", SCRIPT, include_str!("../assets/scene.js")),
    ("/paint.js", SCRIPT, include_str!("../assets/paint.js")),
    ("/teams.js", SCRIPT, include_str!("../assets/teams.js")),
    ("/torus.js", SCRIPT, include_str!("../assets/torus.js")),
    ("/wishes.js", SCRIPT, include_str!("../assets/wishes.js")),
    ("/fields.js", SCRIPT, include_str!("../assets/fields.js")),
    ("/details.js", SCRIPT, include_str!("../assets/details.js")),
];

/// A file of the page.
pub(crate) fn file(kind: &'static str, content: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], content).into_response()
}

/// The colours of curves on dark paper, from where the curves come from.
pub(crate) async fn figure_style() -> Response {
    let dark = dark_rules(":root[data-theme=\"dark\"]");
    ([(CONTENT_TYPE, STYLE)], dark).into_response()
}
