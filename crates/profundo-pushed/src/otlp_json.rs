//! A request of OTLP profiles in JSON, written anew in protobuf, which [`crate::otlp`] reads.
//!
//! It is proto3's mapping with OTLP's exceptions: keys are in camel case only, enums are numbers,
//! and ids are in hexadecimal digits. 64-bit integers are texts or numbers. What no reader asks for
//! is passed over, among it all ids and enums, and so is what is not known.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::Error;
use crate::otlp::WHAT;

/// The fields of a message that are read.
type Message = [Field];

/// The name of a field, its number and its kind.
struct Field(&'static str, u8, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Integer,
    Integers,
    /// A number of eight bytes.
    Fixed,
    Fixeds,
    Message(&'static Message),
    Messages(&'static Message),
}

use Kind::{Fixed, Fixeds, Integer, Integers, Messages, Text, Texts};

static REQUEST: &Message = &[
    Field("resourceProfiles", 1, Messages(RESOURCE_PROFILES)),
    Field("dictionary", 2, Kind::Message(DICTIONARY)),
];
static RESOURCE_PROFILES: &Message = &[
    Field("resource", 1, Kind::Message(RESOURCE)),
    Field("scopeProfiles", 2, Messages(SCOPE_PROFILES)),
];
static RESOURCE: &Message = &[Field("attributes", 1, Messages(KEY_VALUE))];
static KEY_VALUE: &Message = &[
    Field("key", 1, Text),
    Field("value", 2, Kind::Message(ANY_VALUE)),
    Field("keyStrindex", 3, Integer),
];
static ANY_VALUE: &Message = &[
    Field("stringValue", 1, Text),
    Field("intValue", 3, Integer),
    Field("stringValueStrindex", 8, Integer),
];
static SCOPE_PROFILES: &Message = &[Field("profiles", 2, Messages(PROFILE))];
static PROFILE: &Message = &[
    Field("sampleType", 1, Kind::Message(VALUE_TYPE)),
    Field("samples", 2, Messages(SAMPLE)),
    Field("timeUnixNano", 3, Fixed),
    Field("durationNano", 4, Integer),
    Field("periodType", 5, Kind::Message(VALUE_TYPE)),
    Field("period", 6, Integer),
];
static VALUE_TYPE: &Message = &[
    Field("typeStrindex", 1, Integer),
    Field("unitStrindex", 2, Integer),
];
static SAMPLE: &Message = &[
    Field("stackIndex", 1, Integer),
    Field("attributeIndices", 2, Integers),
    Field("values", 4, Integers),
    Field("timestampsUnixNano", 5, Fixeds),
];
static DICTIONARY: &Message = &[
    Field("mappingTable", 1, Messages(MAPPING)),
    Field("locationTable", 2, Messages(LOCATION)),
    Field("functionTable", 3, Messages(FUNCTION)),
    Field("stringTable", 5, Texts),
    Field("attributeTable", 6, Messages(ATTRIBUTE)),
    Field("stackTable", 7, Messages(STACK)),
];
static MAPPING: &Message = &[
    Field("memoryStart", 1, Integer),
    Field("fileOffset", 3, Integer),
    Field("filenameStrindex", 4, Integer),
    Field("attributeIndices", 5, Integers),
];
static LOCATION: &Message = &[
    Field("mappingIndex", 1, Integer),
    Field("address", 2, Integer),
    Field("lines", 3, Messages(LINE)),
    Field("attributeIndices", 4, Integers),
];
static LINE: &Message = &[
    Field("functionIndex", 1, Integer),
    Field("line", 2, Integer),
    Field("column", 3, Integer),
];
static FUNCTION: &Message = &[
    Field("nameStrindex", 1, Integer),
    Field("systemNameStrindex", 2, Integer),
    Field("filenameStrindex", 3, Integer),
];
static ATTRIBUTE: &Message = &[
    Field("keyStrindex", 1, Integer),
    Field("value", 2, Kind::Message(ANY_VALUE)),
];
static STACK: &Message = &[Field("locationIndices", 1, Integers)];

/// The request in protobuf, of at most `limit` bytes.
pub(crate) fn to_protobuf(json: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    let mut out = Out {
        bytes: Vec::with_capacity(json.len().min(limit) / 2),
        limit,
    };
    let mut reader = serde_json::Deserializer::from_slice(json);
    let read = reader.deserialize_map(Fields(REQUEST, &mut out));
    let read = read.and_then(|()| reader.end());
    match read {
        _ if out.is_full() => Err(Error::TooLarge {
            what: "unpacked body",
            limit,
        }),
        Ok(()) => Ok(out.bytes),
        Err(error) => Err(Error::malformed(WHAT, error.to_string())),
    }
}

/// A message that is being written.
struct Out {
    bytes: Vec<u8>,
    limit: usize,
}

impl Out {
    fn is_full(&self) -> bool {
        self.bytes.len() > self.limit
    }

    fn check<E: de::Error>(&self) -> Result<(), E> {
        match self.is_full() {
            true => Err(E::custom("it is too large")),
            false => Ok(()),
        }
    }

    fn tag(&mut self, number: u8, wire: u8) {
        self.bytes.push(number << 3 | wire);
    }

    fn varint(&mut self, number: u64) {
        let (bytes, length) = varint(number);
        self.bytes.extend_from_slice(&bytes[..length]);
    }

    /// Writes a field with what `contents` writes, and its length before it.
    fn framed<E: de::Error>(
        &mut self,
        number: u8,
        contents: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tag(number, 2);
        // Most lengths take one byte.
        self.bytes.push(0);
        let start = self.bytes.len();
        contents(self)?;
        let end = self.bytes.len();
        let (length, more) = varint((end - start) as u64);
        let more = more - 1;
        if more > 0 {
            self.bytes.resize(end + more, 0);
            self.bytes.copy_within(start..end, start + more);
        }
        self.bytes[start - 1..start + more].copy_from_slice(&length[..=more]);
        self.check()
    }
}

/// A number of seven bits a byte, the lowest first.
fn varint(mut number: u64) -> ([u8; 10], usize) {
    let (mut bytes, mut length) = ([0; 10], 0);
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        bytes[length] = byte | u8::from(number > 0) << 7;
        length += 1;
        if number == 0 {
            return (bytes, length);
        }
    }
}

/// Takes a JSON object as a message, without its tag and length.
struct Fields<'o>(&'static Message, &'o mut Out);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let Self(message, out) = self;
        while let Some(key) = map.next_key_seed(Name)? {
            let field = message.iter().find(|field| *field.0 == *key);
            match field {
                Some(&Field(_, number, kind)) => map.next_value_seed(Value(number, kind, out))?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// Takes a key, which is copied only where it has escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = std::borrow::Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = std::borrow::Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(text.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.to_owned().into())
    }
}

/// Takes the value of a field, or `null`, which is no value.
struct Value<'o>(u8, Kind, &'o mut Out);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let Self(number, kind, out) = self;
        match kind {
            Kind::Integers => out.framed(number, |out| from.deserialize_seq(Many(0, Integer, out))),
            Kind::Fixeds => out.framed(number, |out| from.deserialize_seq(Many(0, Fixed, out))),
            Kind::Texts => from.deserialize_seq(Many(number, Text, out)),
            Kind::Messages(of) => from.deserialize_seq(Many(number, Kind::Message(of), out)),
            one => One(number, one, out).deserialize(from),
        }
    }
}

