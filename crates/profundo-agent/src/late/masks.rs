//! The signals that a program uses which ran before the agent came, and the masks of its threads.
//!
//! A thread that blocks nearly all signals does not mean ours: they are let in, and the program
//! goes on seeing its own mask (`profundo_probe::hidden`). Only the thread itself can change its
//! mask, so the command does it while it holds the thread. A signal that is blocked by name, or
//! read from a descriptor, is the program's.

use profundo_probe::hidden::{self, ALL, bit};
use profundo_probe::shared::{MaskChange, MaskChanges};

use super::running::{self, Running, hexadecimal, with_file};
use crate::session::join;

/// The bits of our signals.
fn ours() -> u64 {
    ALL.into_iter().fold(0, |bits, signal| bits | bit(signal))
}

/// Notes the signals that the program uses itself, before our handlers are installed.
pub fn note_used() {
    let mut used = 0;
    running::each(|thread| {
        if !hidden::is_full(thread.blocked) {
            used |= thread.blocked;
        }
    });
    each_descriptor_of_signals(|mask| {
        if !hidden::is_full(mask) {
            used |= mask;
        }
    });
    hidden::note_used(used & ours());
}

/// Notes the masks of threads that block nearly all signals: ours are to be let in.
pub fn let_in(thread: &Running, changes: &MaskChanges) {
    let hidden = thread.blocked & hidden::hidden();
    if hidden != 0 && hidden::is_full(thread.blocked) {
        hidden::note(thread.blocked);
        changes.add(MaskChange {
            tid: thread.tid,
            before: thread.blocked,
            after: thread.blocked & !hidden,
        });
    }
}

/// Notes the masks of threads that have fewer signals than the program believes: they are to be
/// blocked for real, because the agent leaves.
pub fn block_again(changes: &MaskChanges) {
    running::each(|thread| {
        let shown = hidden::shown(thread.blocked);
        if shown != thread.blocked {
            changes.add(MaskChange {
                tid: thread.tid,
                before: thread.blocked,
                after: shown,
            });
        }
    });
}

/// Visits the masks of the descriptors from which the program reads signals.
fn each_descriptor_of_signals(mut visit: impl FnMut(u64)) {
    const KIND: &[u8] = b"anon_inode:[signalfd]";
    with_file(c"/proc/self/fd", |folder| {
        running::each_name(folder, |name| {
            let mut path = [0; 64];
            let mut target = [0; 64];
            let link = join(&mut path, &[b"/proc/self/fd/", name]);
            let is_one = link
                .and_then(|link| running::read_link(link, &mut target))
                .is_some_and(|length| target.get(..length) == Some(KIND));
            if !is_one {
                return;
            }
            let mut text = [0; 512];
            let facts = join(&mut path, &[b"/proc/self/fdinfo/", name]);
            let read =
                facts.and_then(|facts| with_file(facts, |file| running::read(file, &mut text)));
            let text = read.and_then(|read| text.get(..read)).unwrap_or_default();
            for line in text.split(|&byte| byte == b'\n') {
                if let Some(mask) = line.strip_prefix(b"sigmask:\t").and_then(hexadecimal) {
                    visit(mask);
                }
            }
        });
        Some(())
    });
}
