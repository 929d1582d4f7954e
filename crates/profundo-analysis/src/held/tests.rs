//! Stacks in the compiler's debug information, leaf first, in its three manners of naming.

use super::frame::FrameText;
use super::{Held, of_frames};

const ALLOC: &str = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/";
const TABLE: &str = "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs";

/// The contents for a stack of these lines: the signature, or the function if it begins with `!`,
/// and the file, shortened for the library.
fn of(stack: &[(&str, &str)]) -> Held {
    let files: Vec<String> = (stack.iter())
        .map(|(_, file)| match *file {
            "table" => TABLE.to_owned(),
            "core" => "/rustc/59807616/library/core/src/ops/function.rs".to_owned(),
            "none" => "/home/me/work/target/debug/app".to_owned(),
            "own" => "/home/me/work/src/main.rs".to_owned(),
            file => format!("{ALLOC}{file}"),
        })
        .collect();
    of_frames(stack.iter().zip(&files).map(|((name, _), file)| {
        let (function, signature) = match name.strip_prefix('!') {
            Some(function) => (function, ""),
            None => (name.split('<').next().unwrap_or(name), *name),
        };
        FrameText {
            function,
            signature,
            file,
        }
    }))
}

#[track_caller]
fn check(expected: &str, is_buffer: bool, stack: &[(&str, &str)]) {
    let expected = Held {
        type_name: expected.to_owned(),
        is_buffer,
    };
    assert_eq!(of(stack), expected);
}

#[test]
fn vectors() {
    check(
        "Vec<u64>",
        true,
        &[
            ("!__rustc::__rust_alloc", "alloc.rs"),
            (
                "!<alloc::raw_vec::RawVecInner>::finish_grow",
                "raw_vec/mod.rs",
            ),
            ("grow_one<alloc::alloc::Global>", "raw_vec/mod.rs"),
            ("grow_one<u64, alloc::alloc::Global>", "raw_vec/mod.rs"),
            ("push<u64, alloc::alloc::Global>", "vec/mod.rs"),
            ("!app::work", "own"),
        ],
    );
    check(
        "Vec<f64>",
        false,
        &[
            (
                "with_capacity_zeroed_in<f64, alloc::alloc::Global>",
                "raw_vec/mod.rs",
            ),
            (
                "from_elem<f64, alloc::alloc::Global>",
                "vec/spec_from_elem.rs",
            ),
            ("from_elem<f64>", "vec/mod.rs"),
            ("!app::work", "own"),
        ],
    );
    check(
        "VecDeque<i8>",
        true,
        &[
            ("grow_one<i8, alloc::alloc::Global>", "raw_vec/mod.rs"),
            (
                "grow<i8, alloc::alloc::Global>",
                "collections/vec_deque/mod.rs",
            ),
            (
                "push_back<i8, alloc::alloc::Global>",
                "collections/vec_deque/mod.rs",
            ),
        ],
    );
    check(
        "BinaryHeap<app::Job>",
        true,
        &[
            ("grow_one<app::Job, alloc::alloc::Global>", "raw_vec/mod.rs"),
            ("push<app::Job, alloc::alloc::Global>", "vec/mod.rs"),
            (
                "push<app::Job, alloc::alloc::Global>",
                "collections/binary_heap/mod.rs",
            ),
        ],
    );
    check(
        "Box<[u8]>",
        false,
        &[
            ("with_capacity<u8>", "raw_vec/mod.rs"),
            ("new_uninit_slice<u8>", "boxed.rs"),
        ],
    );
}

#[test]
fn parts_without_debug_information_are_passed_over() {
    check(
        "Vec<u32>",
        false,
        &[
            ("!<alloc::raw_vec::RawVecInner>::try_allocate_in", "none"),
            (
                "with_capacity_in<u32, alloc::alloc::Global>",
                "raw_vec/mod.rs",
            ),
            ("!app::work", "own"),
        ],
    );
    check(
        "Vec<u32>",
        false,
        &[
            (
                "!<app::Counting as core::alloc::global::GlobalAlloc>::alloc",
                "own",
            ),
            (
                "with_capacity_in<u32, alloc::alloc::Global>",
                "raw_vec/mod.rs",
            ),
        ],
    );
    check(
        "",
        false,
        &[
            ("!app::arena::grow", "none"),
            (
                "with_capacity_in<u32, alloc::alloc::Global>",
                "raw_vec/mod.rs",
            ),
        ],
    );
}

