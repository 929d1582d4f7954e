//! A few shapes of DWARF expressions are all that linkers and compilers write for frames: a
//! register plus an offset, the word there, and the two halves of a linkage stub.

use gimli::{Encoding, Expression, Format, Operation};

use super::{
    Reader,
    instructions::{FP, SP, Saved, register_plus},
};
use crate::Cfa;

const ENCODING: Encoding = Encoding {
    address_size: 8,
    format: Format::Dwarf32,
    version: 4,
};

/// The longest shape has this many operations.
const MAX_OPERATIONS: usize = 9;

type Op<'a> = Operation<Reader<'a>>;

/// The operations, with `Nop` after the last. `None` if there are too many.
fn operations(expression: Expression<Reader<'_>>) -> Option<([Op<'_>; MAX_OPERATIONS], usize)> {
    let mut operations = [Operation::Nop; MAX_OPERATIONS];
    let mut count = 0;
    let mut iter = expression.operations(ENCODING);
    while let Some(operation) = iter.next().ok()? {
        *operations.get_mut(count)? = operation;
        count += 1;
    }
    Some((operations, count))
}

/// The rule that a cfa expression amounts to.
pub(crate) fn cfa(expression: Expression<Reader<'_>>) -> Option<Cfa> {
    use Operation as O;
    let (operations, count) = operations(expression)?;
    let (first, rest) = operations.get(..count)?.split_first()?;
    let O::RegisterOffset {
        register, offset, ..
    } = *first
    else {
        return None;
    };
    let offset = i32::try_from(offset).ok()?;
    let deref = |add: u64| {
        let add = u16::try_from(add).ok()?;
        match register {
            SP => Some(Cfa::SpDeref { offset, add }),
            FP => Some(Cfa::FpDeref { offset, add }),
            _ => None,
        }
    };
    match rest {
        [] => Some(register_plus(register, offset)),
        [O::Deref { size: 8, .. }] => deref(0),
        [O::Deref { size: 8, .. }, O::PlusConstant { value }] => deref(*value),
        // From `pushed_at` on, the stub of a lazy binder has pushed its number: (rip & 15 >=
        // pushed_at) << 3 is 8 or 0.
        [
            O::RegisterOffset {
                register: gimli::X86_64::RA,
                offset: 0,
                ..
            },
            O::UnsignedConstant { value: 15 },
            O::And,
            O::UnsignedConstant { value: pushed_at },
            O::Ge,
            O::UnsignedConstant { value: 3 },
            O::Shl,
            O::Plus,
        ] if register == SP => Some(Cfa::Plt {
            offset,
            pushed_at: u8::try_from(*pushed_at).ok()?,
        }),
        _ => None,
    }
}

/// The place where a register was saved, by an expression.
pub(crate) fn place(expression: Expression<Reader<'_>>) -> Option<Saved> {
    let (operations, count) = operations(expression)?;
    match operations.get(..count)? {
        [
            Operation::RegisterOffset {
                register, offset, ..
            },
        ] => Some(Saved::AtRegister(*register, *offset)),
        _ => None,
    }
}
