//! The pieces of a recording that are kept: the newest ones that together cover the wanted time.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use profundo_ingest::EarlierBlocks;
use profundo_model::Nanos;

/// A finished piece.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) file: PieceFile,
    /// Its time, since the start of the recording.
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    /// The same without the time in which sampling was paused.
    pub(super) ran: (Nanos, Nanos),
    /// The keys of its processes, by their rows.
    pub(super) keys: Vec<u32>,
    /// The number of blocks of all pieces before it, and its own.
    pub(super) blocks: (u64, u64),
    /// What became of blocks of earlier pieces.
    pub(super) earlier: EarlierBlocks,
    /// The bytes of its file.
    pub(super) bytes: u64,
}

/// The file of a piece. It is removed when no one needs it any more.
#[derive(Debug)]
pub(super) struct PieceFile(PathBuf);

impl PieceFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PieceFile {
    fn drop(&mut self) {
        // A file that stays goes with its folder.
        let _ = fs::remove_file(&self.0);
    }
}

/// The kept pieces, oldest first.
#[derive(Debug)]
pub(super) struct Ring {
    pieces: VecDeque<Arc<Finished>>,
    last: Nanos,
}

impl Ring {
    /// A ring that keeps so much time.
    pub(super) fn new(last: Duration) -> Self {
        Self {
            pieces: VecDeque::new(),
            last: Nanos(u64::try_from(last.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    /// Adds the newest piece, and lets go of those that are not needed any more.
    pub(super) fn push(&mut self, piece: Finished) {
        let since = Nanos(piece.ran.1.0.saturating_sub(self.last.0));
        self.pieces.push_back(Arc::new(piece));
        while self.pieces.get(1).is_some_and(|next| next.ran.0 <= since) {
            self.pieces.pop_front();
        }
    }

    /// Lets go of all pieces.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// The kept pieces, oldest first. They stay on the disk as long as this is held.
    pub(super) fn pieces(&self) -> Vec<Arc<Finished>> {
        self.pieces.iter().cloned().collect()
    }

    /// The number of blocks of all pieces before the oldest kept one.
    pub(super) fn first_block(&self) -> Option<u64> {
        self.pieces.front().map(|piece| piece.blocks.0)
    }

    /// The bytes of their files.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    fn piece(folder: &Path, number: u64, from: u64, to: u64) -> Finished {
        let path = folder.join(number.to_string());
        fs::write(&path, "").unwrap();
        let (from, to) = (Nanos(from * 1_000_000_000), Nanos(to * 1_000_000_000));
        Finished {
            file: PieceFile::new(path),
            from,
            to,
            ran: (from, to),
            keys: Vec::new(),
            blocks: (number, 1),
            earlier: EarlierBlocks::default(),
            bytes: 10,
        }
    }

    fn files(folder: &Folder) -> Vec<u64> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().to_str().unwrap().parse().unwrap();
        let mut names: Vec<u64> = entries.flatten().map(name).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_newest_pieces_cover_the_wanted_time() {
        let folder = Folder::new("ring");
        let mut ring = Ring::new(Duration::from_secs(5));
        for number in 0..20 {
            ring.push(piece(folder.path(), number, number * 2, number * 2 + 2));
            let kept = ring.pieces();
            let (first, last) = (kept.first().unwrap(), kept.last().unwrap());
            let covered = last.to.0 - first.from.0;
            // Never more than one piece too much.
            assert!(covered <= 7_000_000_000, "{covered}");
            assert!(covered >= 5_000_000_000 || first.from == Nanos(0));
            assert_eq!(files(&folder).len(), kept.len());
        }
        assert_eq!(files(&folder), [17, 18, 19]);
        assert_eq!((ring.bytes(), ring.first_block()), (30, Some(17)));
    }

    #[test]
    fn a_piece_that_is_longer_than_the_wanted_time_stays_alone() {
        let folder = Folder::new("ring-long");
        let mut ring = Ring::new(Duration::from_secs(1));
        ring.push(piece(folder.path(), 0, 0, 30));
        ring.push(piece(folder.path(), 1, 30, 60));
        assert_eq!(files(&folder), [1]);
        ring.clear();
        assert!(files(&folder).is_empty());
    }

    #[test]
    fn a_pause_is_no_time_that_is_kept() {
        let folder = Folder::new("ring-paused");
        let mut ring = Ring::new(Duration::from_secs(3));
        ring.push(piece(folder.path(), 0, 0, 2));
        // Sampling was paused for a hundred seconds.
        ring.push(Finished {
            ran: (Nanos(2_000_000_000), Nanos(4_000_000_000)),
            ..piece(folder.path(), 1, 2, 104)
        });
        assert_eq!(files(&folder), [0, 1]);
    }

    #[test]
    fn pieces_that_are_being_written_elsewhere_stay_on_the_disk() {
        let folder = Folder::new("ring-held");
        let mut ring = Ring::new(Duration::from_secs(1));
        ring.push(piece(folder.path(), 0, 0, 1));
        let held = ring.pieces();
        for number in 1..5 {
            ring.push(piece(folder.path(), number, number, number + 1));
        }
        assert_eq!(files(&folder), [0, 4]);
        drop(held);
        assert_eq!(files(&folder), [4]);
    }
}
