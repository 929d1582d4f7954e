//! Who may ask: only the page that was opened by its address.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;

/// The word of the addresses, and the names of the server.
#[derive(Debug)]
pub(super) struct Guard {
    token: String,
    hosts: Vec<String>,
}

impl Guard {
    pub(super) fn new(address: SocketAddr, token: String) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.push(format!("localhost:{port}"));
        }
        Self { token, hosts }
    }

    /// The status for a request that is refused.
    fn refusal(&self, path: &str, method: &Method, headers: &HeaderMap) -> Option<StatusCode> {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        // A name that another site has given to this address is not ours.
        let is_host = text(header::HOST).is_some_and(|host| self.hosts.iter().any(|h| h == host));
        if !is_host {
            return Some(StatusCode::MISDIRECTED_REQUEST);
        }
        let is_ours = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| self.hosts.iter().any(|known| known == host))
        };
        if headers.contains_key(header::ORIGIN) && !text(header::ORIGIN).is_some_and(is_ours) {
            return Some(StatusCode::FORBIDDEN);
        }
        let is_foreign = text(header::HeaderName::from_static("sec-fetch-site"))
            .is_some_and(|site| !matches!(site, "same-origin" | "none"));
        let token = path.split('/').nth(1).unwrap_or_default();
        if !is_same(token, &self.token) {
            return Some(StatusCode::NOT_FOUND);
        }
        // A link on another page may open this one; nothing else there may ask.
        let is_page = path.trim_start_matches('/').trim_end_matches('/') == token;
        if is_foreign && !is_page {
            return Some(StatusCode::FORBIDDEN);
        }
        (method != Method::GET).then_some(StatusCode::METHOD_NOT_ALLOWED)
    }
}

/// Compares in a time that does not tell how much is right.
fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differs = pairs.fold(0, |differs, (a, b)| differs | (a ^ b));
    one.len() == other.len() && differs == 0
}

/// Refuses, or lets through with the headers that every answer has.
pub(super) async fn check(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if let Some(status) = shared
        .guard
        .refusal(path, request.method(), request.headers())
    {
        return status.into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let add = |headers: &mut HeaderMap, name, value| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    add(headers, header::CACHE_CONTROL, "no-store");
    add(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(headers, header::REFERRER_POLICY, "no-referrer");
    add(
        headers,
        header::HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, headers: &[(&'static str, &'static str)]) -> Option<u16> {
        let address = SocketAddr::from(([127, 0, 0, 1], 7777));
        let guard = Guard::new(address, "secret".to_owned());
        let mut map = HeaderMap::new();
        for &(name, value) in headers {
            map.insert(name, HeaderValue::from_static(value));
        }
        let refused = guard.refusal(path, &Method::GET, &map);
        refused.map(|status| status.as_u16())
    }

    #[test]
    fn only_the_own_page_may_ask() {
        let host = ("host", "127.0.0.1:7777");
        let question = "/secret/api/about";
        assert_eq!(check(question, &[host]), None);
        assert_eq!(check(question, &[("host", "localhost:7777")]), None);
        assert_eq!(
            check(question, &[host, ("origin", "http://127.0.0.1:7777")]),
            None
        );
        assert_eq!(check(question, &[]), Some(421));
        assert_eq!(check(question, &[("host", "evil.example:7777")]), Some(421));
        assert_eq!(check(question, &[("host", "127.0.0.1")]), Some(421));
        assert_eq!(
            check(question, &[host, ("origin", "http://evil.example")]),
            Some(403)
        );
        assert_eq!(check(question, &[host, ("origin", "null")]), Some(403));
        assert_eq!(
            check(question, &[host, ("sec-fetch-site", "cross-site")]),
            Some(403)
        );
        assert_eq!(
            check("/secret/", &[host, ("sec-fetch-site", "cross-site")]),
            None
        );
        assert_eq!(check("/wrong/api/about", &[host]), Some(404));
        assert_eq!(check("/secre/api/about", &[host]), Some(404));
        assert_eq!(check("/", &[host]), Some(404));
    }
}
