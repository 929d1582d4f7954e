//! The words of one process into interned stacks, root first, with the reason where a walk ended
//! early.

use profundo_model::{
    Avma, CodeAddress, LocationId, LocationKind, ProcessId, Profile, Reason, StackId, StringId,
};
use profundo_wire::recording::ModuleInfo;
use profundo_wire::{Code, Gil, PythonEnd, PythonWord, SampleHead, State, python_task_code};
use rustc_hash::FxHashMap;

use crate::codes::Codes;
use crate::merge::{Level, mark_collection, merge};
use crate::modules::{ModuleMap, Registry};
use crate::qualified::Qualified;

/// The limit of words of remembered stacks: beyond it they are forgotten, and found again level by
/// level.
const REMEMBERED: usize = 4 << 20;

/// Interns stacks. Equal runs of words are looked up once: most samples repeat a stack, and
/// hashing a deep one costs less than walking it through the tables.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    modules: ModuleMap,
    codes: Codes,
    whole: FxHashMap<Box<[u64]>, StackId>,
    remembered: usize,
    addresses: FxHashMap<(u64, bool), LocationId>,
    /// Libraries that switch stacks, as ranges of addresses.
    switching: Vec<(u64, u64)>,
    /// Reused from sample to sample.
    key: Vec<u64>,
    levels: Vec<Level>,
    /// Leaf first, where there is no room for all of them.
    locations: Vec<LocationId>,
    /// The levels of the last stack, root first: the next one mostly differs near its leaf only.
    last: Vec<Known>,
}

/// The words of a sample's stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackWords<'a> {
    /// The native frames.
    pub(crate) frames: &'a [u64],
    /// The interpreter's words.
    pub(crate) python: &'a [u64],
}

impl StackWords<'_> {
    /// Whether the sample has no stack.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.python.is_empty()
    }
}

/// A level of the last stack: its words, and their location.
#[derive(Debug, Clone, Copy)]
struct Known {
    words: (u64, u64),
    location: LocationId,
    stack: StackId,
}

impl Stacks {
    /// Takes in new and unloaded modules.
    pub(crate) fn modules(
        &mut self,
        profile: &mut Profile,
        registry: &mut Registry,
        process: ProcessId,
        infos: &[ModuleInfo],
    ) {
        self.modules.add(profile, registry, process, infos);
        for info in infos.iter().filter(|info| is_switching(&info.path)) {
            self.switching.push((info.start, info.end));
        }
        self.forget();
    }

    /// Takes in the initial working directory of the process and its command line.
    pub(crate) fn began(&mut self, directory: String, command: &str) {
        self.codes.began(directory, command);
    }

    /// The initial working directory of the process; empty where unknown.
    pub(crate) fn directory(&self) -> &str {
        self.codes.directory()
    }

    /// Takes in a code object of a process.
    pub(crate) fn code(
        &mut self,
        profile: &mut Profile,
        process: ProcessId,
        code: &Code<'_>,
        names: &mut Qualified,
    ) {
        if self.codes.add(profile, process, code, names) {
            self.forget();
        }
    }

    /// Takes in a process of the recording that is continued.
    pub(crate) fn resume(&mut self, profile: &Profile, process: ProcessId) {
        let growing = &profile.growing;
        for code in growing.codes.iter().filter(|code| code.process == process) {
            self.codes.restore(code);
        }
        let mappings = growing.mappings.iter();
        for mapping in mappings.filter(|mapping| mapping.process == process) {
            self.modules.map(mapping);
            let path = profile.modules.get(mapping.module).path;
            if is_switching(profile.strings.get(path)) {
                self.switching.push((mapping.start, mapping.end));
            }
        }
    }

    /// The number of native frames on the same stack as the interpreter's frames.
    ///
    /// A greenlet has a stack of its own, which lies on top of its starter's former stack. The
    /// starter runs on meanwhile, so the frames below the greenlet's first function belong to no
    /// one. The library's innermost frame calls that function. Those below it are the switch that
    /// started the greenlet: they depend on the switching code, and would give one function several
    /// roots.
    pub(crate) fn own_frames(&self, head: &SampleHead, words: StackWords<'_>) -> usize {
        let StackWords { frames, python } = words;
        let all = frames.len();
        if self.switching.is_empty() || head.python_end != PythonEnd::Whole {
            return all;
        }
        let mut outermost = None;
        for &word in python {
            match PythonWord::from_word(word) {
                PythonWord::Frame { .. } => {}
                PythonWord::Entry { native: None } => return all,
                PythonWord::Entry { native } => outermost = native.map(usize::from),
            }
        }
        let is_switching = |&address: &u64| {
            let mut ranges = self.switching.iter();
            ranges.any(|&(start, end)| (start..end).contains(&address))
        };
        let Some(below) = outermost.map(|outermost| outermost + 1) else {
            return all;
        };
        let rest = frames.get(below..).unwrap_or_default();
        let Some(first) = rest.iter().position(is_switching) else {
            return all;
        };
        below + first + 1
    }

