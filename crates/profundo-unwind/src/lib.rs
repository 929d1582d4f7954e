//! Stacks are walked by tables that were compiled beforehand, so that the walk itself is cheap
//! and safe enough for a signal handler.
//!
//! Two halves. [`compile`](mod@compile) turns the `.eh_frame` of a module into sorted rows of 12
//! bytes; it allocates, and runs where that is allowed. [`walk`] is a pure function of registers,
//! tables and a reader of memory: it does not allocate, lock or panic, and each of its loops has
//! a bound. It is `no_std`.
//!
//! It is **not** for exceptions or debuggers: only the stack pointer, the frame pointer and (on
//! x86_64) the place of the caller's `rbx` are followed from frame to frame, which is what it takes
//! to find return addresses in compiled code.
//!
//! ```
//! use profundo_unwind::{End, Memory, Module, Modules, Regs, Row, Rule, TableRef, walk};
//!
//! /// A stack of three words that begins at 0x7000.
//! struct Stack([u64; 3]);
//!
//! impl Memory for Stack {
//!     fn read(&mut self, address: u64) -> Option<u64> {
//!         let index = address.checked_sub(0x7000)? / 8;
//!         self.0.get(index as usize).copied()
//!     }
//! }
//!
//! // One function that has pushed one word, called by another that has no caller.
//! let rows = [Row::new(0x00, Rule::sp(16)), Row::new(0x40, Rule::ROOT), Row::new(0x80, Rule::NONE)];
//! let table = TableRef { base: 0x1000, rows: &rows, index: &[0, 3] };
//! let modules = [Module { start: 0x1000, end: 0x2000, table }];
//!
//! let regs = Regs::new(0x1010, 0x7000, 0);
//! let mut out = [0; 16];
//! let (depth, end) = walk(regs, &Modules::new(&modules), &mut Stack([7, 0x1050, 0]), &mut out);
//! assert_eq!((&out[..depth], end), (&[0x1010, 0x1050][..], End::Root));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    target_arch = "aarch64",
    expect(dead_code, reason = "other registers are not followed there")
)]

#[cfg(feature = "compile")]
extern crate std;

mod cache;
#[cfg(feature = "compile")]
pub mod compile;
mod modules;
mod regs;
mod row;
mod scan;
mod table;
mod walk;

pub use cache::WalkCache;
#[cfg(feature = "compile")]
pub use compile::{Error, Table, compile_eh_frame, parse_eh_frame_hdr};
pub use modules::{Module, Modules};
pub use regs::{General, Regs};
pub use row::{Cfa, Fp, Rbx, Row, Rule};
pub use table::{BUCKET_BYTES, TableRef};
pub use walk::{
    Arrival, End, Memory, Observer, Way, walk, walk_cached, walk_observed, walk_with_registers,
    walk_without_frame_pointer,
};
