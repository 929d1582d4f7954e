//! Addresses to functions, files, lines and inlined frames.
//!
//! A recording holds code addresses and the modules they lie in. This crate reads the modules'
//! files and gives every address its frames: from DWARF debug information where there is some (in
//! the file itself or beside it), else from the symbol tables, else none. Missing names are
//! reported in a [`Summary`], module by module.
//!
//! It also reads the compilers' descriptions of the counters that they put into programs: the
//! function and the lines of each.
//!
//! It is **not** for unwinding, for type information, or for code without a file: generated code
//! has its names before it comes here.
//!
//! Constraints:
//! - It runs inside the profiled program as well as in the command, so no file, however broken,
//!   makes it panic or fail: an address that cannot be named has a frame without a name.
//! - Each distinct address is looked up once. The names stay in the [`Symbolizer`]; the parsed
//!   debug information, which takes tens of megabytes, is dropped as soon as they are found.
//! - Files are mapped, not read: see `mmap`, the only module with unsafe code.
//!
//! ```
//! use profundo_model::{Avma, CodeAddress, LocationKind, Profile};
//! use profundo_symbols::Symbolizer;
//!
//! let mut profile = Profile::default();
//! let nowhere = LocationKind::Code(CodeAddress::Return(Avma(0x1000)));
//! let location = profile.locations.intern(nowhere, None);
//!
//! let summary = Symbolizer::new().name_profile(&mut profile);
//! assert_eq!(summary.unnamed(), 1);
//! let frame = profile.locations.get(location).frames[0];
//! assert_eq!(profile.function_name(frame), "");
//! ```

#![deny(unsafe_code)]

mod arena;
mod cache;
mod code_lines;
mod cython;
mod debug_files;
mod debug_information;
mod demangle;
mod dwarf;
mod functions;
mod image;
mod lambdas;
mod lookup;
mod machine_code;
mod mini_debug;
mod mmap;
mod module_file;
mod named;
mod native_calls;
mod paths;
mod plain_names;
mod plt;
mod pool;
mod problem;
mod python;
mod starts;
mod summary;
mod symbolizer;
mod symtab;
mod vdso;

pub use debug_files::DebugServer;
pub use debug_information::DebugInformation;
pub use demangle::{Demangled, demangle};
pub use functions::{FunctionInFile, functions_of};
pub use machine_code::{MachineCode, Processor};
pub use named::{LineCorrection, NamedFrame};
#[doc(hidden)]
pub use native_calls::fuzzing;
pub use native_calls::{CountedFunction, GccFunction, GccNotes, LlvmMap, Uncounted};
pub use paths::{ShortPath, Shortener};
pub use problem::Problem;
pub use summary::{ModuleSummary, Summary};
pub use symbolizer::{Symbolizer, Unnamed};
