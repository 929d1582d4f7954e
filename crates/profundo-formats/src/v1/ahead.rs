//! Unpacking on a second core: while one batch of samples is decoded, the next ones are unpacked.
//!
//! The thread visits the same chunks in the same order, and keeps the same account of the unpacking
//! allowance. It verifies nothing: an unpacked payload is used only once the reader has reached
//! that chunk and found it sound.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};

use super::chunk::{self, Packed, Unpacker};

/// The number of payloads unpacked ahead.
const AHEAD: usize = 16;

/// Larger payloads are left to the reader, so that those ahead never fill the memory.
const LARGEST: usize = 4 << 20;

/// The least sample bytes of a file that are worth starting a thread.
const WORTH_A_THREAD: usize = 1 << 20;

/// Payloads unpacked ahead, by the offsets of their chunks.
pub(super) struct Ahead {
    payloads: Receiver<(usize, Vec<u8>)>,
    used: Sender<Vec<u8>>,
}

impl Ahead {
    /// Starts with the chunk at `offset`. `None` where it is not worth it, or there is no thread.
    pub(super) fn begin<'scope>(
        scope: &'scope Scope<'scope, '_>,
        bytes: &'scope [u8],
        offset: usize,
    ) -> Option<Self> {
        if bytes.len() < WORTH_A_THREAD {
            return None;
        }
        let (sender, payloads) = sync_channel(AHEAD);
        let (used, returned) = channel();
        Builder::new()
            .name("profundo unpack".into())
            .spawn_scoped(scope, move || run(bytes, offset, &sender, &returned))
            .ok()?;
        Some(Self { payloads, used })
    }

    /// The payload of the chunk at `offset`, if it is or will be unpacked.
    pub(super) fn payload(&self, offset: usize) -> Option<Vec<u8>> {
        loop {
            let (at, payload) = self.payloads.recv().ok()?;
            if at == offset {
                return Some(payload);
            }
        }
    }

    /// Returns a payload's memory.
    pub(super) fn used(&self, payload: Vec<u8>) {
        // A finished thread needs none.
        let _ = self.used.send(payload);
    }
}

/// Whether payloads of this kind and size are unpacked ahead.
pub(super) fn is_ahead(packed: &Packed<'_>) -> bool {
    packed.kind == chunk::SAMPLES && packed.is_deflated() && packed.raw_len <= LARGEST
}

fn run(
    bytes: &[u8],
    mut offset: usize,
    sender: &SyncSender<(usize, Vec<u8>)>,
    returned: &Receiver<Vec<u8>>,
) {
    let mut unpacker = Unpacker::new();
    while let Some(packed) = chunk::packed(bytes, offset) {
        if !unpacker.admits(&packed) {
            return;
        }
        if is_ahead(&packed) {
            let mut payload = returned.try_recv().unwrap_or_default();
            if unpacker.inflate_into(&packed, &mut payload).is_err()
                || sender.send((packed.offset, payload)).is_err()
            {
                return;
            }
        }
        offset = packed.end;
    }
}
