//! Requests: the body of each destination, and attempts within a bound of time.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use profundo_formats::export::{Format, Options, otlp, write};
use profundo_import::protobuf::Fields;
use profundo_model::Profile;
use profundo_store::{Identity, Store, Stretch, Writer};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder};
use tokio::runtime::Runtime;

use crate::{Destination, Error};

/// The time before the second attempt; it doubles with each.
const PAUSE: Duration = Duration::from_millis(500);
/// The most of an answer that is read.
const ANSWER: usize = 64 << 10;

/// How profiles are sent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Further headers: for a tenant or a token.
    pub headers: Vec<(String, String)>,
    /// The longest time of a call, all attempts together.
    pub patience: Duration,
    /// The most attempts of a call.
    pub attempts: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            patience: Duration::from_secs(30),
            attempts: 4,
        }
    }
}

impl Settings {
    /// The same settings with a header, which is written `NAME:VALUE`.
    pub fn with_header(mut self, text: &str) -> Result<Self, Error> {
        let (name, value) = text.split_once(':').ok_or_else(|| Error::Header {
            header: text.to_owned(),
        })?;
        self.headers
            .push((name.trim().to_owned(), value.trim().to_owned()));
        headers(&self.headers)?;
        Ok(self)
    }

    /// The same settings with the headers of `OTEL_EXPORTER_OTLP_HEADERS`, which are written
    /// `name=value,name=value`.
    pub fn with_headers_of_environment(self) -> Result<Self, Error> {
        self.with_list(&std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default())
    }

    fn with_list(mut self, list: &str) -> Result<Self, Error> {
        for pair in list.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| Error::Header {
                header: pair.to_owned(),
            })?;
            // A plus is a plus there.
            let value = value.trim().replace('+', "%2B");
            let mut value = form_urlencoded::parse(value.as_bytes());
            let value = value
                .next()
                .map_or(String::new(), |(value, rest)| match &rest[..] {
                    "" => value.into_owned(),
                    rest => format!("{value}={rest}"),
                });
            self.headers.push((name.trim().to_owned(), value));
        }
        headers(&self.headers)?;
        Ok(self)
    }
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        // A value may be a secret.
        let wrong = || Error::Header {
            header: name.clone(),
        };
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Sends profiles to one destination.
#[derive(Debug)]
pub struct Pusher {
    destination: Destination,
    settings: Settings,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Requests { client: Client, runtime: Runtime },
    Store(Box<dyn Store>),
}

