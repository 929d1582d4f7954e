//! Small `.eh_frame` sections by hand, and the rows that they make.

use std::vec;

use super::*;
use crate::{Fp, Rbx};

const SECTION: u64 = 0x10_0000;
const CODE: u64 = 0x1000;

/// An `.eh_frame` that is written out: one cie, then fdes.
struct Written {
    bytes: Vec<u8>,
}

impl Written {
    /// The usual cie of x86_64, with `S` for signal frames if asked.
    fn new(signal: bool) -> Self {
        let mut written = Self { bytes: Vec::new() };
        let augmentation: &[u8] = if signal { b"zRS\0" } else { b"zR\0" };
        let mut body = vec![0, 0, 0, 0, 1];
        body.extend(augmentation);
        // Factors 1 and -8, return address 16, pointers relative to themselves; then
        // def_cfa rsp+8, offset rip cfa-8.
        body.extend([1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1]);
        written.entry(&body);
        written
    }

    fn entry(&mut self, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        self.bytes.extend((padded as u32).to_le_bytes());
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
    }

    fn fde(mut self, start: u64, length: u32, instructions: &[u8]) -> Self {
        let id = self.bytes.len() as u32 + 4;
        let at = SECTION + u64::from(id) + 4;
        let mut body = Vec::from(id.to_le_bytes());
        body.extend((start.wrapping_sub(at) as u32).to_le_bytes());
        body.extend(length.to_le_bytes());
        body.push(0);
        body.extend(instructions);
        self.entry(&body);
        self
    }

    fn compile(&self) -> Table {
        compile_eh_frame(&self.bytes, SECTION, None, CODE, CODE..CODE + 0x10000).unwrap()
    }

    #[track_caller]
    fn check(&self, expected: &[(u32, Rule)]) {
        let table = self.compile();
        let rows: Vec<(u32, Rule)> = table.rows().iter().map(|r| (r.pc(), r.rule())).collect();
        let packed = |&(pc, rule)| (pc, Row::new(pc, rule).rule());
        let expected: Vec<(u32, Rule)> = expected.iter().map(packed).collect();
        assert_eq!(rows, expected);
        assert_eq!(table.skipped(), 0);
    }
}

#[test]
fn a_prologue_and_an_epilogue() {
    let instructions = [
        0x41, 0x0e, 16, 0x86, 2, // +1: push rbp
        0x43, 0x0d, 6, // +3: mov rbp, rsp
        0x41, 0x83, 3, // +1: push rbx
        0x4a, 0x0a, 0x0c, 7, 8, // +10: remember; leave
        0x41, 0x0b, // +1: after ret
    ];
    let pushed = Rule {
        fp: Fp::AtCfa(-16),
        ..Rule::sp(16)
    };
    let saved = Rule {
        rbx: Rbx(3),
        ..Rule::fp()
    };
    let left = Rule {
        cfa: Cfa::Sp(8),
        ..saved
    };
    let written = Written::new(false).fde(CODE + 0x10, 0x40, &instructions);
    written.check(&[
        (0x10, Rule::sp(8)),
        (0x11, pushed),
        (0x14, Rule::fp()),
        (0x15, saved),
        (0x1f, left),
        (0x20, saved),
        (0x50, Rule::NONE),
    ]);
}

#[test]
fn gaps_neighbours_and_overlaps() {
    let written = Written::new(false)
        .fde(CODE + 0x300, 0x10, &[])
        .fde(CODE, 0x10, &[])
        .fde(CODE + 0x10, 0x10, &[0x44, 0x0e, 16])
        // Begins inside of the one before, and ends it.
        .fde(CODE + 0x18, 0x20, &[0x0e, 24])
        // The same start again: the first of them holds.
        .fde(CODE + 0x300, 0x20, &[0x0e, 32]);
    written.check(&[
        (0x00, Rule::sp(8)),
        (0x14, Rule::sp(16)),
        (0x18, Rule::sp(24)),
        (0x38, Rule::NONE),
        (0x300, Rule::sp(8)),
        (0x310, Rule::NONE),
    ]);
    assert_eq!(written.compile().index(), [0, 4, 4, 4, 6]);
}

