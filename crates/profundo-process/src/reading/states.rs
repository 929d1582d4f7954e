//! The interpreter's thread states of a process's threads.

use std::collections::{HashMap, HashSet};

use profundo_cpython::{Memory, Owner, ThreadList};
use profundo_linux::proc;

use super::interpreter::Interpreter;
use super::memory::PageMemory;
use super::numbers::Numbers;

/// Nanoseconds between two readings of the list for a thread that is not in it.
const PAUSE: u64 = 20_000_000;

/// The states of each thread.
#[derive(Debug, Default)]
pub struct States {
    of: HashMap<u32, Vec<u64>>,
    read: u64,
    /// Threads that were not in the list at its last reading.
    missed: HashSet<u32>,
    /// The offset of the kernel's thread number in what the C library's `pthread_self` returns.
    number_at: Option<u64>,
    numbers: Numbers,
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
        let tid = self.numbers.inside(memory.pid(), tid);
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
        self.of.contains_key(&self.numbers.known(tid))
    }

    /// Forgets a thread that has ended: its number may be used again.
    pub fn forget(&mut self, tid: u32) {
        self.numbers.forget(tid);
    }

    fn read(&mut self, list: &ThreadList, memory: &mut PageMemory, runtime: u64) {
        let mut met = Vec::new();
        list.each(memory, runtime, |state, owner| met.push((state, owner)));
        let pointers = met.iter().filter_map(|&(_, owner)| match owner {
            Owner::Pointer(pointer) => Some(pointer),
            Owner::Number(_) => None,
        });
        let pointers: Vec<u64> = pointers.collect();
        if self.number_at.is_none() && !pointers.is_empty() {
            let pid = memory.pid();
            let threads = proc::threads(pid).into_iter();
            let numbers = threads.map(|tid| self.numbers.inside(pid, tid)).collect();
            self.number_at = number_offset(memory, &pointers, &numbers);
        }
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

/// The start of a thread's descriptor, which contains its number.
const SEARCHED: u64 = 1024;

/// The offset in glibc, which has not changed for years.
#[cfg(target_arch = "x86_64")]
const OF_GLIBC: u64 = 720;
/// The offset in glibc, which has not changed for years.
#[cfg(not(target_arch = "x86_64"))]
const OF_GLIBC: u64 = 208;

/// The offset in the process's C library, of which these are descriptors: it leads to one of these
/// numbers in each, and to another one in each. Small numbers stand in descriptors for other
/// things, too, so the likely offsets are tried first.
fn number_offset(
    memory: &mut impl Memory,
    pointers: &[u64],
    numbers: &HashSet<u32>,
) -> Option<u64> {
    // A thread of several interpreters has several states.
    let pointers: HashSet<&u64> = pointers.iter().collect();
    let likely = [own_offset(), Some(OF_GLIBC)].into_iter().flatten();
    let mut all = likely.chain((0..SEARCHED).step_by(4));
    all.find(|&offset| {
        let found = pointers.iter().map(|&&pointer| {
            number_of(Some(offset), memory, pointer).filter(|number| numbers.contains(number))
        });
        let found: Option<HashSet<u32>> = found.collect();
        found.is_some_and(|found| found.len() == pointers.len())
    })
}

/// The offset in our own C library, which is mostly the program's too.
fn own_offset() -> Option<u64> {
    // SAFETY: a call that cannot fail.
    let this_thread = unsafe { libc::pthread_self() } as u64;
    let tid = profundo_linux::sys::thread_id();
    let mut bytes = [0; SEARCHED as usize];
    let length = profundo_linux::sys::read_memory(std::process::id(), this_thread, &mut bytes);
    let mut words = bytes.get(..length)?.chunks_exact(4);
    let found = words.position(|word| word == tid.to_ne_bytes())?;
    Some(found as u64 * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(HashMap<u64, u64>);

    impl Memory for Words {
        fn word(&mut self, address: u64) -> Option<u64> {
            Some(self.0.get(&address).copied().unwrap_or_default())
        }

        fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
            false
        }
    }

    #[test]
    fn the_number_is_found_in_the_descriptors_of_another_c_library() {
        // Each says at 24, too, that there are several threads.
        let words = [
            (0x1000 + 24, 1),
            (0x1000 + 328, 1),
            (0x8000 + 24, 1),
            (0x8000 + 328, 2 << 32 | 7),
        ];
        let found = |numbers: [u32; 2]| {
            let numbers = numbers.into();
            number_offset(&mut Words(words.into()), &[0x1000, 0x8000], &numbers)
        };
        assert_eq!(found([1, 7]), Some(328));
        assert_eq!(found([7, 8]), None);
        let likely = [(0x1000 + OF_GLIBC, 1), (0x8000 + OF_GLIBC, 7)];
        let mut memory = Words(words.into_iter().chain(likely).collect());
        let numbers = [1, 7].into();
        let found = number_offset(&mut memory, &[0x1000, 0x8000], &numbers);
        assert_eq!(found, Some(OF_GLIBC));
    }

    #[test]
    fn the_kernels_number_is_found_in_every_thread() {
        let offset = own_offset().expect("the C library keeps it");
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
        // SAFETY: a call that cannot fail.
        let this_thread = unsafe { libc::pthread_self() } as u64;
        let numbers = [tid, profundo_linux::sys::thread_id()].into();
        let found = number_offset(&mut memory, &[pointer, this_thread], &numbers);
        assert_eq!(found, Some(offset));
        drop(done);
        other.join().unwrap();
    }
}
