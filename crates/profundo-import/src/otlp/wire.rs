//! The messages in protobuf. A message that is cut gives the fields that are there.

use std::borrow::Cow;

use super::message::{
    Any, Attribute, Data, Dictionary, Function, Int, KeyValue, Lazy, Line, Location, Mapping,
    Profile, Resource, ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
};
use crate::encoding::protobuf::{Field, Fields, Value};

/// A message that can be read from its bytes.
pub(super) trait Decode<'a>: Default {
    /// Takes a field in. Those that are not used are passed over.
    fn field(&mut self, number: u32, value: Value<'a>);

    fn decode(message: &'a [u8]) -> Self {
        let mut decoded = Self::default();
        each_field(message, |field| decoded.field(field.number, field.value));
        decoded
    }
}

/// Gives the fields of a message to `each`; one that is cut, with the bytes that there are. The
/// result is the place of the damage.
pub(super) fn each_field<'a>(message: &'a [u8], mut each: impl FnMut(Field<'a>)) -> Option<usize> {
    for field in Fields::new(message) {
        match field {
            Ok(field) => each(field),
            Err(damage) => {
                let rest = message.get(damage.offset..).unwrap_or_default();
                if let Some(field) = cut_field(rest).filter(|_| damage.is_cut) {
                    each(field);
                }
                return Some(damage.offset);
            }
        }
    }
    None
}

/// The begin of a field of bytes that the message has not the end of.
fn cut_field(rest: &[u8]) -> Option<Field<'_>> {
    let (tag, rest) = varint(rest)?;
    let (_, rest) = varint(rest)?;
    (tag & 7 == 2).then(|| Field {
        number: u32::try_from(tag >> 3).unwrap_or(0),
        value: Value::Bytes(rest),
    })
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let (digits, rest) = bytes.split_at(end + 1);
    let add = |number: u64, &byte: &u8| number << 7 | u64::from(byte & 0x7f);
    Some((digits.iter().rev().fold(0, add), rest))
}

fn text(value: Value<'_>) -> Cow<'_, str> {
    String::from_utf8_lossy(value.bytes())
}

fn int(value: Value<'_>) -> Int {
    Int(value.number())
}

fn ints(value: Value<'_>) -> impl Iterator<Item = Int> + '_ {
    value.numbers().map(Int)
}

/// Numbers of eight bytes each.
fn fixed(value: Value<'_>) -> Vec<Int> {
    match value {
        Value::Bytes(packed) => {
            let (words, _) = packed.as_chunks::<8>();
            words
                .iter()
                .map(|word| Int(u64::from_le_bytes(*word)))
                .collect()
        }
        one => vec![Int(one.number())],
    }
}

impl<'a> Decode<'a> for Data<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        match number {
            1 => self.resource_profiles.push(Decode::decode(value.bytes())),
            // Parts of one message add up.
            2 => {
                each_field(value.bytes(), |field| {
                    self.dictionary.field(field.number, field.value);
                });
            }
            _ => {}
        }
    }
}

impl<'a> Decode<'a> for Dictionary<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        let bytes = value.bytes();
        match number {
            1 => self.mapping_table.push(Lazy::Wire(bytes)),
            2 => self.location_table.push(Lazy::Wire(bytes)),
            3 => self.function_table.push(Lazy::Wire(bytes)),
            5 => self.string_table.push(text(value)),
            6 => self.attribute_table.push(Lazy::Wire(bytes)),
            7 => self.stack_table.push(Lazy::Wire(bytes)),
            _ => {}
        }
    }
}

impl<'a> Decode<'a> for ResourceProfiles<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        match number {
            1 => self.resource = Decode::decode(value.bytes()),
            2 => self.scope_profiles.push(Decode::decode(value.bytes())),
            _ => {}
        }
    }
}

impl<'a> Decode<'a> for Resource<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        if number == 1 {
            self.attributes.push(Decode::decode(value.bytes()));
        }
    }
}

impl<'a> Decode<'a> for ScopeProfiles<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        if number == 2 {
            self.profiles.push(Decode::decode(value.bytes()));
        }
    }
}

impl<'a> Decode<'a> for Profile<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        match number {
            1 => self.sample_type = Decode::decode(value.bytes()),
            2 => self.samples.push(Lazy::Wire(value.bytes())),
            3 => self.time_unix_nano = int(value),
            4 => self.duration_nano = int(value),
            5 => self.period_type = Decode::decode(value.bytes()),
            6 => self.period = int(value),
            _ => {}
        }
    }
}

impl Decode<'_> for ValueType {
    fn field(&mut self, number: u32, value: Value<'_>) {
        match number {
            1 => self.type_strindex = int(value),
            2 => self.unit_strindex = int(value),
            _ => {}
        }
    }
}

impl Decode<'_> for Sample {
    fn field(&mut self, number: u32, value: Value<'_>) {
        match number {
            1 => self.stack_index = int(value),
            2 => self.attribute_indices.extend(ints(value)),
            4 => self.values.extend(ints(value)),
            5 => self.timestamps_unix_nano.extend(fixed(value)),
            _ => {}
        }
    }
}

impl Decode<'_> for Mapping {
    fn field(&mut self, number: u32, value: Value<'_>) {
        match number {
            1 => self.memory_start = int(value),
            2 => self.memory_limit = int(value),
            3 => self.file_offset = int(value),
            4 => self.filename_strindex = int(value),
            5 => self.attribute_indices.extend(ints(value)),
            _ => {}
        }
    }
}

impl Decode<'_> for Stack {
    fn field(&mut self, number: u32, value: Value<'_>) {
        if number == 1 {
            self.location_indices.extend(ints(value));
        }
    }
}

impl Decode<'_> for Location {
    fn field(&mut self, number: u32, value: Value<'_>) {
        match number {
            1 => self.mapping_index = int(value),
            2 => self.address = int(value),
            3 => self.lines.push(Decode::decode(value.bytes())),
            4 => self.attribute_indices.extend(ints(value)),
            _ => {}
        }
    }
}

impl Decode<'_> for Line {
    fn field(&mut self, number: u32, value: Value<'_>) {
        match number {
            1 => self.function_index = int(value),
            2 => self.line = int(value),
            _ => {}
        }
    }
}

impl Decode<'_> for Function {
    fn field(&mut self, number: u32, value: Value<'_>) {
        match number {
            1 => self.name_strindex = int(value),
            2 => self.system_name_strindex = int(value),
            3 => self.filename_strindex = int(value),
            _ => {}
        }
    }
}

impl<'a> Decode<'a> for Attribute<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        match number {
            1 => self.key_strindex = int(value),
            2 => self.value = Decode::decode(value.bytes()),
            _ => {}
        }
    }
}

impl<'a> Decode<'a> for KeyValue<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        match number {
            1 => self.key = text(value),
            2 => self.value = Decode::decode(value.bytes()),
            3 => self.key_strindex = int(value),
            _ => {}
        }
    }
}

impl<'a> Decode<'a> for Any<'a> {
    fn field(&mut self, number: u32, value: Value<'a>) {
        match number {
            1 => self.string_value = Some(text(value)),
            3 => self.int_value = Some(int(value)),
            8 => self.string_value_strindex = Some(int(value)),
            _ => {}
        }
    }
}
