//! The server: connections within a bound, bodies within a bound and in time, and an orderly end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use profundo_pushed::{Arrived, Route};
use profundo_store::{Spool, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::flush::{Flush, Say, recover};
use crate::gather::{Gather, now};
use crate::{Error, Limits, Refusal, grpc};

/// The time for requests that are on their way when the server ends.
const LAST: Duration = Duration::from_secs(10);
/// Bodies of more bytes are decoded on a thread of their own.
const LARGE: usize = 512 << 10;
/// The unit of the bytes that are on their way in.
const UNIT: usize = 1 << 10;

/// What a server is made of.
pub struct Settings {
    /// The address that it listens on. Port 0 is any that is free.
    pub listen: SocketAddr,
    /// The store.
    pub store: Box<dyn Store>,
    /// The folder of the spool and the journal.
    pub spool: PathBuf,
    /// The name of this machine.
    pub host: String,
    /// The length of a segment.
    pub segment: Duration,
    /// The bounds.
    pub limits: Limits,
    /// Where a line goes now and then.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("listen", &self.listen)
            .field("spool", &self.spool)
            .field("segment", &self.segment)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A server that listens, and does not answer yet.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    signals: [Signal; 3],
    gather: Arc<Gather>,
    flush: Flush,
    recovered: u64,
    say: Say,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What all requests share.
struct Shared {
    gather: Arc<Gather>,
    /// The bytes that may be on their way in, in units.
    room: Arc<Semaphore>,
    /// Bodies that are decoded on threads of their own.
    large: Semaphore,
}

impl Server {
    /// Listens, and makes segments of what another server has left in the folder of the spool.
    pub fn listen(settings: Settings) -> Result<Self, Error> {
        let Settings {
            listen,
            store,
            spool: folder,
            host,
            segment,
            limits,
            say,
        } = settings;
        let failed = |source| Error::Listen {
            address: listen.to_string(),
            source,
        };
        // The bound is kept by refusing what comes; only a full disk drops what was taken.
        let mut spool = Spool::open(&folder, u64::MAX)?;
        let journal = folder.join("journal");
        let (recovered, number) = recover(&journal, &host, &mut spool, &limits)?;
        let name = format!("receive-{host}-{}-{}", std::process::id(), now());
        let gather = Arc::new(Gather::new(&host, &name, journal, number, limits)?);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = runtime.worker_threads(cores).enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let listener = runtime
            .block_on(TcpListener::bind(listen))
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
            runtime,
            listener,
            signals,
            flush: Flush {
                gather: Arc::clone(&gather),
                store,
                spool,
                age: segment,
                say: Arc::clone(&say),
            },
            gather,
            recovered,
            say,
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of bodies that another server had taken and not written.
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Takes bodies until a signal says that it is enough. Everything that was answered is in the
    /// spool then. Returns the number of segments that the store does not have yet.
    pub fn serve(self) -> Result<u64, Error> {
        let Self {
            runtime,
            listener,
            signals,
            gather,
            flush,
            say,
            ..
        } = self;
        let writing = std::thread::Builder::new()
            .name("segments".to_owned())
            .spawn(move || flush.run())
            .map_err(|source| Error::Listen {
                address: "a thread".to_owned(),
                source,
            })?;
        runtime.block_on(connections(listener, signals, Arc::clone(&gather), say));
        gather.end();
        let waiting = writing.join();
        runtime.shutdown_background();
        waiting.unwrap_or(Ok(0))
    }
}

/// Serves connections until a signal, and ends those that are open.
async fn connections(listener: TcpListener, signals: [Signal; 3], gather: Arc<Gather>, say: Say) {
    let limits = gather.limits;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = Arc::new(Shared {
        gather,
        room: Arc::new(Semaphore::new((limits.in_flight / UNIT).max(1))),
        large: Semaphore::new(cores * 2),
    });
    let router = router(shared);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .keep_alive_interval(limits.idle)
        .keep_alive_timeout(limits.patience);
    let free = Arc::new(Semaphore::new(limits.connections));
    let open = GracefulShutdown::new();
    let [mut interrupt, mut terminate, mut hang_up] = signals;
    loop {
        let accepted = tokio::select! {
            biased;
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            _ = hang_up.recv() => break,
            accepted = accept(&listener, &free) => accepted,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many descriptors, or a client that has gone.
                if error.raw_os_error() == Some(24) {
                    say("there are more connections than files may be open");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = builder
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        let connection = open.watch(connection);
        tokio::spawn(async move {
            // A client that breaks off is no matter of the server's.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST, open.shutdown()).await;
}

/// The next connection, once there is room for one.
async fn accept(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(free).acquire_owned().await;
    let place = place.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1development/profiles", post(otlp))
        .route("/ingest", post(ingest))
        .route("/push.v1.PusherService/Push", post(push))
        .route("/pprof", post(pprof))
        .route(grpc::EXPORT, post(export))
        .route("/", get(page))
        .route("/ready", get(ready))
        .with_state(shared)
}

async fn otlp(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let is_json = content_type(request.headers()).contains("json");
    let taken = shared.take(Route::Otlp, request).await;
    // An empty message says that all was taken.
    match (taken, is_json) {
        (Ok(()), true) => empty_json(),
        (taken, _) => answer(taken, &[(header::CONTENT_TYPE, "application/x-protobuf")]),
    }
}

/// An empty message in JSON.
fn empty_json() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], "{}").into_response()
}

async fn ingest(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    answer(shared.take(Route::Ingest, request).await, &[])
}

async fn push(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let is_json = content_type(request.headers()).contains("json");
    let taken = shared.take(Route::Push, request).await;
    match (taken, is_json) {
        (Ok(()), true) => empty_json(),
        (taken, _) => answer(taken, &[(header::CONTENT_TYPE, "application/proto")]),
    }
}

async fn pprof(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    answer(shared.take(Route::Pprof, request).await, &[])
}

async fn export(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let encoding = text(request.headers(), "grpc-encoding");
    let taken = match shared.body(request).await {
        Err(refusal) => Err(refusal),
        Ok((body, _room)) => match grpc::message(&body, &encoding, shared.gather.limits.unpacked) {
            Err(error) => Err(error.into()),
            Ok(body) => {
                let arrived = Arrived {
                    route: Route::Otlp,
                    at: now(),
                    query: String::new(),
                    content_type: String::new(),
                    encoding: String::new(),
                    body,
                };
                return grpc::answer(shared.decode(arrived).await);
            }
        },
    };
    grpc::answer(taken.or_else(|refusal| refuse(&shared, refusal)))
}

/// Counts a body that was refused before it was whole.
fn refuse(shared: &Shared, refusal: Refusal) -> Result<(), Refusal> {
    shared.gather.refused(&refusal);
    Err(refusal)
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    match shared.gather.full() {
        None => (StatusCode::OK, "ready\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let counts = shared.gather.counts().clone();
    let mut text = format!(
        "profundo receive {}\n\nprofiles {}\nbytes {}\nsamples {}\nrefused {}\nbusy {}\n\
         segments {}\nsent {}\n",
        env!("CARGO_PKG_VERSION"),
        counts.bodies,
        counts.bytes,
        counts.samples,
        counts.refused,
        counts.busy,
        counts.segments,
        counts.sent,
    );
    for (name, count) in &counts.left_out {
        text += &format!("left out {name} {count}\n");
    }
    if let Some(why) = shared.gather.full() {
        text += &format!("full {why}\n");
    }
    text.into_response()
}

impl Shared {
    async fn take(&self, route: Route, request: Request) -> Result<(), Refusal> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let content_type = content_type(request.headers());
        let encoding = text(request.headers(), "content-encoding");
        // The bytes have their room until they are in the journal.
        let (body, _room) = match self.body(request).await {
            Ok(body) => body,
            Err(refusal) => return refuse(self, refusal),
        };
        let arrived = Arrived {
            route,
            at: now(),
            query,
            content_type,
            encoding,
            body,
        };
        self.decode(arrived).await
    }

    async fn decode(&self, arrived: Arrived) -> Result<(), Refusal> {
        if arrived.body.len() < LARGE {
            return self.gather.take(&arrived);
        }
        // A large one does not hold up the small ones of other clients.
        let _place = self.large.acquire().await.map_err(|_| Refusal::Cut)?;
        let gather = Arc::clone(&self.gather);
        let taken = tokio::task::spawn_blocking(move || gather.take(&arrived)).await;
        taken.unwrap_or(Err(Refusal::Cut))
    }

    /// The whole body, and the room that it takes.
    async fn body(&self, request: Request) -> Result<(Bytes, Room), Refusal> {
        let limits = &self.gather.limits;
        if let Some(why) = self.gather.full() {
            return Err(Refusal::busy(why, 10));
        }
        let too_large = Refusal::TooLarge { limit: limits.body };
        let length = text(request.headers(), "content-length");
        if length
            .parse::<usize>()
            .is_ok_and(|length| length > limits.body)
        {
            return Err(too_large);
        }
        let read = self.read(request.into_body(), too_large);
        match tokio::time::timeout(limits.patience, read).await {
            Ok(read) => read,
            Err(_) => Err(Refusal::Slow {
                seconds: limits.patience.as_secs(),
            }),
        }
    }

    async fn read(&self, mut body: Body, too_large: Refusal) -> Result<(Bytes, Room), Refusal> {
        let mut room = Room::default();
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame.map_err(|_| Refusal::Cut)?.into_data() else {
                continue;
            };
            length += bytes.len();
            if length > self.gather.limits.body {
                return Err(too_large);
            }
            room.grow(&self.room, bytes.len())?;
            // Most come in one piece, which need not be copied.
            if first.is_empty() && all.is_empty() {
                first = bytes;
                continue;
            }
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&bytes);
        }
        let bytes = if all.is_empty() { first } else { all.freeze() };
        Ok((bytes, room))
    }
}

/// The room of a body that is on its way in.
#[derive(Default)]
struct Room(Vec<OwnedSemaphorePermit>, usize);

impl Room {
    fn grow(&mut self, all: &Arc<Semaphore>, bytes: usize) -> Result<(), Refusal> {
        let before = self.1.div_ceil(UNIT);
        self.1 += bytes;
        let more = self.1.div_ceil(UNIT) - before;
        if more == 0 {
            return Ok(());
        }
        let permit = Arc::clone(all).try_acquire_many_owned(more as u32);
        let permit = permit.map_err(|_| Refusal::busy("too many bodies arrive at once", 1))?;
        match self.0.last_mut() {
            Some(last) => last.merge(permit),
            None => self.0.push(permit),
        }
        Ok(())
    }
}

fn text(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn content_type(headers: &HeaderMap) -> String {
    text(headers, "content-type")
}

/// The answer to a body.
fn answer(taken: Result<(), Refusal>, headers: &[(header::HeaderName, &'static str)]) -> Response {
    let refusal = match taken {
        Ok(()) => {
            let mut response = StatusCode::OK.into_response();
            for (name, value) in headers {
                let value = HeaderValue::from_static(value);
                response.headers_mut().insert(name.clone(), value);
            }
            return response;
        }
        Err(refusal) => refusal,
    };
    let mut response = (refusal.status(), format!("{refusal}\n")).into_response();
    if let Some(seconds) = refusal.retry_after() {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
