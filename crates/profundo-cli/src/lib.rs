//! The agent, as the library that is loaded into programs: it is the crate `profundo-agent` and
//! nothing else. The command beside it carries this library's bytes and must not link it, since it
//! puts itself before functions of the C library.

extern crate profundo_agent as _;