    /// The name of a task with a number from the interpreter's stack: that of its outermost
    /// coroutine.
    pub(crate) fn task_name(&self, task: u64) -> Option<StringId> {
        match python_task_code(task) {
            0 => None,
            code => self.codes.name(code),
        }
    }

    /// The modules of the process.
    pub(crate) fn module_map(&self) -> &ModuleMap {
        &self.modules
    }

    /// Forgets the words of stacks, whose meaning may have changed.
    fn forget(&mut self) {
        self.whole.clear();
        self.addresses.clear();
        self.last.clear();
        self.remembered = 0;
    }

    /// The stack of a sample. `None` if a code object of it is unknown yet, unless `at_once` is
    /// set: such frames have no name then. Beyond `most` rows of the stack table, a new stack keeps
    /// only its innermost frame, below its known part.
    pub(crate) fn intern(
        &mut self,
        profile: &mut Profile,
        head: &SampleHead,
        words: StackWords<'_>,
        at_once: bool,
        most: usize,
    ) -> Option<StackId> {
        let StackWords { frames, python } = words;
        // Before a module was unloaded, an address may have meant something else.
        let is_settled = head.clock >= self.modules.settled();
        // A return address is one instruction behind its call.
        let is_call = head.state == State::Allocating;
        // An allocating stack mostly comes once, with a number of its own: the levels that it
        // shares with the last one are found without a copy of all its words.
        let is_remembered = is_settled && !is_call;
        if is_remembered {
            self.key.clear();
            let collects = u64::from(head.gil == Gil::Collecting) << 49;
            let first = collects
                | u64::from(is_call) << 48
                | (head.end as u64) << 40
                | (head.python_end as u64) << 32;
            self.key.push(first | frames.len() as u64);
            self.key.extend_from_slice(frames);
            self.key.extend_from_slice(python);
            if let Some(&stack) = self.whole.get(self.key.as_slice()) {
                return Some(stack);
            }
        }
        let mut levels = std::mem::take(&mut self.levels);
        merge(frames.len(), head.end, python, head.python_end, &mut levels);
        if head.gil == Gil::Collecting {
            mark_collection(&mut levels);
        }
        // These words may lead to another stack later.
        let is_special = !is_settled || at_once;
        if is_special {
            self.last.clear();
        }
        let same = self.last.iter().zip(levels.iter().rev());
        let same =
            same.take_while(|(known, level)| known.words == words_of(**level, frames, is_call));
        let same = same.count();
        self.last.truncate(same);
        let new = levels.len() - same;
        let found = levels[..new].iter().rev().try_for_each(|&level| {
            let location = match level {
                Level::Native(index) => {
                    let is_leaf = index == 0 && !is_call;
                    self.address(profile, frames[index], is_leaf, head.clock, is_settled)
                }
                level => self.locate(profile, level, at_once)?,
            };
            self.last.push(Known {
                words: words_of(level, frames, is_call),
                location,
                stack: StackId(0),
            });
            Some(())
        });
        self.levels = levels;
        if found.is_none() {
            self.last.truncate(same);
            return None;
        }
        let parent = self.rows(profile, same, most);
        let stack = parent.unwrap_or_else(|| {
            // A walk without frames that claims to be whole: keep the weight all the same.
            let location = reason(profile, Reason::Broken);
            profile.stacks.intern(None, location)
        });
        if is_special {
            self.last.clear();
        } else if is_remembered {
            if self.remembered + self.key.len() > REMEMBERED {
                self.forget();
            }
            self.remembered += self.key.len();
            self.whole.insert(self.key.as_slice().into(), stack);
        }
        Some(stack)
    }

    /// The stack of the levels in `last`, whose first ones have their rows already.
    fn rows(&mut self, profile: &mut Profile, same: usize, most: usize) -> Option<StackId> {
        let mut parent = same.checked_sub(1).map(|last| self.last[last].stack);
        for at in same..self.last.len() {
            let location = self.last[at].location;
            if profile.stacks.len() >= most && profile.stacks.find(parent, location).is_none() {
                self.locations.clear();
                let leaf_first = self.last.iter().rev();
                self.locations
                    .extend(leaf_first.map(|known| known.location));
                let new = self.locations.get(..self.locations.len() - at)?;
                let stack = self.short_of_room(profile, parent, new, most);
                self.last.truncate(at);
                return stack;
            }
            let stack = profile.stacks.intern(parent, location);
            self.last[at].stack = stack;
            parent = Some(stack);
        }
        parent
    }

