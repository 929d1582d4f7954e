//! The rows of the file that allocations are counted in, where they are mapped.
//!
//! Nothing is mapped before it is needed: a piece of rows takes a third of a megabyte, and most programs need a few.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use profundo_probe::shared::{PIECE, PIECES, Piece, Row, SHARES, SUMS_FILE, SumsHeader};

use crate::{files, session};

type Pieces = [[AtomicPtr<Piece>; SHARES]; PIECES];

/// Where each piece is mapped, in the child of a fork too.
static MAPPED: Pieces = [const { [const { AtomicPtr::new(ptr::null_mut()) }; SHARES] }; PIECES];

fn place(share: usize, piece: usize) -> Option<&'static AtomicPtr<Piece>> {
    MAPPED.get(piece)?.get(share)
}

/// The row of a site in a share, if it is mapped.
#[inline]
pub fn row(share: usize, site: u32) -> Option<&'static Row> {
    let site = site as usize;
    let piece = place(share, site / PIECE)?;
    // SAFETY: null, or a mapped piece, which is made of atomics and stays. Acquire pairs with the release in `provide`.
    let piece = unsafe { piece.load(Ordering::Acquire).as_ref() }?;
    piece.get(site % PIECE)
}

/// Maps the row of a site in a share, with its memory taken. For one thread at a time.
#[cold]
pub fn provide(header: &SumsHeader, share: usize, site: u32) {
    let piece = site as usize / PIECE;
    let Some(place) = place(share, piece).filter(|it| it.load(Ordering::Relaxed).is_null()) else {
        return;
    };
    let Some(number) = session::own_number() else {
        return;
    };
    let mut room = [0; session::PATH];
    let Some(path) = session::file_of(&mut room, SUMS_FILE, number) else {
        return;
    };
    let from = SumsHeader::piece_at(share, piece);
    let Some(mapped) = files::map_part(path, from, size_of::<Piece>()) else {
        return;
    };
    if let Some(pieces) = header.pieces.get(piece) {
        // Release pairs with the acquire of the command.
        pieces.fetch_or(1 << share, Ordering::Release);
    }
    // Release pairs with the acquire in `row`.
    place.store(mapped.cast().as_ptr(), Ordering::Release);
}

/// In the child of a fork: the pieces are its parent's.
///
/// # Safety
/// There is one thread, and it uses no row.
pub unsafe fn forget() {
    for place in MAPPED.iter().flatten() {
        if let Some(piece) = NonNull::new(place.load(Ordering::Relaxed)) {
            place.store(ptr::null_mut(), Ordering::Relaxed);
            // SAFETY: `provide` mapped it, and nothing uses it.
            unsafe { files::unmap(piece.cast(), size_of::<Piece>()) };
        }
    }
}
