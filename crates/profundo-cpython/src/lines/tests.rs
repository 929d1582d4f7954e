//! The three formats of line tables, byte by byte.

use super::*;
use std::vec::Vec;

fn lines(minor: u8, table: &[u8], first_line: i32) -> Vec<(u32, u32, Option<i32>)> {
    Ranges::new(minor, table, first_line)
        .map(|range| (range.start, range.end, range.position.line))
        .collect()
}

#[test]
fn a_number_table_says_where_the_next_line_begins() {
    let table = [6, 1, 50, 2, 0, 5, 4, 0xFE];
    assert_eq!(
        lines(8, &table, 1),
        [
            (0, 6, Some(1)),
            (6, 56, Some(2)),
            (56, 56, Some(4)),
            (56, 60, Some(9)),
            (60, u32::MAX, Some(7)),
        ]
    );
    assert_eq!(position(9, &table, 1, 55).unwrap().line, Some(2));
    assert_eq!(position(9, &table, 1, 57).unwrap().line, Some(9));
    assert_eq!(position(9, &[], 5, 1000).unwrap().line, Some(5));
}

#[test]
fn in_3_10_a_pair_is_a_range() {
    let table = [6, 0, 2, 1, 4, 0x80, 2, 0xFF];
    assert_eq!(
        lines(10, &table, 10),
        [
            (0, 6, Some(10)),
            (6, 8, Some(11)),
            (8, 12, None),
            (12, 14, Some(10)),
        ]
    );
    assert_eq!(position(10, &table, 10, 14), None);
}

#[test]
fn locations_have_columns() {
    // On the line, columns 5 to 8; long: three lines on, ends one later, columns 1 to 70; none;
    // back by two lines without columns.
    let table = [
        0x80 | 2,
        0x53,
        0x80 | 14 << 3,
        6,
        1,
        2,
        0x40 | 7,
        1,
        0x80 | 15 << 3,
        0x80 | 13 << 3,
        5,
    ];
    let found: Vec<Position> = Ranges::new(11, &table, 20)
        .map(|range| range.position)
        .collect();
    let position = |line, end_line, column, end_column| Position {
        line,
        end_line,
        column,
        end_column,
    };
    assert_eq!(
        found,
        [
            position(Some(20), Some(20), Some(5), Some(8)),
            position(Some(23), Some(24), Some(1), Some(70)),
            Position::default(),
            position(Some(21), Some(21), None, None),
        ]
    );
    assert_eq!(lines(13, &table, 20)[0], (0, 6, Some(20)));
}

#[test]
fn before_the_first_instruction_is_the_first_line() {
    for minor in 8..15 {
        assert_eq!(position(minor, &[], 7, -2).unwrap().line, Some(7));
    }
}

/// A generator without a library: any bytes do.
#[test]
fn no_bytes_make_it_panic_or_go_on_for_ever() {
    let mut state = 1_u64;
    for length in 0..200 {
        let mut table = Vec::new();
        for _ in 0..length {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            table.push((state >> 56) as u8);
        }
        for minor in [8, 10, 12] {
            let ranges = Ranges::new(minor, &table, i32::MAX - 3);
            assert!(ranges.count() <= length + 1);
        }
    }
}
