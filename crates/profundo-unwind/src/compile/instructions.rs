//! Call frame instructions build up a state; each advance of the location makes a row of it.
//! Only what a row can hold is followed, which is why this is no general interpreter.

use std::vec::Vec;

use gimli::{CallFrameInstruction, Register};

use super::{
    Cie,
    entries::{Fde, Section},
    expression,
};
use crate::{Cfa, Fp, Rbx, Row, Rule};

/// Deeper nesting of remembered states than any compiler's is damage.
const MAX_REMEMBERED: usize = 64;

/// The place of a register of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// No instruction named it.
    Unnamed,
    Same,
    Undefined,
    AtCfa(i64),
    /// At the address that a register plus an offset gives.
    AtRegister(Register, i64),
    Elsewhere,
}

#[derive(Clone, Copy, Debug)]
enum CfaState {
    Register(Register, i64),
    Expression(Cfa),
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct State {
    cfa: CfaState,
    fp: Saved,
    rbx: Saved,
    ra: Saved,
}

/// The state after the instructions of a cie, with which each of its fdes begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Initial {
    state: State,
    signal: bool,
    code_factor: u64,
    data_factor: i64,
    ra: Register,
}

impl Initial {
    pub fn of(section: &Section<'_>, bases: &gimli::BaseAddresses, cie: &Cie<'_>) -> Option<Self> {
        let unnamed = State {
            cfa: CfaState::Unknown,
            fp: Saved::Unnamed,
            rbx: Saved::Unnamed,
            ra: Saved::Unnamed,
        };
        let mut initial = Self {
            state: unnamed,
            signal: cie.is_signal_trampoline(),
            code_factor: cie.code_alignment_factor(),
            data_factor: cie.data_alignment_factor(),
            ra: cie.return_address_register(),
        };
        let mut machine = Machine {
            initial: &initial,
            section,
            state: unnamed,
            remembered: Vec::new(),
        };
        let mut instructions = cie.instructions(section, bases);
        while let Some(instruction) = instructions.next().ok()? {
            machine.apply(instruction)?;
        }
        initial.state = machine.state;
        Some(initial)
    }
}

/// Appends the rows of an fde, the first of which is at `first`. `None` if its instructions are
/// damaged: the rows up to there are kept.
pub(crate) fn run(
    section: &Section<'_>,
    bases: &gimli::BaseAddresses,
    fde: &Fde<'_>,
    initial: &Initial,
    first: u32,
    rows: &mut Vec<Row>,
) -> Option<()> {
    let mut machine = Machine {
        initial,
        section,
        state: initial.state,
        remembered: Vec::new(),
    };
    let length = fde.len();
    let mut at = 0_u64;
    let mut emit = |at: u64, state: &State| {
        rows.push(Row::new(first + at as u32, state.rule(initial)));
    };
    let mut instructions = fde.instructions(section, bases);
    while let Some(instruction) = instructions.next().ok()? {
        let next = match instruction {
            CallFrameInstruction::AdvanceLoc { delta } => {
                at.checked_add(u64::from(delta).checked_mul(initial.code_factor)?)?
            }
            CallFrameInstruction::SetLoc { address } => {
                address.checked_sub(fde.initial_address())?
            }
            other => {
                machine.apply(other)?;
                continue;
            }
        };
        if next < at {
            return None;
        }
        if next > at {
            emit(at, &machine.state);
        }
        at = next;
        if at >= length {
            return Some(());
        }
    }
    emit(at, &machine.state);
    Some(())
}

struct Machine<'m, 'a> {
    initial: &'m Initial,
    section: &'m Section<'a>,
    state: State,
    remembered: Vec<State>,
}

impl Machine<'_, '_> {
    fn apply(&mut self, instruction: CallFrameInstruction<usize>) -> Option<()> {
        use CallFrameInstruction as I;
        let factored = |offset: i64| offset.checked_mul(self.initial.data_factor);
        let unsigned = |offset: u64| factored(i64::try_from(offset).ok()?);
        match instruction {
            I::DefCfa { register, offset } => {
                self.state.cfa = CfaState::Register(register, i64::try_from(offset).ok()?);
            }
            I::DefCfaSf {
                register,
                factored_offset,
            } => self.state.cfa = CfaState::Register(register, factored(factored_offset)?),
            I::DefCfaRegister { register } => match &mut self.state.cfa {
                CfaState::Register(old, _) => *old = register,
                _ => return None,
            },
            I::DefCfaOffset { offset } => self.set_offset(i64::try_from(offset).ok()?)?,
            I::DefCfaOffsetSf { factored_offset } => self.set_offset(factored(factored_offset)?)?,
            I::DefCfaExpression { expression } => {
                let cfa = expression.get(self.section).ok().and_then(expression::cfa);
                self.state.cfa = cfa.map_or(CfaState::Unknown, CfaState::Expression);
            }
            I::Undefined { register } => self.set(register, Saved::Undefined),
            I::SameValue { register } => self.set(register, Saved::Same),
            I::Offset {
                register,
                factored_offset,
            } => self.set(register, Saved::AtCfa(unsigned(factored_offset)?)),
            I::OffsetExtendedSf {
                register,
                factored_offset,
            } => self.set(register, Saved::AtCfa(factored(factored_offset)?)),
            I::Expression {
                register,
                expression,
            } => {
                let place = expression
                    .get(self.section)
                    .ok()
                    .and_then(expression::place);
                self.set(register, place.unwrap_or(Saved::Elsewhere));
            }
            I::ValOffset { register, .. }
            | I::ValOffsetSf { register, .. }
            | I::ValExpression { register, .. } => self.set(register, Saved::Elsewhere),
            I::Register {
                dest_register,
                src_register,
            } => {
                let same = dest_register == src_register;
                let saved = if same { Saved::Same } else { Saved::Elsewhere };
                self.set(dest_register, saved);
            }
            I::Restore { register } => {
                let initial = self.initial.state;
                for (number, saved) in [
                    (FP, initial.fp),
                    (RBX, initial.rbx),
                    (self.initial.ra, initial.ra),
                ] {
                    if register == number {
                        self.set(register, saved);
                    }
                }
            }
            I::RememberState => {
                if self.remembered.len() >= MAX_REMEMBERED {
                    return None;
                }
                self.remembered.push(self.state);
            }
            I::RestoreState => self.state = self.remembered.pop()?,
            // Locations are the caller's; sizes of arguments and pads change no rule.
            _ => {}
        }
        Some(())
    }

