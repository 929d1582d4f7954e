//! CPython from the outside: its versions, and the places of the parts of a stack in its
//! structures.
//!
//! This is the only crate that knows an offset of CPython's or compares versions: the others ask a
//! [`Layout`], which is a row of a table, or [`version`].
//!
//! A walk reads the interpreter's memory word by word through a [`Memory`] that its caller
//! provides: plain loads in a signal handler of the thread itself, `process_vm_readv` from another
//! process, an array in a test. It calls nothing of the interpreter's, takes no reference and no
//! lock, allocates nothing, and all its loops are bounded. Memory may be half written; a frame is
//! believed only if its code is a code object and its instruction lies in it.
//!
//! Offsets are those of 64-bit Linux, one row of a table for each minor version; from 3.13 on the
//! interpreter lists them itself. Free-threaded builds lay everything out differently and are
//! refused.
//!
//! Not in this crate: finding the interpreter, deciding which memory can be read, keeping state
//! between two walks. [`lines`] decodes line tables later, where names are wanted.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod class;
mod code;
mod contents;
mod dict;
mod gil;
pub mod handlers;
mod layout;
mod linecache;
pub mod lines;
mod memory;
mod method;
mod opcode;
mod pool;
mod running;
pub mod slots;
mod task;
mod thread;
mod threads;
mod torn;
mod variables;
pub mod version;
mod walk;

pub use class::{Class, ClassName, Kind, zero_ended};
pub use code::{CodeKey, CodeShape, TextShape, code_key, code_shape, text};
pub use contents::{Characters, Contents, Digits, Items, ObjectName, Pairs, characters, contents};
pub use dict::{Entries, ManagedAttributes, keys_table, managed_attributes, value_at};
pub use gil::{is_collecting, is_holder, is_in_lock, is_in_shared_lock};
pub use layout::{
    Attributes, Beginnings, Blocks, Chain, CodeObject, Collecting, DEBUG_WORDS, EvaluationLoop,
    GeneratorObject, Gil, InstructionCopies, InterpreterFrame, KeysTable, Layout, Objects,
    Profiler, References, Refusal, Switch, ThreadList, ThreadState, VariableNames, WideText,
    collector, layout_from_debug_offsets, objects,
};
pub use linecache::{List, cached_lines, cells};
pub use memory::{Arrival, Memory};
pub use opcode::is_call;
pub use pool::{Pool, pool_bytes};
pub use running::{Known, States, running};
pub use task::{TaskName, task_name};
pub use thread::thread_name;
pub use threads::{Owner, running_of};
pub use variables::{Origin, Variable, variables};
pub use version::{Version, Versions};
pub use walk::{End, Frame, Start, Step, flag, owner, walk};
