//! The rows that allocations are counted in, by share and site.
//!
//! The file is mapped as a whole when the process begins, so a row is found by two loads, and the
//! first row of a piece costs no call of the system.

use core::sync::atomic::{AtomicU16, Ordering};

use profundo_probe::shared::{COMMON, PIECE, PIECES, Piece, Row, SHARES, SumsHeader};

/// The place of each share's piece of each run of sites, plus one. All zero is none, also in the
/// child of a fork.
#[repr(C)]
pub struct Rows([[AtomicU16; SHARES]; PIECES]);

/// The header of the file, with all of the file behind it.
#[derive(Clone, Copy)]
pub struct Sums(&'static SumsHeader);

impl Sums {
    /// # Safety
    /// A file of [`profundo_probe::shared::SUMS_BYTES`] is mapped there, for ever.
    #[inline(always)]
    pub unsafe fn new(header: *const SumsHeader) -> Self {
        // SAFETY: the caller vouches; it is made of atomics.
        Self(unsafe { &*header })
    }

    /// The header.
    #[inline(always)]
    pub fn header(self) -> &'static SumsHeader {
        self.0
    }

    /// A piece that was taken, and so has its memory.
    #[inline(always)]
    fn piece(self, slot: usize) -> &'static Piece {
        let at = core::ptr::from_ref(self.0).wrapping_byte_add(SumsHeader::piece_at(slot));
        // SAFETY: the caller of `new` has vouched for the mapping, and numbers of pieces come from
        // `take_piece`.
        unsafe { &*at.cast::<Piece>() }
    }
}

impl Rows {
    /// The row of a site in a share, if it has one.
    #[inline]
    pub fn row(&self, sums: Sums, share: usize, site: u32) -> Option<&'static Row> {
        let site = site as usize;
        let place = self.0.get(site / PIECE)?.get(share)?;
        // Acquire pairs with the exchange in `provide`.
        let slot = usize::from(place.load(Ordering::Acquire)).checked_sub(1)?;
        sums.piece(slot).get(site % PIECE)
    }

    /// Provides the row of a site in a share, if there is room for it.
    #[cold]
    pub fn provide(&self, sums: Sums, share: usize, site: u32) {
        let run = site as usize / PIECE;
        let Some(place) = self.0.get(run).and_then(|shares| shares.get(share)) else {
            return;
        };
        let Some(slot) = sums.header().take_piece(share, run) else {
            return;
        };
        let number = slot as u16 + 1;
        // If several threads use the common share, one of them is first; the pieces of the others
        // stay empty.
        let _ = place.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Takes the piece that has the row [`Self::first`]. `false`: there is no room.
    pub fn begin(&self, sums: Sums) -> bool {
        self.provide(sums, COMMON, 0);
        self.row(sums, COMMON, 0).is_some()
    }

    /// The row for blocks that have no other. It is in the first piece, which exists from the
    /// beginning.
    pub fn first(&self, sums: Sums) -> &'static Row {
        let [row, ..] = sums.piece(0);
        row
    }
}
