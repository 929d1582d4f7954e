//! The contents of C++'s containers, by the functions of the standard library between `operator
//! new` and the caller. Their names contain all types, in the program's symbols and in its debug
//! information; where a compiler has inlined them all, only the latter has them.

use super::Held;
use super::frame::FrameText;
use super::text;

/// Classes whose memory is a container's: the prefix of its function's name, its name, and the
/// number of its type arguments that describe the contents.
const CLASSES: [(&str, &str, usize); 27] = [
    ("std::vector<", "std::vector", 1),
    ("std::_Vector_base<", "std::vector", 1),
    ("std::_Bvector_base<", "std::vector<bool>", 0),
    ("std::__split_buffer<", "std::vector", 1),
    ("std::deque<", "std::deque", 1),
    ("std::_Deque_base<", "std::deque", 1),
    ("std::list<", "std::list", 1),
    ("std::_List_base<", "std::list", 1),
    ("std::forward_list<", "std::forward_list", 1),
    ("std::_Fwd_list_base<", "std::forward_list", 1),
    ("std::basic_string<", "std::basic_string", 1),
    ("std::map<", "std::map", 2),
    ("std::multimap<", "std::multimap", 2),
    ("std::set<", "std::set", 1),
    ("std::multiset<", "std::multiset", 1),
    ("std::unordered_map<", "std::unordered_map", 2),
    ("std::unordered_multimap<", "std::unordered_multimap", 2),
    ("std::unordered_set<", "std::unordered_set", 1),
    ("std::unordered_multiset<", "std::unordered_multiset", 1),
    ("std::make_unique<", "std::unique_ptr", 1),
    ("std::shared_ptr<", "std::shared_ptr", 1),
    ("std::__shared_ptr<", "std::shared_ptr", 1),
    ("std::make_shared<", "std::shared_ptr", 1),
    ("std::allocate_shared<", "std::shared_ptr", 1),
    ("std::function<", "std::function", 1),
    ("std::basic_stringbuf<", "std::basic_stringbuf", 1),
    ("std::basic_filebuf<", "std::basic_filebuf", 1),
];

/// Parts of maps and sets, distinguished by the pair that they keep.
const TREES: [(&str, &str, &str); 3] = [
    ("std::_Rb_tree<", "std::map", "std::set"),
    (
        "std::_Hashtable<",
        "std::unordered_map",
        "std::unordered_set",
    ),
    (
        "std::__detail::_Map_base<",
        "std::unordered_map",
        "std::unordered_set",
    ),
];

/// The contents of a block, by the frames from the inside out.
pub(super) fn of_frames<'a>(frames: impl Iterator<Item = FrameText<'a>>) -> Option<Held> {
    let mut held: Option<Held> = None;
    let mut is_buffer = false;
    for (depth, frame) in frames.enumerate() {
        if is_entry(frame.function) {
            continue;
        }
        let name = plain(frame.function);
        if !is_librarys(&name) {
            break;
        }
        // Only for a container of its own: the one around it may grow as well.
        is_buffer |= held.is_none() && is_growth(&name);
        match &mut held {
            None => {
                held = container(&name).map(|type_name| Held {
                    type_name,
                    is_buffer: false,
                });
            }
            // The element type of a tree decides its kind.
            Some(held) => {
                if let Some(better) = better(&held.type_name, &name) {
                    held.type_name = better;
                }
                is_buffer |= is_growth(&name) && container(&name).as_ref() == Some(&held.type_name);
            }
        }
        if depth > 40 {
            break;
        }
    }
    held.map(|held| Held { is_buffer, ..held })
}

/// Whether blocks come from this function.
pub(super) fn is_entry(function: &str) -> bool {
    const C: [&str; 7] = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
    ];
    function.starts_with("operator new") || C.contains(&function)
}

/// A name without the inline namespaces of versions.
fn plain(function: &str) -> String {
    let name = function.strip_prefix("void ").unwrap_or(function);
    name.replace("std::__cxx11::", "std::")
        .replace("std::__1::", "std::")
}

