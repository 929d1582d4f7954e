//! A row says, for the code from its `pc` to the next row's, where the caller's frame is. It is
//! 12 bytes of plain data, so that a table can be mapped from a file and used in place.
//!
//! ```text
//!  0        4            8           10      11      12
//!  | pc u32 | offset i32 | fp i16    | kinds | extra |
//! ```
//!
//! `offset` belongs to the cfa and `fp` to the saved frame pointer. `kinds` holds the kind of the
//! cfa in its low four bits, that of the frame pointer in the next three, and in its top bit
//! whether the caller was interrupted rather than in a call. What `extra` means depends on the
//! kind of the cfa: for the two everyday kinds it is the place of the caller's `rbx`.

/// The canonical frame address: the caller's stack pointer after the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cfa {
    /// No information: between functions, or in code without any.
    None,
    /// Stack pointer plus offset.
    Sp(i32),
    /// Frame pointer plus offset.
    Fp(i32),
    /// The word at the stack pointer plus `offset`, plus `add` (a stack aligned by hand).
    SpDeref {
        /// Added to the stack pointer.
        offset: i32,
        /// Added to the word that was read: a multiple of 8 up to 2040.
        add: u16,
    },
    /// The word at the frame pointer plus `offset`, plus `add` (gcc's realigned stacks).
    FpDeref {
        /// Added to the frame pointer.
        offset: i32,
        /// Added to the word that was read: a multiple of 8 up to 2040.
        add: u16,
    },
    /// Another register plus offset. Only known where all registers are, and for `rbx`.
    Register {
        /// Its DWARF number, below 16.
        register: u8,
        /// Added to the register.
        offset: i32,
    },
    /// A procedure linkage stub of 16 bytes: stack pointer plus offset, and one word more from
    /// byte `pushed_at` of the stub on.
    Plt {
        /// Added to the stack pointer.
        offset: i32,
        /// The place in the stub after which one word more is on the stack.
        pushed_at: u8,
    },
    /// The kernel's frame of a signal: the caller's registers lie in the `ucontext`.
    Signal,
    /// There is no caller.
    Root,
    /// There is a caller, by a rule that a row cannot express.
    Unsupported,
}

/// The place of the caller's frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fp {
    /// Still in the register.
    Same,
    /// Saved at the cfa plus offset.
    AtCfa(i16),
    /// Saved at this frame's frame pointer plus offset.
    AtFp(i16),
    /// Saved at this frame's stack pointer plus offset.
    AtSp(i16),
    /// Unknown.
    Undefined,
}

/// The place of the caller's `rbx`: the only other register by which code that calls (the lazy
/// binder of glibc) finds its frame. On aarch64, the place of the return address. In words below
/// the cfa; two values are special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rbx(pub u8);

impl Rbx {
    /// Still in the register.
    pub const SAME: Self = Self(0);
    /// Unknown, or further away than a row can say.
    pub const UNKNOWN: Self = Self(255);
}

/// The decoded content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The start of the caller's frame.
    pub cfa: Cfa,
    /// The place of the caller's frame pointer.
    pub fp: Fp,
    /// The place of the caller's `rbx`. Kept only with [`Cfa::Sp`], [`Cfa::Fp`] and
    /// [`Cfa::Register`]; with the last, only if it is less than 15 words below the cfa.
    pub rbx: Rbx,
    /// The caller was interrupted: its address is the instruction that comes next, not one
    /// after a call.
    pub caller_interrupted: bool,
}

impl Rule {
    /// No information.
    pub const NONE: Self = Self::of(Cfa::None);
    /// The outermost frame.
    pub const ROOT: Self = Self::of(Cfa::Root);
    /// The kernel's frame of a signal.
    pub const SIGNAL: Self = Self {
        caller_interrupted: true,
        ..Self::of(Cfa::Signal)
    };
    /// A rule that a row cannot express.
    pub const UNSUPPORTED: Self = Self::of(Cfa::Unsupported);

    /// A rule of this cfa, with all else unchanged.
    pub const fn of(cfa: Cfa) -> Self {
        Self {
            cfa,
            fp: Fp::Same,
            rbx: Rbx::SAME,
            caller_interrupted: false,
        }
    }

    /// A frame without a frame pointer.
    pub const fn sp(offset: i32) -> Self {
        Self::of(Cfa::Sp(offset))
    }

    /// The usual frame with a frame pointer.
    pub const fn fp() -> Self {
        Self {
            fp: Fp::AtCfa(-16),
            ..Self::of(Cfa::Fp(16))
        }
    }
}

