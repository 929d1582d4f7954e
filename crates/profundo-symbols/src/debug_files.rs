//! The places of separate debug information.
//!
//! Distributions strip their files and put the debug information elsewhere, in places defined by
//! GDB: by build id below a debug root, or by the name in `.gnu_debuglink` beside the file. dwz
//! moves the common part of many debug files into a supplement, named by `.gnu_debugaltlink`. A
//! server may have what is not on this machine. A candidate counts only if its build id or checksum
//! matches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use crate::Problem;
use crate::image::Image;

/// Has debug information that is not on this machine.
pub trait DebugServer: std::fmt::Debug + Send + Sync {
    /// The file with the debug information of a file with this build id. It may take minutes.
    fn debug_file(&self, build_id: &[u8]) -> Option<PathBuf>;
}

/// The debug file of this build id that a server has.
pub(crate) fn by_server(server: Option<&dyn DebugServer>, build_id: &[u8]) -> Option<Image> {
    let server = server.filter(|_| !build_id.is_empty())?;
    let image = Image::open(&server.debug_file(build_id)?).ok()?;
    (image.build_id == build_id).then_some(image)
}

/// `ab/cdef….debug` for the build id `abcdef…`.
fn build_id_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id
        .split_first()
        .filter(|(_, rest)| !rest.is_empty())?;
    Some(PathBuf::from(format!(
        ".build-id/{first:02x}/{}.debug",
        hex(rest)
    )))
}

/// The bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The debug file of this build id below one of the roots.
pub(crate) fn by_build_id(roots: &[PathBuf], build_id: &[u8]) -> Option<Image> {
    let relative = build_id_file(build_id)?;
    roots
        .iter()
        .filter_map(|root| Image::open(&root.join(&relative)).ok())
        .find(|image| image.build_id == build_id)
}

/// The debug file that `image`'s `.gnu_debuglink` names; an error where it names one in vain.
pub(crate) fn by_debug_link(roots: &[PathBuf], image: &Image) -> Result<Option<Image>, Problem> {
    let Some((name, checksum)) = image
        .object()
        .and_then(|file| file.gnu_debuglink().ok().flatten())
    else {
        return Ok(None);
    };
    let missing = || Problem::DebugFileMissing {
        name: String::from_utf8_lossy(name).into(),
    };
    // The name is a file name. With directories in it, a hostile file could have any file read.
    if name.is_empty() || name.contains(&b'/') {
        return Err(missing());
    }
    let name = OsStr::from_bytes(name);
    // Links in the path are followed: `/lib` may be one, and the debug root spells it `/usr/lib`.
    let resolved = image
        .path
        .canonicalize()
        .unwrap_or_else(|_| image.path.clone());
    let mut candidates = Vec::new();
    for directory in [image.path.parent(), resolved.parent()]
        .into_iter()
        .flatten()
    {
        candidates.push(directory.join(name));
        candidates.push(directory.join(".debug").join(name));
        let below_root = directory.strip_prefix("/").unwrap_or(directory);
        candidates.extend(roots.iter().map(|root| root.join(below_root).join(name)));
    }
    candidates
        .iter()
        .filter(|candidate| **candidate != image.path)
        .filter_map(|candidate| Image::open(candidate).ok())
        .find(|debug| {
            let same_id = !image.build_id.is_empty() && debug.build_id == image.build_id;
            same_id || crc32fast::hash(debug.bytes()) == checksum
        })
        .map(Some)
        .ok_or_else(missing)
}

/// The supplement that `image`'s `.gnu_debugaltlink` names; an error where it names one in vain.
pub(crate) fn supplement(
    roots: &[PathBuf],
    server: Option<&dyn DebugServer>,
    image: &Image,
) -> Result<Option<Image>, Problem> {
    let Some((name, build_id)) = image
        .object()
        .and_then(|file| file.gnu_debugaltlink().ok().flatten())
    else {
        return Ok(None);
    };
    // The path may be relative to the debug file; joining an absolute one replaces it.
    let path = image
        .path
        .parent()
        .unwrap_or(Path::new("/"))
        .join(OsStr::from_bytes(name));
    Image::open(&path)
        .ok()
        .filter(|found| found.build_id == build_id)
        .or_else(|| by_build_id(roots, build_id))
        .or_else(|| by_server(server, build_id))
        .map(Some)
        .ok_or_else(|| Problem::SupplementMissing {
            name: String::from_utf8_lossy(name).into(),
        })
}

/// The package of split debug files beside `path`: `program.dwp`, or `lib.so.dwp`.
pub(crate) fn package(path: &Path) -> Option<Image> {
    let mut name: OsString = path.file_name()?.to_owned();
    name.push(".dwp");
    Image::open(&path.with_file_name(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_become_paths() {
        let path = build_id_file(&[0xab, 0xcd, 0x01]).unwrap();
        assert_eq!(path, Path::new(".build-id/ab/cd01.debug"));
        assert_eq!(build_id_file(&[0xab]), None);
        assert_eq!(build_id_file(&[]), None);
    }
}
