//! The preamble: the meaning of a snapshot's numbers, and their count. As a part file it ends with
//! one brace more, that of the whole document.

use std::io::{self, Write};

use super::kinds::Kinds;
use super::text;

/// The members after the tables of kinds, which name nothing more of ours.
const OTHER_FIELDS: &str = r#""trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],"trace_node_fields":["id","function_info_index","count","size","children"],"sample_fields":["timestamp_us","last_assigned_id"],"location_fields":["object_index","script_id","line","column"]"#;

pub(super) fn write(
    out: &mut impl Write,
    node_kinds: &Kinds,
    edge_kinds: &Kinds,
    nodes: u64,
    edges: u64,
) -> io::Result<()> {
    out.write_all(br#"{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],"node_types":["#)?;
    list(out, node_kinds)?;
    out.write_all(br#","string","number","number","number","number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":["#)?;
    list(out, edge_kinds)?;
    write!(
        out,
        r#","string_or_number","from_node"],{OTHER_FIELDS}}},"node_count":{nodes},"edge_count":{edges},"trace_function_count":0}}}}"#
    )
}

fn list(out: &mut impl Write, kinds: &Kinds) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, name) in kinds.names().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        text::string(out, name.as_bytes())?;
    }
    out.write_all(b"]")
}

/// The number after `"field":` in a preamble. Found as text: the preamble may be any JSON.
pub(super) fn count(preamble: &[u8], field: &str) -> Option<u64> {
    let quoted = format!("\"{field}\"");
    let at = preamble
        .windows(quoted.len())
        .rposition(|window| window == quoted.as_bytes())?;
    let rest = std::str::from_utf8(&preamble[at + quoted.len()..]).ok()?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_as_text() {
        let mut out = Vec::new();
        let mut kinds = Kinds::default();
        kinds.number("node_count\":7");
        write(&mut out, &kinds, &Kinds::default(), 12, 3).unwrap();
        assert_eq!(count(&out, "node_count"), Some(12));
        assert_eq!(count(&out, "edge_count"), Some(3));
        assert_eq!(count(br#"{"node_count" : 5}"#, "node_count"), Some(5));
        assert_eq!(count(br#"{"node_count":"#, "node_count"), None);
        assert_eq!(count(br#"{"node_count":-1}"#, "node_count"), None);
        assert_eq!(count(b"", "node_count"), None);
    }
}
