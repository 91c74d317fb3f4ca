//! Live updates: the list of runs is sent when somebody begins to listen, and again whenever it changes.
//!
//! Folders are looked at once a second while somebody listens, and not at all otherwise.

use crate::server::App;
use axum::response::sse::Event;
use futures_core::Stream;
use serde_json::json;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// The most listeners at a time.
const MOST: usize = 32;

/// The last list, as JSON text.
#[derive(Clone)]
pub(crate) struct News(watch::Sender<Arc<str>>);

impl News {
    pub fn new() -> News {
        News(watch::Sender::new("".into()))
    }

    /// Looks at the folders for as long as the server runs.
    pub async fn look(self, app: Arc<App>) {
        loop {
            if self.0.receiver_count() > 0 {
                self.publish(list(app.clone()).await);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    fn publish(&self, now: Arc<str>) {
        self.0.send_if_modified(|last| {
            let changed = *last != now;
            *last = now;
            changed
        });
    }

    /// A new listener; none if there are too many.
    pub fn listen(&self, app: Arc<App>) -> Option<Listener> {
        if self.0.receiver_count() >= MOST {
            return None;
        }
        let mut news = self.0.subscribe();
        let (send, receive) = mpsc::channel(2);
        let all = self.clone();
        tokio::spawn(async move {
            // What is sent first is what later lists are compared with.
            all.publish(list(app).await);
            let mut text = news.borrow_and_update().clone();
            drop(all);
            // Ends when the listener is gone: then sending fails, or there is nobody left to wait for.
            loop {
                if send.send(text).await.is_err() {
                    return;
                }
                tokio::select! {
                    changed = news.changed() => if changed.is_err() { return },
                    () = send.closed() => return,
                }
                text = news.borrow_and_update().clone();
            }
        });
        Some(Listener(receive))
    }
}

async fn list(app: Arc<App>) -> Arc<str> {
    let look = move || {
        let rows = app.runs.look();
        let (models, worlds) = (app.models.list(&rows), app.models.worlds());
        json!({ "worlds": worlds, "models": models, "runs": rows }).to_string().into()
    };
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|_| "{\"runs\":[],\"models\":[],\"worlds\":[]}".into())
}

/// What one listener hears.
pub(crate) struct Listener(mpsc::Receiver<Arc<str>>);

impl Stream for Listener {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|text| Some(Ok(Event::default().event("list").data(&*text?))))
    }
}
