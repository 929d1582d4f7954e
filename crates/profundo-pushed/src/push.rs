//! Pyroscope's `push.v1.PusherService/Push`, in protobuf or JSON.
//!
//! ```text
//! PushRequest       1 series
//! RawProfileSeries  1 labels (1 name, 2 value)  2 samples (1 raw_profile, 2 ID)
//! ```

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use profundo_import::protobuf::Fields;
use profundo_store::Identity;
use serde::Deserialize;

use crate::Error;
use crate::rows::text_of;
use crate::{About, Piece, identity, unpacked};

/// The most profiles of a request.
const MOST: usize = 1000;
const WHAT: &str = "request of push.v1";

pub(crate) fn open(content_type: &str, body: &[u8], limit: usize) -> Result<Vec<Piece>, Error> {
    let body = unpacked(body, limit)?;
    let mut pieces = Pieces {
        all: Vec::new(),
        left: limit,
    };
    match content_type.contains("json") {
        true => json(&body, &mut pieces)?,
        false => protobuf(&body, &mut pieces)?,
    }
    Ok(pieces.all)
}

struct Pieces {
    all: Vec<Piece>,
    /// All of them together have the limit of one.
    left: usize,
}

impl Pieces {
    fn add(&mut self, profile: &[u8], identity: &Identity) -> Result<(), Error> {
        if self.all.len() >= MOST {
            return Err(Error::malformed(WHAT, "it has too many profiles"));
        }
        let about = About {
            identity: identity.clone(),
            ..About::default()
        };
        let piece = Piece::pprof(profile, about, self.left)?;
        self.left -= piece.bytes.len();
        self.all.push(piece);
        Ok(())
    }
}

fn protobuf(body: &[u8], pieces: &mut Pieces) -> Result<(), Error> {
    let damaged = |_| Error::malformed(WHAT, "it is damaged");
    for series in Fields::new(body) {
        let series = series.map_err(damaged)?;
        if series.number != 1 {
            continue;
        }
        let mut of = Identity::default();
        let mut profiles = Vec::new();
        for field in Fields::new(series.value.bytes()) {
            let field = field.map_err(damaged)?;
            match field.number {
                1 => {
                    let (mut name, mut value) = ("", "");
                    for part in Fields::new(field.value.bytes()).flatten() {
                        match part.number {
                            1 => name = text_of(part.value.bytes()),
                            2 => value = text_of(part.value.bytes()),
                            _ => {}
                        }
                    }
                    identity::label(&mut of, name, value);
                }
                2 => {
                    let parts = Fields::new(field.value.bytes()).flatten();
                    profiles.extend(
                        parts
                            .filter(|part| part.number == 1)
                            .map(|part| part.value.bytes()),
                    );
                }
                _ => {}
            }
        }
        let of = identity::named(of);
        for profile in profiles {
            pieces.add(profile, &of)?;
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    series: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Label {
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct Sample {
    #[serde(default, alias = "raw_profile", rename = "rawProfile")]
    raw_profile: String,
}

fn json(body: &[u8], pieces: &mut Pieces) -> Result<(), Error> {
    let request: Request =
        serde_json::from_slice(body).map_err(|error| Error::malformed(WHAT, error.to_string()))?;
    for series in request.series {
        let mut of = Identity::default();
        for label in &series.labels {
            identity::label(&mut of, &label.name, &label.value);
        }
        let of = identity::named(of);
        for sample in series.samples {
            let profile = BASE64_STANDARD
                .decode(&sample.raw_profile)
                .map_err(|_| Error::malformed(WHAT, "a profile is not in base64"))?;
            pieces.add(&profile, &of)?;
        }
    }
    Ok(())
}