    /// A stack beyond the limit of rows: a program that never repeats itself must not fill the
    /// memory. Shares of lines and functions stay true, because the innermost frames are kept:
    /// first below the known callers, then below none, and at last not at all.
    fn short_of_room(
        &self,
        profile: &mut Profile,
        known: Option<StackId>,
        new: &[LocationId],
        most: usize,
    ) -> Option<StackId> {
        let innermost = self.innermost(profile);
        let not_kept = reason(profile, Reason::NotKept);
        let (first, kept) = match new.len() <= innermost.len() {
            true => (known, new),
            false => (profile.stacks.find(known, not_kept), innermost),
        };
        let below_none = profile.stacks.find(None, not_kept);
        // A known row takes no room.
        for (parent, below) in [(first, kept), (below_none, innermost)] {
            let Some(parent) = parent else { continue };
            let found = below.iter().rev().try_fold(parent, |parent, &location| {
                profile.stacks.find(Some(parent), location)
            });
            if found.is_some() {
                return found;
            }
        }
        let rows = profile.stacks.len();
        let (parent, below) = match known {
            _ if rows >= most + most / 8 => (profile.stacks.intern(None, not_kept), innermost),
            Some(known) if new.len() <= innermost.len() => (known, new),
            known => (profile.stacks.intern(known, not_kept), innermost),
        };
        if rows >= most + most / 4 {
            return Some(parent);
        }
        let stack = below.iter().rev().fold(parent, |parent, &location| {
            profile.stacks.intern(Some(parent), location)
        });
        Some(stack)
    }

    /// The innermost frame and, where the interpreter runs near it, those up to the line that it
    /// runs: the kind of the time depends on that.
    fn innermost<'a>(&'a self, profile: &Profile) -> &'a [LocationId] {
        /// The largest number of the interpreter's own functions between a line and its callee.
        const NEAR: usize = 12;
        let is_line = |location: &LocationId| {
            let kind = profile.locations.get(*location).kind;
            matches!(kind, LocationKind::Python { .. })
        };
        let line = self.locations.iter().take(NEAR).position(is_line);
        self.locations.get(..=line.unwrap_or(0)).unwrap_or_default()
    }

    /// The location of a level that is not native. `None` if its code is unknown yet.
    fn locate(&mut self, profile: &mut Profile, level: Level, at_once: bool) -> Option<LocationId> {
        match level {
            Level::Native(_) => None,
            Level::Reason(why) => Some(reason(profile, why)),
            Level::Python {
                code,
                offset,
                is_call,
            } => match self.codes.location(profile, code, offset, is_call) {
                None if code == 0 || at_once => Some(reason(profile, Reason::PythonUnnamed)),
                found => found,
            },
        }
    }

    /// The location where a function begins, when the process has ended.
    pub(crate) fn function(&mut self, profile: &mut Profile, address: u64) -> LocationId {
        self.address(profile, address, true, u64::MAX - 1, true)
    }

    fn address(
        &mut self,
        profile: &mut Profile,
        address: u64,
        is_leaf: bool,
        clock: u64,
        is_settled: bool,
    ) -> LocationId {
        if is_settled && let Some(&location) = self.addresses.get(&(address, is_leaf)) {
            return location;
        }
        let code = |address| match is_leaf {
            true => CodeAddress::Instruction(Avma(address)),
            false => CodeAddress::Return(Avma(address)),
        };
        // A return address may lie right behind its module.
        let lookup = code(address).for_lookup().0;
        let found = self.modules.find(profile, lookup, clock);
        let (module, there) = match found {
            Some((module, there)) => {
                let moved = there.wrapping_sub(lookup);
                (Some(module), address.wrapping_add(moved))
            }
            None => (None, address),
        };
        let kind = LocationKind::Code(code(there));
        let location = profile.locations.intern(kind, module);
        if is_settled {
            self.addresses.insert((address, is_leaf), location);
        }
        location
    }
}

/// The words that identify a level.
fn words_of(level: Level, frames: &[u64], is_call: bool) -> (u64, u64) {
    match level {
        Level::Native(index) => (u64::from(index == 0 && !is_call), frames[index]),
        Level::Python {
            code,
            offset,
            is_call,
        } => {
            let first = 2 | u64::from(is_call) << 2 | u64::from(code) << 32;
            (first, offset as u64)
        }
        Level::Reason(reason) => (3, reason as u64),
    }
}

/// Whether a file is the library of greenlets.
fn is_switching(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("_greenlet.") || name.starts_with("greenlet.")
}

fn reason(profile: &mut Profile, reason: Reason) -> LocationId {
    let location = profile.locations.intern(LocationKind::Reason(reason), None);
    if profile.locations.get(location).frames.is_empty() {
        profile.name_reasons();
    }
    location
}
