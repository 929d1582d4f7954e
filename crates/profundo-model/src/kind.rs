//! The kind of time that a sample stands for: Python's, native code's or the system's.
//!
//! A sample in a system call is the system's. Otherwise the innermost Python line decides. What
//! runs above it is *native* where a library runs (an extension, or what it calls), or where the
//! line calls something and the interpreter does more than pass that call on. The rest (adding
//! numbers, looking up names, making frames, collecting garbage) is the interpreter's own work
//! for that line, and so *Python*. Where there is no Python line, all is native.
//!
//! The answer depends on the stack alone but for the system's, so it is found once for each row
//! of the stack table, from its parent's.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::plumbing::{self, Part};
use crate::{
    Ends, Frame, FrameId, Language, LocationId, LocationKind, ModuleId, Profile, Reason, Role,
    Sample, Stack, StackId, State, StringId, is_generated_code,
};

/// The kind of time that a sample stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The interpreter at work for a Python line.
    Python,
    /// Compiled code: a library, the interpreter's builtin functions, or a program without Python.
    Native,
    /// A system call.
    System,
    /// No time on a CPU: the thread waits.
    Waiting,
    /// Python's or native code's, which is unknown: the interpreter's frames could not be read.
    Unreadable,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Kind; 5] = [
        Kind::Python,
        Kind::Native,
        Kind::System,
        Kind::Waiting,
        Kind::Unreadable,
    ];

    /// The word in reports and labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Native => "native",
            Self::System => "system",
            Self::Waiting => "waiting",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The kind of every sample of a profile that has its names.
#[derive(Debug, Clone)]
pub struct Kinds {
    stacks: Vec<Answer>,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    kind: Kind,
    library: Option<ModuleId>,
}

impl Kinds {
    /// Looks at every stack once. The profile must have its names: without them, the
    /// interpreter's plumbing looks like any other of its functions.
    pub fn of(profile: &Profile) -> Self {
        let stacks = Above::of_stacks(profile, |_, _, _| ());
        let answers = stacks.into_iter().zip(profile.stacks.iter());
        let answer =
            |(above, stack): (Above, Stack)| match profile.locations.get(stack.location).kind {
                LocationKind::Part {
                    ends: Some(Ends { kind, library }),
                    ..
                } => Answer { kind, library },
                _ => above.answer(),
            };
        Self {
            stacks: answers.map(answer).collect(),
        }
    }

    /// The kind of the sample.
    pub fn kind(&self, sample: &Sample) -> Kind {
        match sample.state {
            State::System => Kind::System,
            State::WallWaiting | State::Sleeping => Kind::Waiting,
            _ => self.of_stack(sample.stack),
        }
    }

    /// The kind of samples with this stack outside of system calls.
    pub fn of_stack(&self, stack: StackId) -> Kind {
        self.stacks[stack.index()].kind
    }

    /// The kind of samples with this stack outside of system calls, and their library: see
    /// [`Kinds::library`].
    pub fn ends(&self, stack: StackId) -> Ends {
        let Answer { kind, library } = self.stacks[stack.index()];
        Ends {
            kind,
            library: library.filter(|_| kind == Kind::Native),
        }
    }

    /// The library that a native sample is in: its innermost module that is not the system's, and
    /// the system's where there is no other. A copy that numpy has libc make is numpy's. `None` for
    /// Python's and the system's time, and for code in no module.
    pub fn library(&self, sample: &Sample) -> Option<ModuleId> {
        (self.kind(sample) == Kind::Native)
            .then(|| self.stacks[sample.stack.index()].library)
            .flatten()
    }
}

/// The contribution of a location to the stack below it.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A Python line, and whether it calls something.
    Python { is_call: bool },
    /// Code of a library or of the program.
    Foreign(Option<ModuleId>),
    /// Code of the system's libraries.
    System(ModuleId),
    /// Code of the interpreter; its function, unless that is plumbing.
    Interpreter(ModuleId, Option<(Part, StringId)>),
    /// Code of the interpreter without a name.
    Unnamed(ModuleId),
    /// The interpreter's frames belong here, and are missing.
    Unreadable,
    /// No code.
    Nothing,
}

/// The frames above the innermost Python line of a stack.
#[derive(Debug, Clone, Copy)]
struct Above {
    /// Whether the innermost Python line calls something; `None` without such a line.
    python: Option<bool>,
    is_foreign: bool,
    /// Whether the interpreter's frames could not be read.
    is_unreadable: bool,
    /// The highest part reached by the interpreter's own code above the line.
    part: Part,
    /// Functions without names among that code.
    unnamed: u8,
    /// The innermost module that is not the system's.
    library: Option<ModuleId>,
    /// The innermost module of the system, where there is no other.
    system: Option<ModuleId>,
}

