//! The tables of a thread: its stacks as a tree of frames, the frames as functions at lines, and
//! the texts.

use std::borrow::Cow;
use std::io::{self, Write};

use profundo_model::{Kind, LocationId, LocationKind, ModuleId, StackId};
use rustc_hash::FxHashMap;

use super::columns::{length, numbers, same};
use crate::export::json;
use crate::export::view::{Point, Side, View};

/// The categories with their colours. The page draws nothing for a transparent one, and takes the
/// first grey one for the default.
pub(super) const CATEGORIES: [(&str, &str); 8] = [
    ("Other", "grey"),
    ("Python", "blue"),
    ("Native", "orange"),
    ("Generated", "yellow"),
    ("System", "purple"),
    ("Garbage collection", "green"),
    ("Waiting", "transparent"),
    ("Runtime", "darkgrey"),
];

/// The rows of [`CATEGORIES`].
pub(super) const OTHER: u8 = 0;
const PYTHON: u8 = 1;
const NATIVE: u8 = 2;
const GENERATED: u8 = 3;
const SYSTEM: u8 = 4;
const COLLECTION: u8 = 5;
const WAITING: u8 = 6;
const RUNTIME: u8 = 7;

/// A function at a line, coloured by a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Frame {
    point: Point,
    /// Its depth among the inlined functions of one address.
    inline_depth: u16,
    category: u8,
    /// The address in its module.
    address: Option<u64>,
}

/// The tables of a thread, see the module.
pub(super) struct Tables<'a> {
    view: &'a View<'a>,
    stacks: Vec<(Option<u32>, u32)>,
    stack_ids: FxHashMap<(Option<u32>, u32), u32>,
    frames: Vec<Frame>,
    frame_ids: FxHashMap<Frame, u32>,
    /// The rows of the view's functions.
    functions: Vec<u32>,
    function_ids: FxHashMap<u32, u32>,
    modules: Vec<ModuleId>,
    module_ids: FxHashMap<ModuleId, u32>,
    strings: Vec<Cow<'a, str>>,
    string_ids: FxHashMap<Cow<'a, str>, u32>,
    /// The stack of each node of the view without its innermost location, and with it by category.
    met: FxHashMap<(u32, Option<u8>), u32>,
}

impl<'a> Tables<'a> {
    pub fn new(view: &'a View<'a>) -> Self {
        Self {
            view,
            stacks: Vec::new(),
            stack_ids: FxHashMap::default(),
            frames: Vec::new(),
            frame_ids: FxHashMap::default(),
            functions: Vec::new(),
            function_ids: FxHashMap::default(),
            modules: Vec::new(),
            module_ids: FxHashMap::default(),
            strings: Vec::new(),
            string_ids: FxHashMap::default(),
            met: FxHashMap::default(),
        }
    }

    /// The row of a stack whose innermost function is of the kind of a sample.
    pub fn stack(&mut self, stack: StackId, kind: Option<Kind>) -> u32 {
        let node = self.view.node(stack);
        let leaf = self.leaf_category(node, kind);
        if let Some(&met) = self.met.get(&(node, Some(leaf))) {
            return met;
        }
        let parent = self.view.nodes[node as usize].parent;
        let below = parent.map(|parent| self.callers(parent));
        let row = self.with_spot(below, node, Some(leaf));
        self.met.insert((node, Some(leaf)), row);
        row
    }

    /// The row of a node whose functions call others.
    fn callers(&mut self, node: u32) -> u32 {
        let (mut path, mut next, mut row) = (Vec::new(), Some(node), None);
        while let Some(node) = next {
            if let Some(&met) = self.met.get(&(node, None)) {
                row = Some(met);
                break;
            }
            path.push(node);
            next = self.view.nodes[node as usize].parent;
        }
        for &node in path.iter().rev() {
            let added = self.with_spot(row, node, None);
            self.met.insert((node, None), added);
            row = Some(added);
        }
        row.expect("a node has at least one frame")
    }

