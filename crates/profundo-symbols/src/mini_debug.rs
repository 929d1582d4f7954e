//! The symbol table that Fedora and its relatives leave in stripped files: an ELF file within the
//! section `.gnu_debugdata`, packed by xz. It has the functions that are not exported.

use std::io::Read;
use std::sync::Arc;

use lzma_rust2::XzReader;
use object::{Object, ObjectSection};

use crate::image::Image;
use crate::mmap::Bytes;

/// The most that is unpacked: that of the largest browser is a tenth.
const LARGEST: u64 = 256 << 20;
/// The most memory for unpacking, in kilobytes: xz's highest level takes a quarter.
const MEMORY: u32 = 256 << 10;

/// The file within `image`, if there is one that can be read.
pub(crate) fn within(image: &Image) -> Option<Image> {
    let file = image.object()?;
    let packed = file.section_by_name(".gnu_debugdata")?.data().ok()?;
    let mut bytes = Vec::new();
    let mut reader = XzReader::new_mem_limit(packed, false, MEMORY).take(LARGEST);
    reader.read_to_end(&mut bytes).ok()?;
    Image::parse(&image.path, Bytes::Owned(Arc::from(bytes))).ok()
}
