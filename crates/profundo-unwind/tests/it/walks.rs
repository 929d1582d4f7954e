//! Walks over stacks and tables that are written out here.

use profundo_unwind::{
    Cfa, End, Fp, General, Memory, Module, Modules, Rbx, Regs, Row, Rule, Table, TableRef,
    WalkCache, walk, walk_cached, walk_with_registers, walk_without_frame_pointer,
};

const CODE: u64 = 0x1000;
const STACK: u64 = 0x7000;

/// Words at addresses from [`STACK`] on, and bytes of code from [`CODE`] on.
#[derive(Default)]
struct Words {
    stack: Vec<u64>,
    code: Vec<(u64, Vec<u8>)>,
}

impl Memory for Words {
    fn read(&mut self, address: u64) -> Option<u64> {
        let code = self.code.iter().find_map(|(start, bytes)| {
            let offset = address.checked_sub(*start)?;
            bytes.get(usize::try_from(offset).ok()?..)?.first_chunk()
        });
        code.map(|bytes| u64::from_le_bytes(*bytes)).or_else(|| {
            let index = address.checked_sub(STACK)? / 8;
            self.stack.get(usize::try_from(index).ok()?).copied()
        })
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

fn at(ip: u64) -> Regs {
    Regs {
        ip,
        sp: STACK,
        fp: 0,
    }
}

#[track_caller]
fn check(rules: &[Rule], regs: Regs, stack: &[u64], expected: &[u64], end: End) {
    let mut memory = Words {
        stack: stack.to_vec(),
        ..Words::default()
    };
    let mut out = [0; 64];
    with_rules(rules, |modules| {
        let (depth, found) = walk(regs, modules, &mut memory, &mut out);
        assert_eq!((&out[..depth], found), (expected, end));
        let mut cache = WalkCache::new();
        for _ in 0..2 {
            let (depth, found) =
                walk_cached(regs, None, modules, &mut cache, &mut memory, &mut out);
            assert_eq!((&out[..depth], found), (expected, end), "cached");
        }
    });
}

#[test]
fn a_call_may_be_the_last_instruction_of_its_function() {
    let rules = [Rule::sp(8), Rule::sp(16), Rule::ROOT];
    let stack = [0x1200, 0, 0x1201];
    check(
        &rules,
        at(0x1000),
        &stack,
        &[0x1000, 0x1200, 0x1201],
        End::Root,
    );
}

#[test]
fn frames_by_the_frame_pointer() {
    let regs = Regs {
        fp: STACK + 8,
        ..at(0x1080)
    };
    let stack = [7, STACK + 24, 0x1010, 0, 0x1110];
    check(
        &[Rule::fp(), Rule::ROOT],
        regs,
        &stack,
        &[0x1080, 0x1010, 0x1110],
        End::Root,
    );
}

#[test]
fn a_signal_frame_gives_the_registers_of_what_it_interrupted() {
    let mut stack = vec![0; 40];
    stack[0] = 0x1101;
    // The context begins above the return address.
    stack[1 + 21] = 0x1200;
    stack[1 + 20] = STACK + 38 * 8;
    stack[1 + 15] = 5;
    stack[38] = 0x1310;
    let rules = [Rule::sp(8), Rule::SIGNAL, Rule::sp(8), Rule::ROOT];
    check(
        &rules,
        at(0x1000),
        &stack,
        &[0x1000, 0x1101, 0x1201, 0x1310],
        End::Root,
    );
}

#[test]
fn signals_without_end_are_no_progress() {
    let mut stack = vec![0; 24];
    stack[21] = 0x1000;
    stack[20] = STACK;
    let expected: Vec<u64> = std::iter::once(0x1000).chain([0x1001; 16]).collect();
    check(
        &[Rule::SIGNAL],
        at(0x1000),
        &stack,
        &expected,
        End::NoProgress,
    );
}

#[test]
fn damage_ends_a_walk_with_its_reason() {
    let rules = [Rule::sp(8), Rule::sp(0), Rule::of(Cfa::Unsupported)];
    check(
        &rules,
        at(0x1000),
        &[0x1110],
        &[0x1000, 0x1110],
        End::NoProgress,
    );
    check(
        &rules,
        at(0x1000),
        &[0x9000],
        &[0x1000, 0x9000],
        End::NoTable { ip: 0x9000 },
    );
    check(
        &rules,
        at(0x1000),
        &[0x1210],
        &[0x1000, 0x1210],
        End::Unsupported { ip: 0x1210 },
    );
    check(
        &rules,
        at(0x1000),
        &[],
        &[0x1000],
        End::Unreadable { address: STACK },
    );
    let lost = Rule {
        fp: Fp::Undefined,
        ..Rule::sp(8)
    };
    check(
        &[lost, Rule::fp()],
        at(0x1000),
        &[0x1110],
        &[0x1000, 0x1110],
        End::FramePointerUnknown,
    );
}

#[test]
fn a_full_sink_is_told_from_a_short_stack() {
    with_rules(&[Rule::sp(8), Rule::ROOT], |modules| {
        let mut memory = Words {
            stack: vec![0x1110],
            ..Words::default()
        };
        let mut walk = |out: &mut [u64]| walk(at(0x1000), modules, &mut memory, out);
        assert_eq!(walk(&mut []), (0, End::Full));
        assert_eq!(walk(&mut [0]), (1, End::Full));
        assert_eq!(walk(&mut [0; 2]), (2, End::Root));
    });
}

#[test]
fn rbx_is_found_where_a_callee_saved_it() {
    let saves = Rule {
        rbx: Rbx(2),
        ..Rule::sp(16)
    };
    let by_rbx = Rule::of(Cfa::Register {
        register: 3,
        offset: 24,
    });
    let stack = [STACK + 16, 0x1110, 0, 0, 0x1210];
    let expected = [0x1000, 0x1110, 0x1210];
    check(
        &[saves, by_rbx, Rule::ROOT],
        at(0x1000),
        &stack,
        &expected,
        End::Root,
    );
}

#[test]
fn general_registers_serve_the_first_frame_only() {
    let rule = Rule::of(Cfa::Register {
        register: 10,
        offset: 0,
    });
    let mut general = General([0; 16]);
    general.0[10] = STACK + 16;
    let mut memory = Words {
        stack: vec![0, 0x1010, 0],
        ..Words::default()
    };
    let mut out = [0; 8];
    with_rules(&[rule], |modules| {
        let found = walk_with_registers(at(0x1000), &general, modules, &mut memory, &mut out);
        assert_eq!(found, (2, End::Unsupported { ip: 0x1010 }));
        let found = walk(at(0x1000), modules, &mut memory, &mut out);
        assert_eq!(found, (1, End::Unsupported { ip: 0x1000 }));
    });
}

#[test]
fn linkage_stubs_and_realigned_stacks() {
    let stub = Rule::of(Cfa::Plt {
        offset: 8,
        pushed_at: 11,
    });
    let rules = [stub, Rule::ROOT];
    check(
        &rules,
        at(0x1020),
        &[0x1110, 0x1120],
        &[0x1020, 0x1110],
        End::Root,
    );
    check(
        &rules,
        at(0x102b),
        &[0x1110, 0x1120],
        &[0x102b, 0x1120],
        End::Root,
    );

    let realigned = Rule {
        fp: Fp::AtFp(0),
        ..Rule::of(Cfa::FpDeref { offset: -8, add: 0 })
    };
    let by_sp = Rule::of(Cfa::SpDeref { offset: 8, add: 8 });
    let regs = Regs {
        fp: STACK + 16,
        ..at(0x1000)
    };
    let stack = [0, STACK + 40, 77, 0, 0x1110, 0, STACK + 56, 0x1210];
    let expected = [0x1000, 0x1110, 0x1210];
    check(
        &[realigned, by_sp, Rule::ROOT],
        regs,
        &stack,
        &expected,
        End::Root,
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_function_without_a_row_is_left_by_the_call_that_leads_to_it() {
    // The caller's call at 0x1005 leads to a stub at 0x1500, and that to the function at 0x1800. It
    // has called another one at 0x1900, which has taken three words of stack.
    let caller = [&[0x90; 5][..], &[0xe8, 0xf6, 4, 0, 0]].concat();
    let stub = [0xff, 0x25, 0xfa, 0, 0, 0, 0x90, 0x90];
    let function = [&[0x90; 11][..], &[0xe8, 0xf0, 0, 0, 0], &[0x90; 16]].concat();
    let inner = vec![0x90; 0x20];
    for (fp, known) in [(0, true), (STACK + 64, true), (STACK + 8, false)] {
        let regs = Regs { fp, ..at(0x1910) };
        let mut memory = Words {
            // What looks like a return address follows no call of this function.
            stack: vec![0x1210, STACK, 3, 0x1810, 7, 0x100a, 0x1110, 0],
            code: vec![
                (0x1000, caller.clone()),
                (0x1200, vec![0x90; 0x20]),
                (0x1500, stub.to_vec()),
                (0x1600, 0x1800_u64.to_le_bytes().to_vec()),
                (0x1800, function.clone()),
                (0x1900, inner.clone()),
            ],
        };
        let mut out = [0; 8];
        with_rules(&[Rule::sp(8), Rule::ROOT, Rule::sp(8)], |modules| {
            let (depth, end) = walk(regs, modules, &mut memory, &mut out);
            match known {
                true => {
                    assert_eq!((depth, end), (4, End::Root));
                    assert_eq!(out[..4], [0x1910, 0x1810, 0x100a, 0x1110]);
                }
                // It keeps a frame pointer, and nothing below it is a return address.
                false => assert_ne!(out[1], 0x1810),
            }
        });
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_result_of_the_first_function_goes_straight_to_the_one_that_ends() {
    // `mov edi, eax` or `mov rdi, rax`, and a call of the same file or of another one.
    let here = [0x89, 0xc7, 0xe8, 0, 1, 0, 0, 0];
    let word = [0x48, 0x89, 0xc7, 0xe8, 0, 1, 0, 0];
    let elsewhere = [0x89, 0xc7, 0xe8, 0, 0, 1, 0, 0];
    // Two arguments, above two words of the function's own.
    let start = [0x1910, STACK, STACK, 2, STACK + 0x100, STACK + 0x108, 0, 7];
    let nothing = [0x1910, STACK, STACK, 2, STACK + 0x100, STACK + 0x108, 5, 7];
    let elsewhere_end = End::NoTable { ip: 0x1910 };
    for (code, stack, end) in [
        (here, start, End::Root),
        (word, start, End::Root),
        (elsewhere, start, elsewhere_end),
        (here, nothing, elsewhere_end),
    ] {
        let regs = Regs {
            // The number of the program's arguments is kept there.
            fp: 3,
            ..at(0x1010)
        };
        let mut memory = Words {
            stack: stack.to_vec(),
            code: vec![(0x1910, code.to_vec())],
        };
        let mut out = [0; 8];
        with_rules(&[Rule::sp(8)], |modules| {
            assert_eq!(walk(regs, modules, &mut memory, &mut out), (2, end));
        });
        assert_eq!(out[..2], [0x1010, 0x1910]);
    }
}

#[test]
fn a_call_of_no_code_returns_to_its_caller() {
    let mut memory = Words {
        stack: vec![0x1010, 0x1110],
        // `call rax`
        code: vec![(
            0x1000,
            [&[0x90; 14][..], &[0xff, 0xd0, 0x90, 0x90]].concat(),
        )],
    };
    let mut out = [0; 8];
    with_rules(&[Rule::sp(8), Rule::ROOT], |modules| {
        assert_eq!(walk(at(0), modules, &mut memory, &mut out), (3, End::Root));
    });
    assert_eq!(out[..3], [0, 0x1010, 0x1110]);
}

#[test]
fn generated_code_is_walked_by_frame_pointers() {
    let regs = Regs {
        fp: STACK,
        ..at(0x5000)
    };
    let mut memory = Words {
        // It calls its like, a builtin of its module that has no row either, and is called back.
        stack: [
            [STACK + 16, 0x5100],
            [STACK + 32, 0x1800],
            [STACK + 48, 0x5080],
            [0, 0x1010],
        ]
        .concat(),
        code: vec![(0x5000, vec![0x90; 0x200])],
    };
    let mut out = [0; 8];
    with_rules(&[Rule::ROOT], |modules| {
        assert_eq!(walk(regs, modules, &mut memory, &mut out), (5, End::Root));
    });
    assert_eq!(out[..5], [0x5000, 0x5100, 0x1800, 0x5080, 0x1010]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_only_returns_says_where_to() {
    // CPython's trampolines: 3.12's keeps no frame pointer, 3.13's does, and nothing points to it.
    let add = [0x48, 0x83, 0xc4, 0x08, 0xc3, 0, 0, 0];
    let pop = [0x5d, 0xc3, 0, 0, 0, 0, 0, 0];
    let both = [0x48, 0x83, 0xc4, 0x08, 0x5d, 0xc3, 0, 0];
    let other = [0x48, 0x83, 0xc4, 0x08, 0x90, 0xc3, 0, 0];
    let check = |bytes: &[u8], end, expected: &[u64]| {
        let mut memory = Words {
            stack: vec![0x5000, 77, 0x1010, 88, 0x1010],
            code: vec![(0x5000, bytes.to_vec())],
        };
        if bytes == both {
            (memory.stack[2], memory.stack[3]) = (88, 0x1010);
        }
        let mut out = [0; 8];
        with_rules(&[Rule::ROOT, Rule::sp(8)], |modules| {
            let (depth, found) = walk(at(0x1180), modules, &mut memory, &mut out);
            assert_eq!((&out[..depth], found), (expected, end), "{bytes:x?}");
        });
    };
    check(&add, End::Root, &[0x1180, 0x5000, 0x1010]);
    check(&pop, End::Root, &[0x1180, 0x5000, 0x1010]);
    check(&both, End::Root, &[0x1180, 0x5000, 0x1010]);
    check(&other, End::NoTable { ip: 0x5000 }, &[0x1180, 0x5000]);
    check(&[0x90; 8], End::NoTable { ip: 0x5000 }, &[0x1180, 0x5000]);
    // No possible return address is code.
    let mut memory = Words {
        stack: vec![0x5000, 77, 99],
        code: vec![(0x5000, add.to_vec())],
    };
    let mut out = [0; 8];
    with_rules(&[Rule::ROOT, Rule::sp(8)], |modules| {
        let (depth, end) = walk(at(0x1180), modules, &mut memory, &mut out);
        assert_eq!((depth, end), (2, End::NoTable { ip: 0x5000 }));
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_of_cpythons_jit_is_left_by_its_entry() {
    const ENTRY: u64 = 0x5000;
    const BODY: u64 = 0x5100;
    // After the call: `pop rbx; pop r12; pop r13; pop r14; pop r15; ret`.
    let call = [0, 0, 0, 0xe8, 0xfb, 0, 0, 0];
    let restores = [0x5b, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3];
    let entry = [&call[..], &restores, &[0; 8]].concat();
    let code = |entry: &[u8]| vec![(ENTRY - 8, entry.to_vec()), (BODY, vec![0x90; 16])];
    let saved = [1, 2, 3, 4, 5, 0x1110];
    // The interpreter's function has a frame pointer, and its caller none.
    let check = |fp: u64, pushed: &[u64], entry: &[u8]| {
        let interpreters = STACK + 8 * (pushed.len() as u64 + 9);
        let pushed: Vec<u64> = (pushed.iter())
            .map(|&word| if word == 7 { interpreters } else { word })
            .collect();
        let fp = if fp == 7 { interpreters } else { fp };
        let mut memory = Words {
            stack: [&pushed[..], &[ENTRY], &saved[..], &[88, 99, 77, 0x1010]].concat(),
            code: code(entry),
        };
        let regs = Regs { fp, ..at(BODY + 4) };
        let mut out = [0; 8];
        let mut found = Vec::new();
        with_rules(&[Rule::ROOT, Rule::fp()], |modules| {
            let (depth, end) = walk(regs, modules, &mut memory, &mut out);
            found.extend_from_slice(&out[..depth]);
            found.push(u64::from(end == End::Root));
        });
        found
    };
    let whole = [BODY + 4, 0x1110, 0x1010, 1];
    assert_eq!(check(7, &[], &entry), whole);
    assert_eq!(check(7, &[11], &entry), whole);
    // An operation uses the frame pointer for something else, and has pushed it first.
    assert_eq!(check(1234, &[11, 12, 7], &entry), whole);
    // Other instructions after the call are no entry.
    for wrong in [3, 9, 17] {
        let mut other = entry.clone();
        other[wrong] = 0x90;
        assert_ne!(check(7, &[], &other), whole);
    }
}

#[test]
fn a_handler_may_return_to_a_restorer_without_a_row() {
    let mut stack = vec![0; 40];
    stack[0] = 0x2000;
    stack[1 + 21] = 0x1110;
    stack[1 + 20] = STACK + 39 * 8;
    let mut memory = Words {
        stack,
        code: vec![(0x2000, vec![0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05])],
    };
    let mut out = [0; 8];
    with_rules(&[Rule::sp(8), Rule::ROOT], |modules| {
        assert_eq!(
            walk(at(0x1000), modules, &mut memory, &mut out),
            (3, End::Root)
        );
    });
    assert_eq!(out[..3], [0x1000, 0x2000, 0x1111]);
}

#[test]
fn an_unknown_frame_pointer_is_found_by_the_call() {
    // A stale frame of a function that was called before lies nearer than the live one.
    let stale = [STACK + 32, 0x1110];
    let live = [0, 0x1210];
    let stack = [&[0x1080, 0], &stale[..], &[0, 0], &live[..]].concat();
    let mut code = vec![0x90; 0x300];
    let call = |code: &mut Vec<u8>, after: usize, target: i32| {
        code[after - 5] = 0xe8;
        code[after - 4..after].copy_from_slice(&(target - after as i32).to_le_bytes());
    };
    // The stale address follows a call of something else, the live one of this function.
    call(&mut code, 0x110, 0x290);
    call(&mut code, 0x210, 0x40);
    let mut memory = Words {
        stack,
        code: vec![(CODE, code)],
    };
    let rows = [
        Row::new(0x00, Rule::sp(8)),
        Row::new(0x40, Rule::sp(8)),
        Row::new(0x44, Rule::fp()),
        Row::new(0x100, Rule::ROOT),
        Row::new(0x300, Rule::NONE),
    ];
    let table = TableRef {
        base: CODE,
        rows: &rows,
        index: &[0, 3, 4, 4, 5],
    };
    let modules = [Module {
        start: CODE,
        end: CODE + 0x1000,
        table,
    }];
    let mut out = [0; 8];
    let (depth, end) = walk_without_frame_pointer(
        at(0x1010),
        &Modules::new(&modules),
        &mut memory,
        &mut out,
        &mut (),
    );
    assert_eq!(
        (&out[..depth], end),
        (&[0x1010, 0x1080, 0x1210][..], End::Root)
    );
    memory.code.clear();
    let (depth, end) = walk_without_frame_pointer(
        at(0x1010),
        &Modules::new(&modules),
        &mut memory,
        &mut out,
        &mut (),
    );
    assert_eq!((depth, end), (2, End::FramePointerUnknown));
}

#[test]
fn a_cache_is_dropped_with_its_modules() {
    let mut memory = Words {
        stack: vec![0x1110, 0x1120],
        ..Words::default()
    };
    let mut cache = WalkCache::new();
    let mut out = [0; 8];
    for (generation, rule, caller) in [(1, Rule::sp(8), 0x1110), (2, Rule::sp(16), 0x1120)] {
        with_rules(&[rule, Rule::ROOT], |modules| {
            cache.enter(generation);
            walk_cached(at(0x1000), None, modules, &mut cache, &mut memory, &mut out);
        });
        assert_eq!(out[..2], [0x1000, caller]);
    }
}

#[test]
fn an_empty_table_finds_nothing() {
    assert_eq!(Table::default().as_ref().find(0), None);
}

/// The calls of an observer.
#[derive(Default)]
struct Calls(Vec<(usize, u64, u64, u64)>);

impl profundo_unwind::Observer for Calls {
    fn frame(&mut self, index: usize, address: u64, sp: u64, cfa: u64) {
        self.0.push((index, address, sp, cfa));
    }
}

#[test]
fn an_observer_is_shown_where_each_frame_lies() {
    use profundo_unwind::{
        End, General, Memory, Module, Modules, Regs, Row, Rule, TableRef, WalkCache, walk_observed,
    };

    /// Return addresses at 0x7010 and 0x7020, and none at 0x7030.
    struct Stack;
    impl Memory for Stack {
        fn read(&mut self, address: u64) -> Option<u64> {
            [(0x7010, 0x1050), (0x7020, 0x1051), (0x7030, 0)]
                .into_iter()
                .find_map(|(at, value)| (at == address).then_some(value))
        }
    }
    let rows = [
        Row::new(0, Rule::sp(24)),
        Row::new(0x40, Rule::sp(16)),
        Row::new(0x80, Rule::NONE),
    ];
    let table = TableRef {
        base: 0x1000,
        rows: &rows,
        index: &[0, 3],
    };
    let modules = [Module {
        start: 0x1000,
        end: 0x2000,
        table,
    }];
    let modules = Modules::new(&modules);
    let regs = Regs {
        ip: 0x1010,
        sp: 0x7000,
        ..Regs::default()
    };
    let expected = [
        (0, 0x1010, 0x7000, 0x7018),
        (1, 0x1050, 0x7018, 0x7028),
        (2, 0x1051, 0x7028, 0x7038),
    ];
    let mut cache = WalkCache::new();
    cache.enter(1);
    for cache in [None, Some(&mut cache)] {
        let (mut calls, mut out) = (Calls::default(), [0; 8]);
        let general = General([0; 16]);
        let found = walk_observed(
            regs, &general, &modules, cache, &mut Stack, &mut out, &mut calls,
        );
        assert_eq!(found, (3, End::Root));
        assert_eq!(out[..3], [0x1010, 0x1050, 0x1051]);
        assert_eq!(calls.0, expected);
    }
}
