//! x86 and x86-64, read by iced-x86.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, IntelFormatter, OpKind, Register,
};

use crate::{Flow, Instruction, Syntax};

/// The column that operands begin in.
const OPERANDS: usize = 7;

/// What runs after each instruction, and the memory that it names.
pub(crate) fn flows(bitness: u32, bytes: &[u8], start: u64) -> Vec<(Flow, Option<u64>)> {
    let decoder = Decoder::with_ip(bitness, bytes, start, DecoderOptions::NONE);
    decoder
        .into_iter()
        .map(|instruction| (flow(&instruction), memory(&instruction)))
        .collect()
}

/// The instructions, with the names of what they refer to.
pub(crate) fn instructions(
    bitness: u32,
    bytes: &[u8],
    start: u64,
    syntax: Syntax,
    name: impl Fn(u64) -> Option<String>,
) -> Vec<Instruction> {
    let mut formatter = formatter(syntax);
    let decoder = Decoder::with_ip(bitness, bytes, start, DecoderOptions::NONE);
    let mut found = Vec::new();
    for instruction in decoder {
        let flow = flow(&instruction);
        let memory = memory(&instruction);
        let mut text = String::new();
        match flow.target().filter(|_| !instruction.is_invalid()) {
            // A formatter knows no names, and writes short jumps differently.
            Some(target) => {
                formatter.format_mnemonic(&instruction, &mut text);
                let missing = OPERANDS.saturating_sub(text.len()).max(1);
                text.extend(std::iter::repeat_n(' ', missing));
                match name(target) {
                    Some(name) => text.push_str(&name),
                    None => text.push_str(&format!("{target:x}")),
                }
            }
            None => {
                formatter.format(&instruction, &mut text);
                if let Some(name) = memory.and_then(&name) {
                    text.push_str("  # ");
                    text.push_str(&name);
                }
            }
        }
        found.push(Instruction {
            address: instruction.ip(),
            length: instruction.len().max(1),
            text,
            flow,
            memory,
        });
    }
    found
}

fn formatter(syntax: Syntax) -> Box<dyn Formatter> {
    let mut formatter: Box<dyn Formatter> = match syntax {
        Syntax::Att => Box::new(GasFormatter::new()),
        Syntax::Intel => Box::new(IntelFormatter::new()),
    };
    let options = formatter.options_mut();
    options.set_first_operand_char_index(OPERANDS as u32);
    options.set_uppercase_hex(false);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(syntax == Syntax::Att);
    options.set_space_after_operand_separator(syntax == Syntax::Intel);
    formatter
}

fn flow(instruction: &iced_x86::Instruction) -> Flow {
    let is_near = matches!(
        instruction.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    let target = is_near.then(|| instruction.near_branch_target());
    match (instruction.flow_control(), target) {
        (FlowControl::UnconditionalBranch, Some(target)) => Flow::Jump { target },
        // `xbegin` goes on at its target where its transaction fails.
        (FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend, Some(target)) => {
            Flow::Branch { target }
        }
        (FlowControl::Call, target) => Flow::Call { target },
        (FlowControl::IndirectCall, _) => Flow::Call { target: None },
        (FlowControl::IndirectBranch | FlowControl::Return, _) => Flow::Elsewhere,
        (FlowControl::UnconditionalBranch, None) => Flow::Elsewhere,
        _ => Flow::Next,
    }
}

fn memory(instruction: &iced_x86::Instruction) -> Option<u64> {
    let is_relative = instruction.is_ip_rel_memory_operand();
    let has_segment = matches!(instruction.segment_prefix(), Register::FS | Register::GS);
    (is_relative && !has_segment).then(|| instruction.ip_rel_memory_address())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Machine};

    fn texts(bytes: &[u8], syntax: Syntax) -> Vec<String> {
        let code = Code::new(Machine::X86_64, bytes, 0x1000);
        let name = |address| match address {
            0x2000 => Some("puts@plt".to_owned()),
            0x3000 => Some("counter".to_owned()),
            _ => None,
        };
        (code.instructions(syntax, name).into_iter())
            .map(|instruction| instruction.text)
            .collect()
    }

    #[test]
    fn targets_and_memory_have_names() {
        // call 0x2000; mov 0x1ff4(%rip),%rax; jmp 0x1000; call *%rax
        let bytes = [
            0xe8, 0xfb, 0x0f, 0, 0, 0x48, 0x8b, 0x05, 0xf4, 0x1f, 0, 0, 0xeb, 0xf2, 0xff, 0xd0,
        ];
        assert_eq!(
            texts(&bytes, Syntax::Att),
            [
                "call   puts@plt",
                "mov    0x1ff4(%rip),%rax  # counter",
                "jmp    1000",
                "call   *%rax",
            ]
        );
        assert_eq!(
            texts(&bytes, Syntax::Intel),
            [
                "call   puts@plt",
                "mov    rax, [0x3000]  # counter",
                "jmp    1000",
                "call   rax",
            ]
        );
        let code = Code::new(Machine::X86_64, &bytes, 0x1000);
        assert_eq!(Vec::from_iter(code.references()), [0x2000, 0x3000]);
        let flows: Vec<Flow> = flows(64, &bytes, 0x1000)
            .into_iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(
            flows,
            [
                Flow::Call {
                    target: Some(0x2000)
                },
                Flow::Next,
                Flow::Jump { target: 0x1000 },
                Flow::Call { target: None },
            ]
        );
    }

    #[test]
    fn no_bytes_are_too_odd() {
        for bytes in [&[][..], &[0x0f], &[0x06, 0x90], &[0xff; 40], &[0x66; 20]] {
            let code = Code::new(Machine::X86_64, bytes, u64::MAX - 8);
            let instructions = code.instructions(Syntax::Att, |_| None);
            let length: usize = instructions.iter().map(|row| row.length).sum();
            assert_eq!(length, bytes.len(), "{bytes:?}");
            code.references();
        }
    }
}
