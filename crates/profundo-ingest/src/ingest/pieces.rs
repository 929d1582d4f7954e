//! A recording in pieces: each is a profile with the figures of its own stretch of time, on the
//! clock of the whole.
//!
//! A piece knows only the programs and threads of its time, so that its tables are small however
//! long the recording is. The maker of the pieces repeats to each what it needs to know: processes,
//! modules, threads, code objects. Threads have the same numbers in all pieces, and a block may be
//! freed in a later piece than that of its allocation.

use profundo_model::{Loss, SpanLoss};
use profundo_wire::recording::Start;

use super::Ingest;
use crate::heap::EarlierBlocks;

impl Ingest {
    /// The first of several pieces.
    pub fn first_piece(start: Start) -> Self {
        let mut piece = Self::new(start);
        piece.programs.in_pieces(None);
        piece
    }

    /// The piece after this one, to which nothing may be added but what is missing for its end.
    /// Blocks of earlier pieces are known from this row on, counted through all pieces.
    pub fn next_piece(&mut self, start: Start, first_kept: u64) -> Self {
        let mut next = Self::new(start).max_stacks(self.most_stacks);
        next.clock = self.clock;
        next.programs.in_pieces(Some(&mut self.programs));
        next.allocations.blocks = self.allocations.blocks.next_piece(first_kept);
        next
    }

    /// The time of threads and the losses of processes count from here. To be called when the
    /// earlier state was repeated.
    pub fn begin_figures(&mut self) {
        for program in self.programs.present_mut() {
            program.summary.losses.clear();
            program.threads.clear(&mut self.profile);
        }
        self.profile.meta.loss = Loss::default();
        self.profile.spans.loss = SpanLoss::default();
    }

    /// The number of blocks of all earlier pieces, and of this one so far.
    pub fn block_rows(&self) -> (u64, u64) {
        self.allocations.blocks.rows()
    }

    /// The fate of blocks of earlier pieces in this one.
    pub fn take_earlier_blocks(&mut self) -> EarlierBlocks {
        self.allocations.blocks.take_earlier(self.clock)
    }

    /// The keys of the processes by their rows.
    pub fn keys(&self) -> &[u32] {
        self.programs.keys()
    }
}
