//! The records of a program that later records refer to. A new piece of a recording begins with
//! them.

use std::collections::{BTreeMap, VecDeque};

use profundo_wire::{Reader, Record};

/// The limit of names of tasks. A server may make a task for each request: the newest ones count.
const MOST_TASKS: usize = 4096;

/// The records of one program, the latest of each thing.
#[derive(Debug, Default)]
pub(super) struct Records {
    codes: BTreeMap<u32, Box<[u64]>>,
    threads: BTreeMap<u32, Box<[u64]>>,
    tasks: BTreeMap<u64, Box<[u64]>>,
    /// The order of the tasks.
    newest: VecDeque<u64>,
    paths: BTreeMap<u32, Box<[u64]>>,
    opened: BTreeMap<u32, Box<[u64]>>,
    loss: Option<Box<[u64]>>,
}

impl Records {
    /// Keeps the records among these words.
    pub(super) fn keep(&mut self, words: &[u64]) {
        let mut reader = Reader::new(words);
        let mut from = reader.position();
        while let Some(Ok(record)) = reader.next() {
            let to = reader.position();
            let own = || words.get(from..to).unwrap_or_default().into();
            match record {
                Record::Code(code) => drop(self.codes.insert(code.head.number, own())),
                Record::ThreadName(name) => drop(self.threads.insert(name.head.thread, own())),
                Record::TaskName(name) => self.task(name.head.task, own()),
                Record::SpanPath(path) => drop(self.paths.insert(path.number, own())),
                Record::Opened(opened) => drop(self.opened.insert(opened.descriptor, own())),
                Record::SpanLoss(_) => self.loss = Some(own()),
                _ => {}
            }
            from = to;
        }
    }

    fn task(&mut self, task: u64, words: Box<[u64]>) {
        if self.tasks.insert(task, words).is_none() {
            self.newest.push_back(task);
        }
        if self.newest.len() > MOST_TASKS
            && let Some(oldest) = self.newest.pop_front()
        {
            self.tasks.remove(&oldest);
        }
    }

    /// Forgets the names of threads that are not among these.
    pub(super) fn retain_threads(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.threads.retain(|&thread, _| is_kept(thread));
    }

    /// All of them, in an order in which they can be read.
    pub(super) fn words(&self) -> Vec<u64> {
        let all = (self.codes.values())
            .chain(self.threads.values())
            .chain(self.newest.iter().filter_map(|task| self.tasks.get(task)))
            .chain(self.paths.values())
            .chain(self.opened.values())
            .chain(self.loss.as_ref());
        all.flat_map(|words| words.iter().copied()).collect()
    }
}
