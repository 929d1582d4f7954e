//! One function of a library, and the container that it belongs to.
//!
//! Its source file says which: the names are not the same in each kind of debug information. Full
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

/// What a function may be of.
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

/// What a function is of, and the types that it was made for, as far as these are told.
#[derive(Debug)]
pub(super) struct Container<'a> {
    pub(super) kind: Kind,
    pub(super) arguments: Vec<&'a str>,
}

impl<'a> FrameText<'a> {
    /// Where in the library its source lies: `alloc/src/vec/mod.rs`.
    fn place(&self) -> Option<&'a str> {
        const CRATES: [&str; 3] = ["alloc/src/", "core/src/", "std/src/"];
        let (_, place) = self.file.rsplit_once("/library/")?;
        CRATES
            .iter()
            .any(|it| place.starts_with(it))
            .then_some(place)
    }

    /// Whether it is the standard library's, or of the tables that this uses. Parts of it come without
    /// debug information: those are known by their names.
    pub(super) fn is_librarys(&self) -> bool {
        const PATHS: [&str; 5] = ["alloc::", "core::", "std::", "hashbrown::", "__rustc::"];
        if self.file.ends_with(".rs") {
            return self.place().is_some() || self.is_table();
        }
        let bare = self.function.trim_start_matches('<');
        PATHS.iter().any(|path| bare.starts_with(path))
    }

    /// The same, but that C++ has a library of its own under one of these names.
    pub(super) fn is_rusts(&self) -> bool {
        let bare = self.function.trim_start_matches('<');
        self.is_librarys() && (self.file.ends_with(".rs") || !bare.starts_with("std::"))
    }

    fn is_table(&self) -> bool {
        self.file.contains("/hashbrown-")
    }

    /// Whether it makes room for more where there is too little.
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

    /// Whether it is about a number of elements that does not change.
    pub(super) fn is_about_slices(&self) -> bool {
        self.last_segment().contains("slice")
    }

    /// The bare name: `push`.
    pub(super) fn last_segment(&self) -> &'a str {
        let bare = text::without_trailing_generics(self.function);
        bare.rsplit("::").next().unwrap_or(bare)
    }

    /// The container whose function it is.
    pub(super) fn container(&self) -> Option<Container<'a>> {
        if self.last_segment().contains("closure") {
            return None;
        }
        let kind = self.kind()?;
        let mut arguments = self.arguments();
        let is_told = |argument: &&str| !argument.is_empty() && !text::is_allocator(argument);
        if !arguments.first().is_some_and(is_told) {
            arguments.clear();
        }
        let needed = match kind {
            // A function of a node may have been made for something else.
            Kind::BTree => 2,
            _ => 1,
        };
        if arguments.len() < needed || arguments.iter().any(|it| text::is_placeholder(it)) {
            arguments.clear();
        }
        if kind == Kind::Vec && self.place() == Some("alloc/src/slice.rs") {
            // Slices are sorted and joined as well; what `to_vec` is made for is an element.
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

    /// The types that the function was made for; those of its container come first.
    fn arguments(&self) -> Vec<&'a str> {
        if !self.signature.is_empty() {
            return text::trailing_generics(self.signature);
        }
        match text::self_type(self.function) {
            Some(of) => text::trailing_generics(of),
            // `alloc::vec::from_elem::<u8>`; without the colons it is a name from which the types were
            // left out.
            None if text::without_trailing_generics(self.function).ends_with("::") => {
                text::trailing_generics(self.function)
            }
            None => Vec::new(),
        }
    }
}
