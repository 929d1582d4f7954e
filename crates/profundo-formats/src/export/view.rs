//! The shown part of a profile, decided once for all formats.
//!
//! Frames of the interpreter and of the runtime are hidden unless requested. Hiding them folds many
//! stacks into one, so the remaining stacks make a tree of their own, built in one pass: a stack's
//! parent is stored before it.

use std::borrow::Cow;

use profundo_analysis::{Ownership, Place};
use profundo_model::{
    FileId, Frame, Language, LocationId, LocationKind, ModuleId, Profile, Reason, StackId, StringId,
};
use rustc_hash::FxHashMap;

use super::Options;

/// The owner of a frame's code, which decides its colour in pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Python,
    Native,
    /// Generated code.
    Generated,
    Kernel,
    Runtime,
    /// The wait of a thread.
    Waits,
    /// A garbage collection, below the interpreter's frames for it.
    Collects,
    /// A reason why there is no frame.
    Missing,
}

/// A function: a name in a file.
#[derive(Debug, Clone)]
pub(crate) struct Function<'a> {
    pub name: Cow<'a, str>,
    /// The name with its parameters or generics, or empty.
    pub signature: &'a str,
    pub file: FileId,
    pub side: Side,
    /// One of its frames, if it has a name.
    pub frame: Option<Frame>,
    pub module: Option<ModuleId>,
}

/// A shown level of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Point {
    /// The row in [`View::functions`].
    pub function: u32,
    /// The line, from 1; 0 where unknown.
    pub line: u32,
    /// The column, from 1; 0 where unknown.
    pub column: u32,
    pub inlined: bool,
}

/// A stack with shown levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The caller's; `None` at the root.
    pub parent: Option<u32>,
    /// The row in [`View::spots`].
    pub spot: u32,
}

/// The shown part of a profile, see the module.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub profile: &'a Profile,
    pub functions: Vec<Function<'a>>,
    /// The shown part of each location, the innermost inlined callee first; after those of all
    /// locations comes the stand-in for stacks without any.
    pub spots: Vec<Box<[Point]>>,
    pub nodes: Vec<Node>,
    /// The node of each stack.
    of_stack: Vec<u32>,
}

/// No node: while the tree is built, that of a stack without shown levels.
const NONE: u32 = u32::MAX;

/// The stand-in for a stack whose frames are all hidden.
const HIDDEN: &str = "[runtime]";
/// The stand-in where libraries are hidden.
const NOT_MINE: &str = "[libraries]";

impl<'a> View<'a> {
    pub(crate) fn new(profile: &'a Profile, options: &Options) -> Self {
        let mut naming = Naming::new(profile, options);
        let mut spots: Vec<Box<[Point]>> = (profile.locations.iter())
            .map(|(id, _)| naming.spot(id))
            .collect();
        let hidden = Point {
            function: naming.add(Function {
                name: if options.only_mine { NOT_MINE } else { HIDDEN }.into(),
                signature: "",
                file: FileId(0),
                side: Side::Runtime,
                frame: None,
                module: None,
            }),
            line: 0,
            column: 0,
            inlined: false,
        };
        spots.push(Box::new([hidden]));
        let mut view = Self {
            profile,
            functions: naming.functions,
            spots,
            nodes: Vec::new(),
            of_stack: Vec::with_capacity(profile.stacks.len()),
        };
        view.build();
        view
    }

    fn build(&mut self) {
        let mut ids: FxHashMap<Node, u32> = FxHashMap::default();
        let mut add = |nodes: &mut Vec<Node>, node: Node| {
            *ids.entry(node).or_insert_with(|| {
                nodes.push(node);
                nodes.len() as u32 - 1
            })
        };
        for stack in self.profile.stacks.iter() {
            let parent = stack.parent.map_or(NONE, |id| self.of_stack[id.index()]);
            let node = if self.spots[stack.location.index()].is_empty() {
                parent
            } else {
                let node = Node {
                    parent: (parent != NONE).then_some(parent),
                    spot: stack.location.0,
                };
                add(&mut self.nodes, node)
            };
            self.of_stack.push(node);
        }
        if self.of_stack.contains(&NONE) {
            let spot = self.spots.len() as u32 - 1;
            let hidden = add(&mut self.nodes, Node { parent: None, spot });
            for node in &mut self.of_stack {
                if *node == NONE {
                    *node = hidden;
                }
            }
        }
    }