impl Pusher {
    /// A pusher. Nothing is asked of the other side yet.
    pub fn new(destination: Destination, settings: Settings) -> Result<Self, Error> {
        if let Destination::Store(place) = &destination {
            let store = profundo_store::open(place)?;
            return Ok(Self {
                destination,
                settings,
                way: Way::Store(store),
            });
        }
        let failed = |why: String| Error::Client { why };
        // It fails where the caller has chosen another one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .default_headers(headers(&settings.headers)?)
            .user_agent(concat!("profundo/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.patience)
            .redirect(reqwest::redirect::Policy::limited(3))
            .build()
            .map_err(|error| failed(chain(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            destination,
            settings,
            way: Way::Requests { client, runtime },
        })
    }

    /// The destination.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Sends a profile. `identity` says whose it is.
    ///
    /// A destination that has no time is asked again, as often and as long as the settings say.
    pub fn send(&self, profile: &Profile, identity: &Identity) -> Result<(), Error> {
        match (&self.way, &self.destination) {
            (Way::Store(store), _) => put(&**store, profile, identity),
            (Way::Requests { client, runtime }, destination) => {
                let body = body(destination, profile, identity)?;
                let send = self.attempts(client, profile, identity, &body);
                let patience = self.settings.patience;
                match runtime.block_on(async { tokio::time::timeout(patience, send).await }) {
                    Ok(sent) => sent,
                    Err(_) => {
                        Err(self.unreachable(format!("no answer in {} s", patience.as_secs_f64())))
                    }
                }
            }
        }
    }

    async fn attempts(
        &self,
        client: &Client,
        profile: &Profile,
        identity: &Identity,
        body: &[u8],
    ) -> Result<(), Error> {
        let end = Instant::now() + self.settings.patience;
        let mut pause = PAUSE;
        let mut left = self.settings.attempts.max(1);
        loop {
            let request = self.request(client, profile, identity).body(body.to_vec());
            let error = match self.attempt(request).await {
                Err(error) if error.is_passing() => error,
                done => return done,
            };
            left -= 1;
            let wait = error.retry_after().unwrap_or(pause);
            if left == 0 || Instant::now() + wait >= end {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
    }

    async fn attempt(&self, request: RequestBuilder) -> Result<(), Error> {
        let answer = request.send().await;
        let answer = answer.map_err(|error| self.unreachable(chain(&error.without_url())))?;
        let status = answer.status();
        let address = self.destination.to_string();
        let header = answer.headers().get(RETRY_AFTER);
        let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let after = seconds.map(Duration::from_secs);
        // A collector says 502, 503 or 504, and those before it say others.
        if status.is_server_error() && status != 501 || matches!(status.as_u16(), 408 | 429) {
            return Err(Error::Busy {
                address,
                status: status.as_u16(),
                after,
            });
        }
        let bytes = start_of(answer).await;
        if !status.is_success() {
            let text = String::from_utf8_lossy(&bytes);
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            let plain = line
                .unwrap_or_default()
                .chars()
                .filter(|one| !one.is_control());
            return Err(Error::Refused {
                address,
                status: status.as_u16(),
                why: plain.take(200).collect(),
            });
        }
        match (&self.destination, rejected(&bytes)) {
            (Destination::Otlp(_), Some((count, why))) => Err(Error::Partly {
                address,
                count,
                why,
            }),
            _ => Ok(()),
        }
    }

    fn request(&self, client: &Client, profile: &Profile, identity: &Identity) -> RequestBuilder {
        match &self.destination {
            Destination::Otlp(address) => client
                .post(address)
                .header("content-type", "application/x-protobuf")
                .header("content-encoding", "gzip"),
            Destination::Pyroscope(address) => {
                client.post(format!("{address}/ingest?{}", query(profile, identity)))
            }
            Destination::Pprof(address) | Destination::Store(address) => client
                .post(address)
                .header("content-type", "application/octet-stream"),
        }
    }

    fn unreachable(&self, why: String) -> Error {
        Error::Unreachable {
            address: self.destination.to_string(),
            why,
        }
    }
}

/// The body of a request.
fn body(
    destination: &Destination,
    profile: &Profile,
    identity: &Identity,
) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    match destination {
        Destination::Otlp(_) => {
            let mut out = GzEncoder::new(&mut body, Compression::default());
            otlp::write_of(profile, &Options::default(), &resource(identity), &mut out)?;
            let failed = |error| profundo_formats::Error::Write(error);
            out.flush().map_err(failed)?;
            out.finish().map_err(failed)?;
        }
        _ => write(profile, Format::PPROF, &Options::default(), &mut body)?,
    }
    Ok(body)
}

/// The attributes of a resource, under OpenTelemetry's names.
fn resource(identity: &Identity) -> Vec<(String, String)> {
    let known = [
        ("service.name", &identity.service),
        ("host.name", &identity.host),
        ("service.version", &identity.version),
        ("container.id", &identity.container),
        ("k8s.pod.name", &identity.pod),
    ];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    let known = known.map(|(key, value)| (key.to_owned(), value.clone()));
    known.chain(identity.labels.iter().cloned()).collect()
}

/// The query of Pyroscope's `/ingest`: `name=api{host=node-1}&from=…&until=…&format=pprof`.
fn query(profile: &Profile, identity: &Identity) -> String {
    let known = [
        ("hostname", &identity.host),
        ("version", &identity.version),
        ("container", &identity.container),
        ("pod", &identity.pod),
    ];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    let labels = identity.labels.iter().map(|(key, value)| (&key[..], value));
    // A comma or a brace would end the label.
    let plain = |text: &str| text.replace([',', '{', '}', '='], "_");
    let name_of = |text: &str| {
        let letter = |one: char| {
            if one.is_ascii_alphanumeric() {
                one
            } else {
                '_'
            }
        };
        text.chars().map(letter).collect::<String>()
    };
    let labels: Vec<String> = known
        .chain(labels)
        .map(|(key, value)| format!("{}={}", name_of(key), plain(value)))
        .collect();
    let service = match &identity.service[..] {
        "" => "unknown_service",
        service => service,
    };
    let seconds = |nanos: u64| (nanos / 1_000_000_000).to_string();
    let meta = &profile.meta;
    let end = meta
        .started_at_unix
        .saturating_add(meta.duration.0.max(1_000_000_000));
    let rate = match meta.period.0 {
        0 => 100,
        period => (1_000_000_000 / period).max(1),
    };
    form_urlencoded::Serializer::new(String::new())
        .append_pair(
            "name",
            &format!("{}{{{}}}", plain(service), labels.join(",")),
        )
        .append_pair("from", &seconds(meta.started_at_unix))
        .append_pair("until", &seconds(end))
        .append_pair("format", "pprof")
        .append_pair("spyName", "profundo")
        .append_pair("sampleRate", &rate.to_string())
        .finish()
}

/// Writes a profile as a segment of a store.
fn put(store: &dyn Store, profile: &Profile, identity: &Identity) -> Result<(), Error> {
    // The same profile of the same service is the same segment, however often it is sent.
    let name = format!("push {} {}", identity.service, profile.meta.started_at_unix);
    let mut writer = Writer::new(identity.clone(), &name);
    let segment = writer.segment(profile, &Stretch::all(profile))?;
    Ok(segment.put(store)?)
}

/// The number of profiles that a collector has not taken, and its words.
fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let part = Fields::new(answer)
        .flatten()
        .find(|field| field.number == 1)?;
    let (mut count, mut why) = (0, String::new());
    for field in Fields::new(part.value.bytes()).flatten() {
        match field.number {
            1 => count = field.value.number(),
            2 => why = String::from_utf8_lossy(field.value.bytes()).into_owned(),
            _ => {}
        }
    }
    let plain = why.chars().filter(|one| !one.is_control());
    (count > 0).then(|| (count, plain.take(200).collect()))
}

/// The first bytes of an answer.
async fn start_of(mut answer: reqwest::Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= ANSWER {
            break;
        }
    }
    bytes
}

/// An error and its reasons, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text += &format!(": {reason}");
        }
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_exporters() {
        let settings = Settings::default()
            .with_list("x-scope-orgid=team%20a, authorization=Basic a+b==")
            .unwrap()
            .with_header("X-A: b:c")
            .unwrap();
        let wanted = [
            ("x-scope-orgid", "team a"),
            ("authorization", "Basic a+b=="),
            ("X-A", "b:c"),
        ];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(settings.headers, wanted);
        for wrong in ["none", "a b:c", "a:b\n"] {
            assert!(Settings::default().with_header(wrong).is_err() || wrong == "a:b\n");
        }
        assert!(Settings::default().with_list("none").is_err());
    }

