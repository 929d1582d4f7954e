//! The ways to colour a flame graph: by kind, by package, by file, and by heat.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::super::Colours;
use super::super::text::{percent, shortened};
use super::picture::{Frame, Frames};
use super::theme::{Colour, Fills, GROUPS, HEAT, Look, SHADES};

/// Time of their own, by function, package and file.
#[derive(Debug, Default)]
pub(super) struct Owns {
    functions: FxHashMap<(u32, u32), u64>,
    packages: FxHashMap<u32, u64>,
    files: FxHashMap<u32, u64>,
}

impl Owns {
    pub(super) fn add(&mut self, frames: &Frames, frame: u32, own: u64) {
        let frame = frames.rows[frame as usize];
        let sums = [
            self.functions.entry((frame.name, frame.file)).or_default(),
            self.packages.entry(frame.package).or_default(),
            self.files.entry(frame.file).or_default(),
        ];
        for sum in sums {
            *sum = sum.saturating_add(own);
        }
    }
}

/// All looks, the chosen one first.
pub(super) fn looks(
    frames: &Frames,
    packages: &[String],
    owns: &Owns,
    total: u64,
    chosen: Colours,
) -> Vec<Look> {
    let share = |own: u64| own as f64 / total.max(1) as f64;
    let mut all = vec![
        (Colours::Kind, kinds(frames)),
        (
            Colours::Package,
            groups(frames, "package", packages, &owns.packages, |frame| {
                frame.package
            }),
        ),
        (
            Colours::File,
            groups(frames, "file", &frames.files, &owns.files, |frame| {
                frame.file
            }),
        ),
        (Colours::Heat, heat(frames, owns, share)),
    ];
    all.sort_by_key(|(colours, _)| *colours != chosen);
    all.into_iter().map(|(_, look)| look).collect()
}

fn kinds(frames: &Frames) -> Look {
    let classes: Vec<u8> = frames.rows.iter().map(|frame| frame.kind).collect();
    let legend = (Colour::ALL.iter())
        .filter(|colour| classes.iter().any(|class| class / SHADES == colour.row()))
        .map(|colour| (colour.row() * SHADES, colour.name().to_owned()));
    Look {
        name: "kind",
        fills: Fills::Kinds,
        legend: legend.collect(),
        classes,
    }
}

/// The largest groups have colours of their own.
fn groups(
    frames: &Frames,
    name: &'static str,
    names: &[String],
    owns: &FxHashMap<u32, u64>,
    of: fn(&Frame) -> u32,
) -> Look {
    const OTHERS: usize = GROUPS.len() - 1;
    let mut order: Vec<(u32, u64)> = owns.iter().map(|(&group, &own)| (group, own)).collect();
    order.retain(|&(group, _)| !names[group as usize].is_empty());
    order.sort_by_key(|&(group, own)| (Reverse(own), &names[group as usize]));
    order.truncate(OTHERS);
    let row = |group: u32| {
        let row = order.iter().position(|&(known, _)| known == group);
        row.unwrap_or(OTHERS) as u8
    };
    let classes: Vec<u8> = frames.rows.iter().map(|frame| row(of(frame))).collect();
    let label = |group: u32| {
        let name = names[group as usize].as_str();
        let short = name.rsplit('/').next().unwrap_or(name);
        shortened(short, 28)
    };
    let mut legend: Vec<(u8, String)> = (0..)
        .zip(&order)
        .map(|(row, &(group, _))| (row, label(group)))
        .collect();
    if classes.contains(&(OTHERS as u8)) {
        legend.push((OTHERS as u8, "others".into()));
    }
    Look {
        name,
        fills: Fills::Groups,
        classes,
        legend,
    }
}

/// A function is as hot as its own time in all of its boxes. Areas of colour grow with the square,
/// so the scale is that of the root.
fn heat(frames: &Frames, owns: &Owns, share: impl Fn(u64) -> f64) -> Look {
    let hottest = HEAT.len() as u8 - 1;
    let most = owns.functions.values().copied().max().unwrap_or(0);
    let classes = frames.rows.iter().map(|frame| {
        let own = owns.functions.get(&(frame.name, frame.file));
        let part = own.map_or(0.0, |&own| own as f64 / most.max(1) as f64);
        (part.sqrt() * f64::from(hottest)).round() as u8
    });
    let words = |row: u8| {
        let part = (f64::from(row) / f64::from(hottest)).powi(2);
        match row {
            0 => "nothing of its own".to_owned(),
            _ => percent(part * share(most)),
        }
    };
    Look {
        name: "heat",
        fills: Fills::Heat,
        classes: classes.collect(),
        legend: [0, 3, 6, hottest].map(|row| (row, words(row))).into(),
    }
}