    /// The node of a stack.
    pub(crate) fn node(&self, stack: StackId) -> u32 {
        self.of_stack[stack.index()]
    }

    /// Whether the innermost function of a node is the kernel's.
    pub(crate) fn is_in_kernel(&self, node: u32) -> bool {
        let spot = self.nodes[node as usize].spot;
        let leaf = self.spots[spot as usize].first();
        leaf.is_some_and(|leaf| self.functions[leaf.function as usize].side == Side::Kernel)
    }

    /// The spots of a node, leaf first.
    pub(crate) fn spots_of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let node = self.nodes[next? as usize];
            next = node.parent;
            Some(node.spot)
        })
    }

    /// The recorded path of a file; empty where unknown.
    pub(crate) fn path(&self, file: FileId) -> &'a str {
        self.profile.strings.get(self.profile.files.get(file).path)
    }

    /// The short form of a file's path, as in our reports.
    pub(crate) fn short_path(&self, file: FileId) -> String {
        let file = self.profile.files.get(file);
        let (prefix, rest) = (
            self.profile.strings.get(file.prefix),
            self.profile.strings.get(file.rest),
        );
        let separator = if prefix.is_empty() || rest.starts_with('/') {
            ""
        } else {
            "/"
        };
        format!("{prefix}{separator}{rest}")
    }
}

/// Gives each location its shown part.
struct Naming<'a> {
    profile: &'a Profile,
    include_runtime: bool,
    /// The owners of code, where only the reader's own is shown.
    owners: Option<Ownership<'a>>,
    functions: Vec<Function<'a>>,
    /// Functions differ by name, file and whether they are the kernel's.
    named: FxHashMap<(StringId, FileId, bool), u32>,
    unknown: FxHashMap<Option<ModuleId>, u32>,
    /// Reasons of an unnamed profile, by their names.
    reasons: FxHashMap<&'static str, u32>,
}

impl<'a> Naming<'a> {
    fn new(profile: &'a Profile, options: &Options) -> Self {
        Self {
            profile,
            include_runtime: options.include_runtime,
            owners: options.only_mine.then(|| Ownership::new(profile)),
            functions: Vec::new(),
            named: FxHashMap::default(),
            unknown: FxHashMap::default(),
            reasons: FxHashMap::default(),
        }
    }

    fn add(&mut self, function: Function<'a>) -> u32 {
        self.functions.push(function);
        self.functions.len() as u32 - 1
    }

    fn spot(&mut self, id: LocationId) -> Box<[Point]> {
        let profile = self.profile;
        let location = profile.locations.get(id);
        let plain = |function| Point {
            function,
            line: 0,
            column: 0,
            inlined: false,
        };
        let is_kernel = self.is_kernel(id);
        let is_library = |place| {
            let owners = self.owners.as_ref();
            owners.is_some_and(|owners| owners.is_library(place, id))
        };
        if location.frames.is_empty() {
            let is_code = !matches!(location.kind, LocationKind::Reason(_));
            if is_code && is_library(Place::Unknown) {
                return Box::default();
            }
            let function = match location.kind {
                LocationKind::Reason(reason) => self.reason(reason),
                _ => self.nameless(location.module, is_kernel),
            };
            return Box::new([plain(function)]);
        }
        let column = match location.kind {
            LocationKind::Python { column, .. } => u32::from(column),
            _ => 0,
        };
        let mut points = Vec::with_capacity(location.frames.len());
        let is_mine: Vec<bool> = (location.frames.iter())
            .map(|&frame| !is_library(Place::Frame(frame)))
            .collect();
        for (&frame, is_mine) in location.frames.iter().zip(is_mine) {
            let frame = profile.frames.get(frame);
            let is_hidden = frame.language == Language::Runtime && !self.include_runtime;
            if is_hidden || !is_mine {
                continue;
            }
            points.push(if is_unknown(frame) {
                plain(self.nameless(location.module, is_kernel))
            } else {
                Point {
                    function: self.function(frame, location.module, is_kernel),
                    line: frame.line,
                    column,
                    inlined: frame.inlined,
                }
            });
        }
        points.into()
    }

