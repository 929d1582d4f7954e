//! Names and addresses of code, as files have them: languages, paths of sources, mapped modules,
//! bare addresses, frames of Valgrind's tools.

pub(crate) mod elf;
pub(crate) mod julia;
pub(crate) mod language;
pub(crate) mod mappings;
pub(crate) mod native_stacks;
pub(crate) mod parameters;
pub(crate) mod valgrind;
