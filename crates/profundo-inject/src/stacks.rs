//! The stacks of a program's threads, below which a frame may be put.
//!
//! Not each stack has room below the thread's place in it. Goroutines have stacks of two kilobytes,
//! side by side, and so have other kinds of coroutines: a frame of the processor's whole state
//! would destroy the next one. So only the stacks that the kernel and the C library have made are
//! used: the one of the main thread, and those with the thread's own data at their upper end.

use profundo_linux::proc;
use profundo_scan::map_lines;

/// A mapping that may be a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    is_main: bool,
}

/// The mappings of a process that may be stacks.
#[derive(Debug)]
pub(super) struct Stacks(Vec<Mapping>);

impl Stacks {
    pub(super) fn of(pid: u32) -> Self {
        let maps = proc::read(pid, "maps");
        let lines = map_lines(&maps);
        let writable = lines.filter(|(permissions, _)| permissions.starts_with(b"rw-p"));
        let mappings = writable.filter_map(|(_, line)| {
            let is_main = line.plain_path() == b"[stack]";
            (is_main || line.inode == 0).then_some(Mapping {
                start: line.start,
                end: line.end,
                is_main,
            })
        });
        Self(mappings.collect())
    }

    /// The lower end of a thread's stack, given its stack pointer and the address of its own data.
    /// `None`: it runs on another kind of stack.
    pub(super) fn lower_end(&self, stack_pointer: u64, own_data: u64) -> Option<u64> {
        let is_in =
            |mapping: &Mapping, address: u64| (mapping.start..mapping.end).contains(&address);
        let mapping = self
            .0
            .iter()
            .find(|mapping| is_in(mapping, stack_pointer))?;
        let is_usual = mapping.is_main || is_in(mapping, own_data) && stack_pointer < own_data;
        is_usual.then_some(mapping.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stacks_of_threads_are_known() {
        let mapping = |start, end, is_main| Mapping {
            start,
            end,
            is_main,
        };
        let stacks = Stacks(vec![mapping(1000, 2000, false), mapping(8000, 9000, true)]);
        assert_eq!(stacks.lower_end(1500, 1900), Some(1000));
        assert_eq!(stacks.lower_end(8500, 1900), Some(8000));
        // The stack of a coroutine, and one that is nowhere.
        assert_eq!(stacks.lower_end(1500, 8900), None);
        assert_eq!(stacks.lower_end(1500, 1400), None);
        assert_eq!(stacks.lower_end(3000, 1900), None);
    }

    #[test]
    fn this_thread_is_on_its_stack() {
        let inner = || {
            let here = 0_u64;
            let own = profundo_probe::regs::thread_pointer();
            let stacks = Stacks::of(std::process::id());
            stacks.lower_end(&raw const here as u64, own).is_some()
        };
        assert!(inner());
    }
}
