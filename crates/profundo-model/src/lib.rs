//! The profile: what every producer makes and every reader takes.
//!
//! A profile is a set of tables joined by small typed indices. Samples point at stacks, stacks
//! at locations (code addresses, or a reason why there is none), locations at frames (function,
//! file and line; several where the compiler inlined), frames at strings and files. Nothing in
//! here knows how a sample was taken, how an address is named, or how a report looks.
//!
//! Constraints: no unsafe code, no I/O, no clock. A table only grows, so an id stays valid as
//! long as its profile lives.
//!
//! ```
//! use profundo_model::{Profile, FrameKey, Language};
//!
//! let mut profile = Profile::from_folded("main;work;leaf 3\nmain;idle 1").unwrap();
//! assert_eq!(profile.samples.len(), 4);
//! let frame = profile.frame(FrameKey { function: "main", language: Language::Rust, ..FrameKey::default() });
//! assert_eq!(profile.function_name(frame), "main");
//! ```

#![forbid(unsafe_code)]

mod command;
mod energy;
mod file;
mod folded;
mod frame;
mod gathered;
mod generated_name;
pub mod graph;
mod growing;
mod heap;
mod ids;
mod kind;
mod lengths;
mod location;
mod loss;
mod machine;
mod made;
mod meta;
mod module;
mod origin;
mod place_name;
mod plumbing;
mod profile;
mod programs;
mod python_name;
mod sample;
mod source;
mod source_file;
mod span;
mod stack;
mod string;
mod syscalls;
mod task;
mod thread;
mod traced;
mod traffic;
mod wait;

pub use command::words_of_command;
pub use energy::{Energy, EnergyZone};
pub use file::{File, FileTable};
pub use folded::FoldedError;
pub use frame::{Frame, FrameKey, FrameTable, Language};
pub use gathered::{Gathered, Many, Taken};
pub use generated_name::{GeneratedName, generated_name};
pub use growing::{CodeObject, Growing, Mapping};
pub use heap::{Amount, Block, BlockEnd, Copied, Domain, Gauge, Heap, Moment, Sampling, Site};
pub use ids::{
    FileId, FrameId, LocationId, ModuleId, OriginId, ProcessId, SpanId, StackId, StringId, TaskId,
    ThreadId,
};
pub use kind::{Kind, Kinds};
pub use lengths::Lengths;
pub use location::{Avma, CodeAddress, Ends, Location, LocationKind, LocationTable, Reason};
pub use loss::Loss;
pub use machine::Machine;
pub use meta::{Engine, Measure, Meta, Part, Question, SampleKind, Settled, Weighed};
pub use module::{
    Module, ModuleTable, Role, build_id_copies, folders_of_copies, is_generated_code,
};
pub use origin::{Alignment, Origin};
pub use place_name::{is_nameless, place_name};
pub use plumbing::is_start;
pub use profile::Profile;
pub use programs::Programs;
pub use python_name::{c_name, python_name, with_python_name};
pub use sample::{Gil, Nanos, Sample, State};
pub use source::SourceLines;
pub use source_file::{Fingerprint, SourceFile};
pub use span::{Mark, Span, SpanLoss, SpanPath, SpanSum, SpanTable, Spans};
pub use stack::{Stack, StackTable};
pub use string::StringTable;
pub use syscalls::SyscallCount;
pub use task::{Task, TaskTable};
pub use thread::{Process, ProcessEnd, Thread, ThreadTable};
pub use traced::{Call, Callers, Clock, ExceptionEnd, Exceptions, Line, Traced, Tracing};
pub use traffic::{Bytes, Traffic};
pub use wait::Wait;
