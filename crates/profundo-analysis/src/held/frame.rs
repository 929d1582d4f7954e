//! One function of a library, and the container that it belongs to.
//!
//! Its source file decides that: the names differ by the kind of debug information. Full
//! information has `alloc::vec::Vec<T,A>::push<u8, alloc::alloc::Global>`, line tables alone have
//! `push<u8, alloc::alloc::Global>`, and where the names are mangled by version 0 it is
//! `<alloc::vec::Vec<u8>>::push`.

use super::text;

/// A frame in plain text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameText<'a> {
    pub(super) function: &'a str,
    pub(super) signature: &'a str,
    pub(super) file: &'a str,
}

/// The containers that functions belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    RawVec,
    Vec,
    VecDeque,
    BinaryHeap,
    String,
    Box,
    BoxedSlice,
    Rc,
    Arc,
    LinkedList,
    /// Of `HashMap` and `HashSet`.
    RawTable,
    /// Of `BTreeMap` and `BTreeSet`.
    BTree,
}

/// A function's container, and its type arguments, as far as known.
#[derive(Debug)]
pub(super) struct Container<'a> {
    pub(super) kind: Kind,
    pub(super) arguments: Vec<&'a str>,
}

impl<'a> FrameText<'a> {
    /// The path of its source in the library: `alloc/src/vec/mod.rs`.
    fn place(&self) -> Option<&'a str> {
        const CRATES: [&str; 3] = ["alloc/src/", "core/src/", "std/src/"];
        let (_, place) = self.file.rsplit_once("/library/")?;
        CRATES
            .iter()
            .any(|start| place.starts_with(start))
            .then_some(place)
    }

    /// True for a function of the standard library, or of the tables that it uses. Parts of the
    /// library have no debug information: those are recognised by their names.
    pub(super) fn is_librarys(&self) -> bool {
        const PATHS: [&str; 5] = ["alloc::", "core::", "std::", "hashbrown::", "__rustc::"];
        if self.file.ends_with(".rs") {
            return self.place().is_some() || self.is_table();
        }
        let bare = self.function.trim_start_matches('<');
        PATHS.iter().any(|path| bare.starts_with(path))
    }

    /// Like [`is_librarys`](Self::is_librarys), but for Rust alone: C++ has a library of its own
    /// under one of these names.
    pub(super) fn is_rusts(&self) -> bool {
        let bare = self.function.trim_start_matches('<');
        self.is_librarys() && (self.file.ends_with(".rs") || !bare.starts_with("std::"))
    }

    fn is_table(&self) -> bool {
        self.file.contains("/hashbrown-")
    }

    /// True for a function that makes room for more elements.
    pub(super) fn is_growth(&self) -> bool {
        const GROWTH: [&str; 9] = [
            "grow_one",
            "grow_amortized",
            "grow_exact",
            "finish_grow",
            "do_reserve_and_handle",
            "shrink_unchecked",
            "reserve_rehash",
            "resize_inner",
            "prepare_resize",
        ];
        GROWTH.contains(&self.last_segment())
    }

    /// True for a function on a fixed number of elements.
    pub(super) fn is_about_slices(&self) -> bool {
        self.last_segment().contains("slice")
    }

    /// The bare name: `push`.
    pub(super) fn last_segment(&self) -> &'a str {
        let bare = text::without_trailing_generics(self.function);
        bare.rsplit("::").next().unwrap_or(bare)
    }

    /// The container that the function belongs to.
    pub(super) fn container(&self) -> Option<Container<'a>> {
        if self.last_segment().contains("closure") {
            return None;
        }
        let kind = self.kind()?;
        let mut arguments = self.arguments();
        let is_type = |argument: &&str| !argument.is_empty() && !text::is_allocator(argument);
        if !arguments.first().is_some_and(is_type) {
            arguments.clear();
        }
        let needed = match kind {
            // A function of a node may have other type arguments.
            Kind::BTree => 2,
            _ => 1,
        };
        if arguments.len() < needed
            || arguments
                .iter()
                .any(|argument| text::is_placeholder(argument))
        {
            arguments.clear();
        }
        if kind == Kind::Vec && self.place() == Some("alloc/src/slice.rs") {
            // Slices are sorted and joined as well; the type argument of `to_vec` is an element.
            let is_element = matches!(self.last_segment(), "to_vec" | "to_vec_in" | "into_vec");
            if !is_element {
                return None;
            }
        }
        Some(Container { kind, arguments })
    }

    fn kind(&self) -> Option<Kind> {
        if self.is_table() {
            return Some(Kind::RawTable).filter(|_| self.file.contains("/src/raw"));
        }
        let place = self.place()?.strip_prefix("alloc/src/")?;
        let collection = place.strip_prefix("collections/");
        let (first, _) = collection
            .unwrap_or(place)
            .split_once('/')
            .unwrap_or((collection.unwrap_or(place).trim_end_matches(".rs"), ""));
        Some(match (collection.is_some(), first) {
            (false, "raw_vec") => Kind::RawVec,
            (false, "vec" | "slice") => Kind::Vec,
            (false, "string" | "str" | "fmt") => Kind::String,
            (false, "boxed") => Kind::Box,
            (false, "rc") => Kind::Rc,
            (false, "sync") => Kind::Arc,
            (true, "vec_deque") => Kind::VecDeque,
            (true, "binary_heap") => Kind::BinaryHeap,
            (true, "linked_list") => Kind::LinkedList,
            (true, "btree") => Kind::BTree,
            _ => return None,
        })
    }

    /// The type arguments of the function; those of its container come first.
    fn arguments(&self) -> Vec<&'a str> {
        if !self.signature.is_empty() {
            return text::trailing_generics(self.signature);
        }
        match text::self_type(self.function) {
            Some(of) => text::trailing_generics(of),
            // `alloc::vec::from_elem::<u8>`; without the colons it is a name without its types.
            None if text::without_trailing_generics(self.function).ends_with("::") => {
                text::trailing_generics(self.function)
            }
            None => Vec::new(),
        }
    }
}
