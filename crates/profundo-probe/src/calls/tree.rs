//! The tree of calls, in its file.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::exceptions::{self, Exceptions};
use super::index::Index;
use super::stack::{Open, Stack};
use crate::shared::{
    CallsFile, EXCEPTION_SITES, FUNCTIONS, FunctionRow, LINES, LineRow, MAGIC, NODES, NodeRow,
    SiteRow, TEXT, grow, node_flag,
};

/// The source of memory.
pub trait Memory {
    /// Zeroed memory of our own.
    fn map(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Returns the memory.
    fn unmap(&self, at: NonNull<u8>, bytes: usize);

    /// Allocates a part of the file, so that it can be written to.
    fn fill(&self, from: usize, bytes: usize) -> bool;
}

/// The description of a function.
#[derive(Debug, Clone, Copy, Default)]
pub struct Described<'a> {
    /// A [`crate::shared::function_kind`].
    pub kind: u32,
    /// Its first line.
    pub line: u32,
    /// Its name.
    pub name: &'a [u8],
    /// Its qualified name.
    pub qualified: &'a [u8],
    /// Its file.
    pub file: &'a [u8],
    /// Its entry address, if it is native.
    pub address: u64,
}

/// The child of a node that was called last.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Hint {
    key: u64,
    child: u64,
}

/// The parts of the file that are allocated piece by piece.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Functions,
    Nodes,
    Lines,
    Sites,
    Exceptions,
    Text,
}

/// The number of parts.
const PARTS: usize = Part::Text as usize + 1;

/// The size of a piece.
const PIECE: usize = 64 << 10;

/// From this number of nodes on, new calls have only their last caller.
const MANY: u32 = (NODES / 4 * 3) as u32;

/// No node: the parent of the nodes for functions and for threads.
const OF_FUNCTIONS: u32 = u32::MAX;
const OF_THREADS: u32 = u32::MAX - 1;

/// The tree.
#[derive(Debug)]
pub struct Tree<M> {
    file: NonNull<CallsFile>,
    pub(super) memory: M,
    pub(super) children: Index,
    functions: Index,
    pub(super) exceptions: Exceptions,
    hints: NonNull<Hint>,
    /// The allocated bytes of each part.
    filled: [usize; PARTS],
    /// Whether allocating each part has failed.
    is_full: [bool; PARTS],
    is_folding: bool,
}

impl<M: Memory> Tree<M> {
    /// An empty tree in a mapped file, which is all zero and allocated for its head. `None`: there
    /// is no more memory.
    ///
    /// # Safety
    /// The file stays mapped, and has no other writer.
    pub unsafe fn new(file: NonNull<CallsFile>, memory: M) -> Option<Self> {
        let hints = memory.map(NODES * size_of::<Hint>())?.cast();
        let mut tree = Self {
            file,
            memory,
            children: Index::new(),
            functions: Index::new(),
            exceptions: Exceptions::new(),
            hints,
            filled: [0; PARTS],
            is_full: [false; PARTS],
            is_folding: false,
        };
        if tree.begin().is_none() {
            tree.memory
                .unmap(tree.hints.cast(), NODES * size_of::<Hint>());
            return None;
        }
        Some(tree)
    }