/// One row of a table: see the module's drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Row {
    pc: u32,
    offset: i32,
    fp: i16,
    kinds: u8,
    extra: u8,
}

/// A rule of [`Cfa::Sp`] or [`Cfa::Fp`] with [`Fp::Same`] or [`Fp::AtCfa`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Everyday {
    pub from_fp: bool,
    pub offset: i32,
    pub saved_fp: Option<i16>,
    pub rbx: Rbx,
}

const NONE: u8 = 0;
const SP: u8 = 1;
const FP: u8 = 2;
const SP_DEREF: u8 = 3;
const FP_DEREF: u8 = 4;
const REGISTER: u8 = 5;
const PLT: u8 = 6;
const SIGNAL: u8 = 7;
const ROOT: u8 = 8;

const FP_SAME: u8 = 0;
const FP_AT_CFA: u8 = 1;
const FP_AT_FP: u8 = 2;
const FP_AT_SP: u8 = 3;
const FP_UNDEFINED: u8 = 4;

const CFA_UNSUPPORTED: u8 = 15;
const INTERRUPTED: u8 = 0x80;

impl Row {
    /// Bytes of one row.
    pub const BYTES: usize = 12;

    /// A row from `pc` (relative to the base of its table) on. A rule that does not fit, such as
    /// a register above 15, becomes [`Cfa::Unsupported`].
    pub const fn new(pc: u32, rule: Rule) -> Self {
        let rbx = rule.rbx.0;
        let (kind, offset, extra) = match rule.cfa {
            Cfa::None => (NONE, 0, 0),
            Cfa::Sp(offset) => (SP, offset, rbx),
            Cfa::Fp(offset) => (FP, offset, rbx),
            Cfa::SpDeref { offset, add } if add % 8 == 0 && add <= 2040 => {
                (SP_DEREF, offset, (add / 8) as u8)
            }
            Cfa::FpDeref { offset, add } if add % 8 == 0 && add <= 2040 => {
                (FP_DEREF, offset, (add / 8) as u8)
            }
            Cfa::Register { register, offset } if register < 16 => {
                let rbx = if rbx < 15 { rbx } else { 15 };
                (REGISTER, offset, register | rbx << 4)
            }
            Cfa::Plt { offset, pushed_at } => (PLT, offset, pushed_at),
            Cfa::Signal => (SIGNAL, 0, 0),
            Cfa::Root => (ROOT, 0, 0),
            _ => (CFA_UNSUPPORTED, 0, 0),
        };
        let (fp_kind, fp) = match rule.fp {
            Fp::Same => (FP_SAME, 0),
            Fp::AtCfa(offset) => (FP_AT_CFA, offset),
            Fp::AtFp(offset) => (FP_AT_FP, offset),
            Fp::AtSp(offset) => (FP_AT_SP, offset),
            Fp::Undefined => (FP_UNDEFINED, 0),
        };
        let interrupted = if rule.caller_interrupted {
            INTERRUPTED
        } else {
            0
        };
        Self {
            pc,
            offset,
            fp,
            kinds: kind | fp_kind << 4 | interrupted,
            extra,
        }
    }

    /// The start of the row, relative to the base of its table.
    #[inline]
    pub const fn pc(self) -> u32 {
        self.pc
    }

    /// The rule of the row. Bytes that no [`Row::new`] wrote read as [`Cfa::Unsupported`].
    #[inline]
    pub const fn rule(self) -> Rule {
        let offset = self.offset;
        let add = self.extra as u16 * 8;
        let mut rbx = Rbx::UNKNOWN;
        let cfa = match self.kinds & 0x0f {
            NONE => Cfa::None,
            SP => {
                rbx = Rbx(self.extra);
                Cfa::Sp(offset)
            }
            FP => {
                rbx = Rbx(self.extra);
                Cfa::Fp(offset)
            }
            SP_DEREF => Cfa::SpDeref { offset, add },
            FP_DEREF => Cfa::FpDeref { offset, add },
            REGISTER => {
                if self.extra >> 4 < 15 {
                    rbx = Rbx(self.extra >> 4);
                }
                let register = self.extra & 0x0f;
                Cfa::Register { register, offset }
            }
            PLT => Cfa::Plt {
                offset,
                pushed_at: self.extra,
            },
            SIGNAL => Cfa::Signal,
            ROOT => Cfa::Root,
            _ => Cfa::Unsupported,
        };
        let fp = match self.kinds >> 4 & 0x07 {
            FP_SAME => Fp::Same,
            FP_AT_CFA => Fp::AtCfa(self.fp),
            FP_AT_FP => Fp::AtFp(self.fp),
            FP_AT_SP => Fp::AtSp(self.fp),
            _ => Fp::Undefined,
        };
        Rule {
            cfa,
            fp,
            rbx,
            caller_interrupted: self.kinds & INTERRUPTED != 0,
        }
    }