    fn set_offset(&mut self, offset: i64) -> Option<()> {
        match &mut self.state.cfa {
            CfaState::Register(_, old) => *old = offset,
            _ => return None,
        }
        Some(())
    }

    fn set(&mut self, register: Register, saved: Saved) {
        if register == self.initial.ra {
            self.state.ra = saved;
        } else if register == FP {
            self.state.fp = saved;
        } else if register == RBX {
            self.state.rbx = saved;
        }
    }
}

#[cfg(not(target_arch = "aarch64"))]
mod arch {
    use gimli::{Register, X86_64};

    pub const SP: Register = X86_64::RSP;
    pub const FP: Register = X86_64::RBP;
    pub const RBX: Register = X86_64::RBX;
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use gimli::{AArch64, Register};

    pub const SP: Register = AArch64::SP;
    pub const FP: Register = AArch64::X29;
    /// A stand-in: no register has this number.
    pub const RBX: Register = Register(u16::MAX);
}

pub(crate) use arch::{FP, RBX, SP};

impl State {
    fn rule(&self, initial: &Initial) -> Rule {
        let cfa = match self.cfa {
            CfaState::Expression(Cfa::SpDeref {
                offset: 160,
                add: 0,
            }) if initial.signal => {
                return Rule::SIGNAL;
            }
            CfaState::Expression(cfa) => cfa,
            CfaState::Register(register, offset) => match i32::try_from(offset) {
                Ok(offset) => register_plus(register, offset),
                Err(_) => Cfa::Unsupported,
            },
            CfaState::Unknown => Cfa::Unsupported,
        };
        if self.ra == Saved::Undefined {
            return Rule::ROOT;
        }
        if cfa == Cfa::Unsupported || !self.has_usual_return() {
            return Rule::UNSUPPORTED;
        }
        Rule {
            cfa,
            fp: self.fp_rule(),
            rbx: match cfg!(target_arch = "aarch64") {
                true => place_below(self.ra, cfa),
                false => place_below(self.rbx, cfa),
            },
            caller_interrupted: initial.signal,
        }
    }

    /// On x86_64 the return address is always just below the cfa; on aarch64 it is in its
    /// register, or at any place that a row can name.
    fn has_usual_return(&self) -> bool {
        if cfg!(target_arch = "aarch64") {
            matches!(self.ra, Saved::Unnamed | Saved::Same | Saved::AtCfa(_))
        } else {
            self.ra == Saved::AtCfa(-8)
        }
    }

    fn fp_rule(&self) -> Fp {
        let fits = |offset: i64, make: fn(i16) -> Fp| i16::try_from(offset).map(make).ok();
        let rule = match self.fp {
            Saved::Unnamed | Saved::Same => Some(Fp::Same),
            Saved::AtCfa(offset) => fits(offset, Fp::AtCfa),
            Saved::AtRegister(register, offset) if register == FP => fits(offset, Fp::AtFp),
            Saved::AtRegister(register, offset) if register == SP => fits(offset, Fp::AtSp),
            _ => None,
        };
        rule.unwrap_or(Fp::Undefined)
    }
}

/// The place of another register in a row: of `rbx`, or of the return address on aarch64.
fn place_below(saved: Saved, cfa: Cfa) -> Rbx {
    match (saved, cfa) {
        // Rows of other kinds have no room for it.
        (_, Cfa::SpDeref { .. } | Cfa::FpDeref { .. } | Cfa::Plt { .. }) => Rbx::UNKNOWN,
        (Saved::Unnamed | Saved::Same, _) => Rbx::SAME,
        (Saved::AtCfa(offset), _) if offset % 8 == 0 && (-254 * 8..0).contains(&offset) => {
            Rbx((-offset / 8) as u8)
        }
        _ => Rbx::UNKNOWN,
    }
}

/// The cfa for a register plus an offset.
pub(crate) fn register_plus(register: Register, offset: i32) -> Cfa {
    match u8::try_from(register.0) {
        _ if register == SP => Cfa::Sp(offset),
        _ if register == FP => Cfa::Fp(offset),
        Ok(register) if register < 16 && cfg!(not(target_arch = "aarch64")) => {
            Cfa::Register { register, offset }
        }
        _ => Cfa::Unsupported,
    }
}
