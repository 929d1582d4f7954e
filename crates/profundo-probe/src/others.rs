//! Records besides samples that a thread of the program writes at a call, such as spans.

use core::sync::atomic::Ordering;

use crate::claims::Claim;
use crate::probe::Probe;

/// The place where such records go on.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    buffer: u64,
    claim: Claim,
}

impl Probe {
    /// Writes `words` words, which `fill` fills in, to the buffer that is shared with the command.
    /// False: there is no room at present.
    ///
    /// Only one thread at a time may use a place. A handler that interrupts this takes another
    /// chunk.
    pub fn write_others(
        &self,
        place: &mut Option<Place>,
        words: usize,
        fill: impl FnOnce(&mut [u64]),
    ) -> bool {
        let pointer = self.buffer.load(Ordering::SeqCst);
        // SAFETY: an agent's buffer is never freed: see `record_in`.
        let Some(buffer) = (unsafe { pointer.as_ref() }).filter(|_| self.recorder.is_some()) else {
            return false;
        };
        let last = place.take_if(|last| last.buffer == buffer.identity);
        let room = buffer.open(last.map(|last| last.claim));
        let room = match room {
            Some(room) if room.words.len() >= words => Some(room),
            Some(room) => {
                buffer.abandon(room);
                buffer.open_for(words)
            }
            None => None,
        };
        let Some(room) = room else {
            self.ask_to_drain();
            return false;
        };
        let Some(out) = room.words.get_mut(..words) else {
            buffer.abandon(room);
            self.ask_to_drain();
            return false;
        };
        fill(out);
        let claim = buffer.commit_others(room, words);
        if buffer.claims().is_filling(claim) {
            self.ask_to_drain();
        }
        *place = Some(Place {
            buffer: buffer.identity,
            claim,
        });
        true
    }

    fn ask_to_drain(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.ask_to_drain();
        }
    }
}
