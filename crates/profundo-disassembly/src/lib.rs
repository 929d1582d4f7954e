//! Machine code to instructions.
//!
//! The bytes of a function and its address go in. Its instructions come out: the address, the
//! length and the text of each, and the target of a jump or a call.
//!
//! It is **not** for finding functions or their names. The caller knows where a function begins and
//! ends, and what lies at other addresses: see [`Code::references`].
//!
//! Constraints:
//! - No unsafe code, no I/O. No bytes make it panic or fail: what is no instruction is `(bad)`.
//! - It is a crate of its own, because its tables are large and a program that profiles itself has
//!   no use for them.
//!
//! ```
//! use profundo_disassembly::{Code, Flow, Machine, Syntax};
//!
//! // add %rsi,%rdi; jne 0x1000; ret
//! let bytes = [0x48, 0x01, 0xf7, 0x75, 0xfb, 0xc3];
//! let code = Code::new(Machine::X86_64, &bytes, 0x1000);
//! let instructions = code.instructions(Syntax::Att, |_| None);
//! assert_eq!(instructions[0].text, "add    %rsi,%rdi");
//! assert_eq!(instructions[1].flow, Flow::Branch { target: 0x1000 });
//! assert_eq!(instructions[2].address, 0x1005);
//! ```

#![forbid(unsafe_code)]

mod code;
mod machine;
mod x86;

pub use code::{Code, Flow, Instruction};
pub use machine::{Machine, Syntax, UnknownMachine};
