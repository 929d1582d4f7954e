//! What several formats are packed in or made of: gzip and zstd, JSON, protobuf, XML, UTF-16,
//! numbers in bare bytes.

pub(crate) mod cursor;
pub(crate) mod json;
pub mod protobuf;
pub(crate) mod text;
pub(crate) mod unpack;
pub(crate) mod xml;
