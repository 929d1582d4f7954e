//! The stack of a sample: its addresses are in the kernel, in files, or in generated code.

use std::path::Path;

use profundo_model::{
    Avma, CodeAddress, LocationId, LocationKind, ModuleId, Reason, StackId, State, ThreadId,
};
use rustc_hash::FxHashMap;

use super::attr::{Attr, Fields};
use super::head::Head;
use super::names::{GeneratedCode, KernelFunctions, KernelMark};
use super::program_files::ProgramFiles;
use super::spaces::Spaces;
use super::unwind::{Programs, Unwinder};
use crate::Builder;
use crate::perf::symbol::{self, Symbol};

/// Marks between the addresses of a stack: those below were running there.
mod context {
    pub(super) const FIRST: u64 = -4095_i64 as u64;
    pub(super) const HYPERVISOR: u64 = -32_i64 as u64;
    pub(super) const KERNEL: u64 = -128_i64 as u64;
    pub(super) const USER: u64 = -512_i64 as u64;
    /// A user's part that came later.
    pub(super) const USER_DEFERRED: u64 = -640_i64 as u64;
}

/// The running part of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Kernel,
    User,
    /// Another system in this one.
    Other,
}

impl Mode {
    /// The mode in a record's `misc`.
    fn of_misc(misc: u16) -> Self {
        match misc & 7 {
            1 | 3 => Self::Kernel,
            2 => Self::User,
            _ => Self::Other,
        }
    }

    fn of_context(mark: u64) -> Self {
        match mark {
            context::KERNEL | context::HYPERVISOR => Self::Kernel,
            context::USER | context::USER_DEFERRED => Self::User,
            _ => Self::Other,
        }
    }
}

/// An address of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    address: u64,
    /// Whether its part of the system runs there. The others have called.
    is_first: bool,
    mode: Mode,
}

/// The last stack of a thread.
#[derive(Debug, Default)]
struct Previous {
    root: Option<StackId>,
    generation: u64,
    /// From the root.
    levels: Vec<(Call, StackId)>,
}

/// The addresses of a sample, the innermost first.
fn calls_of(fields: &Fields<'_>, misc: u16, calls: &mut Vec<Call>) {
    let mut mode = Mode::of_misc(misc);
    calls.clear();
    let mut is_first = true;
    if let Some(mut chain) = fields.chain {
        while let Some(address) = chain.u64() {
            if address >= context::FIRST {
                mode = Mode::of_context(address);
                is_first = true;
                continue;
            }
            calls.push(Call {
                address,
                is_first,
                mode,
            });
            is_first = false;
        }
    }
}

/// Whether a record is the kernel's.
pub(super) fn is_kernel(misc: u16) -> bool {
    Mode::of_misc(misc) == Mode::Kernel
}

