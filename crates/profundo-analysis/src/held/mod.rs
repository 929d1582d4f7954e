//! The contents of an allocated block, from its stack: `Vec<u8>`, `Box<Node>`, `String`.
//!
//! An allocator does not know the purpose of a block. But the functions between it and the caller
//! are those of the container, and the debug information has their type arguments. They are read
//! from the inside out: the first one with a type gives a name (`RawVec<u8>`), and those around it
//! may refine it (`String`), until the library's code ends. The same holds for C++'s containers,
//! and for the objects that CPython's own functions make.

mod cpp;
mod frame;
mod named;
mod python;
mod text;

use profundo_model::{FrameId, Profile, StackId};

use frame::{Container, FrameText, Kind};
pub use named::{Named, holds_text};

/// The contents of a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Held {
    /// The type of the block's owner; empty where unknown.
    pub type_name: String,
    /// Whether the block holds the elements of a growable container that was growing at that
    /// moment.
    pub is_buffer: bool,
}

/// The contents of a block allocated on a named stack.
///
/// ```
/// use profundo_analysis::held;
/// use profundo_model::{Profile, StackId};
///
/// let profile = Profile::from_folded("main;work 1").unwrap();
/// // Without the library's functions between, nothing is known.
/// assert_eq!(held(&profile, StackId(1)).type_name, "");
/// ```
pub fn held(profile: &Profile, stack: StackId) -> Held {
    /// The number of frames within which a block's container is looked for.
    const FAR: usize = 48;
    let locations = profile.stacks.locations(stack);
    let frames = locations.flat_map(|at| profile.locations.get(at).frames.iter().copied());
    // The first call of an operator passes through ours.
    let is_ours = |text: &FrameText<'_>| text.function.starts_with("profundo_agent::");
    let texts = frames.take(FAR).map(|frame| text_of(profile, frame));
    let texts: Vec<FrameText<'_>> = texts.filter(|text| !is_ours(text)).collect();
    let held = of_frames(texts.iter().copied());
    if !held.type_name.is_empty() {
        return held;
    }
    let others = || {
        cpp::of_frames(texts.iter().copied()).or_else(|| python::of_frames(texts.iter().copied()))
    };
    others().unwrap_or(held)
}

/// Whether the contents of blocks from a stack are unknown only for want of debug information: the
/// library's functions have no types, or there is no function of the library at all in C++.
pub fn needs_debug_info(profile: &Profile, stack: StackId) -> bool {
    let locations = profile.stacks.locations(stack);
    let frames = locations.flat_map(|at| profile.locations.get(at).frames.iter().copied());
    let mut after_new = false;
    for id in frames {
        let frame = text_of(profile, id);
        if frame.is_rusts() {
            return true;
        }
        let is_new = frame.function.starts_with("operator new");
        if after_new && !is_new {
            let has_lines = profile.frames.get(id).line > 0;
            return !has_lines && !frame.function.starts_with('[');
        }
        if !is_new && !cpp::is_entry(frame.function) {
            return false;
        }
        after_new |= is_new;
    }
    false
}

fn text_of(profile: &Profile, id: FrameId) -> FrameText<'_> {
    let frame = profile.frames.get(id);
    FrameText {
        function: profile.strings.get(frame.function),
        signature: profile.strings.get(frame.signature),
        file: profile.file_path(id),
    }
}

/// The present finding, and its open questions.
#[derive(Debug)]
struct Finding<'a> {
    kind: Kind,
    arguments: Vec<&'a str>,
}

fn of_frames<'a>(frames: impl Iterator<Item = FrameText<'a>>) -> Held {
    let mut finding: Option<Finding<'a>> = None;
    let mut is_buffer = false;
    // A program may have an allocator of its own, before the library.
    let frames = frames.skip_while(|frame| frame.function.contains("GlobalAlloc"));
    for frame in frames {
        if !frame.is_librarys() {
            break;
        }
        is_buffer |= frame.is_growth();
        let Some(Container { kind, arguments }) = frame.container() else {
            continue;
        };
        match &mut finding {
            None if arguments.is_empty() && kind != Kind::String => {}
            None => finding = Some(Finding { kind, arguments }),
            Some(known) => match known.better(kind, &arguments, frame) {
                Better::Is(kind, arguments) => *known = Finding { kind, arguments },
                Better::Same => {}
                // A container of such blocks: its contents are not this one.
                Better::Another => break,
            },
        }
    }
    Held {
        type_name: finding.map(|found| found.name()).unwrap_or_default(),
        is_buffer,
    }
}

enum Better<'a> {
    Is(Kind, Vec<&'a str>),
    Same,
    Another,
}

impl<'a> Finding<'a> {
    /// The refinement by a function further out.
    fn better(&self, kind: Kind, arguments: &[&'a str], frame: FrameText<'_>) -> Better<'a> {
        let same = match (self.arguments.first(), arguments.first()) {
            (Some(known), Some(said)) => known == said,
            _ => true,
        };
        let with = |kind| Better::Is(kind, self.arguments.clone());
        match (self.kind, kind) {
            (known, said) if known == said && same && known != Kind::Arc && known != Kind::Rc => {
                Better::Same
            }
            (Kind::RawVec, Kind::Vec) if same => with(Kind::Vec),
            (Kind::RawVec | Kind::Vec, Kind::VecDeque | Kind::BinaryHeap) if same => with(kind),
            (Kind::RawVec | Kind::Vec, Kind::String) if self.is_of("u8") => {
                Better::Is(Kind::String, Vec::new())
            }
            (Kind::RawVec | Kind::Vec, Kind::Box) if same && frame.is_about_slices() => {
                with(Kind::BoxedSlice)
            }
            // Made from a `Box` of the counted value, which was found already.
            (Kind::Box, _) if self.is_inner() => Better::Same,
            // `Arc<str>` is made as `Arc<[u8]>`, by a function that is not generic.
            (Kind::Arc | Kind::Rc, said) if said == self.kind => {
                let says_so = arguments == ["str"] || arguments.is_empty();
                let is_str = self.is_of("[u8]") && says_so && frame.last_segment() == "from";
                match is_str {
                    true => Better::Is(kind, vec!["str"]),
                    false => Better::Same,
                }
            }
            (Kind::RawTable, Kind::RawTable) | (Kind::BTree, Kind::BTree) => Better::Same,
            _ => Better::Another,
        }
    }

    fn is_of(&self, argument: &str) -> bool {
        self.arguments.first() == Some(&argument)
    }

    fn is_inner(&self) -> bool {
        (self.arguments.first()).is_some_and(|argument| text::inner(argument).is_some())
    }

    fn name(&self) -> String {
        let first = self.arguments.first().copied().unwrap_or_default();
        let of = |name: &str| text::shown(&format!("{name}<{first}>"));
        match self.kind {
            Kind::RawVec | Kind::Vec => of("Vec"),
            Kind::VecDeque => of("VecDeque"),
            Kind::BinaryHeap => of("BinaryHeap"),
            Kind::String => "String".to_owned(),
            Kind::BoxedSlice => text::shown(&format!("Box<[{first}]>")),
            Kind::Box => match text::inner(first) {
                Some((outer, arguments)) => text::owner_of_node(outer, &arguments),
                None => of("Box"),
            },
            Kind::Rc => of("Rc"),
            Kind::Arc => of("Arc"),
            Kind::LinkedList => of("LinkedList"),
            Kind::RawTable => text::table(first),
            Kind::BTree => text::owner_of_node("LeafNode", &self.arguments),
        }
    }
}

#[cfg(test)]
mod tests;
