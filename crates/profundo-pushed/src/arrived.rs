//! A body as it came, with what is needed to decode it now or after a restart.

use bytes::Bytes;

/// The address that a body came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A request of OpenTelemetry's collectors, in protobuf.
    Otlp,
    /// Pyroscope's `/ingest`.
    Ingest,
    /// Pyroscope's `push.v1`, in protobuf or JSON.
    Push,
    /// A pprof alone.
    Pprof,
}

const ROUTES: [Route; 4] = [Route::Otlp, Route::Ingest, Route::Push, Route::Pprof];

/// A body as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// Where it came to.
    pub route: Route,
    /// The time, in milliseconds since 1970.
    pub at: i64,
    /// What stood behind `?` in the address.
    pub query: String,
    /// The header `Content-Type`.
    pub content_type: String,
    /// The header `Content-Encoding`.
    pub encoding: String,
    /// The body.
    pub body: Bytes,
}

impl Arrived {
    /// Appends it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(
            ROUTES
                .iter()
                .position(|known| *known == self.route)
                .unwrap_or(0) as u8,
        );
        out.extend_from_slice(&self.at.to_le_bytes());
        for text in [&self.query, &self.content_type, &self.encoding] {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(&self.body);
    }

    /// Reads what was written.
    pub fn read(bytes: &Bytes) -> Option<Self> {
        let (&[route], rest) = bytes.split_first_chunk()?;
        let (at, mut rest) = rest.split_first_chunk()?;
        let mut text = || {
            let (length, behind) = rest.split_first_chunk()?;
            let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = behind;
            String::from_utf8(text.to_vec()).ok()
        };
        let (query, content_type, encoding) = (text()?, text()?, text()?);
        Some(Self {
            route: *ROUTES.get(usize::from(route))?,
            at: i64::from_le_bytes(*at),
            query,
            content_type,
            encoding,
            body: bytes.slice(bytes.len() - rest.len()..),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back() {
        let arrived = Arrived {
            route: Route::Push,
            at: -7,
            query: "name=a".to_owned(),
            content_type: "application/proto".to_owned(),
            encoding: String::new(),
            body: Bytes::from_static(b"body"),
        };
        let mut bytes = Vec::new();
        arrived.write(&mut bytes);
        let bytes = Bytes::from(bytes);
        assert_eq!(Arrived::read(&bytes), Some(arrived));
        for end in 0..bytes.len() - 4 {
            assert_eq!(Arrived::read(&bytes.slice(..end)), None);
        }
    }
}