/// Takes the elements of a list: values of this kind, under this number.
struct Many<'o>(u8, Kind, &'o mut Out);

impl<'de> Visitor<'de> for Many<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        let Self(number, kind, out) = self;
        while list.next_element_seed(One(number, kind, out))?.is_some() {}
        Ok(())
    }
}

/// Takes one value. Numbers within a packed list have no tag, and 0 for the number of their field.
struct One<'o>(u8, Kind, &'o mut Out);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let Self(number, kind, out) = self;
        match kind {
            Kind::Message(of) => out.framed(number, |out| from.deserialize_map(Fields(of, out))),
            Text => from.deserialize_str(Self(number, kind, out)),
            _ => from.deserialize_any(Self(number, kind, out)),
        }
    }
}

impl One<'_> {
    fn put<E: de::Error>(self, value: u64) -> Result<(), E> {
        let Self(number, kind, out) = self;
        let is_fixed = matches!(kind, Fixed);
        if number > 0 {
            out.tag(number, u8::from(is_fixed));
        }
        match is_fixed {
            true => out.bytes.extend_from_slice(&value.to_le_bytes()),
            false => out.varint(value),
        }
        out.check()
    }
}

impl<'de> Visitor<'de> for One<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.1 {
            Text => "a text",
            _ => "an integer",
        })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.put(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.put(value.cast_unsigned())
    }

    /// `1e9` and `5.0` are integers too.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        const MOST: f64 = 9_007_199_254_740_992.0;
        match value.fract() == 0.0 && value.abs() <= MOST {
            true => self.put((value as i64).cast_unsigned()),
            false => Err(E::custom(format!("{value} is no integer"))),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        let Self(number, kind, out) = self;
        if matches!(kind, Text) {
            return out.framed(number, |out| {
                out.bytes.extend_from_slice(text.as_bytes());
                Ok(())
            });
        }
        let value = match text.parse::<u64>() {
            Ok(value) => value,
            Err(_) => match text.parse::<i64>() {
                Ok(value) => value.cast_unsigned(),
                Err(_) => return Err(E::custom(format!("{text:?} is no integer"))),
            },
        };
        Self(number, kind, out).put(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> String {
        to_protobuf(json.as_bytes(), 1000).unwrap_err().to_string()
    }

    #[test]
    fn values_are_written_in_protobuf() {
        let json = r#"{"dictionary": {"stringTable": ["", "a\nb"], "linkTable": [{"traceId": "00ff"}],
            "stackTable": [{}, {"locationIndices": [1, "300", 2e0, -1]}], "mappingTable": null},
            "resourceProfiles": [{"resource": {"attributes": [{"key": "k", "value": {"intValue": "-2"}}]},
            "scopeProfiles": [{"profiles": [{"timeUnixNano": "5", "samples": [
            {"timestampsUnixNano": [1]}], "unknown": {"a": [1, {}]}}]}]}]}"#;
        let stacks =
            b"\x3a\0\x3a\x10\x0a\x0e\x01\xac\x02\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let strings = b"\x2a\0\x2a\x03a\nb";
        let dictionary = [&strings[..], stacks].concat();
        let attribute = b"\x0a\x10\x0a\x01k\x12\x0b\x18\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let profile = b"\x12\x15\x19\x05\0\0\0\0\0\0\0\x12\x0a\x2a\x08\x01\0\0\0\0\0\0\0";
        let resource = [&b"\x0a"[..], &[attribute.len() as u8], attribute].concat();
        let scope = [&b"\x12"[..], &[profile.len() as u8], profile].concat();
        let profiles = [resource, scope].concat();
        let wanted = [
            &[0x12, dictionary.len() as u8],
            &dictionary[..],
            &[0x0a, profiles.len() as u8],
            &profiles,
        ]
        .concat();
        let found = to_protobuf(json.as_bytes(), 1000).unwrap();
        assert_eq!(found, wanted);
    }

    #[test]
    fn lengths_of_many_bytes_are_right() {
        for length in [0, 127, 128, 16_383, 16_384, 70_000] {
            let text = "x".repeat(length);
            let json = format!(r#"{{"dictionary":{{"stringTable":["{text}"]}}}}"#);
            let found = to_protobuf(json.as_bytes(), 1 << 20).unwrap();
            let field = |bytes: &[u8]| {
                let field = profundo_import::protobuf::Fields::new(bytes).next();
                let field = field.unwrap().unwrap();
                (field.number, field.value.bytes().to_vec())
            };
            let (number, dictionary) = field(&found);
            assert_eq!(number, 2);
            assert_eq!(field(&dictionary), (5, text.into_bytes()), "{length}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(refused("{").contains("EOF"));
        assert!(refused("[]").contains("an object"));
        assert!(refused("{} {}").contains("trailing"));
        assert!(refused(r#"{"dictionary": 5}"#).contains("an object"));
        let stacks = |list| format!(r#"{{"dictionary": {{"stackTable": [{list}]}}}}"#);
        for (wrong, words) in [
            (r#"{"locationIndices": [1.5]}"#, "1.5 is no integer"),
            (r#"{"locationIndices": ["x"]}"#, "\"x\" is no integer"),
            (r#"{"locationIndices": [true]}"#, "an integer"),
            (r#"{"locationIndices": 5}"#, "a list"),
            ("null", "an object"),
        ] {
            let text = refused(&stacks(wrong));
            assert!(text.contains(words), "{text}");
        }
        let many = format!(r#"{{"locationIndices": [{}1]}}"#, "-1,".repeat(200));
        assert!(refused(&stacks(&many)).contains("more than 1000 bytes"));
    }
}
