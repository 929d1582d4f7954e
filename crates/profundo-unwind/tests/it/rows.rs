//! Every row of real libraries against gimli's general unwind rows.

use std::fs;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, RegisterRule, UnwindContext, UnwindSection,
    X86_64,
};
use object::{Object, ObjectSection};
use profundo_testing::pyenv_folders;
use profundo_unwind::{Cfa, Fp, Rbx, Row, Rule, compile_eh_frame};

/// Libraries of this machine that exist.
fn libraries() -> Vec<String> {
    let libraries = fs::read_to_string("/proc/self/maps").unwrap();
    let mut found: Vec<String> = libraries
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5))
        .filter(|path| path.starts_with('/'))
        .map(String::from)
        .collect();
    found.extend(
        [
            "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
            "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
            "/usr/lib/x86_64-linux-gnu/libm.so.6",
        ]
        .map(String::from),
    );
    for (_, version) in pyenv_folders() {
        let files = fs::read_dir(version.join("lib"));
        for file in files.into_iter().flatten().flatten() {
            let path = file.path().display().to_string();
            if path.ends_with(".so.1.0") {
                found.push(path);
            }
        }
    }
    found.sort();
    found.dedup();
    found.retain(|path| fs::metadata(path).is_ok());
    found
}

/// The row expected from gimli's; `None` where the row only has to be "not expressible".
fn expected(
    cfa: &CfaRule<usize>,
    register: impl Fn(gimli::Register) -> Option<RegisterRule<usize>>,
) -> Option<Rule> {
    let &CfaRule::RegisterAndOffset {
        register: base,
        offset,
    } = cfa
    else {
        return None;
    };
    match register(X86_64::RA) {
        Some(RegisterRule::Undefined) => return Some(Rule::ROOT),
        Some(RegisterRule::Offset(-8)) => {}
        _ => return Some(Rule::UNSUPPORTED),
    }
    let offset = offset as i32;
    let fp = match register(X86_64::RBP) {
        None | Some(RegisterRule::SameValue) => Fp::Same,
        Some(RegisterRule::Offset(offset)) => Fp::AtCfa(offset as i16),
        _ => return None,
    };
    let rbx = match register(X86_64::RBX) {
        None | Some(RegisterRule::SameValue) => Rbx::SAME,
        Some(RegisterRule::Offset(offset)) if offset > -255 * 8 => Rbx((-offset / 8) as u8),
        _ => return None,
    };
    let cfa = match base {
        X86_64::RSP => Cfa::Sp(offset),
        X86_64::RBP => Cfa::Fp(offset),
        _ => Cfa::Register {
            register: base.0 as u8,
            offset,
        },
    };
    Some(Rule {
        cfa,
        fp,
        rbx,
        caller_interrupted: false,
    })
}

fn check(path: &str) -> (usize, usize) {
    let bytes = fs::read(path).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let Some(section) = object.section_by_name(".eh_frame") else {
        return (0, 0);
    };
    let data = section.uncompressed_data().unwrap();
    let table = compile_eh_frame(&data, section.address(), None, 0, 0..u32::MAX.into()).unwrap();
    assert_eq!(table.skipped(), 0, "{path}");
    assert!(table.rows().is_sorted_by(|a, b| a.pc() < b.pc()), "{path}");
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let eh_frame = EhFrame::new(&data, LittleEndian);
    let mut context = UnwindContext::new();
    let (mut compared, mut others) = (0, 0);
    let mut entries = eh_frame.entries(&bases);
    while let Some(entry) = entries.next().unwrap() {
        let gimli::CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
        let mut rows = fde.rows(&eh_frame, &bases, &mut context).unwrap();
        while let Some(row) = rows.next_row().unwrap() {
            if row.start_address() == row.end_address() {
                continue;
            }
            for pc in [row.start_address(), row.end_address() - 1] {
                let found = table.as_ref().find(pc);
                let found = found
                    .unwrap_or_else(|| panic!("{path} {pc:#x} has no row"))
                    .rule();
                match expected(row.cfa(), |register| row.register(register)) {
                    Some(expected) => {
                        compared += 1;
                        // Not every kind of row has room for all.
                        let mut expected = Row::new(0, expected).rule();
                        expected.caller_interrupted = fde.is_signal_trampoline();
                        assert_eq!(found, expected, "{path} {pc:#x}");
                    }
                    None => others += 1,
                }
            }
        }
    }
    (compared, others)
}

#[test]
fn rows_of_libraries_are_those_of_gimli() {
    let (mut compared, mut others) = (0, 0);
    for path in libraries() {
        let (of_library, other) = check(&path);
        compared += of_library;
        others += other;
    }
    assert!(compared > 50_000, "{compared}");
    // Expressions are linkage stubs and the like.
    assert!(others * 100 < compared, "{others} of {compared}");
}