    /// The row for the innermost location of a node, on its callers.
    fn with_spot(&mut self, mut row: Option<u32>, node: u32, leaf: Option<u8>) -> u32 {
        let spot = self.view.nodes[node as usize].spot;
        let address = self.address(spot);
        let points = self.view.spots[spot as usize].len();
        let mut inline_depth = 0;
        for at in (0..points).rev() {
            let point = self.view.spots[spot as usize][at];
            let side = self.view.functions[point.function as usize].side;
            let frame = Frame {
                point,
                inline_depth,
                category: leaf.filter(|_| at == 0).unwrap_or(category(side)),
                address,
            };
            inline_depth = inline_depth.saturating_add(1);
            let frame = self.frame(frame);
            let next = self.stacks.len() as u32;
            let added = *self.stack_ids.entry((row, frame)).or_insert(next);
            if added == next {
                self.stacks.push((row, frame));
            }
            row = Some(added);
        }
        row.expect("a node has at least one frame")
    }

    /// The category of a sample: by the kind of its time, and by its innermost function where that
    /// says more.
    fn leaf_category(&self, node: u32, kind: Option<Kind>) -> u8 {
        let spot = self.view.nodes[node as usize].spot;
        let innermost = self.view.spots[spot as usize].first();
        let side = innermost.map(|point| self.view.functions[point.function as usize].side);
        match (side, kind) {
            (_, Some(Kind::Waiting)) => WAITING,
            (_, Some(Kind::System)) => SYSTEM,
            (Some(side @ (Side::Collects | Side::Kernel | Side::Missing)), _) => category(side),
            (_, Some(Kind::Python)) => PYTHON,
            (Some(Side::Generated), _) => GENERATED,
            (_, Some(Kind::Native)) => NATIVE,
            (_, Some(Kind::Unreadable)) => OTHER,
            (side, None) => side.map_or(OTHER, category),
        }
    }

    /// The address of a location in its module.
    fn address(&self, spot: u32) -> Option<u64> {
        let profile = self.view.profile;
        if spot as usize >= profile.locations.len() {
            return None;
        }
        let mut location = profile.locations.get(LocationId(spot));
        if let LocationKind::Part { of, .. } = location.kind {
            location = profile.locations.get(of);
        }
        let LocationKind::Code(address) = location.kind else {
            return None;
        };
        let module = profile.modules.get(location.module?);
        let address = address.for_lookup().0.checked_sub(module.bias)?;
        // Numbers of JavaScript are exact up to here.
        (address < 1 << 53).then_some(address)
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        let next = self.frames.len() as u32;
        let row = *self.frame_ids.entry(frame).or_insert(next);
        if row == next {
            self.frames.push(frame);
            self.function(frame.point.function);
        }
        row
    }

    fn function(&mut self, function: u32) {
        let next = self.functions.len() as u32;
        if *self.function_ids.entry(function).or_insert(next) == next {
            self.functions.push(function);
            if let Some(module) = self.view.functions[function as usize].module {
                let next = self.modules.len() as u32;
                if *self.module_ids.entry(module).or_insert(next) == next {
                    self.modules.push(module);
                }
            }
        }
    }

    /// The row of a text.
    pub fn string(&mut self, text: Cow<'a, str>) -> u32 {
        if let Some(&row) = self.string_ids.get(&text) {
            return row;
        }
        let row = self.strings.len() as u32;
        self.strings.push(text.clone());
        self.string_ids.insert(text, row);
        row
    }