/// What is needed to place addresses.
pub(super) struct Stacks<'a> {
    head: &'a Head,
    pub spaces: Spaces,
    unwinder: Unwinder<'a>,
    generated: GeneratedCode,
    mark: KernelMark,
    /// Those that run, read with the first address in the kernel.
    kernel: Option<KernelFunctions>,
    kernel_module: Option<ModuleId>,
    /// The locations of the kernel's addresses.
    known: FxHashMap<(u64, bool), LocationId>,
    names: FxHashMap<(u32, u32), Box<str>>,
    threads: FxHashMap<(u32, u32), ThreadId>,
    pub has_unnamed_kernel: bool,
    /// The stack that is being read.
    calls: Vec<Call>,
    /// The last stack of each thread.
    previous: Vec<Previous>,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(head: &'a Head, programs: &'a Programs, path: Option<&Path>) -> Self {
        Self {
            head,
            spaces: Spaces::new(ProgramFiles::beside(path)),
            unwinder: Unwinder::new(programs),
            generated: GeneratedCode::beside(path),
            mark: KernelMark::default(),
            // A recording without a path says nothing of this machine.
            kernel: path.is_none().then(KernelFunctions::default),
            kernel_module: None,
            known: FxHashMap::default(),
            names: FxHashMap::default(),
            threads: FxHashMap::default(),
            has_unnamed_kernel: false,
            calls: Vec::new(),
            previous: Vec::new(),
        }
    }

    /// Takes in the mapping of the kernel, which is named after a symbol: `[kernel.kallsyms]_text`.
    pub(super) fn mark_kernel(&mut self, path: &[u8], address: u64) {
        const NAME: &[u8] = b"[kernel.kallsyms]";
        let Some(symbol) = path.strip_prefix(NAME) else {
            return;
        };
        let build_id = self.head.build_ids.get(NAME);
        self.mark = KernelMark {
            build_id: build_id.cloned().unwrap_or_default(),
            release: self.head.machine.kernel.clone(),
            symbol: Some((String::from_utf8_lossy(symbol).into_owned(), address)),
        };
    }

    /// The thread, with the last name that it had.
    pub(super) fn thread(&mut self, builder: &mut Builder, pid: u32, tid: u32) -> ThreadId {
        if let Some(&id) = self.threads.get(&(pid, tid)) {
            return id;
        }
        let name = match (pid, self.names.get(&(pid, tid))) {
            (0, None) => "swapper",
            (_, name) => name.map_or("", |name| &name[..]),
        };
        // Unknown ones are -1.
        let number = |id: u32| if id == u32::MAX { 0 } else { id };
        let id = builder.thread(number(pid), u64::from(number(tid)), name);
        self.threads.insert((pid, tid), id);
        id
    }

    pub(super) fn name_thread(&mut self, builder: &mut Builder, pid: u32, tid: u32, name: &str) {
        self.names.insert((pid, tid), name.into());
        if self.threads.contains_key(&(pid, tid)) {
            builder.thread(pid, u64::from(tid), name);
        }
    }

    /// A thread begins with the name of the one that made it.
    pub(super) fn inherit_name(&mut self, builder: &mut Builder, from: (u32, u32), to: (u32, u32)) {
        if let Some(name) = self.names.get(&from).cloned() {
            self.name_thread(builder, to.0, to.1, &name);
        }
    }

    /// The stack of a sample of a thread.
    pub(super) fn of(
        &mut self,
        builder: &mut Builder,
        thread: ThreadId,
        attr: &Attr,
        fields: &Fields<'_>,
        misc: u16,
    ) -> (StackId, State) {
        let mut calls = std::mem::take(&mut self.calls);
        calls_of(fields, misc, &mut calls);
        let cut = self.unwind(builder, fields, &mut calls);
        if calls.is_empty()
            && let Some(address) = fields.ip
        {
            calls.push(Call {
                address,
                is_first: true,
                mode: Mode::of_misc(misc),
            });
        }
        let is_kernel = (calls.first()).is_some_and(|call| call.mode == Mode::Kernel);
        let state = match is_kernel {
            true => State::System,
            false => State::Running,
        };
        let root = match calls.len() {
            0 => Some(Reason::Broken),
            _ if fields.copied.is_some() => cut,
            many => (many >= attr.deepest()).then_some(Reason::Truncated),
        };
        let root = root.map(|reason| {
            let kind = LocationKind::Reason(reason);
            let location = builder.profile.locations.intern(kind, None);
            builder.stack(None, location)
        });
        if self.previous.len() <= thread.index() {
            self.previous
                .resize_with(thread.index() + 1, Previous::default);
        }
        // Most stacks of a thread end like its one before.
        let mut previous = std::mem::take(&mut self.previous[thread.index()]);
        let generation = self.spaces.of(fields.pid).generation;
        if (previous.root, previous.generation) != (root, generation) {
            previous.levels.clear();
            (previous.root, previous.generation) = (root, generation);
        }
        let pairs = previous.levels.iter().zip(calls.iter().rev());
        let shared = pairs.take_while(|((old, _), new)| old == *new).count();
        previous.levels.truncate(shared);
        let mut stack = previous.levels.last().map_or(root, |&(_, id)| Some(id));
        for &call in calls.iter().rev().skip(shared) {
            let location = self.location(builder, fields.pid, call);
            let id = builder.stack(stack, location);
            previous.levels.push((call, id));
            stack = Some(id);
        }
        self.previous[thread.index()] = previous;
        self.calls = calls;
        // It is never empty.
        (stack.unwrap_or_default(), state)
    }

    /// Adds the frames of a copied stack. Returns the reason for its end, where it was cut.
    fn unwind(
        &mut self,
        builder: &Builder,
        fields: &Fields<'_>,
        calls: &mut Vec<Call>,
    ) -> Option<Reason> {
        let copied = fields.copied.as_ref()?;
        if calls.iter().any(|call| call.mode == Mode::User) {
            return None;
        }
        let (space, files) = self.spaces.with_files(fields.pid);
        let (addresses, cut) = (self.unwinder).walk(
            builder,
            files,
            (fields.pid, space),
            copied,
            self.head.is_big,
        );
        let frames = addresses.iter().enumerate();
        calls.extend(frames.map(|(index, &address)| Call {
            address,
            is_first: index == 0,
            mode: Mode::User,
        }));
        cut
    }

    /// Says in notes how many stacks were cut, and why.
    pub(super) fn note_cuts(&self, builder: &mut Builder) {
        self.unwinder.note(builder, &self.head.architecture);
    }

    fn location(&mut self, builder: &mut Builder, pid: u32, call: Call) -> LocationId {
        let Call {
            address,
            is_first,
            mode,
        } = call;
        let key = (address, is_first);
        let known = match mode {
            Mode::Kernel => &self.known,
            Mode::User => &self.spaces.of(pid).known,
            Mode::Other => return builder.address(code(address, is_first), None),
        };
        if let Some(&known) = known.get(&key) {
            return known;
        }
        match mode {
            Mode::Kernel => {
                let found = self.kernel_location(builder, address, is_first);
                self.known.insert(key, found);
                found
            }
            _ => {
                let found = self.user_location(builder, pid, address, is_first);
                self.spaces.of(pid).known.insert(key, found);
                found
            }
        }
    }

    fn kernel_location(
        &mut self,
        builder: &mut Builder,
        address: u64,
        is_first: bool,
    ) -> LocationId {
        let module = *self.kernel_module.get_or_insert_with(|| {
            let id = builder.module("[kernel]");
            let module = builder.profile.modules.get_mut(id);
            (module.start, module.end) = (Avma(symbol::KERNEL), Avma(u64::MAX));
            id
        });
        let code = code(address, is_first);
        let mark = &self.mark;
        let kernel = (self.kernel).get_or_insert_with(|| KernelFunctions::read(mark));
        let id = builder.address(code, Some(module));
        match kernel.name(code.for_lookup().0) {
            Some(name) => {
                let symbol = Symbol {
                    name,
                    module: "[kernel]",
                    ..Symbol::default()
                };
                let frame = symbol.frame(builder);
                builder.profile.locations.set_frames(id, &[frame]);
            }
            None => self.has_unnamed_kernel |= kernel.is_empty(),
        }
        id
    }

    fn user_location(
        &mut self,
        builder: &mut Builder,
        pid: u32,
        address: u64,
        is_first: bool,
    ) -> LocationId {
        let code_there = code(address, is_first);
        let lookup = code_there.for_lookup().0;
        let Some(mapping) = self.spaces.of(pid).find(lookup).copied() else {
            return builder.address(code_there, None);
        };
        if mapping.is_generated
            && let Some(name) = self.generated.name(pid, lookup)
        {
            let symbol = Symbol {
                name,
                module: "perf-0.map",
                ..Symbol::default()
            };
            let frame = symbol.frame(builder);
            return symbol::location(builder, &[frame], None, lookup);
        }
        let moved = code(address.wrapping_add(mapping.shift), is_first);
        builder.address(moved, Some(mapping.module))
    }
}

fn code(address: u64, is_first: bool) -> CodeAddress {
    match is_first {
        true => CodeAddress::Instruction(Avma(address)),
        false => CodeAddress::Return(Avma(address)),
    }
}
