//! What code lies where in a process: found in its maps, read from its files, compiled once for
//! all processes, and published in its ring.

mod called;
mod elf;
mod file;
mod interpreter;
mod list;
mod mapping_history;
mod publish;
mod shelf;
mod store;
mod tables;

pub(crate) use elf::{Bytes, Elf};
pub(crate) use file::FileEntry;
pub(crate) use list::{Changes, Loaded, ModuleList};
pub(crate) use mapping_history::{Mapping, MappingHistory};
pub(crate) use publish::publish;
pub(crate) use shelf::folder as cache_folder;
pub use shelf::user_cache;
pub(crate) use store::{Store, executable_of, open_module};
