//! The tree of calls: stacks in which equal frames are one, whatever their addresses. The reader
//! chooses the meaning of equal: the same function, or the same line of it.

use profundo_model::{Kind, Kinds, Profile, Sample, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use super::owner;
use super::view::{Point, View};
use super::{Counts, Merge, Options, Weights, add};

/// The callee of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Callee {
    /// A process, a thread or a task: a row of [`Calls::owners`].
    Owner(u32),
    /// A function, at a line where lines are kept apart (else 0).
    Function { function: u32, line: u32 },
    /// The kernel, on behalf of the call below.
    System,
}

/// A node of the tree. A parent is stored before its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub parent: Option<u32>,
    pub callee: Callee,
    /// The weight of the samples that end here.
    pub own: u64,
    /// Their count.
    pub own_count: u64,
}

/// The form of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub merge: Merge,
    pub weights: Weights,
    /// Put `[system]` above callers of system calls.
    pub system: bool,
    pub processes: bool,
    pub threads: bool,
    pub tasks: bool,
    /// Begin with the running functions, and put their callers on them.
    pub bottom_up: bool,
}

impl Manner {
    pub(crate) fn new(options: &Options, weights: Weights, system: bool) -> Self {
        Self {
            merge: options.merge.unwrap_or(Merge::Function),
            weights,
            system,
            processes: options.processes,
            threads: options.threads,
            tasks: options.tasks,
            bottom_up: options.bottom_up,
        }
    }
}

/// The tree of calls, see the module.
#[derive(Debug)]
pub(crate) struct Calls {
    pub calls: Vec<Call>,
    pub owners: Vec<String>,
    /// The row of each owner's name.
    owner_rows: FxHashMap<String, u32>,
    ids: FxHashMap<(Option<u32>, Callee), u32>,
    /// The call of each node of the view, for each root.
    met: FxHashMap<(Option<u32>, u32), u32>,
    /// The first and the last known line of each call; 0 where unknown.
    lines: Vec<(u32, u32)>,
    /// The root of each thread.
    roots: Vec<Option<u32>>,
    /// The root of each task on each thread, where tasks have one.
    task_roots: FxHashMap<(ThreadId, TaskId), Option<u32>>,
    tasks: bool,
    merge: Merge,
}

impl Calls {
    pub(crate) fn new(view: &View<'_>, kinds: &Kinds, manner: Manner) -> Self {
        let profile = view.profile;
        let mut calls = Self {
            calls: Vec::new(),
            owners: Vec::new(),
            owner_rows: FxHashMap::default(),
            ids: FxHashMap::default(),
            met: FxHashMap::default(),
            lines: Vec::new(),
            roots: Vec::new(),
            task_roots: FxHashMap::default(),
            tasks: manner.tasks,
            merge: manner.merge,
        };
        calls.roots = (profile.threads.iter())
            .map(|(thread, _)| calls.root(profile, thread, manner))
            .collect();
        // Most samples repeat an earlier stack.
        let mut sums: FxHashMap<(Option<u32>, u32, bool), (u64, u64)> = FxHashMap::default();
        let counts = Counts::new(profile);
        for (row, sample) in profile.samples.iter().enumerate() {
            let root = calls.root_of(profile, sample);
            let is_system = manner.system && kinds.kind(sample) == Kind::System;
            let sum = sums.entry((root, view.node(sample.stack), is_system));
            let sum = sum.or_default();
            add(&mut sum.0, manner.weights.of(&counts, row, sample));
            add(&mut sum.1, counts.of(row, sample));
        }
        for ((root, node, is_system), (weight, count)) in sums {
            let call = calls.of_node(view, root, node, is_system);
            let call = &mut calls.calls[call as usize];
            add(&mut call.own, weight);
            add(&mut call.own_count, count);
        }
        match manner.bottom_up {
            true => calls.reversed(),
            false => calls,
        }
    }

    /// The same stacks with the innermost function first. Processes, threads and tasks stay below.
    /// Weight at the end of a call moves to the other end of its stack, so every call keeps its
    /// total.
    fn reversed(mut self) -> Self {
        let calls = std::mem::take(&mut self.calls);
        let lines = std::mem::take(&mut self.lines);
        self.ids.clear();
        self.met.clear();
        for (index, ended) in calls.iter().enumerate() {
            if ended.own == 0 && ended.own_count == 0 {
                continue;
            }
            let above = |call: &usize| calls[*call].parent.map(|call| call as usize);
            let path: Vec<usize> = std::iter::successors(Some(index), above).collect();
            let is_owner = |call: &&usize| matches!(calls[**call].callee, Callee::Owner(_));
            let owners = path.iter().rev().filter(is_owner);
            let functions = path.iter().filter(|call| !is_owner(call));
            let mut last = None;
            for &call in owners.chain(functions) {
                let child = self.child(last, calls[call].callee);
                let (first_line, last_line) = lines[call];
                self.widen(child, first_line);
                self.widen(child, last_line);
                last = Some(child);
            }
            if let Some(last) = last {
                let last = &mut self.calls[last as usize];
                add(&mut last.own, ended.own);
                add(&mut last.own_count, ended.own_count);
            }
        }
        self
    }

