//! The instructions that call something.
//!
//! From 3.11 on an instruction is replaced in place by one that is specialised for its operands, so
//! the family has dozens of members, and their numbers change with each version. Implicit calls (an
//! operator that is a method, an iteration) are not counted.

/// A set of opcodes.
struct Set([u64; 4]);

impl Set {
    /// Of ranges, both ends included.
    const fn of(ranges: &[(u8, u8)]) -> Self {
        let mut bits = [0; 4];
        let mut at = 0;
        while at < ranges.len() {
            let (mut opcode, last) = ranges[at];
            loop {
                bits[opcode as usize / 64] |= 1 << (opcode % 64);
                if opcode == last {
                    break;
                }
                opcode += 1;
            }
            at += 1;
        }
        Self(bits)
    }

    fn holds(&self, opcode: u8) -> bool {
        let bits = self.0.get(usize::from(opcode) / 64);
        bits.is_some_and(|bits| bits & 1 << (opcode % 64) != 0)
    }
}

/// `CALL_FUNCTION`, `CALL_FUNCTION_KW`, `CALL_FUNCTION_EX`, `CALL_METHOD`.
const BEFORE_3_11: Set = Set::of(&[(131, 131), (141, 142), (161, 161)]);

/// `CALL_FUNCTION_EX`, `PRECALL`, `CALL` and their specialisations.
const PYTHON_3_11: Set = Set::of(&[
    (142, 142),
    (166, 166),
    (171, 171),
    (22, 24),
    (64, 67),
    (72, 73),
    (76, 81),
    (113, 113),
    (121, 121),
    (127, 127),
    (141, 141),
    (143, 143),
]);

/// `CALL_FUNCTION_EX`, `CALL`, its specialisations, and both as `sys.monitoring` has them.
const PYTHON_3_12: Set = Set::of(&[
    (142, 142),
    (171, 171),
    (23, 24),
    (28, 29),
    (34, 34),
    (38, 48),
    (56, 56),
    (241, 241),
    (244, 244),
]);

/// The opcodes of 3.12, and `CALL_KW`.
const PYTHON_3_13: Set = Set::of(&[(53, 54), (57, 57), (162, 181), (244, 246)]);

/// The opcodes of 3.13, by new numbers.
const PYTHON_3_14: Set = Set::of(&[(4, 4), (52, 52), (55, 55), (143, 165), (250, 252)]);

/// The opcodes of 3.14, by new numbers.
const PYTHON_3_15: Set = Set::of(&[(4, 4), (50, 50), (53, 53), (144, 168), (249, 251)]);

/// Whether an opcode of this minor version calls.
pub fn is_call(minor: u8, opcode: u8) -> bool {
    let set = match minor {
        ..=10 => &BEFORE_3_11,
        11 => &PYTHON_3_11,
        12 => &PYTHON_3_12,
        13 => &PYTHON_3_13,
        14 => &PYTHON_3_14,
        _ => &PYTHON_3_15,
    };
    set.holds(opcode)
}
