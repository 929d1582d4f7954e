//! Questions over HTTP, each answered with a finished profile. `profundo_store::cluster` asks them.

use std::path::{Component, Path};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use profundo_store::cluster::{PATH, SUM, checksum};
use profundo_store::{Error as StoreError, Query, answer_by, open};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Error;
use crate::cluster::Engine;
use crate::options::GatewayOptions;
use crate::query::{THREADS, saved};

/// The number of questions that are answered at a time.
const AT_A_TIME: usize = 8;
/// The longest question, in bytes.
const LONGEST: usize = 64 << 10;

struct Gateway {
    engine: Engine,
    stores: Vec<String>,
    free: Semaphore,
}

/// Runs until it is ended.
pub async fn run(options: GatewayOptions) -> Result<(), Error> {
    let gateway = Gateway {
        engine: Engine {
            scheduler: Some(options.asking.scheduler(&options.scheduler)?),
            tasks: options.asking.tasks,
            handle: Handle::current(),
        },
        stores: options.store,
        free: Semaphore::new(AT_A_TIME),
    };
    let routes = Router::new()
        .route(PATH, post(asked))
        .route("/healthz", get(|| async { "ok" }))
        .layer(DefaultBodyLimit::max(LONGEST))
        .with_state(Arc::new(gateway));
    let failed = |source| Error::Io {
        verb: "listen on",
        what: options.listen.to_string(),
        source,
    };
    let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
    axum::serve(listener, routes).await.map_err(failed)
}

/// A refusal: a status and a sentence.
type Refusal = (StatusCode, String);

async fn asked(State(gateway): State<Arc<Gateway>>, question: Bytes) -> Result<Response, Refusal> {
    let internal = |why: String| (StatusCode::INTERNAL_SERVER_ERROR, why);
    let _turn = gateway.free.acquire().await;
    let asked = Arc::clone(&gateway);
    let work = move || answered(&asked, &question);
    let file = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| internal(error.to_string()))??;
    let sum = checksum(&file);
    Ok(([(SUM, sum)], file).into_response())
}

fn answered(gateway: &Gateway, question: &[u8]) -> Result<Vec<u8>, Refusal> {
    let wrong = |why: String| (StatusCode::BAD_REQUEST, why);
    let text = std::str::from_utf8(question);
    let text = text.map_err(|_| wrong("the question is no text".to_owned()))?;
    // Its times are whole ones, so it does not matter what time it is here.
    let query = Query::parse(text, 0).map_err(|error| wrong(error.to_string()))?;
    if !gateway
        .stores
        .iter()
        .any(|store| is_within(&query.place, store))
    {
        let why = format!("the gateway answers for other stores than {}", query.place);
        return Err((StatusCode::FORBIDDEN, why));
    }
    let store = open(&query.place).map_err(refusal)?;
    let profile = answer_by(&gateway.engine, &*store, &query, THREADS).map_err(refusal)?;
    saved(&profile).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

fn refusal(error: StoreError) -> Refusal {
    let status = match error {
        // The command says whom it asked.
        StoreError::Cluster { why, .. } => return (StatusCode::SERVICE_UNAVAILABLE, why),
        StoreError::Store { .. } => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut why = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        why = format!("{why}: {error}");
        source = error.source();
    }
    (status, why)
}

/// Whether a place is a store or lies below it.
fn is_within(place: &str, store: &str) -> bool {
    let (is_bucket, of_bucket) = (place.starts_with("s3://"), store.starts_with("s3://"));
    let (place, store) = (Path::new(place), Path::new(store));
    let goes_up = place.components().any(|part| part == Component::ParentDir);
    is_bucket == of_bucket && !goes_up && place.starts_with(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_a_store_is_answered_for() {
        assert!(is_within("/srv/fleet", "/srv/fleet/"));
        assert!(is_within("/srv/fleet/prod", "/srv/fleet"));
        assert!(is_within("s3://bucket/prod/", "s3://bucket"));
        assert!(!is_within("/srv/fleet-2", "/srv/fleet"));
        assert!(!is_within("/srv/fleet/../x", "/srv/fleet"));
        assert!(!is_within("s3://bucket-2/prod", "s3://bucket"));
        assert!(!is_within("/etc", "/srv/fleet"));
    }
}
