//! Where the references begin: threads, the data of files, and memory that is neither.

use std::path::Path;

use profundo_capture::heap::{Copied, ThreadThen};
use profundo_ingest::graph::{Group, Part, Read, Root};
use profundo_scan::{Kind, Unread};

/// The roots, and which memory is whose.
pub(super) fn roots(copied: &Copied) -> (Vec<Root>, Vec<Part>) {
    let mut roots: Vec<Root> = copied.threads.iter().map(of_thread).collect();
    let mut parts = Vec::new();
    for area in &copied.areas {
        let (start, end) = area.range;
        let root = match &area.kind {
            Kind::MainStack | Kind::Stack => {
                let is_main = area.kind == Kind::MainStack;
                let is_its = |thread: &ThreadThen| match thread.stack {
                    Some(stack) => (start.saturating_sub(PAGE)..end).contains(&stack),
                    None => is_main && thread.tid == std::process::id(),
                };
                match copied.threads.iter().position(is_its) {
                    Some(thread) => thread,
                    None => of_name(
                        &mut roots,
                        Group::Threads,
                        "stacks of threads that were running, or have ended",
                        Some(start),
                    ),
                }
            }
            Kind::Data(path) => {
                let path = String::from_utf8_lossy(path);
                let name = Path::new(&*path).file_name();
                let name = name.map_or(path.clone(), |name| name.to_string_lossy());
                of_name(&mut roots, Group::Data, &name, Some(start))
            }
            Kind::Heap | Kind::Other => {
                of_name(&mut roots, Group::Other, "memory outside of blocks", None)
            }
        };
        if let Some(root) = roots.get_mut(root)
            && root.group == Group::Threads
            && root.start == Some(0)
        {
            root.start = Some(start);
        }
        parts.push(Part {
            range: area.range,
            root,
            is_shared: area.is_shared,
        });
    }
    (roots, parts)
}

/// A stack begins with what a function may use below its stack pointer.
const PAGE: u64 = 4096;

fn of_thread(thread: &ThreadThen) -> Root {
    let ThreadThen {
        tid,
        name,
        stack,
        registers,
    } = thread;
    let running = if stack.is_none() { ", running" } else { "" };
    Root {
        group: Group::Threads,
        name: format!("thread {tid} ({name}){running}"),
        // Until its stack is met.
        start: Some(0),
        registers: registers.clone(),
    }
}

fn of_name(roots: &mut Vec<Root>, group: Group, name: &str, start: Option<u64>) -> usize {
    let known = roots
        .iter()
        .position(|root| root.group == group && root.name == name);
    known.unwrap_or_else(|| {
        roots.push(Root {
            group,
            name: name.to_owned(),
            start,
            registers: Vec::new(),
        });
        roots.len() - 1
    })
}

/// The memory of a copy.
pub(super) struct Memory<'a>(pub(super) &'a mut Copied);

impl Read for Memory<'_> {
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread> {
        self.0.each_piece(part.range, part.is_shared, f)
    }

    fn bytes(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        self.0.bytes(address, bytes)
    }
}
