//! The bytes in `docs/file-format.md` are those that the writer writes.

use profundo_model::Profile;

/// The lines `00000010  4D 45 …  | what they are` between the marks of a code block.
fn bytes_in(document: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in document.lines() {
        let Some((offset, rest)) = line.split_once("  ") else {
            continue;
        };
        if offset.len() != 8 || !offset.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            continue;
        }
        assert_eq!(
            usize::from_str_radix(offset, 16).unwrap(),
            bytes.len(),
            "{line}"
        );
        let hex = rest.split('|').next().unwrap();
        bytes.extend(
            hex.split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).unwrap()),
        );
    }
    bytes
}

#[test]
fn the_documented_bytes_are_the_written_ones() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/file-format.md");
    let documented = bytes_in(&std::fs::read_to_string(document).unwrap());
    let written = crate::write(&Profile::from_folded("main;work 2").unwrap());
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02X} "))
            .collect::<String>()
    };
    assert_eq!(hex(&documented), hex(&written));
    let (profile, warnings) = profundo_formats::read(&documented).unwrap();
    assert_eq!((profile.samples.len(), warnings), (2, vec![]));
}
