//! The code of a process: found in its maps, read from its files, compiled once for all processes,
//! and published in its ring.

mod called;
mod elf;
mod file;
mod interpreter;
pub mod kept_files;
mod list;
mod mapping_history;
mod publish;
mod store;
mod table_cache;
mod tables;

pub use elf::{Bytes, Elf};
pub use file::FileEntry;
pub use list::{Changes, Loaded, ModuleList};
pub use mapping_history::MappingHistory;
pub use publish::publish;
pub use store::{Store, executable_of, open_module};
pub use table_cache::folder as cache_folder;
pub use table_cache::user_cache;
