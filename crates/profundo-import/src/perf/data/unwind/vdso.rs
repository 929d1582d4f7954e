//! The vDSO has no file: the kernel maps it into every process. This process's own copy serves for
//! a recording with the same build id.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Its name in recordings.
pub(super) const PATH: &str = "[vdso]";

/// The vDSO of this process.
pub(super) fn own_image() -> Option<Vec<u8>> {
    const LARGEST: u64 = 1 << 20;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with(PATH))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let [start, end] = [start, end].map(|digits| u64::from_str_radix(digits, 16).ok());
    let start = start?;
    let size = end?.checked_sub(start).filter(|&size| size <= LARGEST)?;
    let mut image = vec![0; usize::try_from(size).ok()?];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut image, start).ok()?;
    Some(image)
}
