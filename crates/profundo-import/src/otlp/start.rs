//! Whether bytes begin as OTLP profiles. In protobuf nothing marks them, and traces, logs and
//! metrics of OTLP begin alike, so the walk goes down to the first profile.

use crate::encoding::protobuf::Value;

use super::wire::each_field;

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    /// Messages with their lengths before them, as the collector's file exporter writes them.
    Framed,
    /// One message, or one a line.
    Json,
}

/// The encoding of a file that begins with these bytes.
pub(super) fn form_of(start: &[u8]) -> Option<Form> {
    if let Some(inside) = start.trim_ascii_start().strip_prefix(b"{") {
        let key = inside.trim_ascii_start();
        let is_first = |name: &[u8]| key.starts_with(name);
        let keys: [&[u8]; 2] = [b"\"resourceProfiles\"", b"\"resource_profiles\""];
        // The dictionary may come first.
        let is_dictionary = || {
            let tables: [&[u8]; 3] = [
                b"\"mappingTable\"",
                b"\"stringTable\"",
                b"\"locationTable\"",
            ];
            is_first(b"\"dictionary\"") && tables.iter().any(|table| contains(key, table))
        };
        return (keys.iter().any(|name| is_first(name)) || is_dictionary()).then_some(Form::Json);
    }
    if is_data(start) {
        return Some(Form::Protobuf);
    }
    match start.split_first_chunk::<4>() {
        Some((length, rest)) if u32::from_be_bytes(*length) > 16 && is_data(rest) => {
            Some(Form::Framed)
        }
        _ => None,
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The levels down to a profile: of each, the number of the field that leads on, and that of the
/// highest field.
const LEVELS: [(u32, u32); 3] = [(1, 2), (2, 3), (2, 3)];

fn is_data(message: &[u8]) -> bool {
    let mut bytes = message;
    for (next, most) in LEVELS {
        let mut inside: Option<&[u8]> = None;
        let mut fits = true;
        each_field(bytes, |field| {
            let is_bytes = matches!(field.value, Value::Bytes(_));
            fits &= field.number <= most && is_bytes;
            if field.number == next && inside.is_none() {
                inside = Some(field.value.bytes());
            }
        });
        match inside {
            Some(found) if fits => bytes = found,
            _ => return false,
        }
    }
    is_profile(bytes)
}

/// Whether a message has the fields of a profile: a type of two small numbers first.
fn is_profile(message: &[u8]) -> bool {
    let mut fits = true;
    let mut has_any = false;
    each_field(message, |field| {
        has_any = true;
        fits &= match (field.number, field.value) {
            (1 | 5, Value::Bytes(inside)) => is_value_type(inside),
            (2 | 7 | 9 | 10 | 11, Value::Bytes(_)) => true,
            (3, Value::Fixed64(_)) | (4 | 6 | 8 | 11, Value::Varint(_)) => true,
            _ => false,
        };
    });
    fits && has_any
}

fn is_value_type(message: &[u8]) -> bool {
    let mut fits = true;
    let damage = each_field(message, |field| {
        fits &= field.number <= 2 && matches!(field.value, Value::Varint(_));
    });
    fits && damage.is_none()
}
