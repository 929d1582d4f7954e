//! Each instruction of many modules: the decoders against the interpreter's own.

use profundo_cpython::lines::{Position, position};

use crate::interpreter::{Target, each};

fn check(target: &mut Target) {
    let mut running = target.run(include_str!("lines.py"), &["60"]);
    let (mut codes, mut instructions) = (0, 0);
    while let Some(line) = running.line() {
        let mut words = line.split(' ');
        let table = bytes(words.next().unwrap());
        let first_line: i32 = words.next().unwrap().parse().unwrap();
        for (index, printed) in words.enumerate() {
            if printed.is_empty() {
                continue;
            }
            let offset = index as i32 * 2;
            let found = position(target.minor, &table, first_line, offset).unwrap_or_default();
            let expected = parse(printed);
            assert_eq!(found, expected, "{} at {offset}: {table:?}", target.name);
            instructions += 1;
        }
        codes += 1;
    }
    assert!(
        codes > 500 && instructions > 20_000,
        "{codes} {instructions}"
    );
    running.finish();
}

fn bytes(hex: &str) -> Vec<u8> {
    if hex == "-" {
        return Vec::new();
    }
    (0..hex.len() / 2)
        .map(|index| u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).unwrap())
        .collect()
}

/// The position that the interpreter printed.
fn parse(printed: &str) -> Position {
    let mut fields = printed.split(',').map(|field| field.parse::<i32>().ok());
    let mut next = || fields.next().unwrap();
    let (line, end_line, column, end_column) = (next(), next(), next(), next());
    Position {
        line,
        end_line,
        column: column.map(|column| column as u32),
        end_column: end_column.map(|column| column as u32),
    }
}

macro_rules! versions {
    ($($name:ident $minor:literal)*) => {
        $(
            #[test]
            fn $name() {
                each($minor, check);
            }
        )*
    };
}

versions! {
    lines_of_3_8 8
    lines_of_3_9 9
    lines_of_3_10 10
    lines_of_3_11 11
    lines_of_3_12 12
    lines_of_3_13 13
    lines_of_3_14 14
    lines_of_3_15 15
}
