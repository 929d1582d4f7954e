//! The roots: threads, the data of files, and other memory.

use std::path::Path;

use profundo_scan::{Area, Kind};

use super::{Group, Part, Root};

/// A thread at the moment of the heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its stack pointer; `None` for a running thread.
    pub stack: Option<u64>,
    /// The known registers, by name.
    pub registers: Vec<(&'static str, u64)>,
}

/// The roots of a process whose main thread is `main`, and the memory of each.
pub fn roots(threads: &[Thread], main: u32, areas: &[Area]) -> (Vec<Root>, Vec<Part>) {
    let mut roots: Vec<Root> = threads.iter().map(of_thread).collect();
    let mut parts = Vec::new();
    for area in areas {
        let (start, end) = area.range;
        let root = match &area.kind {
            Kind::MainStack | Kind::Stack => {
                let is_main = area.kind == Kind::MainStack;
                let is_its = |thread: &Thread| match thread.stack {
                    Some(stack) => (start.saturating_sub(PAGE)..end).contains(&stack),
                    None => is_main && thread.tid == main,
                };
                match threads.iter().position(is_its) {
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

/// A stack begins with the red zone below its stack pointer.
const PAGE: u64 = 4096;

fn of_thread(thread: &Thread) -> Root {
    let Thread {
        tid,
        name,
        stack,
        registers,
    } = thread;
    let running = if stack.is_none() { ", running" } else { "" };
    Root {
        group: Group::Threads,
        name: format!("thread {tid} ({name}){running}"),
        // Set when its stack is found.
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
