//! Boxes in boxes, as near to squares as can be, after Bruls, Huizing and van Wijk (Squarified
//! Treemaps, 2000): the largest are put first, side by side along the shorter side of what is left,
//! as long as that makes them squarer.

use std::cmp::Reverse;

use super::super::calls::{Callee, Calls};
use super::super::view::{Side, View};

/// The size of the whole.
pub(super) const WIDTH: f64 = 1200.0;
pub(super) const HEIGHT: f64 = 760.0;
/// The height of a box's title, and the frame around its callees.
const TITLE: f64 = 15.0;
const FRAME: f64 = 2.0;
/// The least size in which callees are drawn.
const LEAST: f64 = 7.0;
/// The width of a box with a title above its callees.
const LEAST_TITLED: f64 = 34.0;

/// A rectangle by its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A drawn box.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tile {
    pub area: Area,
    pub content: Content,
    pub weight: u64,
    pub count: u64,
    pub own: u64,
    pub depth: u32,
    /// Whether its callees are drawn inside of it.
    pub has_callees: bool,
}

/// The content of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A row of the tree.
    Call(u32),
    /// So many calls with small shares.
    Others(usize),
}

/// The picture.
#[derive(Debug)]
pub(super) struct Map<'a> {
    pub calls: &'a Calls,
    view: &'a View<'a>,
    /// A box before those inside of it.
    pub tiles: Vec<Tile>,
    pub total: u64,
    totals: Vec<(u64, u64)>,
    children: Vec<Vec<u32>>,
    /// The least weight of a box.
    least: u64,
}

impl<'a> Map<'a> {
    pub(super) fn new(view: &'a View<'a>, calls: &'a Calls, min_share: f64) -> Self {
        let totals = calls.totals();
        let (roots, children) = calls.children(|call| Reverse(totals[call as usize].0));
        let total = (roots.iter()).fold(0_u64, |sum, &root| {
            sum.saturating_add(totals[root as usize].0)
        });
        let mut map = Self {
            calls,
            view,
            tiles: Vec::new(),
            total,
            totals,
            children,
            least: ((total as f64 * min_share).ceil() as u64).max(1),
        };
        let whole = Area {
            x: 0.0,
            y: 0.0,
            width: WIDTH,
            height: HEIGHT,
        };
        map.fill(whole, &roots, 0, 0);
        map
    }

    /// Fills an area with calls; `own` is the weight that stays free.
    fn fill(&mut self, area: Area, calls: &[u32], own: u64, depth: u32) {
        let total = |call: u32| self.totals[call as usize];
        let (large, small): (Vec<u32>, Vec<u32>) = (calls.iter().copied())
            .filter(|&call| total(call).0 > 0)
            .partition(|&call| total(call).0 >= self.least);
        // A small one alone needs no other name.
        let (large, small) = match (large.is_empty(), small.len()) {
            (_, 1) => ([large, small].concat(), Vec::new()),
            _ => (large, small),
        };
        let mut items: Vec<(u64, Option<Content>)> = (large.iter())
            .map(|&call| (total(call).0, Some(Content::Call(call))))
            .collect();
        let rest = small.iter().fold((0_u64, 0_u64), |sum, &call| {
            let (weight, count) = total(call);
            (sum.0.saturating_add(weight), sum.1.saturating_add(count))
        });
        if !small.is_empty() {
            items.push((rest.0, Some(Content::Others(small.len()))));
        }
        if own > 0 {
            items.push((own, None));
        }
        items.sort_by_key(|&(weight, _)| Reverse(weight));
        let weights: Vec<u64> = items.iter().map(|&(weight, _)| weight).collect();
        let areas = squarified(area, &weights);
        for ((weight, content), area) in items.into_iter().zip(areas) {
            match content {
                Some(Content::Call(call)) => self.place(area, call, depth),
                Some(others) => self.tiles.push(Tile {
                    area,
                    content: others,
                    weight,
                    count: rest.1,
                    own: 0,
                    depth,
                    has_callees: false,
                }),
                None => {}
            }
        }
    }

    fn place(&mut self, area: Area, call: u32, depth: u32) {
        let (weight, count) = self.totals[call as usize];
        let own = self.calls.calls[call as usize].own;
        let has_title = area.width >= LEAST_TITLED && area.height >= TITLE + 2.0 * LEAST;
        let top = if has_title { TITLE } else { FRAME };
        let inside = Area {
            x: area.x + FRAME,
            y: area.y + top,
            width: area.width - 2.0 * FRAME,
            height: area.height - top - FRAME,
        };
        let callees = std::mem::take(&mut self.children[call as usize]);
        let has_room = inside.width >= LEAST && inside.height >= LEAST;
        let has_callees = has_room && weight > own && !callees.is_empty();
        self.tiles.push(Tile {
            area,
            content: Content::Call(call),
            weight,
            count,
            own,
            depth,
            has_callees,
        });
        if has_callees {
            self.fill(inside, &callees, own, depth + 1);
        }
    }

