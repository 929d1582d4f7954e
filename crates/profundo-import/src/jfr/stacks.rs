//! Methods, stacks and threads of a chunk, each named once.

use profundo_model::{
    FrameId, Language, LocationId, LocationKind, ModuleId, Reason, StackId, State, ThreadId,
};
use rustc_hash::FxHashMap;

use super::constants::Constants;
use super::metadata::{Role, Shape};
use super::wire::Cursor;
use crate::{Builder, Named};

/// The most frames of a stack. Deeper ones are cut at their root.
const DEEPEST: usize = 4096;

/// The names that were read so far.
#[derive(Debug)]
pub(super) struct Stacks<'c, 'a> {
    pub(super) constants: Constants<'c, 'a>,
    frames: FxHashMap<RawFrame, (FrameId, Place)>,
    methods: FxHashMap<(usize, u64), Method>,
    kinds: FxHashMap<(usize, u64), FrameKind>,
    stacks: FxHashMap<(usize, u64), (StackId, bool)>,
    threads: FxHashMap<(usize, u64), ThreadId>,
    /// The frames of the stack that is read.
    raw: Vec<RawFrame>,
}

/// A frame as the chunk has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct RawFrame {
    method: Option<(usize, u64)>,
    line: u32,
    kind: FrameKind,
}

/// The kind of a frame's code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
enum FrameKind {
    #[default]
    Ordinary,
    Inlined,
    Kernel,
}

/// The place of a frame in its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Inlined,
    /// In the module, if any, that is known.
    Outer(Option<ModuleId>),
}

#[derive(Debug, Default)]
struct Method {
    name: String,
    signature: String,
    /// The library of native code, as async-profiler writes it in place of a class.
    library: String,
    is_java: bool,
}

impl<'c, 'a> Stacks<'c, 'a> {
    pub(super) fn new(constants: Constants<'c, 'a>) -> Self {
        Self {
            constants,
            frames: FxHashMap::default(),
            methods: FxHashMap::default(),
            kinds: FxHashMap::default(),
            stacks: FxHashMap::default(),
            threads: FxHashMap::default(),
            raw: Vec::new(),
        }
    }

    /// The thread of an event.
    pub(super) fn thread(&mut self, builder: &mut Builder, key: (usize, u64)) -> ThreadId {
        if let Some(&known) = self.threads.get(&key) {
            return known;
        }
        let (mut os, mut java) = (0, 0);
        let (mut os_name, mut java_name) = (String::new(), String::new());
        let constants = &self.constants;
        constants.fields(key, |role, shape, cursor| {
            match (role, shape) {
                (Role::OsThread, Shape::Number) => os = cursor.number()?,
                (Role::JavaThread, Shape::Number) => java = cursor.number()?,
                (Role::OsName, _) => os_name = constants.text(shape, cursor)?.into_owned(),
                (Role::JavaName, _) => java_name = constants.text(shape, cursor)?.into_owned(),
                _ => return Some(false),
            }
            Some(true)
        });
        let name = if java_name.is_empty() {
            os_name
        } else {
            java_name
        };
        // Threads may follow one another under one number, and virtual ones have none.
        let thread = builder.thread(0, os & 0xffff_ffff | java << 32, &name);
        let row = builder.profile.threads.get_mut(thread);
        row.tid = u32::try_from(os).unwrap_or(0);
        self.threads.insert(key, thread);
        thread
    }

    /// The stack of an event, and whether it ends in the kernel.
    pub(super) fn stack(&mut self, builder: &mut Builder, key: (usize, u64)) -> (StackId, bool) {
        if let Some(&known) = self.stacks.get(&key) {
            return known;
        }
        let is_truncated = self.raw_frames(key);
        let raw = std::mem::take(&mut self.raw);
        let mut locations: Vec<LocationId> = Vec::with_capacity(raw.len() + 1);
        let mut inlined: Vec<FrameId> = Vec::new();
        let mut is_kernel = false;
        for (index, &raw_frame) in raw.iter().enumerate() {
            let (frame, place) = self.frame(builder, raw_frame);
            inlined.push(frame);
            let module = match place {
                Place::Outer(module) => module,
                Place::Inlined if index + 1 < raw.len() => continue,
                // Inlined into a frame that is cut.
                Place::Inlined => None,
            };
            is_kernel |= index == 0 && raw_frame.kind == FrameKind::Kernel;
            locations.push(builder.inlined(&inlined, module));
            inlined.clear();
        }
        if raw.is_empty() || is_truncated {
            let reason = match is_truncated {
                true => Reason::Truncated,
                false => Reason::Broken,
            };
            locations.push(reason_location(builder, reason));
        }
        self.raw = raw;
        let stack = builder.stack_of(locations.into_iter().rev());
        let stack = (stack.unwrap_or_default(), is_kernel);
        self.stacks.insert(key, stack);
        stack
    }

