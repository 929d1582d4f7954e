//! The messages of OTLP profiles as far as they are read. Rows of tables stay bytes until they are
//! asked for: a file names more than its samples use. In JSON they come as they are.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::wire::Decode;

/// `ProfilesData`, and a request of a collector.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Data<'a> {
    pub resource_profiles: Vec<ResourceProfiles<'a>>,
    pub dictionary: Dictionary<'a>,
}

/// `ProfilesDictionary`. The first row of each table stands for nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Dictionary<'a> {
    pub mapping_table: Vec<Lazy<'a, Mapping>>,
    pub location_table: Vec<Lazy<'a, Location>>,
    pub function_table: Vec<Lazy<'a, Function>>,
    pub string_table: Vec<Cow<'a, str>>,
    pub attribute_table: Vec<Lazy<'a, Attribute<'a>>>,
    pub stack_table: Vec<Lazy<'a, Stack>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceProfiles<'a> {
    pub resource: Resource<'a>,
    pub scope_profiles: Vec<ScopeProfiles<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Resource<'a> {
    pub attributes: Vec<KeyValue<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ScopeProfiles<'a> {
    pub profiles: Vec<Profile<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Profile<'a> {
    pub sample_type: ValueType,
    pub samples: Vec<Lazy<'a, Sample>>,
    pub time_unix_nano: Int,
    pub duration_nano: Int,
    pub period_type: ValueType,
    pub period: Int,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ValueType {
    pub type_strindex: Int,
    pub unit_strindex: Int,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Sample {
    pub stack_index: Int,
    pub attribute_indices: Vec<Int>,
    pub values: Vec<Int>,
    pub timestamps_unix_nano: Vec<Int>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Mapping {
    pub memory_start: Int,
    pub memory_limit: Int,
    pub file_offset: Int,
    pub filename_strindex: Int,
    pub attribute_indices: Vec<Int>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Stack {
    pub location_indices: Vec<Int>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Location {
    pub mapping_index: Int,
    pub address: Int,
    pub lines: Vec<Line>,
    pub attribute_indices: Vec<Int>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line {
    pub function_index: Int,
    pub line: Int,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Function {
    pub name_strindex: Int,
    pub system_name_strindex: Int,
    pub filename_strindex: Int,
}

/// `KeyValueAndUnit`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Attribute<'a> {
    pub key_strindex: Int,
    pub value: Any<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct KeyValue<'a> {
    pub key: Cow<'a, str>,
    /// Since protocol 1.10, in place of the key.
    pub key_strindex: Int,
    pub value: Any<'a>,
}

/// `AnyValue`: a text or a number; others are not used.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Any<'a> {
    pub string_value: Option<Cow<'a, str>>,
    pub int_value: Option<Int>,
    pub string_value_strindex: Option<Int>,
}

/// A number. JSON has large ones as texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Int(pub u64);

impl Int {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Int;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Int, E> {
                Ok(Int(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Int, E> {
                Ok(Int(number.cast_unsigned()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Int, E> {
                Ok(Int(number as u64))
            }

            fn visit_str<E>(self, text: &str) -> Result<Int, E> {
                let signed = || text.parse::<i64>().map(i64::cast_unsigned);
                Ok(Int(text.parse().or_else(|_| signed()).unwrap_or(0)))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// A row that is read when it is asked for.
#[derive(Debug)]
pub(super) enum Lazy<'a, T> {
    Wire(&'a [u8]),
    Ready(Box<T>),
}

impl<'a, T: Decode<'a> + Clone> Lazy<'a, T> {
    pub(super) fn get(&self) -> Cow<'_, T> {
        match self {
            Self::Wire(bytes) => Cow::Owned(T::decode(bytes)),
            Self::Ready(row) => Cow::Borrowed(row),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lazy<'_, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|row| Self::Ready(Box::new(row)))
    }
}