    /// The name of a box, and its place.
    pub(super) fn words(&self, content: Content) -> (String, String) {
        let call = match content {
            Content::Call(call) => call,
            Content::Others(count) => return (format!("{count} others"), String::new()),
        };
        match self.calls.calls[call as usize].callee {
            Callee::Owner(owner) => (self.calls.owners[owner as usize].clone(), String::new()),
            Callee::System => ("[system]".into(), String::new()),
            Callee::Function { function, .. } => {
                let function = &self.view.functions[function as usize];
                let mut place = self.view.short_path(function.file);
                let (first, _) = self.calls.lines(call);
                if !place.is_empty() && first > 0 {
                    place.push_str(&format!(":{first}"));
                }
                (function.name.to_string(), place)
            }
        }
    }

    /// The class of a box's colour.
    pub(super) fn class(&self, content: Content) -> &'static str {
        let Content::Call(call) = content else {
            return "others";
        };
        let side = match self.calls.calls[call as usize].callee {
            Callee::Owner(_) => return "owner",
            Callee::System => Side::Kernel,
            Callee::Function { function, .. } => self.view.functions[function as usize].side,
        };
        match side {
            Side::Python => "hp",
            Side::Native | Side::Generated => "hn",
            Side::Kernel => "hs",
            Side::Runtime => "owner",
            Side::Waits => "hw",
            Side::Collects => "hg",
            Side::Missing => "hx",
        }
    }
}

/// Divides an area in proportion to weights, which come with the largest first.
fn squarified(area: Area, weights: &[u64]) -> Vec<Area> {
    let sum: f64 = weights.iter().map(|&weight| weight as f64).sum();
    let scale = area.width * area.height / sum.max(1.0);
    let sizes: Vec<f64> = weights
        .iter()
        .map(|&weight| weight as f64 * scale)
        .collect();
    let mut areas = Vec::with_capacity(sizes.len());
    let mut left = area;
    let mut start = 0;
    while start < sizes.len() {
        let side = left.width.min(left.height).max(1e-9);
        let mut end = start + 1;
        let mut row = sizes[start];
        let mut worst = worst_ratio(sizes[start], sizes[start], row, side);
        while end < sizes.len() {
            let next = worst_ratio(sizes[start], sizes[end], row + sizes[end], side);
            if next > worst {
                break;
            }
            (worst, row) = (next, row + sizes[end]);
            end += 1;
        }
        // What is left over is filled without a gap.
        let depth = match end == sizes.len() {
            true => left.width.max(left.height),
            false => row / side,
        };
        let is_column = left.width >= left.height;
        let mut offset = 0.0;
        for size in &sizes[start..end] {
            let length = side * size / row.max(1e-9);
            areas.push(match is_column {
                true => Area {
                    x: left.x,
                    y: left.y + offset,
                    width: depth,
                    height: length,
                },
                false => Area {
                    x: left.x + offset,
                    y: left.y,
                    width: length,
                    height: depth,
                },
            });
            offset += length;
        }
        match is_column {
            true => {
                left.x += depth;
                left.width = (left.width - depth).max(0.0);
            }
            false => {
                left.y += depth;
                left.height = (left.height - depth).max(0.0);
            }
        }
        start = end;
    }
    areas
}

/// The worst ratio of sides in a row of boxes.
fn worst_ratio(largest: f64, smallest: f64, sum: f64, side: f64) -> f64 {
    let (side, sum) = (side * side, sum * sum);
    (side * largest / sum).max(sum / (side * smallest).max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(a: Area, b: Area) -> bool {
        let gap = 1e-6;
        a.x + gap < b.x + b.width
            && b.x + gap < a.x + a.width
            && a.y + gap < b.y + b.height
            && b.y + gap < a.y + a.height
    }

    #[test]
    fn areas_are_in_proportion_and_do_not_overlap() {
        let area = Area {
            x: 10.0,
            y: 20.0,
            width: 600.0,
            height: 400.0,
        };
        for weights in [
            &[1][..],
            &[6, 6, 4, 3, 2, 2, 1],
            &[1000, 1, 1, 1],
            &[5, 5, 5, 5, 5, 5, 5, 5],
        ] {
            let areas = squarified(area, weights);
            let sum: u64 = weights.iter().sum();
            for (row, (one, &weight)) in areas.iter().zip(weights).enumerate() {
                let expected = 240_000.0 * weight as f64 / sum as f64;
                assert!((one.width * one.height - expected).abs() < 1e-3, "{one:?}");
                assert!(one.x >= 10.0 && one.x + one.width < 610.001, "{one:?}");
                assert!(one.y >= 20.0 && one.y + one.height < 420.001, "{one:?}");
                assert!(!areas[..row].iter().any(|other| overlap(*one, *other)));
            }
        }
        // The example of the paper, in a rectangle of 6 by 4.
        let paper = Area {
            x: 0.0,
            y: 0.0,
            width: 6.0,
            height: 4.0,
        };
        let areas = squarified(paper, &[6, 6, 4, 3, 2, 2, 1]);
        assert!((areas[0].width - 3.0).abs() < 1e-9 && (areas[0].height - 2.0).abs() < 1e-9);
        assert!((areas[2].width - 12.0 / 7.0).abs() < 1e-2);
    }
}