    /// Reads the frames of a stack, the innermost first. The answer is whether it was cut.
    fn raw_frames(&mut self, key: (usize, u64)) -> bool {
        self.raw.clear();
        let mut is_truncated = false;
        let Self {
            constants,
            kinds,
            raw,
            ..
        } = self;
        constants.fields(key, |role, shape, cursor| {
            match (role, shape) {
                (Role::Truncated, Shape::Byte) => is_truncated = cursor.byte()? != 0,
                (Role::Frames, Shape::Fields(frame)) => {
                    for _ in 0..cursor.count()? {
                        cursor.step()?;
                        let frame = raw_frame(constants, kinds, frame, cursor)?;
                        if raw.len() < DEEPEST {
                            raw.push(frame);
                        }
                    }
                }
                _ => return Some(false),
            }
            Some(true)
        });
        is_truncated || raw.len() == DEEPEST
    }

    fn frame(&mut self, builder: &mut Builder, raw: RawFrame) -> (FrameId, Place) {
        if let Some(&known) = self.frames.get(&raw) {
            return known;
        }
        let unknown = Method::default();
        let method = match raw.method {
            Some(key) => {
                let constants = &self.constants;
                &*(self.methods.entry(key)).or_insert_with(|| method(constants, key))
            }
            None => &unknown,
        };
        let frame = builder.frame(Named {
            function: &method.name,
            signature: &method.signature,
            line: raw.line,
            language: method.is_java.then_some(Language::Generated),
            is_inlined: raw.kind == FrameKind::Inlined,
            ..Named::default()
        });
        let place = match raw.kind {
            FrameKind::Inlined => Place::Inlined,
            FrameKind::Kernel => Place::Outer(Some(builder.module("[kernel]"))),
            FrameKind::Ordinary if method.library.is_empty() => Place::Outer(None),
            FrameKind::Ordinary => Place::Outer(Some(builder.module(&method.library))),
        };
        self.frames.insert(raw, (frame, place));
        (frame, place)
    }

    /// The name of a class: `int[][]`, `java.lang.String`.
    pub(super) fn class(&self, key: (usize, u64)) -> String {
        class_name(&self.constants.name(key).unwrap_or_default())
    }

    /// The activity of a thread, by the name of a constant.
    pub(super) fn state(&self, key: (usize, u64)) -> State {
        match &*self.constants.name(key).unwrap_or_default() {
            "STATE_SLEEPING" => State::WallWaiting,
            "STATE_RUNNABLE" => State::WallRunning,
            // `STATE_DEFAULT` of a sample of CPU time.
            _ => State::Running,
        }
    }
}

fn raw_frame<'a>(
    constants: &Constants<'_, 'a>,
    kinds: &mut FxHashMap<(usize, u64), FrameKind>,
    frame: usize,
    cursor: &mut Cursor<'a>,
) -> Option<RawFrame> {
    let mut raw = RawFrame::default();
    constants.fields_at(cursor, frame, &mut |role, shape, cursor| {
        match (role, shape) {
            (Role::Method, Shape::Constant(index)) => raw.method = Some((index, cursor.number()?)),
            // Unknown lines are 0 or negative.
            (Role::Line, Shape::Number) => {
                let line = cursor.number()?.cast_signed();
                raw.line = i32::try_from(line).map_or(0, |line| line.max(0).cast_unsigned());
            }
            (Role::Kind, Shape::Constant(index)) => {
                let key = (index, cursor.number()?);
                raw.kind = *kinds
                    .entry(key)
                    .or_insert_with(|| frame_kind(constants, key));
            }
            _ => return Some(false),
        }
        Some(true)
    })?;
    Some(raw)
}

