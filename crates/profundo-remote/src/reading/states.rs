//! Which thread states the threads of a process have.

use std::collections::{HashMap, HashSet};

use profundo_cpython::{Memory, Owner, ThreadList};

use super::interpreter::Interpreter;
use super::memory::PageMemory;

/// Nanoseconds between two readings of the list because of a thread that is not in it.
const PAUSE: u64 = 20_000_000;

/// The states of each thread.
#[derive(Debug, Default)]
pub(crate) struct States {
    of: HashMap<u32, Vec<u64>>,
    read: u64,
    /// Threads that are not in the list as it was read last.
    missed: HashSet<u32>,
    /// Where glibc keeps the kernel's number in what `pthread_self` points to.
    number_at: Option<u64>,
}

impl States {
    /// The states of a thread, the newest first; none if it runs no Python. `now` is monotonic.
    pub(crate) fn of(
        &mut self,
        interpreter: &Interpreter,
        memory: &mut PageMemory,
        tid: u32,
        now: u64,
    ) -> &[u64] {
        let number_at = self.number_at;
        let mut is_own = |&state: &u64| match interpreter.threads.owner(memory, state) {
            Some(Owner::Number(number)) => number == tid,
            Some(Owner::Pointer(pointer)) => number_of(number_at, memory, pointer) == Some(tid),
            None => false,
        };
        let known = self.of.get(&tid);
        let is_true = known.is_some_and(|states| states.iter().all(&mut is_own));
        // One that was not missed yet may have begun since.
        let is_new = !self.missed.contains(&tid);
        if !is_true && (is_new || now.saturating_sub(self.read) >= PAUSE) {
            self.read = now;
            self.missed.clear();
            self.read(&interpreter.threads, memory, interpreter.runtime);
            if memory.is_short() {
                // Of what was read only a part was there: the next one is to read it.
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

    /// Whether a thread had one when the list was read last.
    pub(crate) fn knows(&self, tid: u32) -> bool {
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

/// Where our own C library keeps it, which mostly is the program's too. A thread whose number is not
/// found is one without Python.
fn number_offset() -> Option<u64> {
    /// The beginning of glibc's description of a thread, in which the number lies.
    const SEARCHED: u64 = 1024;
    // SAFETY: a call that cannot fail.
    let own = unsafe { libc::pthread_self() } as u64;
    let tid = crate::sys::thread_id();
    let mut bytes = [0; SEARCHED as usize];
    if crate::sys::read_memory(std::process::id(), own, &mut bytes) != bytes.len() {
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
        let (told, hear) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            // SAFETY: a call that cannot fail.
            let own = unsafe { libc::pthread_self() } as u64;
            told.send((own, crate::sys::thread_id())).unwrap();
            let _ = wait.recv();
        });
        let (pointer, tid) = hear.recv().unwrap();
        let mut memory = PageMemory::default();
        memory.begin_anew(std::process::id());
        assert_eq!(number_of(Some(offset), &mut memory, pointer), Some(tid));
        drop(done);
        other.join().unwrap();
    }
}