    fn root(&mut self, profile: &Profile, thread: ThreadId, manner: Manner) -> Option<u32> {
        let mut root = None;
        if manner.processes {
            root = Some(self.owner(root, owner::process(profile, thread)));
        }
        if manner.threads {
            root = Some(self.owner(root, owner::thread(profile, thread)));
        }
        root
    }

    /// The common root of a sample's thread, or of its task there.
    fn root_of(&mut self, profile: &Profile, sample: &Sample) -> Option<u32> {
        let root = self.roots[sample.thread.index()];
        if !self.tasks {
            return root;
        }
        let key = (sample.thread, sample.task);
        if let Some(&known) = self.task_roots.get(&key) {
            return known;
        }
        let is_task = owner::is_task(profile, sample.task);
        let root = match is_task {
            true => Some(self.owner(root, owner::task(profile, sample.task))),
            false => root,
        };
        self.task_roots.insert(key, root);
        root
    }

    fn owner(&mut self, parent: Option<u32>, name: String) -> u32 {
        let row = match self.owner_rows.get(&name) {
            Some(&row) => row,
            None => {
                let row = self.owners.len() as u32;
                self.owners.push(name.clone());
                self.owner_rows.insert(name, row);
                row
            }
        };
        self.child(parent, Callee::Owner(row))
    }

    /// The call in which a sample ends.
    pub(crate) fn of_sample(&mut self, view: &View<'_>, sample: &Sample, is_system: bool) -> u32 {
        let root = self.root_of(view.profile, sample);
        self.of_node(view, root, view.node(sample.stack), is_system)
    }

    fn of_node(&mut self, view: &View<'_>, root: Option<u32>, node: u32, is_system: bool) -> u32 {
        let (mut path, mut next, mut call) = (Vec::new(), Some(node), root);
        while let Some(node) = next {
            if let Some(&met) = self.met.get(&(root, node)) {
                call = Some(met);
                break;
            }
            path.push(node);
            next = view.nodes[node as usize].parent;
        }
        for &node in path.iter().rev() {
            let spot = view.nodes[node as usize].spot;
            for point in view.spots[spot as usize].iter().rev() {
                let child = self.child(call, self.callee(point));
                self.widen(child, point.line);
                call = Some(child);
            }
            if let Some(call) = call {
                self.met.insert((root, node), call);
            }
        }
        let call = call.expect("a node has at least one frame");
        // The kernel's own functions are more precise.
        if is_system && !view.is_in_kernel(node) {
            self.child(Some(call), Callee::System)
        } else {
            call
        }
    }

    fn widen(&mut self, call: u32, line: u32) {
        let (first, last) = &mut self.lines[call as usize];
        if line > 0 {
            *first = if *first == 0 { line } else { line.min(*first) };
            *last = line.max(*last);
        }
    }

    /// The first and the last line of a call; 0 where unknown.
    pub(crate) fn lines(&self, call: u32) -> (u32, u32) {
        self.lines[call as usize]
    }

    fn callee(&self, point: &Point) -> Callee {
        Callee::Function {
            function: point.function,
            line: match self.merge {
                Merge::Function => 0,
                Merge::Line => point.line,
            },
        }
    }

    fn child(&mut self, parent: Option<u32>, callee: Callee) -> u32 {
        *self.ids.entry((parent, callee)).or_insert_with(|| {
            self.calls.push(Call {
                parent,
                callee,
                own: 0,
                own_count: 0,
            });
            self.lines.push((0, 0));
            self.calls.len() as u32 - 1
        })
    }

    /// The sums over each call and all its callees, as weights and counts.
    pub(crate) fn totals(&self) -> Vec<(u64, u64)> {
        let mut totals: Vec<(u64, u64)> = (self.calls.iter())
            .map(|call| (call.own, call.own_count))
            .collect();
        for (index, call) in self.calls.iter().enumerate().rev() {
            if let Some(parent) = call.parent {
                let (weight, count) = totals[index];
                add(&mut totals[parent as usize].0, weight);
                add(&mut totals[parent as usize].1, count);
            }
        }
        totals
    }

    /// The roots, and the children of each call, as `first_to_last` orders siblings.
    pub(crate) fn children<K: Ord>(
        &self,
        first_to_last: impl Fn(u32) -> K,
    ) -> (Vec<u32>, Vec<Vec<u32>>) {
        let mut roots = Vec::new();
        let mut children = vec![Vec::new(); self.calls.len()];
        for (index, call) in (0..).zip(&self.calls) {
            match call.parent {
                None => roots.push(index),
                Some(parent) => children[parent as usize].push(index),
            }
        }
        let sort = |calls: &mut Vec<u32>| calls.sort_by_cached_key(|&call| first_to_last(call));
        sort(&mut roots);
        children.iter_mut().for_each(sort);
        (roots, children)
    }
}
