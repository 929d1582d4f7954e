//! The server: loopback, one page, its questions, and a stream of events.
//!
//! Other pages in the same browser can send requests to it, and other users of the machine too. So
//! each address has a word in it that cannot be guessed, and each request must name the host that
//! the server has, and no other origin: see [`guard`].
//!
//! The page holds a stream of events open. The server ends a while after the last one was closed,
//! and on Ctrl-C.

mod guard;
mod presence;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::answers::{self, Answer};
use crate::page::{page, policy, random_word};
use crate::{Error, Library, Question};

use guard::Guard;
pub use presence::Patience;
use presence::Presence;

/// The question of who looks for a server of the same recordings.
const ALIVE: &str = "alive";

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    runtime: tokio::runtime::Runtime,
    /// What ends it: it is asked for before its address is known to anybody.
    signals: [Signal; 3],
}

/// What all requests share.
struct Shared {
    library: Library,
    guard: Guard,
    presence: Presence,
}

impl Server {
    /// Listens on an address. Port 0 is any that is free.
    pub fn listen(address: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Listen {
            address: address.to_string(),
            source,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(failed)?;
        let signals = {
            let _entered = runtime.enter();
            [
                signal(SignalKind::interrupt()).map_err(failed)?,
                signal(SignalKind::terminate()).map_err(failed)?,
                signal(SignalKind::hangup()).map_err(failed)?,
            ]
        };
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            token: random_word()?,
            listener,
            runtime,
            signals,
        })
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Serves the page, until it has been closed for long enough, or a signal says that it is
    /// enough.
    pub fn serve(self, library: Library, patience: Patience) -> Result<(), Error> {
        let address = self.address;
        let shared = Arc::new(Shared {
            library,
            guard: Guard::new(address, self.token),
            presence: Presence::default(),
        });
        let router = Router::new()
            .route("/{token}/", get(root))
            .route("/{token}/api/events", get(events))
            .route("/{token}/api/{name}", get(api))
            .layer(axum::middleware::from_fn_with_state(
                Arc::clone(&shared),
                guard::check,
            ))
            .with_state(Arc::clone(&shared));
        let served = self
            .runtime
            .block_on(async move {
                let end = async move { shared.presence.ended(patience).await };
                let [mut interrupt, mut terminate, mut hang_up] = self.signals;
                // Streams of events never end, so the server does not wait for them.
                tokio::select! {
                    served = axum::serve(self.listener, router).into_future() => served,
                    () = end => Ok(()),
                    _ = interrupt.recv() => Ok(()),
                    _ = terminate.recv() => Ok(()),
                    _ = hang_up.recv() => Ok(()),
                }
            })
            .map_err(|source| Error::Listen {
                address: address.to_string(),
                source,
            });
        // The page of a question that is still being answered is gone.
        self.runtime.shutdown_background();
        served
    }
}

async fn root() -> Response {
    let Ok(nonce) = random_word() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let policy = policy(&nonce, true);
    let mut response = page(&nonce, &policy, "").into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    if let Ok(policy) = HeaderValue::from_str(&format!("{policy}; frame-ancestors 'none'")) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn api(
    State(shared): State<Arc<Shared>>,
    Path((_, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = Question::of_address(&name, query.as_deref().unwrap_or_default());
    let question = match asked {
        Ok(question) => question,
        Err(error) => return refusal(&error),
    };
    let _here = shared.presence.enter();
    if name == ALIVE {
        shared.presence.expect();
    }
    let work = move || answers::answer(&shared.library, &question);
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(Answer { bytes, is })) => (
            [(header::CONTENT_TYPE, HeaderValue::from_static(is))],
            bytes,
        )
            .into_response(),
        Ok(Err(error)) => refusal(&error),
        Err(_) => refusal(&Error::Write(
            "the question could not be finished".to_owned(),
        )),
    }
}

/// A refusal: one sentence.
fn refusal(error: &Error) -> Response {
    (error.status(), error.to_string()).into_response()
}

/// Events: the version of the recordings at once, and again each time that it changes.
async fn events(
    State(shared): State<Arc<Shared>>,
) -> Sse<impl Stream<Item = Result<Event, std::convert::Infallible>>> {
    let here = shared.presence.enter();
    let stream = stream::unfold((shared, here, None), |(shared, here, last)| async move {
        loop {
            let version = shared.library.version();
            if last != Some(version) {
                let event = Event::default().event("version").data(version.to_string());
                return Some((Ok(event), (shared, here, Some(version))));
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Sse::new(stream).keep_alive(axum::response::sse::KeepAlive::default())
}