#[test]
fn expressions_of_linkage_stubs_and_realigned_stacks() {
    let stub = [
        0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
    ];
    // cfa = *(rbp - 8), rbp at rbp + 0
    let realigned = [0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0];
    // cfa = *(rsp + 40) + 8
    let assembly = [0x0f, 5, 0x77, 40, 0x06, 0x23, 8];
    let written = Written::new(false)
        .fde(CODE, 0x10, &stub)
        .fde(CODE + 0x10, 0x10, &realigned)
        .fde(CODE + 0x20, 0x10, &assembly)
        .fde(CODE + 0x30, 0x10, &[0x0c, 10, 0])
        .fde(CODE + 0x40, 0x10, &[0x0f, 1, 0x30]);
    let by_r10 = Cfa::Register {
        register: 10,
        offset: 0,
    };
    written.check(&[
        (
            0x00,
            Rule::of(Cfa::Plt {
                offset: 8,
                pushed_at: 11,
            }),
        ),
        (
            0x10,
            Rule {
                fp: Fp::AtFp(0),
                ..Rule::of(Cfa::FpDeref { offset: -8, add: 0 })
            },
        ),
        (0x20, Rule::of(Cfa::SpDeref { offset: 40, add: 8 })),
        (0x30, Rule::of(by_r10)),
        (0x40, Rule::UNSUPPORTED),
        (0x50, Rule::NONE),
    ]);
    assert_eq!(written.compile().unsupported(), 1);
}

#[test]
fn roots_and_returns_from_elsewhere() {
    let written = Written::new(false)
        .fde(CODE, 0x10, &[0x07, 16])
        // The return address is in rdi.
        .fde(CODE + 0x10, 0x10, &[0x09, 16, 5]);
    written.check(&[
        (0x00, Rule::ROOT),
        (0x10, Rule::UNSUPPORTED),
        (0x20, Rule::NONE),
    ]);
}

#[test]
fn signal_frames() {
    // cfa = *(rsp + 160)
    let restorer = [0x0f, 4, 0x77, 0xa0, 0x01, 0x06];
    let written = Written::new(true)
        .fde(CODE, 0x10, &restorer)
        .fde(CODE + 0x10, 0x10, &[]);
    let other = Rule {
        caller_interrupted: true,
        ..Rule::sp(8)
    };
    written.check(&[(0x00, Rule::SIGNAL), (0x10, other), (0x20, Rule::NONE)]);
}

#[test]
fn a_damaged_entry_costs_no_other() {
    let mut written = Written::new(false)
        // Restores a state that was not remembered, after one good row.
        .fde(CODE, 0x10, &[0x44, 0x0b])
        .fde(CODE + 0x10, 0x10, &[0x0e, 16]);
    // An entry of an unknown cie.
    written.entry(&[0x77, 0, 0, 0, 1, 2, 3, 4]);
    let written = written
        .fde(CODE + 0x20, 0x10, &[0x0e, 24])
        // Outside of the code.
        .fde(CODE + 0x20000, 0x10, &[]);
    let table = written.compile();
    let rules = |pc| table.as_ref().find(CODE + pc).map(Row::rule);
    assert_eq!(rules(0x00), Some(Rule::sp(8)));
    assert_eq!(rules(0x10), Some(Rule::sp(16)));
    assert_eq!(rules(0x20), Some(Rule::sp(24)));
    assert_eq!(table.skipped(), 3);
}

#[test]
fn code_out_of_reach_is_an_error() {
    let compile = |base, code: Range<u64>| compile_eh_frame(&[], 0, None, base, code);
    let error = |start, end| Err(Error::CodeOutOfReach { start, end });
    assert_eq!(compile(16, 0..32), error(0, 32));
    let (start, end) = (8, 4);
    assert_eq!(compile(0, start..end), error(8, 4));
    assert_eq!(compile(0, 0..1 << 32), error(0, 1 << 32));
    assert_eq!(compile(0, 0..16).map(|table| table.rows().len()), Ok(0));
}
