//! The vDSO has no file: the kernel maps it into every process. All processes of one boot share
//! it, so this process's own copy serves for any target with the same build id.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The path of the vDSO in maps and profiles.
pub(crate) const PATH: &str = "[vdso]";

/// The vDSO of this process. It is read through `/proc/self/mem`, which fails where a pointer would
/// crash.
pub(crate) fn own_image() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with(PATH))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let size = usize::try_from(end.checked_sub(start)?)
        .ok()
        .filter(|size| *size <= 1 << 20)?;
    let mut image = vec![0; size];
    File::open("/proc/self/mem")
        .ok()?
        .read_exact_at(&mut image, start)
        .ok()?;
    Some(image)
}
