//! Damaged sections and damaged stacks: nothing panics, and memory stays bounded.

use std::sync::OnceLock;

use object::{Object, ObjectSection};
use profundo_unwind::{
    General, Memory, Module, Modules, Regs, Row, TableRef, WalkCache, compile_eh_frame,
    parse_eh_frame_hdr, walk, walk_cached, walk_without_frame_pointer,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The first part of this program's own section, and its address.
fn section() -> &'static (u64, Vec<u8>) {
    static SECTION: OnceLock<(u64, Vec<u8>)> = OnceLock::new();
    SECTION.get_or_init(|| {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let section = object.section_by_name(".eh_frame").unwrap();
        let data = section.uncompressed_data().unwrap();
        (section.address(), data[..data.len().min(20_000)].to_vec())
    })
}

/// Any memory: a hash of the address, often a small step further up the stack.
struct Noise(u64);

impl Memory for Noise {
    fn read(&mut self, address: u64) -> Option<u64> {
        let hash = (address ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match hash >> 62 {
            0 => None,
            1 => Some(address.wrapping_add(hash >> 40 & 0xff8)),
            2 => Some(hash >> 20 & 0xffff),
            _ => Some(hash),
        }
    }
}

fn row() -> impl Strategy<Value = Row> {
    any::<[u8; Row::BYTES]>().prop_map(Row::from_bytes)
}

/// Any number, and more often than that one near the ends.
fn register() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..64_u64,
        (0..64_u64).prop_map(|below| u64::MAX - below)
    ]
}

proptest! {
    #[test]
    fn a_damaged_section_gives_some_table(
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        length in any::<prop::sample::Index>(),
        base in prop_oneof![Just(0_u64), any::<u64>()],
    ) {
        let (address, bytes) = section();
        let mut bytes = bytes.clone();
        for (at, value) in flips {
            *at.get_mut(&mut bytes) = value;
        }
        bytes.truncate(length.index(bytes.len() + 1));
        let end = base.saturating_add(1 << 24);
        if let Ok(table) = compile_eh_frame(&bytes, *address, None, base, base..end) {
            // A row comes from a byte, and each fde adds two.
            prop_assert!(table.rows().len() <= bytes.len() * 2);
            prop_assert!(table.index().len() <= (1 << 16) + 2);
            prop_assert!(table.rows().is_sorted_by(|a, b| a.pc() < b.pc()));
            for row in table.rows() {
                table.as_ref().find(base + u64::from(row.pc()));
            }
        }
    }

    #[test]
    fn any_header_is_read_or_refused(bytes in vec(any::<u8>(), 0..20), address: u64) {
        let _ = parse_eh_frame_hdr(&bytes, address);
    }

    #[test]
    fn any_walk_ends(
        mut rows in vec(row(), 0..50),
        index in vec(0_u32..60, 0..60),
        registers in (register(), register(), register()),
        base in register(),
        noise: u64,
    ) {
        rows.sort_by_key(|row| row.pc());
        let table = TableRef { base, rows: &rows, index: &index };
        let modules = [Module { start: base, end: base.saturating_add(0x10000), table }];
        let modules = Modules::new(&modules);
        let (ip, sp, fp) = registers;
        let mut out = [0; 100];
        for (ip, sp) in [(ip, sp), (base.wrapping_add(ip & 0xffff), sp & 0xffff_fff8)] {
            let regs = Regs::new(ip, sp, fp);
            walk(regs, &modules, &mut Noise(noise), &mut out);
            walk_without_frame_pointer(regs, &modules, &mut Noise(noise), &mut out, &mut ());
            let general = General([noise; 16]);
            let cache = &mut WalkCache::new();
            walk_cached(regs, Some(&general), &modules, cache, &mut Noise(noise), &mut out);
        }
    }
}
