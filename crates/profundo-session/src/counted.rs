//! The files in which processes count their allocations: made ahead with the rings, and enlarged
//! while a process needs more.
//!
//! Memory is allocated before the process learns of it, so no write can fail. The room ahead grows
//! with the room used, so the more a process needs, the later we may come.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use profundo_linux::map::{SharedMap, allocate};
use profundo_linux::sys;
use profundo_probe::shared::{
    MAGIC, Piece, SLOTS, STACKS_BYTES, STACKS_FILE, SUMS_BYTES, SUMS_FILE, SumsHeader,
    WINDOW_WORDS, WINDOWS,
};

use crate::files::{free_bytes, make_file, open_file};

/// The bytes of a window.
pub const WINDOW: usize = 8 * WINDOW_WORDS;

/// The pieces that a process begins with, and the most that are given ahead.
const PIECES: [u32; 2] = [16, 512];
const WINDOW_COUNTS: [u32; 2] = [8, 96];

/// The room ahead, as a multiple of the room used. With two CPUs and ten busy programs, the
/// recorder gets its turn ten times a second.
const TIMES: u32 = 4;

/// The part of the file system's free space that is taken at one time, at most.
const PART: u64 = 4;

/// The file of sums beside a ring.
pub fn sums_path(directory: &Path, ring: usize) -> PathBuf {
    directory.join(format!("{SUMS_FILE}{ring}"))
}

pub fn stacks_path(directory: &Path, ring: usize) -> PathBuf {
    directory.join(format!("{STACKS_FILE}{ring}"))
}

/// The file beside a process's sums that holds the counts at the last clear.
pub fn before_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before");
    name.into()
}

/// Makes the files for the next process with a ring.
pub fn make(directory: &Path, ring: usize) -> io::Result<()> {
    remove(directory, ring);
    let made = fill(directory, ring);
    if made.is_err() {
        remove(directory, ring);
    }
    made
}

fn fill(directory: &Path, ring: usize) -> io::Result<()> {
    let sums = make_file(&sums_path(directory, ring), size_of::<SumsHeader>())?;
    sums.set_len(SUMS_BYTES as u64)?;
    let stacks = make_file(&stacks_path(directory, ring), WINDOW)?;
    stacks.set_len(STACKS_BYTES as u64)?;
    let map = SharedMap::new(&sums, size_of::<SumsHeader>())?;
    // SAFETY: it is made of atomics.
    let header: &SumsHeader = unsafe { map.as_ref() };
    header.stacks.give(0);
    give(header, directory, &sums, &stacks);
    if header.pieces_given.load(Ordering::Relaxed) == 0 {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    // Release: a reader of the magic finds the rest initialised.
    header.magic.store(MAGIC, Ordering::Release);
    Ok(())
}

/// Removes the files. A process that has them mapped is not disturbed.
pub fn remove(directory: &Path, ring: usize) {
    let sums = sums_path(directory, ring);
    let _ = fs::remove_file(before_of(&sums));
    let _ = fs::remove_file(sums);
    let _ = fs::remove_file(stacks_path(directory, ring));
}

/// Gives a process more room, if it needs some.
pub fn provide(header: &SumsHeader, directory: &Path, ring: usize) {
    if wanted_pieces(header) == 0 && wanted_windows(header) == 0 {
        return;
    }
    let files = (
        open_file(&sums_path(directory, ring)),
        open_file(&stacks_path(directory, ring)),
    );
    let (Ok(sums), Ok(stacks)) = files else {
        return;
    };
    if give(header, directory, &sums, &stacks) {
        let given = &header.stacks.given;
        // Release pairs with the acquire of the process.
        given.fetch_add(1, Ordering::Release);
        sys::futex_wake(given);
    }
}

/// The number to be given ahead, by the number used.
fn ahead(used: u32, [least, most]: [u32; 2]) -> u32 {
    used.saturating_mul(TIMES).clamp(least, most)
}

fn wanted_pieces(header: &SumsHeader) -> u32 {
    let taken = header.pieces_taken.load(Ordering::Relaxed);
    let given = header.pieces_given.load(Ordering::Relaxed);
    let wanted = taken.saturating_add(ahead(taken, PIECES));
    wanted.min(SLOTS as u32).saturating_sub(given)
}

fn wanted_windows(header: &SumsHeader) -> u32 {
    let taken = header.stacks.taken.load(Ordering::Relaxed);
    ahead(taken, WINDOW_COUNTS).saturating_sub(header.stacks.free())
}

/// Gives what is wanted, as far as the file system has room. Returns whether anything was given.
fn give(header: &SumsHeader, directory: &Path, sums: &File, stacks: &File) -> bool {
    let room = free_bytes(directory) / PART;
    let mut any = false;
    let given = header.pieces_given.load(Ordering::Relaxed);
    let pieces = wanted_pieces(header).min((room / size_of::<Piece>() as u64) as u32);
    let bytes = pieces as usize * size_of::<Piece>();
    if pieces > 0 && allocate(sums, SumsHeader::piece_at(given as usize), bytes).is_ok() {
        // Release pairs with the acquire in `take_piece`: the memory is there.
        (header.pieces_given).store(given + pieces, Ordering::Release);
        any = true;
    }
    let windows = &header.stacks;
    let count = wanted_windows(header).min((room / WINDOW as u64) as u32);
    let unused = |window: &usize| windows.read[*window].load(Ordering::Relaxed) == 0;
    for window in (0..WINDOWS).filter(unused).take(count as usize) {
        if allocate(stacks, window * WINDOW, WINDOW).is_err() {
            break;
        }
        windows.give(window);
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directory;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn room_is_there_before_the_process_hears_of_it() {
        let directory = Directory::create(None).unwrap();
        let path = directory.path();
        make(path, 7).unwrap();
        let sums = sums_path(path, 7);
        let file = File::options().read(true).write(true).open(sums).unwrap();
        let map = SharedMap::new(&file, size_of::<SumsHeader>()).unwrap();
        // SAFETY: it is made of atomics.
        let header: &SumsHeader = unsafe { map.as_ref() };
        let blocks = |path: PathBuf| fs::metadata(path).unwrap().blocks() * 512;
        let check = || {
            let pieces = header.pieces_given.load(Ordering::Relaxed) as usize;
            assert!(blocks(sums_path(path, 7)) >= SumsHeader::piece_at(pieces) as u64);
            let windows = header.stacks.free() as usize;
            assert!(blocks(stacks_path(path, 7)) >= (windows * WINDOW) as u64);
            (pieces, windows)
        };
        assert!(check().0 > 0 && check().1 > 0);
        // A used piece is replaced, and more are given each time.
        let (mut pieces, mut windows) = check();
        for _ in 0..3 {
            while header.take_piece(1, 0).is_some() {}
            while let Some(window) = header.stacks.take() {
                // As if the window had been read to its end.
                header.stacks.read[window].store(0, Ordering::Relaxed);
            }
            let given = header.stacks.given.load(Ordering::Relaxed);
            provide(header, path, 7);
            assert_eq!(header.stacks.given.load(Ordering::Relaxed), given + 1);
            let now = check();
            assert!(now.0 > pieces && now.1 >= windows, "{now:?}");
            (pieces, windows) = now;
        }
        remove(path, 7);
        assert!(!sums_path(path, 7).exists() && !stacks_path(path, 7).exists());
    }
}
