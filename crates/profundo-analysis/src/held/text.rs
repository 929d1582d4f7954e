//! Names of types, taken apart and written in readable form.

/// The start of the generics at the end of a name.
fn generics_at(name: &str) -> Option<usize> {
    if !name.ends_with('>') {
        return None;
    }
    let bytes = name.as_bytes();
    let mut depth = 0_usize;
    for (at, &byte) in bytes.iter().enumerate().rev() {
        match byte {
            // The head of an arrow closes nothing.
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' => depth += 1,
            b'<' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// `Vec` of `Vec<u8>`.
pub(super) fn without_trailing_generics(name: &str) -> &str {
    generics_at(name).map_or(name, |at| &name[..at])
}

/// `K` and `V` of `Map<K, V>`.
pub(super) fn trailing_generics(name: &str) -> Vec<&str> {
    let Some(at) = generics_at(name) else {
        return Vec::new();
    };
    split(&name[at + 1..name.len() - 1])
}

/// The parts between the commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let bytes = list.as_bytes();
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}

/// `alloc::vec::Vec<u8>` of `<alloc::vec::Vec<u8> as Clone>::clone`.
pub(super) fn self_type(function: &str) -> Option<&str> {
    let inside = function.strip_prefix('<')?;
    let bytes = inside.as_bytes();
    let mut depth = 1_i32;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'<' => depth += 1,
            b'>' => depth -= 1,
            b' ' if depth == 1 && inside[at..].starts_with(" as ") => return Some(&inside[..at]),
            _ => {}
        }
        if depth == 0 {
            return Some(&inside[..at]);
        }
    }
    None
}

/// True for an allocator, which is no contents.
pub(super) fn is_allocator(name: &str) -> bool {
    name == "alloc::alloc::Global" || name == "Global"
}

/// True for a placeholder of an omitted type.
pub(super) fn is_placeholder(name: &str) -> bool {
    name == "_" || (name.len() == 1 && name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The node or counted value in a `Box` of the library: its name, and its type arguments.
pub(super) fn inner(name: &str) -> Option<(&str, Vec<&str>)> {
    const INNER: [&str; 6] = [
        "alloc::sync::ArcInner",
        "alloc::rc::RcInner",
        "alloc::rc::RcBox",
        "alloc::collections::btree::node::LeafNode",
        "alloc::collections::btree::node::InternalNode",
        "alloc::collections::linked_list::Node",
    ];
    let bare = without_trailing_generics(name);
    (INNER.contains(&bare)).then(|| (bare, trailing_generics(name)))
}

/// The owner of such a node.
pub(super) fn owner_of_node(node: &str, arguments: &[&str]) -> String {
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    let node = node.rsplit("::").next().unwrap_or(node);
    shown(&match node {
        "ArcInner" => format!("Arc<{first}>"),
        "RcInner" | "RcBox" => format!("Rc<{first}>"),
        "Node" => format!("LinkedList<{first}>"),
        _ if second.ends_with("SetValZST") => format!("BTreeSet<{first}>"),
        _ => format!("BTreeMap<{first}, {second}>"),
    })
}

/// The map or set whose table has such entries.
pub(super) fn table(entry: &str) -> String {
    let pair = entry
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let parts = pair.map(split).unwrap_or_default();
    shown(&match parts[..] {
        [key, "()"] => format!("HashSet<{key}>"),
        [key, value] => format!("HashMap<{key}, {value}>"),
        _ => format!("HashTable<{entry}>"),
    })
}

/// A type without well-known paths and default arguments.
pub(super) fn shown(name: &str) -> String {
    const DEFAULTS: [&str; 2] = [", alloc::alloc::Global", ", std::hash::random::RandomState"];
    let mut name = name.to_owned();
    for default in DEFAULTS {
        name = name.replace(default, "");
    }
    let mut text = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && !"_:{}#".contains(c))
            .unwrap_or(rest.len());
        let path = &rest[..end];
        let is_known = ["alloc::", "core::", "std::", "hashbrown::"]
            .iter()
            .any(|known| path.starts_with(known));
        text.push_str(match is_known && !path.contains('{') {
            true => path.rsplit("::").next().unwrap_or(path),
            false => path,
        });
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}
