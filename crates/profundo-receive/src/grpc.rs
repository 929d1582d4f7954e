//! gRPC as far as one call needs it: a message behind five bytes, and a status in the trailers.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use profundo_pushed::{Error, unpacked};

use crate::Refusal;

/// The call of OpenTelemetry's exporters.
pub(crate) const EXPORT: &str =
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const TYPE: HeaderValue = HeaderValue::from_static("application/grpc");

/// The message of a call of one message.
pub(crate) fn message(body: &Bytes, encoding: &str, limit: usize) -> Result<Bytes, Error> {
    let malformed = |why: &str| Error::Malformed {
        what: "call of gRPC",
        why: why.to_owned(),
    };
    let (head, rest) = body
        .split_first_chunk::<5>()
        .ok_or_else(|| malformed("it has no message"))?;
    let [is_packed, length @ ..] = *head;
    if u32::from_be_bytes(length) as usize != rest.len() {
        return Err(malformed("it is not one message"));
    }
    let message = body.slice(5..);
    match (is_packed, encoding) {
        (0, _) => Ok(message),
        // It may stay packed: the decoder knows gzip by its first bytes.
        (1, "gzip") if message.starts_with(&[0x1f, 0x8b]) => Ok(message),
        (1, "gzip") => unpacked(&message, limit).map(Bytes::from),
        _ => Err(Error::Unsupported {
            what: format!("the packing {encoding}"),
            instead: "gzip and no packing are",
        }),
    }
}

/// The answer.
pub(crate) fn answer(taken: Result<(), Refusal>) -> Response {
    let refusal = match taken {
        Ok(()) => {
            let mut trailers = HeaderMap::new();
            trailers.insert(STATUS, HeaderValue::from_static("0"));
            // An empty message.
            let frames: [Result<_, Infallible>; 2] = [
                Ok(Frame::data(Bytes::from_static(&[0; 5]))),
                Ok(Frame::trailers(trailers)),
            ];
            let body = Body::new(StreamBody::new(stream::iter(frames)));
            return ([(header::CONTENT_TYPE, TYPE)], body).into_response();
        }
        Err(refusal) => refusal,
    };
    let status = match &refusal {
        Refusal::Body(Error::Unsupported { .. }) => "12",
        Refusal::Body(Error::TooLarge { .. }) | Refusal::TooLarge { .. } => "8",
        Refusal::Body(_) => "3",
        _ => "14",
    };
    // Other characters would have to be written as in a URL.
    let plain = |one: char| {
        if one.is_ascii_graphic() && one != '%' {
            one
        } else {
            ' '
        }
    };
    let text: String = refusal.to_string().chars().map(plain).collect();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, TYPE);
    headers.insert(STATUS, HeaderValue::from_static(status));
    if let Ok(text) = HeaderValue::from_str(&text) {
        headers.insert(MESSAGE, text);
    }
    (StatusCode::OK, headers).into_response()
}
