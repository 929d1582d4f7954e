//! The profiles that other profilers push, decoded into rows of a store.
//!
//! A body has one or several pieces, each of which is a message that is unpacked: [`open`] finds
//! them. [`Piece::decode`] reads a piece into [`Decoded`], whose texts lie in the piece, and
//! [`Decoded::add`] adds its rows to a [`profundo_store::Batch`], without a profile in between.
//!
//! It is **not** for files of other tools (`profundo-import`), and no server (`profundo-receive`):
//! that is most of the code of a request and little of its time, so it is built for size, and this
//! for speed.
//!
//! Constraints: no trust in what arrives, no memory without a bound, and no unsafe code.

#![forbid(unsafe_code)]

mod add;
mod arrived;
mod error;
mod folded;
mod forms;
mod identity;
mod otlp;
mod otlp_json;
mod pprof;
mod push;
mod rows;
mod unpack;
mod values;

use profundo_store::Identity;

pub use arrived::{Arrived, Route};
pub use error::Error;
pub use rows::Decoded;
pub use unpack::unpacked;

/// A message of a body.
#[derive(Debug)]
pub struct Piece {
    format: Format,
    bytes: Vec<u8>,
    about: About,
}

/// The formats of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Otlp,
    Pprof,
    Folded,
}

/// What is known of a message from around it.
#[derive(Debug, Clone, Default)]
struct About {
    identity: Identity,
    /// The begin, in milliseconds since 1970.
    from: Option<i64>,
    /// The samples in a second, of text.
    rate: Option<f64>,
    /// The measured quantity, of text.
    units: String,
    /// The values that are sums since the start of the program.
    cumulative: Vec<String>,
}

/// The pieces of a body. More than `limit` bytes, unpacked, are refused.
pub fn open(arrived: &Arrived, limit: usize) -> Result<Vec<Piece>, Error> {
    let body = match &arrived.encoding[..] {
        "" | "identity" => None,
        "gzip" | "x-gzip" => Some(unpacked(&arrived.body, limit)?),
        other => {
            return Err(Error::Unsupported {
                what: format!("the encoding {other}"),
                instead: "gzip and no packing are",
            });
        }
    };
    let body = match &body {
        Some(body) => &body[..],
        None => &arrived.body[..],
    };
    match arrived.route {
        Route::Otlp => {
            let mut bytes = unpacked(body, limit)?;
            if arrived.content_type.contains("json") {
                bytes = otlp_json::to_protobuf(&bytes, limit)?;
            }
            Ok(vec![Piece {
                format: Format::Otlp,
                bytes,
                about: About::default(),
            }])
        }
        Route::Pprof => {
            let about = identity::of_query(&arrived.query);
            Ok(vec![Piece::pprof(body, about, limit)?])
        }
        Route::Ingest => forms::ingest(arrived, body, limit),
        Route::Push => push::open(&arrived.content_type, body, limit),
    }
}

impl Piece {
    fn pprof(body: &[u8], about: About, limit: usize) -> Result<Self, Error> {
        Ok(Self {
            format: Format::Pprof,
            bytes: unpacked(body, limit)?,
            about,
        })
    }

    /// Its rows. `at` is the time when it arrived, in milliseconds since 1970.
    pub fn decode(&self, at: i64) -> Result<Decoded<'_>, Error> {
        let mut decoded = Decoded::new(at);
        match self.format {
            Format::Otlp => otlp::decode(&self.bytes, &mut decoded)?,
            Format::Pprof => pprof::decode(&self.bytes, &self.about, &mut decoded)?,
            Format::Folded => folded::decode(&self.bytes, &self.about, &mut decoded)?,
        }
        match decoded.is_too_large() {
            true => Err(Error::malformed(
                "profile of a usual size",
                "it has more frames or samples than are taken at once",
            )),
            false => Ok(decoded),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use profundo_store::Writer;

    use super::*;

    /// The rows of a file of `testdata`, as a segment.
    fn segment(file: &str, content_type: &str) -> (Vec<Vec<u8>>, String) {
        const AT: i64 = 1_790_000_001_000;
        let path = format!(
            "{}/../../testdata/import/otlp/{file}",
            env!("CARGO_MANIFEST_DIR")
        );
        let arrived = Arrived {
            route: Route::Otlp,
            at: AT,
            query: String::new(),
            content_type: content_type.to_owned(),
            encoding: String::new(),
            body: fs::read(path).unwrap().into(),
        };
        let pieces = open(&arrived, 1 << 20).unwrap();
        let decoded = pieces[0].decode(AT).unwrap();
        assert!(decoded.rows() > 0);
        let mut writer = Writer::new(Identity::default(), "w");
        let mut batch = writer.batch(1, AT);
        decoded.add(&mut writer, &mut batch);
        let segment = batch.segment().unwrap();
        let files = segment.files.into_iter().map(|file| file.bytes.to_vec());
        (files.collect(), format!("{:?}", decoded.left_out()))
    }

    /// Both files are of OpenTelemetry's own messages.
    #[test]
    fn otlp_in_json_is_the_same_as_in_protobuf() {
        let json = segment("cpu.json", "application/json");
        assert_eq!(json, segment("cpu.otlp", "application/x-protobuf"));
    }
}
