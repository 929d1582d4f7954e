//! The name of a block, where each of many blocks needs one: its type, or else the asking function.

use profundo_model::{Language, Profile, StackId};

use super::cpp;
use super::held;

const UNKNOWN: &str = "UnknownType";

/// The name of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its type, or a placeholder.
    pub name: String,
    /// True for the name of a type.
    pub is_known: bool,
}

impl Default for Named {
    fn default() -> Self {
        Self {
            name: UNKNOWN.to_owned(),
            is_known: false,
        }
    }
}

impl Named {
    /// The name of a block allocated on a named stack.
    ///
    /// ```
    /// use profundo_analysis::Named;
    /// use profundo_model::{Profile, StackId};
    ///
    /// let profile = Profile::from_folded("main;make_node;malloc 1").unwrap();
    /// // A type has no name in C, so the caller is its name.
    /// assert_eq!(Named::by(&profile, StackId(1)).name, "UnknownType (make_node)");
    /// ```
    pub fn by(profile: &Profile, stack: StackId) -> Self {
        let type_name = held(profile, stack).type_name;
        if !type_name.is_empty() {
            return Self {
                name: type_name,
                is_known: true,
            };
        }
        match asker(profile, stack) {
            Some(function) => Self {
                name: format!("{UNKNOWN} ({function})"),
                is_known: false,
            },
            None => Self::default(),
        }
    }
}

/// Whether a block of this type holds text.
pub fn holds_text(type_name: &str) -> bool {
    matches!(type_name, "String" | "Box<str>" | "Box<[u8]>" | "Vec<u8>")
        || type_name.starts_with("std::basic_string<char")
}

/// The innermost function that is not an allocator's, a library's way to a block, or ours.
fn asker(profile: &Profile, stack: StackId) -> Option<&str> {
    const LIBRARY: [&str; 6] = [
        "alloc::",
        "core::",
        "std::",
        "hashbrown::",
        "__gnu_cxx::",
        "profundo_agent::",
    ];
    let locations = profile.stacks.locations(stack);
    let frames = locations.flat_map(|at| profile.locations.get(at).frames.iter().copied());
    let is_librarys = |name: &str| {
        let bare = name.trim_start_matches('<');
        cpp::is_entry(name) || LIBRARY.iter().any(|library| bare.starts_with(library))
    };
    frames
        .filter(|&frame| profile.frames.get(frame).language != Language::Runtime)
        .map(|frame| profile.function_name(frame))
        .find(|name| !name.is_empty() && !is_librarys(name))
}