    /// Writes all tables.
    pub fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.write_stacks(out)?;
        self.write_frames(out)?;
        self.write_functions(out)?;
        self.write_resources(out)?;
        out.write_all(b"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0},")?;
        json::list(out, "stringArray", &self.strings, |out, text| {
            json::string(out, text)
        })
    }

    fn write_stacks(&self, out: &mut impl Write) -> io::Result<()> {
        let stacks = &self.stacks;
        let frame = |&(_, frame): &(_, u32)| &self.frames[frame as usize];
        out.write_all(b"\"stackTable\":{")?;
        numbers(out, "prefix", stacks.iter().map(|&(prefix, _)| prefix))?;
        numbers(out, "frame", stacks.iter().map(|&(_, frame)| Some(frame)))?;
        numbers(
            out,
            "category",
            stacks.iter().map(|row| Some(frame(row).category)),
        )?;
        same(out, "subcategory", "0", stacks.len())?;
        length(out, stacks.len())?;
        out.write_all(b",")
    }

    fn write_frames(&self, out: &mut impl Write) -> io::Result<()> {
        let frames = &self.frames;
        let known = |number: u32| (number > 0).then_some(number);
        let address = |frame: &Frame| frame.address.map_or(-1, |address| address as i64);
        out.write_all(b"\"frameTable\":{")?;
        numbers(
            out,
            "address",
            frames.iter().map(|frame| Some(address(frame))),
        )?;
        numbers(
            out,
            "inlineDepth",
            frames.iter().map(|frame| Some(frame.inline_depth)),
        )?;
        numbers(
            out,
            "category",
            frames.iter().map(|frame| Some(frame.category)),
        )?;
        same(out, "subcategory", "0", frames.len())?;
        let function = |frame: &Frame| self.function_ids[&frame.point.function];
        numbers(
            out,
            "func",
            frames.iter().map(|frame| Some(function(frame))),
        )?;
        same(out, "nativeSymbol", "null", frames.len())?;
        same(out, "innerWindowID", "0", frames.len())?;
        same(out, "implementation", "null", frames.len())?;
        numbers(
            out,
            "line",
            frames.iter().map(|frame| known(frame.point.line)),
        )?;
        numbers(
            out,
            "column",
            frames.iter().map(|frame| known(frame.point.column)),
        )?;
        length(out, frames.len())?;
        out.write_all(b",")
    }

    fn write_functions(&mut self, out: &mut impl Write) -> io::Result<()> {
        let view = self.view;
        let rows: Vec<u32> = self.functions.clone();
        let mut names = Vec::with_capacity(rows.len());
        let mut files = Vec::with_capacity(rows.len());
        for &row in &rows {
            let function = &view.functions[row as usize];
            names.push(Some(self.string(function.name.clone())));
            let path = view.path(function.file);
            files.push((!path.is_empty()).then(|| self.string(path.into())));
        }
        let functions = || rows.iter().map(|&row| &view.functions[row as usize]);
        out.write_all(b"\"funcTable\":{")?;
        numbers(out, "name", names)?;
        // The page can show "JavaScript" alone, which is Python here, or other generated code.
        let is_script = functions()
            .map(|function| Some(matches!(function.side, Side::Python | Side::Generated)));
        numbers(out, "isJS", is_script)?;
        same(out, "relevantForJS", "false", rows.len())?;
        let resource = functions().map(|function| {
            let module = function
                .module
                .map(|module| i64::from(self.module_ids[&module]));
            Some(module.unwrap_or(-1))
        });
        numbers(out, "resource", resource)?;
        numbers(out, "fileName", files)?;
        same(out, "lineNumber", "null", rows.len())?;
        same(out, "columnNumber", "null", rows.len())?;
        length(out, rows.len())?;
        out.write_all(b",")
    }

    fn write_resources(&mut self, out: &mut impl Write) -> io::Result<()> {
        let profile = self.view.profile;
        let modules = self.modules.clone();
        let mut names = Vec::with_capacity(modules.len());
        for &module in &modules {
            let path = profile.strings.get(profile.modules.get(module).path);
            let name = path.rsplit('/').next().unwrap_or(path);
            names.push(Some(self.string(name.into())));
        }
        out.write_all(b"\"resourceTable\":{")?;
        numbers(
            out,
            "lib",
            modules.iter().map(|module| Some(module.index())),
        )?;
        numbers(out, "name", names)?;
        same(out, "host", "null", modules.len())?;
        // A library.
        same(out, "type", "1", modules.len())?;
        length(out, modules.len())?;
        out.write_all(b",")
    }
}

fn category(side: Side) -> u8 {
    match side {
        Side::Python => PYTHON,
        Side::Native => NATIVE,
        Side::Generated => GENERATED,
        Side::Kernel => SYSTEM,
        Side::Runtime => RUNTIME,
        Side::Waits => WAITING,
        Side::Collects => COLLECTION,
        Side::Missing => OTHER,
    }
}