impl Above {
    const ROOT: Self = Self {
        python: None,
        is_foreign: false,
        is_unreadable: false,
        part: Part::Plumbing,
        unnamed: 0,
        library: None,
        system: None,
    };

    /// The kind of every row of the stack table. `each` gets the state below a row, and the row's
    /// own step.
    fn of_stacks(profile: &Profile, mut each: impl FnMut(&Above, Step, LocationId)) -> Vec<Self> {
        let steps: Vec<Step> = profile
            .locations
            .iter()
            .map(|(id, _)| Step::of(profile, id))
            .collect();
        let mut rows: Vec<Self> = Vec::with_capacity(profile.stacks.len());
        for stack in profile.stacks.iter() {
            let below = stack.parent.map_or(Self::ROOT, |id| rows[id.index()]);
            let step = steps[stack.location.index()];
            each(&below, step, stack.location);
            rows.push(below.with(step));
        }
        rows
    }

    fn with(mut self, step: Step) -> Self {
        match step {
            Step::Python { is_call } => {
                return Self {
                    python: Some(is_call),
                    ..Self::ROOT
                };
            }
            Step::Foreign(module) => {
                self.is_foreign = true;
                self.library = module;
            }
            Step::System(module) => {
                // Memory that the evaluation itself copies or allocates.
                if self.part == Part::Plumbing {
                    self.part = Part::Service;
                }
                self.system = Some(module);
            }
            Step::Interpreter(module, part) => {
                if let (Part::Plumbing, Some((part, _))) = (self.part, part) {
                    self.part = part;
                }
                self.library = Some(module);
            }
            Step::Unnamed(module) => {
                // Without symbols it is unknown which of the interpreter's functions are plumbing.
                // One of them above a line may well be; several are the depth of real work.
                self.unnamed = self.unnamed.saturating_add(1);
                if self.part == Part::Plumbing && self.unnamed > 1 {
                    self.part = Part::Work;
                }
                self.library = Some(module);
            }
            Step::Unreadable => self.is_unreadable = true,
            Step::Nothing => {}
        }
        self
    }

    fn answer(self) -> Answer {
        let is_python = self
            .python
            .is_some_and(|is_call| !(self.is_foreign || is_call && self.part == Part::Work));
        let kind = match (self.is_unreadable, is_python) {
            (true, _) => Kind::Unreadable,
            (false, true) => Kind::Python,
            (false, false) => Kind::Native,
        };
        Answer {
            kind,
            library: self.library.or(self.system),
        }
    }
}

impl Step {
    fn of(profile: &Profile, id: LocationId) -> Self {
        let location = profile.locations.get(id);
        let language = |frame: &FrameId| profile.frames.get(*frame).language;
        let innermost = location.frames.first().map(language);
        match location.kind {
            // A C function that the interpreter itself has reported.
            LocationKind::Python { .. } if innermost == Some(Language::Native) => {
                Self::Foreign(None)
            }
            LocationKind::Python { is_call, .. } => Self::Python { is_call },
            LocationKind::Reason(Reason::PythonUnreadable) => Self::Unreadable,
            LocationKind::Reason(_) | LocationKind::Wait { .. } => Self::Nothing,
            LocationKind::Code(_) => {
                let Some(module) = location.module else {
                    return Self::Foreign(None);
                };
                match profile.modules.get(module).role {
                    // Glue that an interpreter has generated to be called through.
                    Role::Ordinary
                        if innermost == Some(Language::Runtime)
                            && is_generated_code(
                                profile.strings.get(profile.modules.get(module).path),
                            ) =>
                    {
                        Self::Nothing
                    }
                    Role::Ordinary => Self::Foreign(Some(module)),
                    Role::System => Self::System(module),
                    Role::Profiler => Self::Nothing,
                    Role::Interpreter => Self::interpreter(profile, module, &location.frames),
                }
            }
            // The real function is the last frame. Functions inlined into it were not called.
            LocationKind::Part { of, frame, .. } => {
                match usize::from(frame) + 1 < profile.locations.get(of).frames.len() {
                    true => Self::Nothing,
                    false => Self::of(profile, of),
                }
            }
            // Data without addresses has only its languages.
            LocationKind::Invented(_) => match innermost {
                Some(Language::Python) => Self::Python { is_call: true },
                Some(Language::Runtime | Language::Synthetic) | None => Self::Nothing,
                Some(_) => Self::Foreign(None),
            },
        }
    }

