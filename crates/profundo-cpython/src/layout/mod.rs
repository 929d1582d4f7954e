//! The offsets of each version: one row for each minor version (`rows.rs`), grouped by CPython's
//! structures, and the fields that lie at the same place in all versions (`objects.rs`).
//!
//! They were computed with `offsetof` from each version's own headers, for 3.14 read in its source,
//! and hold for 64-bit Linux. Only `tstate_current` depends on the architecture as well. From 3.13
//! on the interpreter lists many of them itself (`debug_offsets.rs`).

mod code;
pub mod collector;
mod debug_offsets;
mod frame;
mod free_threaded;
pub mod objects;
mod profiler;
mod rows;
mod threads;

pub use code::{CodeObject, VariableNames};
use collector::Collector;
pub use debug_offsets::{DEBUG_WORDS, Refusal, layout_from_debug_offsets};
pub use frame::{Chain, InterpreterFrame};
pub use free_threaded::InstructionCopies;
use objects::FunctionObject;
pub use profiler::{Beginnings, Blocks, Profiler, Switch};
pub(crate) use threads::Thread;
pub use threads::{ThreadList, ThreadState};

/// The way to the holder of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gil {
    /// Up to 3.11: the holder's thread state lies in the runtime.
    Runtime {
        /// Of the holder, in the runtime.
        holder: u16,
    },
    /// 3.12 and later: the interpreter points to its lock.
    Interpreter {
        /// Of the pointer, in the interpreter state.
        lock: u16,
    },
    /// The same, in a build that can run without the lock, and mostly does.
    Optional {
        /// Of the pointer, in the interpreter state.
        lock: u16,
    },
}

/// The form of an object's reference count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// A number.
    Plain,
    /// From 3.12 on some objects are immortal: the low half of the count, which is all that counts,
    /// is negative or 0.
    Immortal,
    /// In a build that can run without the lock: the count of the thread that made the object, and
    /// that of all others.
    Split,
}

/// The place of the 32-bit flag that garbage is being collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collecting {
    /// The place is not known.
    Unknown,
    /// Here in the runtime.
    Runtime(u16),
    /// Here in the interpreter state.
    Interpreter(u16),
}

/// The place of an object's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// Up to 3.10: in a dictionary, where its type says.
    Dictionary,
    /// 3.11: as values by themselves, with a pointer of their own before the object; or in a
    /// dictionary, whose pointer stands behind that.
    Values,
    /// 3.12: as values or in a dictionary, by a pointer before the object that is odd for values.
    Tagged,
    /// 3.13 and later: as values at the object's end; or in a dictionary.
    Inline,
}

/// The place of a generator's frame, from 3.11 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratorObject {
    /// `gi_iframe`, the frame itself.
    pub frame: u16,
    /// `gi_frame_state`, a signed byte.
    pub state: u16,
    /// From this state on there are no variables any more.
    pub ended: i8,
}

/// A text that was made as `wchar_t`, and was not needed in another form yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WideText {
    /// `wstr`: the pointer to the characters.
    pub characters: u16,
    /// `wstr_length`.
    pub length: u16,
}

/// The form of the hash table of a dictionary's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysTable {
    /// Up to 3.10: the width of its slots follows from their number.
    Slots,
    /// 3.11 and later: it has its size in bytes, and a flag for hashes beside the keys.
    Bytes,
}

/// The offsets of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The minor version: the 12 of CPython 3.12.
    pub minor: u8,
    /// The chain of frames.
    pub chain: Chain,
    /// The lock.
    pub gil: Gil,
    /// The flag that garbage is being collected.
    pub collecting: Collecting,
    /// The collector's records; `None`: this interpreter's are others than were measured.
    pub collector: Option<Collector>,
    /// The list of all threads.
    pub threads: ThreadList,
    /// Thread states.
    pub state: ThreadState,
    /// The evaluation loop.
    pub evaluation: EvaluationLoop,
    /// Frames.
    pub frame: InterpreterFrame,
    /// Code objects.
    pub code: CodeObject,
    /// Objects of other types.
    pub objects: Objects,
    /// The functions of `sys.setprofile` and `sys.settrace`; `None` from 3.12 on, which has
    /// `sys.monitoring`.
    pub profiler: Option<&'static Profiler>,
}