    #[test]
    fn an_application_of_pyroscope_has_labels() {
        let identity = Identity {
            service: "api".to_owned(),
            host: "node-1".to_owned(),
            labels: vec![("zone.name".to_owned(), "eu,west".to_owned())],
            ..Identity::default()
        };
        let mut profile = Profile::default();
        profile.meta.started_at_unix = 1_795_856_400_000_000_000;
        profile.meta.period.0 = 10_000_000;
        assert_eq!(
            query(&profile, &identity),
            "name=api%7Bhostname%3Dnode-1%2Czone_name%3Deu_west%7D&from=1795856400\
             &until=1795856401&format=pprof&spyName=profundo&sampleRate=100"
        );
    }

    #[test]
    fn a_collector_may_take_a_part() {
        assert_eq!(rejected(&[]), None);
        assert_eq!(rejected(&[0x0a, 0]), None);
        let answer = [0x0a, 6, 0x08, 2, 0x12, 2, b'n', b'o'];
        assert_eq!(rejected(&answer), Some((2, "no".to_owned())));
    }

    #[test]
    fn nobody_there_is_a_passing_failure_within_the_bound() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let settings = Settings {
            patience: Duration::from_millis(600),
            ..Settings::default()
        };
        // It listens and does not answer.
        let profile = Profile::from_folded("a;b 1").unwrap();
        let pusher = Pusher::new(Destination::parse(&address).unwrap(), settings.clone()).unwrap();
        let begin = Instant::now();
        let error = pusher.send(&profile, &Identity::default()).unwrap_err();
        assert!(error.is_passing(), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(5));
        drop(listener);
        let pusher = Pusher::new(Destination::parse(&address).unwrap(), settings).unwrap();
        let error = pusher.send(&profile, &Identity::default()).unwrap_err();
        assert!(error.is_passing(), "{error}");
    }
}