    /// The rule, if it is one of the everyday kinds, as almost all are: decoded with fewer branches
    /// than [`Row::rule`].
    #[inline]
    pub(crate) fn everyday(self) -> Option<Everyday> {
        let from_fp = match self.kinds & !(FP_AT_CFA << 4) {
            SP => false,
            FP => true,
            _ => return None,
        };
        Some(Everyday {
            from_fp,
            offset: self.offset,
            saved_fp: (self.kinds & FP_AT_CFA << 4 != 0).then_some(self.fp),
            rbx: Rbx(self.extra),
        })
    }

    /// True if two rows have the same rule, wherever they begin.
    pub fn has_same_rule(self, other: Self) -> bool {
        Self { pc: 0, ..self } == Self { pc: 0, ..other }
    }

    /// True if this is the rule of a function's first instruction.
    #[inline]
    pub(crate) fn is_entry(self) -> bool {
        /// What a call leaves on the stack.
        const CALL: i32 = if cfg!(target_arch = "aarch64") { 0 } else { 8 };
        self.kinds & 0x0f == SP && self.offset == CALL
    }

    /// True if the row has no information.
    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.kinds & 0x0f == NONE
    }

    /// All bytes but those of the start.
    #[inline]
    pub(crate) const fn rule_bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.offset.to_le_bytes();
        let [e, f] = self.fp.to_le_bytes();
        [a, b, c, d, e, f, self.kinds, self.extra]
    }

    /// The inverse of [`Row::rule_bytes`], with 0 as the start.
    #[inline]
    pub(crate) const fn from_rule_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, kinds, extra] = bytes;
        Self {
            pc: 0,
            offset: i32::from_le_bytes([a, b, c, d]),
            fp: i16::from_le_bytes([e, f]),
            kinds,
            extra,
        }
    }

    /// The row as it lies in memory on a little-endian machine.
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        let [a, b, c, d] = self.pc.to_le_bytes();
        let [e, f, g, h, i, j, k, l] = self.rule_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l]
    }

    /// The inverse of [`Row::to_bytes`]. Any bytes are a row.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, rule @ ..] = bytes;
        Self {
            pc: u32::from_le_bytes([a, b, c, d]),
            ..Self::from_rule_bytes(rule)
        }
    }
}

const _: () = assert!(size_of::<Row>() == Row::BYTES && align_of::<Row>() == 4);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: Rule) {
        let row = Row::new(0x1234, rule);
        assert_eq!(row.rule(), rule);
        assert_eq!(Row::from_bytes(row.to_bytes()), row);
    }

    #[test]
    fn rules_survive_packing() {
        check(Rule::sp(8));
        check(Rule::fp());
        check(Rule {
            rbx: Rbx(7),
            fp: Fp::Undefined,
            ..Rule::sp(i32::MIN)
        });
        let lost = |cfa, fp| Rule {
            fp,
            rbx: Rbx::UNKNOWN,
            ..Rule::of(cfa)
        };
        check(lost(Cfa::FpDeref { offset: -8, add: 0 }, Fp::AtFp(0)));
        check(lost(
            Cfa::SpDeref {
                offset: 40,
                add: 2040,
            },
            Fp::AtSp(-1),
        ));
        check(lost(
            Cfa::Plt {
                offset: 8,
                pushed_at: 11,
            },
            Fp::Same,
        ));
        check(lost(
            Cfa::Register {
                register: 15,
                offset: 24,
            },
            Fp::Same,
        ));
        check(Rule {
            rbx: Rbx(3),
            ..Rule::of(Cfa::Register {
                register: 3,
                offset: 24,
            })
        });
    }

    #[test]
    fn what_does_not_fit_is_unsupported() {
        for cfa in [
            Cfa::FpDeref { offset: 0, add: 4 },
            Cfa::SpDeref {
                offset: 0,
                add: 4096,
            },
            Cfa::Register {
                register: 16,
                offset: 0,
            },
        ] {
            assert_eq!(Row::new(0, Rule::of(cfa)).rule().cfa, Cfa::Unsupported);
        }
    }
}