/// The function that evaluates frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationLoop {
    /// The number of bytes of `_PyEval_EvalFrameDefault` that link a record in before they fill it
    /// in. It was measured in several builds. In others it may be too small, and then a stack is
    /// broken or wrong now and then, or too large, which does no harm.
    pub entry_bytes: u16,
    /// Whether the evaluation loop is one function (before 3.14), whose cold part pushes no frames.
    pub is_one_function: bool,
}

/// The parts of objects that lie elsewhere in some versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objects {
    /// The place of objects' attributes.
    pub attributes: Attributes,
    /// The keys of dictionaries.
    pub keys: KeysTable,
    /// In a tuple, of the first item (`ob_item`); their number is `objects::object::SIZE`.
    pub tuple_items: u16,
    /// In a module, of its name (`md_name`).
    pub module_name: u16,
    /// In a class, of its qualified name (`ht_qualname`).
    pub class_name: u16,
    /// In a type, of the names of the attributes that its objects have as values
    /// (`ht_cached_keys`).
    pub shared_keys: u16,
    /// By how much the head of an object is longer than 16 bytes, as it is in a build that can run
    /// without the lock.
    pub longer_head: u16,
    /// The reference count.
    pub references: References,
    /// The distance from an object back to the pointer to its dictionary, from 3.11 on.
    pub dict_before: u16,
    /// The place of a text's width among the bits of its state. Two flags are behind it: whether it
    /// is compact, and whether it is ASCII.
    pub width_bit: u8,
    /// In a frame object, of the frame that it stands for (`f_frame`); `None` before 3.11, where
    /// frames are objects.
    pub frame_of_object: Option<u16>,
    /// The frame in a generator or a coroutine; `None` before 3.11.
    pub generator: Option<GeneratorObject>,
    /// Functions that are written in Python.
    pub function: FunctionObject,
    /// The size of the head of an ASCII text. The characters follow it.
    pub ascii_head: u16,
    /// The size of the head of any other text.
    pub text_head: u16,
    /// The place of the characters of texts that are made as `wchar_t`; `None` from 3.12 on, which
    /// has no such texts.
    pub wide_text: Option<WideText>,
    /// Whether integers have a tag with their sign and length (from 3.12 on), not a signed length.
    pub has_tagged_integers: bool,
    /// Whether unnamed tasks have a number instead (from 3.12 on).
    pub has_numbered_tasks: bool,
}

impl Layout {
    /// The row of a minor version. 3.13 and later have their own list of offsets: see
    /// [`layout_from_debug_offsets`].
    pub fn of(minor: u8) -> Option<&'static Self> {
        rows::ROWS.iter().find(|layout| layout.minor == minor)
    }

    /// Whether it is a build that can run without the lock.
    pub fn is_free_threaded(&self) -> bool {
        matches!(self.gil, Gil::Optional { .. })
    }

    /// The address of an object's field, by its place in [`objects`].
    #[inline]
    pub const fn field(&self, object: u64, place: u64) -> u64 {
        object.wrapping_add(self.objects.longer_head as u64 + place)
    }

    /// Whether frames are objects, as before 3.11.
    pub fn has_frame_objects(&self) -> bool {
        self.objects.frame_of_object.is_none()
    }

    /// In the runtime, of the newest interpreter, with the first one behind it, if interpreters may
    /// have locks of their own.
    pub fn interpreters_with_locks(&self) -> Option<u16> {
        match self.gil {
            Gil::Runtime { .. } => None,
            Gil::Interpreter { .. } | Gil::Optional { .. } => Some(self.threads.interpreters),
        }
    }
}

impl Objects {
    /// The bytes of a character, whether a text is compact, and whether it is ASCII, by its state.
    pub(crate) const fn form_of_text(&self, state: u32) -> (u32, u32, u32) {
        let form = state >> self.width_bit;
        (form & 7, form >> 3 & 1, form >> 4 & 1)
    }
}

impl Attributes {
    /// The size of the head before the values of attributes, where they lie together.
    pub fn values_head(self) -> u64 {
        match self {
            Self::Dictionary | Self::Values | Self::Tagged => 0,
            Self::Inline => 8,
        }
    }
}