fn is_librarys(name: &str) -> bool {
    ["std::", "__gnu_cxx::", "_ZSt", "_ZNSt", "_ZNKSt"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// True for a function that makes room for more elements than before.
fn is_growth(name: &str) -> bool {
    const GROWTH: [&str; 12] = [
        "_M_realloc_insert",
        "_M_realloc_append",
        "_M_default_append",
        "_M_fill_insert",
        "_M_range_insert",
        "_M_reallocate",
        "_M_reallocate_map",
        "_M_mutate",
        "_M_rehash",
        "_M_rehash_aux",
        "__push_back_slow_path",
        "reserve",
    ];
    let Some(of) = class_end(name) else {
        return false;
    };
    let function = name[of..].trim_start_matches("::");
    let function = function.split(['<', '(']).next().unwrap_or(function);
    GROWTH.contains(&function)
}

/// The end of the first name's type arguments: `std::vector<int>` of `std::vector<int>::push_back`.
fn class_end(name: &str) -> Option<usize> {
    let start = name.find('<')?;
    let mut depth = 0_usize;
    for (at, byte) in name.bytes().enumerate().skip(start) {
        match byte {
            b'<' | b'(' => depth += 1,
            b'>' if name.as_bytes()[at - 1] == b'-' => {}
            b'>' | b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The type arguments of the first name.
fn arguments(name: &str) -> Option<Vec<&str>> {
    let end = class_end(name)?;
    Some(text::trailing_generics(&name[..end]))
}

/// The readable name of the function's container.
fn container(name: &str) -> Option<String> {
    for (start, map, set) in TREES {
        if name.starts_with(start) {
            let arguments = arguments(name)?;
            let (key, kept) = (arguments.first()?, arguments.get(1)?);
            let pair = kept.strip_prefix("std::pair<");
            return match pair.and_then(|_| text::trailing_generics(kept).get(1).copied()) {
                Some(value) => Some(format!("{map}<{}, {}>", shown(key), shown(value))),
                None => Some(format!("{set}<{}>", shown(key))),
            };
        }
    }
    let (_, called, count) = CLASSES.iter().find(|(start, ..)| name.starts_with(start))?;
    Some(of_class(called, &arguments(name)?, *count))
}

fn of_class(called: &str, arguments: &[&str], count: usize) -> String {
    let first = arguments.first().copied().unwrap_or_default();
    match (called, first) {
        ("std::basic_string", "char") => return "std::string".to_owned(),
        ("std::basic_string", "wchar_t") => return "std::wstring".to_owned(),
        _ if count == 0 || arguments.is_empty() => return called.to_owned(),
        _ => {}
    }
    let arguments = arguments.iter().take(count);
    let shown: Vec<String> = arguments.map(|argument| shown(argument)).collect();
    format!("{called}<{}>", shown.join(", "))
}

/// A better name from a function further out: it is a multimap, not a map.
fn better(known: &str, name: &str) -> Option<String> {
    const KINDS: [(&str, [&str; 2]); 4] = [
        ("std::map<", ["std::map<", "std::multimap<"]),
        ("std::set<", ["std::set<", "std::multiset<"]),
        (
            "std::unordered_map<",
            ["std::unordered_map<", "std::unordered_multimap<"],
        ),
        (
            "std::unordered_set<",
            ["std::unordered_set<", "std::unordered_multiset<"],
        ),
    ];
    let (start, kinds) = KINDS.iter().find(|(start, _)| known.starts_with(start))?;
    kinds.iter().find(|kind| name.starts_with(**kind))?;
    let found = container(name)?;
    // Of the same types, and not of one around it.
    let types = |text: &str| text.find('<').map(|at| text[at..].to_owned());
    (types(&found) == types(known) && !found.starts_with(start)).then_some(found)
}

/// A type without allocators and other default arguments.
fn shown(name: &str) -> String {
    const PLAIN: [(&str, usize); 17] = [
        ("std::vector", 1),
        ("std::deque", 1),
        ("std::list", 1),
        ("std::forward_list", 1),
        ("std::basic_string", 1),
        ("std::map", 2),
        ("std::multimap", 2),
        ("std::set", 1),
        ("std::multiset", 1),
        ("std::unordered_map", 2),
        ("std::unordered_multimap", 2),
        ("std::unordered_set", 1),
        ("std::unordered_multiset", 1),
        ("std::unique_ptr", 1),
        ("std::shared_ptr", 1),
        ("std::weak_ptr", 1),
        ("std::basic_string_view", 1),
    ];
    let name = name.trim();
    let (Some(start), Some(end)) = (name.find('<'), class_end(name)) else {
        return name.to_owned();
    };
    let (head, rest) = (&name[..start], &name[end..]);
    let arguments = text::trailing_generics(&name[..end]);
    match PLAIN.iter().find(|(known, _)| *known == head) {
        Some((_, count)) => of_class(head, &arguments, *count) + rest,
        None => {
            let all: Vec<String> = arguments.iter().map(|argument| shown(argument)).collect();
            format!("{head}<{}>{rest}", all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: &str, is_buffer: bool, functions: &[&str]) {
        let held = of_frames(functions.iter().map(|function| FrameText {
            function,
            ..FrameText::default()
        }));
        let found = held.map(|held| (held.type_name, held.is_buffer));
        assert_eq!(found, Some((expected.to_owned(), is_buffer)));
    }

    const NODE_VECTOR: &str = "std::vector<std::unique_ptr<Node, std::default_delete<Node> >, \
                               std::allocator<std::unique_ptr<Node, std::default_delete<Node> > > >";
    const STRING: &str =
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

    #[test]
    fn vectors_and_strings() {
        check(
            "std::vector<long>",
            true,
            &[
                "operator new",
                "std::__new_allocator<long>::allocate",
                "std::allocator_traits<std::allocator<long> >::allocate",
                "std::_Vector_base<long, std::allocator<long> >::_M_allocate",
                "std::vector<long, std::allocator<long> >::_M_realloc_insert<long const&>",
                "std::vector<long, std::allocator<long> >::push_back",
                "main",
            ],
        );
        let grows = format!(
            "{NODE_VECTOR}::_M_realloc_insert<std::unique_ptr<Node, std::default_delete<Node> > >"
        );
        check(
            "std::vector<std::unique_ptr<Node>>",
            true,
            &["operator new", &grows],
        );
        // The text is the string's; a vector of strings that grows meanwhile is another container.
        let text = format!("{STRING}::_M_construct");
        let around = format!(
            "std::vector<{STRING}, std::allocator<{STRING} > >::_M_realloc_insert<char const*>"
        );
        check(
            "std::string",
            false,
            &["operator new(unsigned long)", &text, &around],
        );
    }

    #[test]
    fn maps_and_sets() {
        let pair = format!("std::pair<long const, {STRING} >");
        let table =
            format!("std::_Hashtable<long, {pair}, std::allocator<{pair} >, std::hash<long> >");
        let map = "std::unordered_map<long, std::string>";
        check(
            map,
            false,
            &[
                "operator new",
                &format!(
                    "std::__detail::_Hashtable_alloc<std::allocator<std::__detail::_Hash_node<{pair}, false> > >::_M_allocate_node<>"
                ),
                &format!("{table}::_Scoped_node::_Scoped_node<int>"),
                &format!("std::unordered_map<long, {STRING}, std::hash<long> >::operator[]"),
            ],
        );
        check(map, true, &["operator new", &format!("{table}::_M_rehash")]);
        let tree = "std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>, std::allocator<int> >::_M_insert_unique<int const&>";
        check("std::set<int>", false, &["operator new", tree]);
        let several = "std::multiset<int, std::less<int>, std::allocator<int> >::insert";
        check(
            "std::multiset<int>",
            false,
            &["operator new", tree, several],
        );
    }

    #[test]
    fn what_is_owned() {
        check(
            "std::unique_ptr<Node>",
            false,
            &["operator new", "std::make_unique<Node, >", "main"],
        );
        check(
            "std::shared_ptr<Node>",
            false,
            &[
                "operator new",
                "std::__new_allocator<std::_Sp_counted_ptr_inplace<Node, std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >::allocate",
                "std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count<Node, std::allocator<void>, >",
                "std::__shared_ptr<Node, (__gnu_cxx::_Lock_policy)2>::__shared_ptr<std::allocator<void>, >",
                "_ZSt11make_sharedI4NodeJEESt10shared_ptr",
                "main",
            ],
        );
    }

    #[test]
    fn what_no_function_names_is_not_known() {
        let of = |functions: &[&str]| {
            of_frames(functions.iter().map(|function| FrameText {
                function,
                ..FrameText::default()
            }))
        };
        assert_eq!(
            of(&["operator new", "main", "std::vector<int>::push_back"]),
            None
        );
        assert_eq!(of(&["malloc", "main"]), None);
        assert_eq!(of(&["std::vector<"]), None);
        assert_eq!(of(&[]), None);
    }
}