    /// The first rows have no owner.
    fn begin(&mut self) -> Option<()> {
        if !self.has_room(Part::Nodes, size_of::<NodeRow>()) {
            return None;
        }
        let header = &self.file().header;
        header.nodes.store(1, Ordering::Relaxed);
        header.began.store(crate::clock::now(), Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Some(())
    }

    /// The file.
    #[inline]
    pub fn file<'a>(&self) -> &'a CallsFile {
        // SAFETY: it stays mapped, and is made of atomics.
        unsafe { self.file.as_ref() }
    }

    /// The source of memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Allocates a part up to there, if needed. False: there is no room.
    pub(super) fn has_room(&mut self, part: Part, end: usize) -> bool {
        let (at, most) = match part {
            Part::Functions => (
                CallsFile::FUNCTIONS_AT,
                FUNCTIONS * size_of::<FunctionRow>(),
            ),
            Part::Nodes => (CallsFile::NODES_AT, NODES * size_of::<NodeRow>()),
            Part::Lines => (CallsFile::LINES_AT, LINES * size_of::<LineRow>()),
            Part::Sites => (CallsFile::SITES_AT, exceptions::SITES_BYTES),
            Part::Exceptions => (CallsFile::EXCEPTIONS_AT, exceptions::ROWS_BYTES),
            Part::Text => (CallsFile::TEXT_AT, TEXT),
        };
        let Some(filled) = self.filled.get_mut(part as usize) else {
            return false;
        };
        let Some(is_full) = self.is_full.get_mut(part as usize) else {
            return false;
        };
        while *filled < end {
            if *is_full || end > most || !self.memory.fill(at + *filled, PIECE) {
                *is_full = true;
                return false;
            }
            *filled += PIECE;
        }
        true
    }

    /// A call of the function with this `key` begins, or resumes. `clock` is read when all is done.
    /// A new function is described.
    #[inline]
    pub fn enter(
        &mut self,
        stack: &mut Stack,
        key: u64,
        goes_on: bool,
        clock: impl FnOnce() -> u64,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) {
        self.enter_below(stack, stack.node(), key, goes_on, clock, describe);
    }

    /// As [`enter`](Self::enter), called by the function of that node.
    #[inline]
    pub(super) fn enter_below(
        &mut self,
        stack: &mut Stack,
        parent: u32,
        key: u64,
        goes_on: bool,
        clock: impl FnOnce() -> u64,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) {
        // SAFETY: there is a hint for each node.
        let hint = unsafe { self.hints.add(parent as usize).read() };
        let node = match hint.key == key {
            true => hint.child as u32,
            false => self.child(stack, parent, key, describe),
        };
        if let Some(row) = self.file().nodes.get(node as usize) {
            grow(if goes_on { &row.resumes } else { &row.calls }, 1);
        }
        let open = Open {
            key,
            began: clock(),
            node,
            place: 0,
        };
        stack.open.push(open, &self.memory);
    }

    /// A call of the function with this `key` goes on that began before calls were counted. It does
    /// not count; those that it makes do.
    pub fn stands(
        &mut self,
        stack: &mut Stack,
        key: u64,
        now: u64,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) {
        let open = Open {
            key,
            began: now,
            node: self.child(stack, stack.node(), key, describe),
            place: 0,
        };
        stack.open.push(open, &self.memory);
    }

    /// A call of the function with this `key` ends, or pauses.
    #[inline]
    pub fn leave(&mut self, stack: &mut Stack, key: u64, now: u64) {
        match stack.open.top() {
            Some(top) if top.key == key => {
                self.took(top.node, now.wrapping_sub(top.began));
                stack.open.pop();
            }
            _ => self.leave_another(stack, key, now),
        }
    }

    #[inline]
    pub(super) fn took(&self, node: u32, time: u64) {
        if let Some(row) = self.file().nodes.get(node as usize) {
            grow(&row.total, time);
        }
    }

    /// A call ends that did not begin last: the program has switched stacks, or an end was not
    /// reported.
    #[cold]
    fn leave_another(&mut self, stack: &mut Stack, key: u64, now: u64) {
        /// Further down, it is another call with that key.
        const NEAR: usize = 1 << 10;
        if stack.open.is_beyond() {
            return stack.open.pop();
        }
        let open = stack.open.all().iter().rev().take(NEAR);
        let Some(depth) = open.clone().position(|call| call.key == key) else {
            return grow(&self.file().header.unmatched, 1);
        };
        grow(&self.file().header.unmatched, depth as u64);
        for _ in 0..=depth {
            if let Some(top) = stack.open.top() {
                self.took(top.node, now.wrapping_sub(top.began));
            }
            stack.open.pop();
        }
    }

    /// The node of a child.
    #[cold]
    #[inline(never)]
    fn child(
        &mut self,
        stack: &Stack,
        parent: u32,
        key: u64,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) -> u32 {
        let node = match self.children.find(parent, key) {
            Some(node) => node,
            None => {
                let Some(function) = self.function(key, describe) else {
                    return self.no_node();
                };
                let made = self.new_child(parent, key, function);
                let Some(node) = made else {
                    return self.folded(stack, parent, key, function);
                };
                node
            }
        };
        // SAFETY: there is a hint for each node; it has no other user.
        unsafe {
            self.hints.add(parent as usize).write(Hint {
                key,
                child: u64::from(node),
            });
        };
        node
    }

    fn no_node(&self) -> u32 {
        grow(&self.file().header.uncounted, 1);
        0
    }

    /// A new child of a node. `None`: there are too many nodes.
    pub(super) fn new_child(&mut self, parent: u32, key: u64, function: u32) -> Option<u32> {
        self.is_folding |= self.file().header.nodes.load(Ordering::Relaxed) >= MANY;
        if self.is_folding {
            return None;
        }
        let node = self.new_node((parent, key), parent, function, 0);
        self.is_folding |= node.is_none();
        node
    }

    /// The node of a call with only its caller known.
    fn folded(&mut self, stack: &Stack, parent: u32, key: u64, function: u32) -> u32 {
        let Some(caller) = self.file().nodes.get(parent as usize) else {
            return self.no_node();
        };
        let is_thread = caller.flags.load(Ordering::Relaxed) & node_flag::THREAD != 0;
        let anywhere = match is_thread || parent == 0 {
            true => parent,
            false => {
                let caller = caller.function.load(Ordering::Relaxed);
                let known = self.children.find(OF_FUNCTIONS, u64::from(caller));
                let made = known.or_else(|| {
                    let place = (OF_FUNCTIONS, u64::from(caller));
                    self.new_node(place, 0, caller, node_flag::ANYWHERE)
                });
                match made {
                    Some(node) => node,
                    None => return self.no_node(),
                }
            }
        };
        /// A call further out counts as no recursion: in a recursion that deep, one is near, too.
        const NEAR: usize = 1 << 10;
        let open = stack.open.all();
        let open = open.get(open.len().saturating_sub(NEAR)..).unwrap_or(open);
        let is_recursive = open.iter().any(|call| call.key == key);
        let caller = open.last().map_or(0, |call| call.key);
        let is_pair = |pair: &[Open]| matches!(pair, [a, b] if a.key == caller && b.key == key);
        let is_repeated = is_recursive && open.windows(2).any(is_pair);
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags =
            flag(is_recursive, node_flag::RECURSIVE) | flag(is_repeated, node_flag::REPEATED);
        // Keys of objects are multiples of eight.
        let place = (anywhere, key | u64::from(flags >> 2));
        let known = self.children.find(place.0, place.1);
        let flags = flags | node_flag::FOLDED;
        let made = known.or_else(|| self.new_node(place, anywhere, function, flags));
        made.unwrap_or_else(|| self.no_node())
    }

    /// A new node, found by its parent and key from now on.
    fn new_node(
        &mut self,
        place: (u32, u64),
        parent: u32,
        function: u32,
        flags: u32,
    ) -> Option<u32> {
        let file = self.file();
        let node = file.header.nodes.load(Ordering::Relaxed);
        let row = file.nodes.get(node as usize)?;
        if !self.has_room(Part::Nodes, (node as usize + 1) * size_of::<NodeRow>())
            || !self.children.insert(place.0, place.1, node, &self.memory)
        {
            return None;
        }
        row.parent.store(parent, Ordering::Relaxed);
        row.function.store(function, Ordering::Relaxed);
        row.flags.store(flags, Ordering::Relaxed);
        // Release: a reader of the count sees the node's contents.
        file.header.nodes.store(node + 1, Ordering::Release);
        Some(node)
    }

    /// The number of the row of a key, if it is known.
    pub(super) fn function_number(&self, key: u64) -> Option<u32> {
        Some(self.functions.find(0, key)? - 1)
    }

    /// The row of a key, if it is known.
    #[inline]
    pub(super) fn known<'a>(&self, key: u64) -> Option<&'a FunctionRow> {
        let number = self.function_number(key)?;
        self.file().functions.get(number as usize)
    }

    /// The number of calls of the function with a key, in all places, and their time.
    pub fn total_of(&self, key: u64) -> (u64, u64) {
        let Some(function) = self.functions.find(0, key) else {
            return (0, 0);
        };
        let nodes = self.file().header.nodes.load(Ordering::Relaxed) as usize;
        let rows = self.file().nodes.get(1..nodes).unwrap_or_default().iter();
        let is_it = |row: &&NodeRow| {
            let flags = row.flags.load(Ordering::Relaxed);
            let is_call = flags & (node_flag::THREAD | node_flag::ANYWHERE) == 0;
            is_call && row.function.load(Ordering::Relaxed) == function - 1
        };
        rows.filter(is_it).fold((0, 0), |(calls, total), row| {
            (
                calls + row.calls.load(Ordering::Relaxed),
                total + row.total.load(Ordering::Relaxed),
            )
        })
    }

    /// The program asks for more about the function with a key.
    pub fn mark(&self, key: u64) {
        if let Some(row) = self.known(key) {
            row.is_marked.store(1, Ordering::Relaxed);
        }
    }

    /// The row of a key, which is added when it is new.
    pub(super) fn function(
        &mut self,
        key: u64,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) -> Option<u32> {
        if let Some(known) = self.functions.find(0, key) {
            return Some(known - 1);
        }
        let file = self.file();
        let number = file.header.functions.load(Ordering::Relaxed);
        let row = file.functions.get(number as usize)?;
        if !self.has_room(
            Part::Functions,
            (number as usize + 1) * size_of::<FunctionRow>(),
        ) || !self.functions.insert(0, key, number + 1, &self.memory)
        {
            return None;
        }
        describe(&mut |described| {
            row.kind.store(described.kind, Ordering::Relaxed);
            row.line.store(described.line, Ordering::Relaxed);
            row.address.store(described.address, Ordering::Relaxed);
            self.write(described.name, &row.name);
            self.write(described.qualified, &row.qualified);
            self.write(described.file, &row.file);
        });
        file.header.functions.store(number + 1, Ordering::Release);
        Some(number)
    }

    /// Writes a text to the file; an empty one where there is no room.
    fn write(&mut self, text: &[u8], place: &[AtomicU32; 2]) {
        /// The largest useful length of a name.
        const LONGEST: usize = 4096;
        let text = text.get(..LONGEST).unwrap_or(text);
        let file = self.file();
        let at = file.header.text.load(Ordering::Relaxed) as usize;
        let end = at + text.len();
        let Some(room) = file.text.get(at..end) else {
            return;
        };
        if text.is_empty() || !self.has_room(Part::Text, end) {
            return;
        }
        for (to, from) in room.iter().zip(text) {
            to.store(*from, Ordering::Relaxed);
        }
        let [start, length] = place;
        start.store(at as u32, Ordering::Relaxed);
        length.store(text.len() as u32, Ordering::Relaxed);
        file.header.text.store(end as u32, Ordering::Relaxed);
    }

    /// Gives a stack its thread's node.
    pub fn begin_thread(&mut self, stack: &mut Stack, thread: u32) {
        let place = (OF_THREADS, u64::from(thread));
        let known = self.children.find(place.0, place.1);
        let made = known.or_else(|| self.new_node(place, 0, thread, node_flag::THREAD));
        stack.root = made.unwrap_or(0);
        self.write_name(stack);
    }

    /// Sets the name of a stack's thread.
    pub fn name_thread(&mut self, stack: &mut Stack, name: &[u8]) {
        let rows = self.file().header.functions.load(Ordering::Relaxed);
        // Keys of objects are multiples of eight.
        let key = u64::from(rows) << 3 | 1;
        let row = self.function(key, |describe| {
            describe(Described {
                kind: crate::shared::function_kind::THREAD,
                name,
                ..Described::default()
            });
        });
        stack.name = row.map_or(0, |row| row + 1);
        self.write_name(stack);
    }

    fn write_name(&self, stack: &Stack) {
        if let Some(row) = self.file().nodes.get(stack.root as usize) {
            row.name.store(stack.name, Ordering::Relaxed);
        }
    }

    /// All calls of a stack have lasted until now.
    pub fn settle(&self, stack: &mut Stack, now: u64) {
        for open in stack.open.all_mut() {
            self.took(open.node, now.wrapping_sub(open.began));
            open.began = now;
        }
    }

    /// In the child of a fork, with its own file: earlier calls are the parent's, and functions
    /// stay known. `false`: there is no memory.
    ///
    /// # Safety
    /// As for [`new`](Self::new). The new file is mapped at the place of the old one before any
    /// other use of the tree.
    pub unsafe fn begin_anew(&mut self, new: NonNull<CallsFile>) -> bool {
        let old = self.file();
        self.children.clear(&self.memory);
        let bytes = NODES * size_of::<Hint>();
        self.memory.unmap(self.hints.cast(), bytes);
        let Some(hints) = self.memory.map(bytes) else {
            return false;
        };
        self.hints = hints.cast();
        self.filled = [0; PARTS];
        self.is_full = [false; PARTS];
        self.is_folding = false;
        let functions = old.header.functions.load(Ordering::Relaxed) as usize;
        let text = old.header.text.load(Ordering::Relaxed) as usize;
        let lines = old.header.lines.load(Ordering::Relaxed) as usize;
        let sites = old.header.sites.load(Ordering::Relaxed) as usize;
        if !self.has_room(Part::Functions, functions * size_of::<FunctionRow>())
            || !self.has_room(Part::Text, text)
            || !self.has_room(Part::Lines, lines * size_of::<LineRow>())
            || !self.has_room(Part::Sites, sites * size_of::<SiteRow>())
        {
            return false;
        }
        // SAFETY: the caller vouches for the new file, which is allocated that far; plain numbers
        // are copied.
        unsafe {
            let from = (&raw const old.functions).cast::<FunctionRow>();
            let to = (&raw mut (*new.as_ptr()).functions).cast::<FunctionRow>();
            to.copy_from_nonoverlapping(from, functions.min(FUNCTIONS));
            let from = (&raw const old.sites).cast::<SiteRow>();
            let to = (&raw mut (*new.as_ptr()).sites).cast::<SiteRow>();
            to.copy_from_nonoverlapping(from, sites.min(EXCEPTION_SITES));
            let from = (&raw const old.text).cast::<u8>();
            let to = (&raw mut (*new.as_ptr()).text).cast::<u8>();
            to.copy_from_nonoverlapping(from, text.min(TEXT));
        }
        // SAFETY: as above.
        let header = unsafe { &new.as_ref().header };
        let copy = |to: &AtomicU32, from: &AtomicU32| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        copy(&header.functions, &old.header.functions);
        copy(&header.text, &old.header.text);
        copy(&header.lines, &old.header.lines);
        copy(&header.sites, &old.header.sites);
        copy(&header.has_line_times, &old.header.has_line_times);
        copy(&header.has_exceptions, &old.header.has_exceptions);
        // Exceptions that are on their way were raised by the parent.
        self.drop_exceptions();
        let costs = header.cost.iter().flatten();
        for (to, from) in costs.zip(old.header.cost.iter().flatten()) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        copy(&header.clock, &old.header.clock);
        self.file = new;
        self.begin().is_some()
    }

    /// Forgets all calls so far. Functions stay known. `false`: there is no memory. The nodes of
    /// the stacks must be found anew before any other use.
    pub fn forget(&mut self) -> bool {
        let bytes = NODES * size_of::<Hint>();
        let Some(hints) = self.memory.map(bytes) else {
            return false;
        };
        self.memory.unmap(self.hints.cast(), bytes);
        self.hints = hints.cast();
        self.children.clear(&self.memory);
        self.is_folding = false;
        let header = &self.file().header;
        let nodes = header.nodes.swap(1, Ordering::Relaxed) as usize;
        for row in self.file().nodes.iter().take(nodes) {
            for number in [&row.calls, &row.resumes, &row.total] {
                number.store(0, Ordering::Relaxed);
            }
        }
        let lines = header.lines.load(Ordering::Relaxed) as usize;
        for row in self.file().lines.iter().take(lines) {
            row.hits.store(0, Ordering::Relaxed);
            row.time.store(0, Ordering::Relaxed);
        }
        for number in [&header.uncounted, &header.unmatched] {
            number.store(0, Ordering::Relaxed);
        }
        self.forget_exceptions();
        true
    }

    /// Visits the keys of the functions of a kind.
    pub fn each_key(&self, kind: u32, mut visit: impl FnMut(u64)) {
        let file = self.file();
        self.functions.each(|key, value| {
            let row = file.functions.get((value as usize).wrapping_sub(1));
            if row.is_some_and(|row| row.kind.load(Ordering::Relaxed) == kind) {
                visit(key);
            }
        });
    }

    /// Gives all memory back but the file.
    ///
    /// # Safety
    /// The tree is not used any more.
    pub unsafe fn give_back(&mut self) {
        self.children.clear(&self.memory);
        self.functions.clear(&self.memory);
        self.give_back_exceptions();
        let bytes = NODES * size_of::<Hint>();
        self.memory.unmap(self.hints.cast(), bytes);
    }

    /// The thread of a stack.
    pub fn thread_of(&self, stack: &Stack) -> u32 {
        let row = self.file().nodes.get(stack.root as usize);
        row.map_or(0, |row| row.function.load(Ordering::Relaxed))
    }

    /// Sets the new address of the file.
    ///
    /// # Safety
    /// The address is that of the same file.
    pub unsafe fn moved(&mut self, file: NonNull<CallsFile>) {
        self.file = file;
    }

    /// Finds the nodes of a stack's calls, which go on in another tree. None of them counts as
    /// begun.
    pub fn find_anew(&mut self, stack: &mut Stack, now: u64) {
        for depth in 0..stack.open.len() {
            let above = depth
                .checked_sub(1)
                .and_then(|depth| stack.open.all().get(depth));
            let parent = match above {
                Some(above) => above.node,
                None => stack.root,
            };
            let Some(&Open { key, .. }) = stack.open.all().get(depth) else {
                return;
            };
            let node = match self.functions.find(0, key) {
                Some(function) => {
                    let known = self.children.find(parent, key);
                    known.or_else(|| self.new_child(parent, key, function - 1))
                }
                None => None,
            };
            if let Some(open) = stack.open.all_mut().get_mut(depth) {
                (open.node, open.began) = (node.unwrap_or(0), now);
            }
        }
    }

    /// Increments a counter of the head.
    pub fn count(&self, which: impl FnOnce(&crate::shared::CallsHeader) -> &AtomicU64) {
        grow(which(&self.file().header), 1);
    }
}