fn frame_kind(constants: &Constants<'_, '_>, key: (usize, u64)) -> FrameKind {
    match &*constants.name(key).unwrap_or_default() {
        "Inlined" => FrameKind::Inlined,
        "Kernel" => FrameKind::Kernel,
        _ => FrameKind::Ordinary,
    }
}

fn method(constants: &Constants<'_, '_>, key: (usize, u64)) -> Method {
    let (mut class, mut name, mut descriptor) = (None, String::new(), String::new());
    constants.fields(key, |role, shape, cursor| {
        match (role, shape) {
            (Role::Kind, Shape::Constant(index)) => class = Some((index, cursor.number()?)),
            (Role::Name, _) => name = constants.text(shape, cursor)?.into_owned(),
            (Role::Descriptor, _) => descriptor = constants.text(shape, cursor)?.into_owned(),
            _ => return Some(false),
        }
        Some(true)
    });
    let class = class.and_then(|key| constants.name(key));
    let class = class.unwrap_or_default();
    let parameters = parameters(&descriptor);
    let Some(parameters) = parameters.filter(|_| !class.is_empty() && descriptor != NATIVE) else {
        return Method {
            name,
            library: class.into_owned(),
            ..Method::default()
        };
    };
    let class = visible(&class).replace('/', ".");
    let name = match name.is_empty() {
        true => class,
        false => format!("{class}.{name}"),
    };
    Method {
        signature: format!("{name}({parameters})"),
        name,
        library: String::new(),
        is_java: true,
    }
}

/// async-profiler's descriptor of native functions.
const NATIVE: &str = "()L;";

/// The name of a class without the address of a hidden one, which is another one in each run:
/// `A$$Lambda$7+0x00007f.12`, `A$$Lambda/0x00007f`.
fn visible(class: &str) -> &str {
    let address = class.find("+0x").or_else(|| class.find("/0x"));
    address.and_then(|at| class.get(..at)).unwrap_or(class)
}

/// The types of the parameters in a descriptor: `(I[J)V` has `int, long[]`.
fn parameters(descriptor: &str) -> Option<String> {
    let (list, _) = descriptor.strip_prefix('(')?.split_once(')')?;
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let inner = rest.trim_start_matches('[');
        let arrays = rest.len() - inner.len();
        let end = match inner.strip_prefix('L') {
            Some(class) => class.find(';')? + 2,
            None => inner.chars().next()?.len_utf8(),
        };
        names.push(class_name(rest.get(..arrays + end)?));
        rest = inner.get(end..)?;
    }
    Some(names.join(", "))
}

/// The name of a type as Java has it: `[[I` is `int[][]`.
fn class_name(internal: &str) -> String {
    let inner = internal.trim_start_matches('[');
    let arrays = internal.len() - inner.len();
    let class = inner
        .strip_prefix('L')
        .and_then(|name| name.strip_suffix(';'));
    let name = match (class, inner) {
        (Some(class), _) => class,
        (None, "B") => "byte",
        (None, "C") => "char",
        (None, "D") => "double",
        (None, "F") => "float",
        (None, "I") => "int",
        (None, "J") => "long",
        (None, "S") => "short",
        (None, "Z") => "boolean",
        (None, other) => other,
    };
    // More dimensions than a class file allows are no array.
    format!("{}{}", name.replace('/', "."), "[]".repeat(arrays.min(255)))
}

fn reason_location(builder: &mut Builder, reason: Reason) -> LocationId {
    let profile = &mut builder.profile;
    let location = profile.locations.intern(LocationKind::Reason(reason), None);
    if profile.locations.get(location).frames.is_empty() {
        profile.name_reasons();
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_name_types() {
        let check = |descriptor, names: Option<&str>| {
            assert_eq!(parameters(descriptor).as_deref(), names, "{descriptor}");
        };
        check("()V", Some(""));
        check("(I[[JLa/B$C;Z)V", Some("int, long[][], a.B$C, boolean"));
        check("(Lbroken", None);
        check("(Lbroken)V", None);
        check("(ä)V", Some("ä"));
        assert_eq!(class_name("[B"), "byte[]");
        assert_eq!(class_name("java/lang/String"), "java.lang.String");
    }
}