    fn interpreter(profile: &Profile, module: ModuleId, frames: &[FrameId]) -> Self {
        // The real function stands last. Functions inlined into it were not called.
        let named = frames
            .iter()
            .rev()
            .map(|&id| profile.frames.get(id).function);
        let is_named = |&name: &StringId| {
            name != StringId(0) && !plumbing::is_start(profile.strings.get(name))
        };
        let Some(function) = named.into_iter().find(is_named) else {
            return Self::Unnamed(module);
        };
        match plumbing::part_of(profile.strings.get(function)) {
            Part::Plumbing => Self::Interpreter(module, None),
            part => Self::Interpreter(module, Some((part, function))),
        }
    }
}

/// The places of an interpreter's function in stacks.
#[derive(Default)]
struct Places {
    all: u32,
    /// Those where Python code calls it.
    called: u32,
}

impl Profile {
    /// Marks plumbing as [`Language::Runtime`], so that reports can hide it; to be called once the
    /// profile has its names.
    ///
    /// Plumbing is the code that starts programs and threads, known by name, and in Rust by its
    /// place; the profiler's own code; and, where there is Python, the interpreter's code. Of the
    /// latter, each function that Python lines *call* stays native (`builtin_sorted`, not
    /// `list_sort_impl` inside it, not the `PyNumber_Add` of a `+`): its name is more or less what
    /// the user wrote. The C library is the interpreter's where only that calls it. Where the
    /// interpreter is linked into a program of another name, only names that look like its own are
    /// its own. Libraries and extensions stay what they are.
    pub fn mark_runtime(&mut self) {
        /// Of so many places in stacks, Python has to call a function in one.
        const ONE_OF: u32 = 20;
        jit::mark(self);
        let mut work: FxHashMap<StringId, Places> = FxHashMap::default();
        let mut outside = FxHashSet::default();
        Above::of_stacks(self, |below, step, location| match step {
            Step::Interpreter(_, Some((Part::Work, function))) => {
                let places = work.entry(function).or_default();
                places.all += 1;
                places.called +=
                    u32::from(below.part == Part::Plumbing && below.python == Some(true));
            }
            Step::System(_) if below.python.is_none() || below.is_foreign => {
                outside.insert(location);
            }
            _ => {}
        });
        // A stack that was not walked whole seems to begin anywhere.
        work.retain(|_, places| places.called.saturating_mul(ONE_OF) >= places.all.max(1));
        let called = work;
        let has_python = self
            .locations
            .iter()
            .any(|(_, location)| matches!(location.kind, LocationKind::Python { .. }));
        let starts = start::unnamed(self);
        let rust = rust::starts(self);
        let mut changed: Vec<(LocationId, Vec<FrameId>)> = Vec::new();
        for index in 0..self.locations.len() {
            let id = LocationId::from_index(index);
            let location = self.locations.get(id);
            if !matches!(location.kind, LocationKind::Code(_)) {
                continue;
            }
            let module = location.module.map(|module| self.modules.get(module));
            let role = module.map_or(Role::Ordinary, |module| module.role);
            let is_pure = module
                .is_some_and(|module| crate::module::is_interpreter(self.strings.get(module.path)));
            let is_plumbing = |frame: &Frame| {
                let name = self.strings.get(frame.function);
                match role {
                    Role::Profiler => true,
                    _ if frame.language != Language::Native => false,
                    _ if starts.contains(&id) => true,
                    Role::Interpreter if has_python && !called.contains_key(&frame.function) => {
                        is_pure || plumbing::is_interpreters(name) || plumbing::is_start_up(name)
                    }
                    Role::System if has_python && !outside.contains(&id) => true,
                    _ => plumbing::is_start_up(name),
                }
            };
            let rust = rust.get(&id).copied().unwrap_or(usize::MAX);
            let rows: Vec<Frame> = (0..)
                .zip(&location.frames)
                .map(|(index, &frame)| (index, *self.frames.get(frame)))
                .map(
                    |(index, frame)| match index >= rust || is_plumbing(&frame) {
                        true => Frame {
                            language: Language::Runtime,
                            ..frame
                        },
                        false => frame,
                    },
                )
                .collect();
            let frames: Vec<FrameId> = rows
                .into_iter()
                .map(|frame| self.frames.intern(frame))
                .collect();
            if *self.locations.get(id).frames != *frames {
                changed.push((id, frames));
            }
        }
        for (id, frames) in changed {
            self.locations.set_frames(id, &frames);
        }
    }
}

mod jit;
mod rust;
mod start;
#[cfg(test)]
mod tests;
