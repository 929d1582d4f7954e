//! The signals that a program uses which ran before the agent came, and the masks of its threads.
//!
//! No mask is changed when the agent comes: a thread that blocks our signals gets no clock before
//! it lets them in, and its time is counted by the command. From then on the program's calls that
//! change a mask are ours to answer, and some masks in the kernel have fewer signals than the
//! program has set (`profundo_probe::hidden`). When the agent leaves, the command gives those back.
//!
//! A descriptor from which the program reads nearly all signals would also give it ours. It does
//! not until the agent leaves.

use core::ffi::CStr;

use profundo_probe::hidden::{self, ALL, bit};
use profundo_probe::shared::{Answer, ThreadMasks};
use profundo_probe::sys;

use super::running::{self, Running, hexadecimal, with_file};
use crate::session::join;
use crate::signals::actions;

/// The bits of our signals.
fn ours() -> u64 {
    ALL.into_iter().fold(0, |bits, signal| bits | bit(signal))
}

/// Notes the signals that the program uses itself, before our handlers are installed: a signal that
/// is blocked by name or read from a descriptor is the program's, and so is SIGURG with a handler.
/// `own` is the mask of the calling thread.
pub fn note_used(own: u64) {
    let mut used = match actions::handles_sigurg() {
        true => bit(libc::SIGURG),
        false => 0,
    };
    running::each(own, |thread| {
        if !thread.has_other_mask && !hidden::is_full(thread.blocked) {
            used |= thread.blocked;
        }
    });
    each_descriptor_of_signals(|_, mask| {
        if !hidden::is_full(mask) {
            used |= mask;
        }
    });
    hidden::note_used(used & ours());
}

/// Names the threads that may have fewer signals in their masks than the program has set, because
/// the agent leaves. `own` is the mask of the calling thread, which is mended.
pub fn name_threads(own: &mut u64, masks: &ThreadMasks) {
    if !hidden::are_some_left_out() {
        return;
    }
    *own = hidden::shown(*own);
    running::each(*own, |thread| {
        if thread.has_other_mask || hidden::shown(thread.blocked) != thread.blocked {
            masks.add(thread.tid, 0);
        }
    });
}

/// Adds a thread whose mask is not known to those that the command is to look at.
pub fn ask_for(thread: &Running, answer: &Answer) {
    answer.masks.add(thread.tid, 0);
}

/// Has descriptors of nearly all signals not give ours.
pub fn narrow_descriptors() {
    each_descriptor_of_signals(|file, mask| {
        let less = mask & !hidden::hidden();
        if hidden::is_full(mask) && less != mask {
            hidden::note(mask);
            set_descriptor(file, less);
        }
    });
}

/// Has those descriptors give all signals that the program has set.
pub fn widen_descriptors() {
    each_descriptor_of_signals(|file, mask| {
        let all = hidden::shown(mask);
        if hidden::is_full(mask) && all != mask {
            set_descriptor(file, all);
        }
    });
}

/// Sets the signals of a descriptor. One that is none of this kind any more is left alone.
fn set_descriptor(file: u32, mask: u64) {
    const SET_BYTES: usize = 8;
    let place = &raw const mask as usize;
    // SAFETY: the kernel reads eight bytes.
    unsafe {
        let arguments = [file as usize, place, SET_BYTES, 0, 0, 0];
        sys::call(libc::SYS_signalfd4, arguments);
    }
}

/// Visits the descriptors from which the program reads signals, and their masks.
fn each_descriptor_of_signals(mut visit: impl FnMut(u32, u64)) {
    with_file(c"/proc/self/fd", |folder| {
        running::each_name(folder, |name| {
            if let Some((file, mask)) = descriptor_of_signals(name) {
                visit(file, mask);
            }
        });
        Some(())
    });
}

/// The number of such a descriptor, by its name, and its mask.
fn descriptor_of_signals(name: &[u8]) -> Option<(u32, u64)> {
    const KIND: &[u8] = b"anon_inode:[signalfd]";
    let file = running::number(name)?;
    let mut path = [0; 64];
    let mut target = [0; 64];
    let link: &CStr = join(&mut path, &[b"/proc/self/fd/", name])?;
    let length = running::read_link(link, &mut target)?;
    if target.get(..length) != Some(KIND) {
        return None;
    }
    let mut text = [0; 512];
    let facts = join(&mut path, &[b"/proc/self/fdinfo/", name])?;
    let read = with_file(facts, |file| running::read(file, &mut text))?;
    let mut lines = text.get(..read)?.split(|&byte| byte == b'\n');
    let mask = lines.find_map(|line| line.strip_prefix(b"sigmask:\t"))?;
    Some((file, hexadecimal(mask)?))
}