    fn function(&mut self, frame: &Frame, module: Option<ModuleId>, is_kernel: bool) -> u32 {
        let key = (frame.function, frame.file, is_kernel);
        if let Some(&row) = self.named.get(&key) {
            return row;
        }
        let strings = &self.profile.strings;
        let name = match strings.get(frame.function) {
            "" => unknown(self.profile, module),
            name => one_line(name),
        };
        let row = self.add(Function {
            name,
            signature: strings.get(frame.signature),
            file: frame.file,
            side: match frame.language {
                _ if is_kernel => Side::Kernel,
                Language::Python => Side::Python,
                Language::Runtime => Side::Runtime,
                // In a recording, reasons and waits have such a frame.
                Language::Synthetic => {
                    let name = strings.get(frame.function);
                    let mut reasons = Reason::ALL.iter();
                    let reason = reasons.find(|reason| reason.name() == name);
                    reason.map_or(Side::Waits, |&reason| side_of(reason))
                }
                Language::JavaScript | Language::Julia | Language::Generated => Side::Generated,
                _ => Side::Native,
            },
            frame: Some(*frame),
            module,
        });
        self.named.insert(key, row);
        row
    }

    fn reason(&mut self, reason: Reason) -> u32 {
        let name = reason.name();
        if let Some(&row) = self.reasons.get(name) {
            return row;
        }
        let row = self.add(Function {
            name: name.into(),
            signature: "",
            file: FileId(0),
            side: side_of(reason),
            frame: None,
            module: None,
        });
        self.reasons.insert(name, row);
        row
    }

    /// The function of unnamed addresses: one for each module.
    fn nameless(&mut self, module: Option<ModuleId>, is_kernel: bool) -> u32 {
        if let Some(&row) = self.unknown.get(&module) {
            return row;
        }
        let name = unknown(self.profile, module);
        let row = self.add(Function {
            name,
            signature: "",
            file: FileId(0),
            side: if is_kernel {
                Side::Kernel
            } else {
                Side::Native
            },
            frame: None,
            module,
        });
        self.unknown.insert(module, row);
        row
    }

    fn is_kernel(&self, id: LocationId) -> bool {
        let location = self.profile.locations.get(id);
        match location.kind {
            // The upper half of the addresses is the kernel's on every known system.
            LocationKind::Code(address) => address.address().0 >= 1 << 63,
            LocationKind::Part { of, .. } => self.is_kernel(of),
            _ => false,
        }
    }
}

/// The name of an unnamed function.
fn unknown(profile: &Profile, module: Option<ModuleId>) -> Cow<'static, str> {
    let path = module.map_or("", |id| profile.strings.get(profile.modules.get(id).path));
    match path.rsplit('/').next() {
        None | Some("") => "[unknown]".into(),
        Some(file) => {
            // Made-up modules have their own brackets.
            let file = one_line(file.trim_matches(['[', ']'])).into_owned();
            format!("[unknown in {file}]").into()
        }
    }
}

/// The name without characters that would end a line, which no reader expects in a name.
fn one_line(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        name.chars().map(plain).collect::<String>().into()
    } else {
        name.into()
    }
}

/// Whether a frame is that of an address that was looked up in vain.
fn is_unknown(frame: &Frame) -> bool {
    frame.function == StringId(0)
        && frame.file == FileId(0)
        && frame.language != Language::Synthetic
}

/// The side of a reason in place of a function.
fn side_of(reason: Reason) -> Side {
    match reason {
        Reason::Collecting => Side::Collects,
        Reason::Unread => Side::Waits,
        _ => Side::Missing,
    }
}
