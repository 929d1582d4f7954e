//! Samples that wait for the unwind tables of their process's files. A large file is compiled in a
//! thread of its own, for a second or so; stacks that are walked before would be broken.

use std::collections::HashMap;

use profundo_linux::perf::Sample;

/// The most bytes of stacks that wait.
const MOST: usize = 128 << 20;

/// The samples, by process, in the order in which they were taken.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    samples: HashMap<u32, Vec<Sample>>,
    bytes: usize,
    /// The store's epoch when the samples were looked at last.
    epoch: u64,
}

impl Waiting {
    /// Lets samples wait. Returns them if there is no room.
    pub(super) fn add(&mut self, pid: u32, samples: Vec<Sample>) -> Option<Vec<Sample>> {
        let bytes: usize = samples.iter().map(size).sum();
        if self.bytes + bytes > MOST {
            return Some(samples);
        }
        self.bytes += bytes;
        self.samples.entry(pid).or_default().extend(samples);
        None
    }

    /// Whether samples of a process wait.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.samples.contains_key(&pid)
    }

    /// Takes the samples of a process.
    pub(super) fn take(&mut self, pid: u32) -> Vec<Sample> {
        let samples = self.samples.remove(&pid).unwrap_or_default();
        let bytes: usize = samples.iter().map(size).sum();
        self.bytes -= bytes;
        samples
    }

    /// The processes that have to be looked at, since other tables are there than before.
    pub(super) fn at_epoch(&mut self, epoch: u64) -> Vec<u32> {
        match std::mem::replace(&mut self.epoch, epoch) == epoch {
            true => Vec::new(),
            false => self.pids(),
        }
    }

    /// The processes whose samples wait.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.samples.keys().copied().collect()
    }
}

/// The bytes of a sample.
fn size(sample: &Sample) -> usize {
    size_of::<Sample>() + sample.stack.capacity() + sample.kernel.capacity() * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bytes: usize) -> Sample {
        Sample {
            pid: 7,
            tid: 7,
            time: 0,
            weight: 1,
            cpu: 0,
            in_kernel: false,
            kernel: Vec::new(),
            is_kernels: false,
            registers: None,
            stack: vec![0; bytes],
        }
    }

    #[test]
    fn samples_wait_in_their_order_and_in_bounds() {
        let mut waiting = Waiting::default();
        assert!(waiting.add(7, vec![sample(1)]).is_none());
        assert!(waiting.add(7, vec![sample(2)]).is_none());
        let refused = waiting.add(8, vec![sample(MOST)]);
        assert_eq!(refused.map(|samples| samples.len()), Some(1));
        assert!(waiting.has(7) && !waiting.has(8));
        let sizes: Vec<usize> = waiting.take(7).iter().map(|it| it.stack.len()).collect();
        assert_eq!((sizes, waiting.bytes), (vec![1, 2], 0));
        assert!(waiting.take(7).is_empty());
    }

    #[test]
    fn they_are_looked_at_when_tables_have_come() {
        let mut waiting = Waiting::default();
        waiting.add(7, vec![sample(1)]);
        assert!(waiting.at_epoch(0).is_empty());
        assert_eq!(waiting.at_epoch(1), [7]);
        assert!(waiting.at_epoch(1).is_empty());
    }
}
