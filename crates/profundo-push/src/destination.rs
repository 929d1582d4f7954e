//! Addresses of destinations.

use std::fmt;

use crate::Error;

/// A place that profiles are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A collector: the address of its profiles.
    Otlp(String),
    /// A Pyroscope: its address, without a slash at the end.
    Pyroscope(String),
    /// An address that takes pprof.
    Pprof(String),
    /// A store: a folder's path, or `s3://BUCKET/PREFIX`.
    Store(String),
}

/// The path of profiles at a collector.
const OTLP: &str = "/v1development/profiles";

impl Destination {
    /// Reads an address. `otlp` alone is the collector that the environment names, as it does for
    /// OpenTelemetry's own exporters.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text, |name| std::env::var(name).ok())
    }

    /// Whether a text is the address of another program, and not of a store.
    pub fn is_remote(text: &str) -> bool {
        text == "otlp" || text.contains("://") && !text.starts_with("s3://")
    }

    fn read(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Address {
            address: text.to_owned(),
            why: why.to_owned(),
        };
        if text == "otlp" {
            let variable = |name| variable(name).filter(|url| !url.trim().is_empty());
            if let Some(url) = variable("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT") {
                return Ok(Self::Otlp(url.trim().to_owned()));
            }
            let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")
                .unwrap_or_else(|| "http://localhost:4318".to_owned());
            return Ok(Self::Otlp(format!(
                "{}{OTLP}",
                base.trim().trim_end_matches('/')
            )));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text {
                "" => Err(wrong("it is empty")),
                folder => Ok(Self::Store(folder.to_owned())),
            };
        };
        let address = |scheme: &str, port: &str| {
            let (host, path) = rest
                .split_once('/')
                .map_or((rest, ""), |(host, path)| (host, path));
            let name = host.rsplit('@').next().unwrap_or(host);
            if name.is_empty() || name.starts_with(':') {
                return Err(wrong("it has no host"));
            }
            if rest.contains(char::is_whitespace) {
                return Err(wrong("it has a space in it"));
            }
            // The last colon of [::1] is none of a port.
            let behind = name.rsplit(']').next().unwrap_or(name);
            let port = if behind.contains(':') { "" } else { port };
            let path = path.trim_end_matches('/');
            let slash = if path.is_empty() { "" } else { "/" };
            Ok(format!("{scheme}://{host}{port}{slash}{path}"))
        };
        let otlp = |base: String| match base.ends_with(OTLP) {
            true => base,
            false => base + OTLP,
        };
        match scheme {
            "otlp" => address("http", ":4318").map(otlp).map(Self::Otlp),
            // Behind TLS, the usual port is that of HTTPS.
            "otlps" => address("https", "").map(otlp).map(Self::Otlp),
            "pyroscope" => address("http", ":4040").map(Self::Pyroscope),
            "pyroscopes" => address("https", "").map(Self::Pyroscope),
            "http" | "https" => {
                address(scheme, "")?;
                Ok(Self::Pprof(text.to_owned()))
            }
            "s3" => Ok(Self::Store(text.to_owned())),
            _ => Err(wrong(
                "it begins with otlp://, otlps://, pyroscope://, pyroscopes://, http://, https:// \
                 or s3://, or it is a folder",
            )),
        }
    }
}

impl fmt::Display for Destination {
    /// The address, without a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Otlp(text) | Self::Pyroscope(text) | Self::Pprof(text) | Self::Store(text)) =
            self;
        let text = text.split('?').next().unwrap_or(text);
        match text.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = host.rsplit('@').next().unwrap_or(host);
                write!(f, "{scheme}://{host}{path}")
            }
            None => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Destination {
        Destination::read(text, |_| None).unwrap()
    }

    #[test]
    fn addresses_have_their_usual_ports_and_paths() {
        let otlp = |text: &str| Destination::Otlp(text.to_owned());
        let pyroscope = |text: &str| Destination::Pyroscope(text.to_owned());
        for (text, wanted) in [
            ("otlp://a", otlp("http://a:4318/v1development/profiles")),
            ("otlp://a:1/x/", otlp("http://a:1/x/v1development/profiles")),
            (
                "otlps://a/v1development/profiles",
                otlp("https://a/v1development/profiles"),
            ),
            (
                "otlp://[::1]",
                otlp("http://[::1]:4318/v1development/profiles"),
            ),
            ("pyroscope://a", pyroscope("http://a:4040")),
            ("pyroscope://a:80/p", pyroscope("http://a:80/p")),
            ("pyroscopes://u:p@a", pyroscope("https://u:p@a")),
            (
                "http://a/b?c=d",
                Destination::Pprof("http://a/b?c=d".to_owned()),
            ),
            ("s3://b/p", Destination::Store("s3://b/p".to_owned())),
            ("folder", Destination::Store("folder".to_owned())),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
        let other = Destination::read("otlp", |name| {
            (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| "https://c/".to_owned())
        });
        assert_eq!(other.unwrap(), otlp("https://c/v1development/profiles"));
        assert_eq!(
            read("otlp"),
            otlp("http://localhost:4318/v1development/profiles")
        );
    }

    #[test]
    fn a_password_is_not_shown() {
        let shown = read("pyroscopes://user:secret@a/p").to_string();
        assert_eq!(shown, "https://a/p");
        assert_eq!(read("http://a/b?token=x").to_string(), "http://a/b");
    }

    #[test]
    fn other_addresses_are_refused() {
        for text in [
            "",
            "ftp://a",
            "otlp://",
            "otlp://:80",
            "pyroscope://a b",
            "http://",
        ] {
            assert!(Destination::read(text, |_| None).is_err(), "{text}");
        }
    }
}