#[test]
fn strings_are_not_what_holds_strings() {
    let string = [
        (
            "!<alloc::raw_vec::RawVec<u8>>::with_capacity_in",
            "raw_vec/mod.rs",
        ),
        (
            "!<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
            "vec/mod.rs",
        ),
        (
            "!<alloc::string::String as core::clone::Clone>::clone",
            "string.rs",
        ),
    ];
    check("String", false, &string);
    let mut cloned = string.to_vec();
    cloned.push((
        "clone<alloc::string::String, alloc::alloc::Global>",
        "vec/mod.rs",
    ));
    check("String", false, &cloned);
    // A vector in a container, by a function of the program that lies between.
    check(
        "Vec<u8>",
        false,
        &[
            (
                "with_capacity_in<u8, alloc::alloc::Global>",
                "raw_vec/mod.rs",
            ),
            ("with_capacity<u8>", "vec/mod.rs"),
            ("!<app::Shown as core::fmt::Display>::fmt", "own"),
            (
                "!<alloc::string::String as core::fmt::Write>::write_fmt",
                "string.rs",
            ),
        ],
    );
    check(
        "Vec<u8>",
        false,
        &[
            ("to_vec<u8, alloc::alloc::Global>", "slice.rs"),
            (
                "call_once<fn(&[u8]) -> alloc::vec::Vec<u8>, (&[u8])>",
                "core",
            ),
            (
                "from_iter<alloc::vec::Vec<u8>, core::iter::Map<u8>>",
                "vec/mod.rs",
            ),
        ],
    );
}

#[test]
fn what_is_counted_and_what_hangs_together() {
    check(
        "Arc<u16>",
        false,
        &[
            ("!box_new_uninit", "boxed.rs"),
            ("new<alloc::sync::ArcInner<u16>>", "boxed.rs"),
            ("new<u16>", "sync.rs"),
        ],
    );
    check(
        "Rc<Vec<u8>>",
        false,
        &[
            (
                "new<alloc::rc::RcInner<alloc::vec::Vec<u8, alloc::alloc::Global>>>",
                "boxed.rs",
            ),
            ("new<alloc::vec::Vec<u8, alloc::alloc::Global>>", "rc.rs"),
        ],
    );
    let slice = [
        ("!allocate_for_slice::{closure#0}", "sync.rs"),
        (
            "allocate_for_layout<[u8], alloc::sync::{closure_env#0}<u8>>",
            "sync.rs",
        ),
        ("copy_from_slice<u8>", "sync.rs"),
        ("from<u8>", "sync.rs"),
    ];
    check("Arc<[u8]>", false, &slice);
    let mut text = slice.to_vec();
    text.push((
        "!<alloc::sync::Arc<str> as core::convert::From<&str>>::from",
        "sync.rs",
    ));
    check("Arc<str>", false, &text);
    check(
        "BTreeMap<u8, String>",
        false,
        &[
            (
                "new_uninit_in<alloc::collections::btree::node::LeafNode<u8, alloc::string::String>, alloc::alloc::Global>",
                "boxed.rs",
            ),
            (
                "new<u8, alloc::string::String, alloc::alloc::Global>",
                "collections/btree/node.rs",
            ),
            (
                "insert<u8, alloc::string::String, alloc::alloc::Global>",
                "collections/btree/map.rs",
            ),
        ],
    );
    check(
        "BTreeSet<u8>",
        false,
        &[(
            "new_uninit_in<alloc::collections::btree::node::InternalNode<u8, alloc::collections::btree::set_val::SetValZST>, alloc::alloc::Global>",
            "boxed.rs",
        )],
    );
    check(
        "LinkedList<u8>",
        false,
        &[(
            "new_in<alloc::collections::linked_list::Node<u8>, alloc::alloc::Global>",
            "boxed.rs",
        )],
    );
    check(
        "Box<dyn app::Shape>",
        false,
        &[("new<dyn app::Shape>", "boxed.rs")],
    );
}

#[test]
fn tables() {
    let table = |entry: &str| {
        let reserve = format!(
            "reserve_rehash<{entry}, alloc::alloc::Global, hashbrown::map::make_hasher::{{closure_env#0}}<u32>>"
        );
        of(&[
            ("do_alloc<alloc::alloc::Global>", "table"),
            ("prepare_resize<alloc::alloc::Global>", "table"),
            (&reserve, "table"),
            ("!app::work", "own"),
        ])
    };
    let named = |name: &str| Held {
        type_name: name.to_owned(),
        is_buffer: true,
    };
    assert_eq!(
        table("(u32, alloc::string::String)"),
        named("HashMap<u32, String>")
    );
    assert_eq!(table("(app::Key, ())"), named("HashSet<app::Key>"));
}

#[test]
fn without_types_nothing_is_said() {
    // Symbols alone have the paths, without the types.
    check(
        "",
        true,
        &[
            ("!alloc::raw_vec::RawVec<T,A>::grow_one", "raw_vec/mod.rs"),
            ("!alloc::vec::Vec<T,A>::push", "vec/mod.rs"),
        ],
    );
    check(
        "",
        false,
        &[("!app::arena::take", "own"), ("new<u8>", "boxed.rs")],
    );
    check("", false, &[]);
}
