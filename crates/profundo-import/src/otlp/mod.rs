//! Profiles of OpenTelemetry (OTLP, `opentelemetry.proto.profiles.v1development`, as it is since
//! protocol 1.9): from the eBPF profiler, the collector's file exporter and its receivers, in
//! protobuf and in JSON.
//!
//! ```text
//! ProfilesData
//!   1 resource_profiles: a process or a service, and its profiles
//!       one type of value each; samples of a stack, attributes, values, times
//!   2 dictionary: tables of strings, functions, locations, stacks, attributes
//! ```
//!
//! Stacks begin with the innermost function, and so do the lines of a location.

mod attributes;
mod memory;
mod message;
mod samples;
mod start;
mod tables;
mod wire;

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use message::Data;
use samples::{Choice, Types};
use start::{Form, form_of};
use wire::Decode;

pub(crate) const READER: Reader = Reader(&Table {
    name: "otlp",
    writers: "OpenTelemetry's eBPF profiler, collectors, SDKs",
    is_start: |start| form_of(start).is_some(),
    fill,
});

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let messages = match form_of(source.bytes) {
        Some(Form::Json) => json(source.bytes, builder),
        Some(Form::Framed) => framed(source.bytes, builder),
        _ => vec![message(source.bytes, 0, builder)],
    };
    let types = Types::new(&messages);
    let choice = types.choose(source.options)?;
    let mut sums = memory::Sums::default();
    for message in &messages {
        samples::fill(message, &choice, &mut sums, builder);
    }
    sums.finish(builder);
    if let Choice::Value(value) = &choice {
        value.finish(builder);
    }
    builder.profile.name_reasons();
    Ok(())
}

fn message<'a>(bytes: &'a [u8], at: usize, builder: &mut Builder) -> Data<'a> {
    let mut data = Data::default();
    let damage = wire::each_field(bytes, |field| data.field(field.number, field.value));
    if let Some(offset) = damage {
        builder.warn(Warning::Damaged {
            offset: (at + offset) as u64,
            what: "a message that is not whole".into(),
        });
    }
    data
}

/// Messages with their lengths before them.
fn framed<'a>(bytes: &'a [u8], builder: &mut Builder) -> Vec<Data<'a>> {
    let mut messages = Vec::new();
    let mut at = 0;
    while let Some((length, rest)) = bytes
        .get(at..)
        .and_then(|rest| rest.split_first_chunk::<4>())
    {
        let length = u32::from_be_bytes(*length) as usize;
        let inside = &rest[..length.min(rest.len())];
        messages.push(message(inside, at + 4, builder));
        at += 4 + inside.len();
    }
    messages
}

/// One message, or one a line.
fn json<'a>(bytes: &'a [u8], builder: &mut Builder) -> Vec<Data<'a>> {
    let mut messages = Vec::new();
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter();
    loop {
        let at = stream.byte_offset();
        match stream.next() {
            Some(Ok(data)) => messages.push(data),
            Some(Err(error)) => {
                builder.warn(Warning::Damaged {
                    offset: at as u64,
                    what: error.to_string(),
                });
                return messages;
            }
            None => return messages,
        }
    }
}
