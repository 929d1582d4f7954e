//! The interpreter's thread states of a process's threads.

use std::collections::{HashMap, HashSet};

use profundo_cpython::{Memory, Owner, ThreadList};

use super::interpreter::Interpreter;
use super::memory::PageMemory;

/// Nanoseconds between two readings of the list for a thread that is not in it.
const PAUSE: u64 = 20_000_000;

/// The states of each thread.
#[derive(Debug, Default)]
pub struct States {
    of: HashMap<u32, Vec<u64>>,
    read: u64,
    /// Threads that were not in the list at its last reading.
    missed: HashSet<u32>,
    /// The offset of the kernel's thread number in glibc's `pthread_self`.
    number_at: Option<u64>,
}

impl States {
    /// The states of a thread, the newest first; none if it does not run Python. `now` is
    /// monotonic.
    pub fn of(
        &mut self,
        interpreter: &Interpreter,
        memory: &mut PageMemory,
        tid: u32,
        now: u64,
    ) -> &[u64] {
        let number_at = self.number_at;
        let mut is_of_thread = |&state: &u64| match interpreter.layout.threads.owner(memory, state)
        {
            Some(Owner::Number(number)) => number == tid,
            Some(Owner::Pointer(pointer)) => number_of(number_at, memory, pointer) == Some(tid),
            None => false,
        };
        let known = self.of.get(&tid);
        let is_true = known.is_some_and(|states| states.iter().all(&mut is_of_thread));
        // A thread that was not missed before may be new.
        let is_new = !self.missed.contains(&tid);
        if !is_true && (is_new || now.saturating_sub(self.read) >= PAUSE) {
            self.read = now;
            self.missed.clear();
            self.read(&interpreter.layout.threads, memory, interpreter.runtime);
            if memory.is_short() {
                // The list was only partly readable: the next reading tries again.
                self.read = 0;
                return &[];
            }
        }
        match self.of.get(&tid) {
            Some(states) => states,
            None => {
                self.missed.insert(tid);
                &[]
            }
        }
    }

    /// Whether a thread had a state when the list was last read.
    pub fn knows(&self, tid: u32) -> bool {
        self.of.contains_key(&tid)
    }

    fn read(&mut self, list: &ThreadList, memory: &mut PageMemory, runtime: u64) {
        if self.number_at.is_none() {
            self.number_at = number_offset();
        }
        let mut met = Vec::new();
        list.each(memory, runtime, |state, owner| met.push((state, owner)));
        self.of.clear();
        for (state, owner) in met {
            let tid = match owner {
                Owner::Number(tid) => Some(tid),
                Owner::Pointer(pointer) => number_of(self.number_at, memory, pointer),
            };
            if let Some(tid) = tid {
                self.of.entry(tid).or_default().push(state);
            }
        }
    }
}

fn number_of(offset: Option<u64>, memory: &mut impl Memory, pointer: u64) -> Option<u32> {
    let place = pointer.checked_add(offset?)?;
    let word = memory.word(place & !7)?;
    Some((word >> ((place & 4) * 8)) as u32)
}

/// The offset in our own C library, which is mostly the program's too. If a thread's number is not
/// found, it counts as one without Python.
fn number_offset() -> Option<u64> {
    /// The start of glibc's thread descriptor, which contains the number.
    const SEARCHED: u64 = 1024;
    // SAFETY: a call that cannot fail.
    let this_thread = unsafe { libc::pthread_self() } as u64;
    let tid = profundo_linux::sys::thread_id();
    let mut bytes = [0; SEARCHED as usize];
    if profundo_linux::sys::read_memory(std::process::id(), this_thread, &mut bytes) != bytes.len()
    {
        return None;
    }
    let mut words = bytes.chunks_exact(4);
    let found = words.position(|word| word == tid.to_ne_bytes())?;
    Some(found as u64 * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_number_is_found_in_every_thread() {
        let offset = number_offset().expect("glibc keeps it");
        let (sender, receiver) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            // SAFETY: a call that cannot fail.
            let this_thread = unsafe { libc::pthread_self() } as u64;
            sender
                .send((this_thread, profundo_linux::sys::thread_id()))
                .unwrap();
            let _ = wait.recv();
        });
        let (pointer, tid) = receiver.recv().unwrap();
        let mut memory = PageMemory::default();
        memory.begin_anew(std::process::id());
        assert_eq!(number_of(Some(offset), &mut memory, pointer), Some(tid));
        drop(done);
        other.join().unwrap();
    }
}
