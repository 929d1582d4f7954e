//! Walks over memory that is written out by hand, on aarch64: places of return addresses, signed
//! ones, signals, and blocked threads.

use profundo_unwind::{
    Cfa, End, Fp, Memory, Module, Modules, Rbx, Regs, Row, Rule, TableRef, compile_eh_frame, walk,
    walk_without_frame_pointer,
};

const CODE: u64 = 0x1000;
const STACK: u64 = 0x7000;

/// Words of a stack, and code that is elsewhere.
#[derive(Default)]
struct Words {
    stack: Vec<u64>,
    code: Vec<(u64, u64)>,
}

impl Memory for Words {
    fn read(&mut self, address: u64) -> Option<u64> {
        if let Some((_, word)) = self.code.iter().find(|(place, _)| *place == address) {
            return Some(*word);
        }
        let index = address.checked_sub(STACK)? / 8;
        self.stack.get(index as usize).copied()
    }
}

/// Rules of functions of 0x100 bytes each, the first at [`CODE`].
fn with_rules<T>(rules: &[Rule], body: impl FnOnce(&Modules<'_>) -> T) -> T {
    let mut rows: Vec<Row> = (0_u32..)
        .zip(rules)
        .map(|(at, rule)| Row::new(at << 8, *rule))
        .collect();
    let end = rules.len() as u32;
    rows.push(Row::new(end << 8, Rule::NONE));
    let index: Vec<u32> = (0..=end).chain([end + 1]).collect();
    let table = TableRef {
        base: CODE,
        rows: &rows,
        index: &index,
    };
    let modules = [Module {
        start: CODE,
        end: CODE + 0x1000,
        table,
    }];
    body(&Modules::new(&modules))
}

/// The usual frame of this many words, with its record at the end of the stack.
fn frame(words: u8) -> Rule {
    Rule {
        fp: Fp::AtCfa(-8 * i16::from(words)),
        rbx: Rbx(words - 1),
        ..Rule::of(Cfa::Sp(8 * i32::from(words)))
    }
}

#[track_caller]
fn check(rules: &[Rule], regs: Regs, mut memory: Words, expected: &[u64], end: End) {
    let mut out = [0; 16];
    with_rules(rules, |modules| {
        let (depth, found) = walk(regs, modules, &mut memory, &mut out);
        assert_eq!((&out[..depth], found), (expected, end));
    });
}

fn stack(stack: &[u64]) -> Words {
    Words {
        stack: stack.to_vec(),
        ..Words::default()
    }
}

#[test]
fn a_function_that_has_not_called_returns_to_the_link_register() {
    let regs = Regs {
        lr: 0x1110,
        ..Regs::new(0x1000, STACK, 0)
    };
    check(
        &[Rule::sp(0), frame(4), Rule::ROOT],
        regs,
        stack(&[STACK + 32, 0x1210, 0, 0]),
        &[0x1000, 0x1110, 0x1210],
        End::Root,
    );
}

#[test]
fn a_return_address_alone_is_saved_and_signed() {
    let alone = Rule {
        rbx: Rbx(2),
        ..Rule::of(Cfa::Sp(16))
    };
    check(
        &[alone, Rule::ROOT],
        Regs::new(0x1080, STACK, 0),
        stack(&[0x0034_0000_0000_1110, 0]),
        &[0x1080, 0x1110],
        End::Root,
    );
}

#[test]
fn a_function_that_has_called_needs_a_saved_return_address() {
    let regs = Regs::new(0x1000, STACK, 0);
    check(
        &[frame(2), Rule::sp(16), Rule::ROOT],
        regs,
        stack(&[0, 0x1110, 0, 0]),
        &[0x1000, 0x1110],
        End::Root,
    );
}

#[test]
fn a_signal_frame_is_known_by_the_code_that_its_handler_returns_to() {
    let mut words = vec![0; 100];
    words[1] = 0x2000;
    // The handler's frame has two words. Information of 128 bytes is below the context.
    let context = 2 + 16;
    words[context + 52] = STACK + 99 * 8;
    words[context + 53] = 0x1310;
    words[context + 54] = STACK + 98 * 8;
    words[context + 55] = 0x1200;
    let memory = Words {
        stack: words,
        code: vec![(0x2000, 0xd400_0001_d280_1168)],
    };
    check(
        &[frame(2), Rule::NONE, Rule::sp(0), Rule::ROOT],
        Regs::new(0x1000, STACK, 0),
        memory,
        &[0x1000, 0x2000, 0x1201, 0x1310],
        End::Root,
    );
}

#[test]
fn the_caller_of_a_blocked_system_call_is_stepped_over() {
    let blocked = Regs::new(0x1008, STACK, 0);
    // `bl` before the return address.
    let mut memory = Words {
        stack: vec![STACK + 32, 0x1210, 0, 0, 0, 0x1310],
        code: vec![(0x120c, 0x9400_0000)],
    };
    let rules = [Rule::sp(0), frame(4), frame(2), Rule::ROOT];
    let mut out = [0; 8];
    with_rules(&rules, |modules| {
        let found = walk_without_frame_pointer(blocked, modules, &mut memory, &mut out, &mut ());
        assert_eq!(
            (&out[..found.0], found.1),
            (&[0x1008, 0x1210, 0x1310][..], End::Root)
        );
        // Without a call there, it is no return address.
        memory.code.clear();
        let found = walk_without_frame_pointer(blocked, modules, &mut memory, &mut out, &mut ());
        assert_eq!(found, (1, End::Unsupported { ip: 0x1008 }));
    });
}

#[test]
fn instructions_that_sign_the_return_address_are_read() {
    const SECTION: u64 = 0x10_0000;
    let entry = |body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let mut bytes = Vec::from((padded as u32).to_le_bytes());
        bytes.extend(body);
        bytes.resize(4 + padded, 0);
        bytes
    };
    // Factors 4 and -8, return address 30, pointers relative to themselves; then def_cfa sp+0.
    let cie = [
        &[0, 0, 0, 0, 1][..],
        b"zR\0",
        &[4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0],
    ];
    let mut section = entry(&cie.concat());
    let id = section.len() as u32 + 4;
    let place = SECTION + u64::from(id) + 4;
    // Signed after one instruction; after the next, both registers are saved in 32 bytes.
    let instructions = [0x41, 0x2d, 0x41, 0x0e, 32, 0x80 | 29, 4, 0x80 | 30, 3];
    let fde = [
        &id.to_le_bytes()[..],
        &(CODE.wrapping_sub(place) as u32).to_le_bytes(),
        &0x40_u32.to_le_bytes(),
        &[0],
        &instructions,
    ];
    section.extend(entry(&fde.concat()));
    let table = compile_eh_frame(&section, SECTION, None, CODE, CODE..CODE + 0x1000).unwrap();
    assert_eq!(table.skipped(), 0);
    assert_eq!(table.rows().first(), Some(&Row::new(0, Rule::sp(0))));
    assert!(table.rows().contains(&Row::new(8, frame(4))));
}
