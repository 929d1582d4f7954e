//! The answer with a flame graph: boxes as columns, and the functions that they name.

use profundo_analysis::{
    BoxOf, Forest, ForestBox, LibraryNames, Ownership, Place, library, package,
};
use serde::Serialize;

use super::super::unit;
use super::names::{file, is_kernel, kind, name};
use crate::library::Part;

/// The answer. The columns of boxes are arrays of equal length, in the order of a walk.
#[derive(Debug, Serialize)]
pub(super) struct Flame {
    /// `time`, `bytes` or `blocks`.
    unit: &'static str,
    /// All that was selected, in nanoseconds, bytes or blocks.
    total: u64,
    total_count: u64,
    /// The functions from the root to the box that was zoomed into, which is the first of `boxes`.
    callers: Boxes,
    functions: Functions,
    boxes: Boxes,
    /// The least weight of a box.
    least: u64,
}

#[derive(Debug, Default, Serialize)]
pub(in crate::answers) struct Functions {
    pub name: Vec<String>,
    /// The path of the source file, or an empty text.
    pub file: Vec<String>,
    pub kind: Vec<&'static str>,
    pub package: Vec<String>,
    /// The library as transforms name it, or an empty text.
    pub library: Vec<String>,
    /// Whether it is a library's, and not the reader's own.
    pub is_library: Vec<bool>,
}

impl Functions {
    /// The owners of parts and behind them the functions of boxes, and by function of the tree its
    /// row here, or -1.
    pub(in crate::answers) fn of(
        part: &Part,
        forest: &Forest,
        owners: &[String],
        boxes: impl Iterator<Item = BoxOf>,
    ) -> (Self, Vec<i64>) {
        let profile = part.profile();
        let mut functions = Self::default();
        for owner in owners {
            functions.name.push(owner.clone());
            functions.file.push(String::new());
            functions.kind.push("root");
            functions.package.push(String::new());
            functions.library.push(String::new());
            functions.is_library.push(false);
        }
        let mut rows = vec![-1_i64; forest.functions().len()];
        let libraries = LibraryNames::new(profile);
        let ownership = Ownership::new(profile);
        for of in boxes {
            let BoxOf::Function(function) = of else {
                continue;
            };
            let row = &mut rows[function as usize];
            if *row < 0 {
                *row = functions.name.len() as i64;
                let known = &forest.functions()[function as usize];
                functions.name.push(name(profile, known.place));
                functions.file.push(file(profile, known.place).to_owned());
                functions.kind.push(kind(profile, known));
                functions
                    .library
                    .push(libraries.of(known.location).to_owned());
                let is_library = ownership.is_library(known.place, known.location);
                functions.is_library.push(is_library);
                let module = profile.locations.get(known.location).module;
                functions.package.push(match known.place {
                    _ if is_kernel(profile, known.location) => "kernel".to_owned(),
                    Place::Frame(frame) => package(profile, profile.frames.get(frame), module),
                    _ => library(profile, module).to_owned(),
                });
            }
        }
        (functions, rows)
    }
}

#[derive(Debug, Default, Serialize)]
struct Boxes {
    /// The row in `functions`; -1 the root, -2 system calls, -3 narrow boxes.
    function: Vec<i64>,
    level: Vec<u32>,
    weight: Vec<u64>,
    own: Vec<u64>,
    count: Vec<u64>,
    /// The first line, or the number of narrow boxes.
    line: Vec<u32>,
    last_line: Vec<u32>,
    path: Vec<u64>,
}

impl Boxes {
    fn add(&mut self, a_box: &ForestBox, rows: &[i64]) {
        let (line, last_line) = match a_box.of {
            BoxOf::Narrow(number) => (number, 0),
            _ => a_box.lines,
        };
        self.function.push(match a_box.of {
            BoxOf::Root => -1,
            // The owners are the first rows.
            BoxOf::Part(part) => i64::from(part),
            BoxOf::System => -2,
            BoxOf::Narrow(_) => -3,
            BoxOf::Function(function) => rows[function as usize],
        });
        self.level.push(a_box.level);
        self.weight.push(a_box.weight.weight);
        self.own.push(a_box.own.weight);
        self.count.push(a_box.weight.count);
        self.line.push(line);
        self.last_line.push(last_line);
        self.path.push(a_box.path);
    }
}

pub(super) type Picture = (Vec<ForestBox>, Vec<ForestBox>, u64);

/// The answer.
pub(super) fn answer(
    part: &Part,
    forest: &Forest,
    (callers, boxes, least): Picture,
    owners: &[String],
    all: profundo_analysis::CallWeight,
) -> Flame {
    let profile = part.profile();
    let shown = callers.iter().chain(&boxes).map(|a_box| a_box.of);
    let (functions, rows) = Functions::of(part, forest, owners, shown);
    let columns = |list: &[ForestBox]| {
        let mut columns = Boxes::default();
        for a_box in list {
            columns.add(a_box, &rows);
        }
        columns
    };
    Flame {
        unit: unit(profile),
        total: all.weight,
        total_count: all.count,
        callers: columns(&callers),
        boxes: columns(&boxes),
        functions,
        least,
    }
}
