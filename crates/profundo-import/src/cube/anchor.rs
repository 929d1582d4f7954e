//! The anchor: metrics, regions, the tree of calls, and the processes and threads.

use rustc_hash::FxHashMap;

use super::data::{self, Kind, Values};
use crate::Unit;
use crate::encoding::xml::{Part, Xml, attribute, number, plain};

#[derive(Debug, Default)]
pub(super) struct Anchor {
    pub(super) metrics: Vec<Metric>,
    pub(super) regions: FxHashMap<u64, Region>,
    /// The tree: a place comes after the one around it.
    pub(super) nodes: Vec<Node>,
    pub(super) groups: Vec<Group>,
    pub(super) locations: Vec<Location>,
}

#[derive(Debug)]
pub(super) struct Metric {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) kind: Option<Kind>,
    /// Whether values have those of what is called in them.
    pub(super) is_inclusive: bool,
}

#[derive(Debug, Default)]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) line: u32,
}

/// A place in the tree of calls.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) region: u64,
    pub(super) around: Option<usize>,
}

/// A process.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) rank: u32,
}

/// A thread.
#[derive(Debug, Default)]
pub(super) struct Location {
    id: u64,
    /// The row of its process.
    pub(super) group: usize,
    pub(super) thread: u32,
    pub(super) name: String,
}

/// The mark whose name or number the next text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    Metric,
    Region,
    Group,
    Location,
}

impl Anchor {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut anchor = Self::default();
        let mut xml = Xml::new(bytes);
        let mut around: Vec<usize> = Vec::new();
        let mut about = About::Nothing;
        let mut region = 0;
        let mut text: &[u8] = b"";
        while let Some(part) = xml.next() {
            match part {
                Part::Text(found) => text = found,
                Part::Open {
                    name,
                    attributes,
                    is_empty,
                } => {
                    text = b"";
                    match name {
                        b"metric" => {
                            about = About::Metric;
                            anchor.metrics.push(metric(attributes));
                        }
                        b"region" => {
                            about = About::Region;
                            region = number(attributes, "id").unwrap_or(0);
                            let file = attribute(attributes, "mod").unwrap_or_default();
                            // The file of a function of a library is its name alone, as `MPI`.
                            let file = if file.contains(['.', '/']) { &file } else { "" };
                            let place = Region {
                                file: file.to_owned(),
                                line: number(attributes, "begin").unwrap_or(0),
                                ..Region::default()
                            };
                            anchor.regions.insert(region, place);
                        }
                        b"cnode" => {
                            anchor.nodes.push(Node {
                                region: number(attributes, "calleeId").unwrap_or(0),
                                around: around.last().copied(),
                            });
                            if !is_empty {
                                around.push(anchor.nodes.len() - 1);
                            }
                        }
                        b"locationgroup" | b"process" => {
                            about = About::Group;
                            anchor.groups.push(Group::default());
                        }
                        b"location" | b"thread" => {
                            about = About::Location;
                            let id = number(attributes, "Id");
                            anchor.locations.push(Location {
                                id: id.unwrap_or(anchor.locations.len() as u64),
                                group: anchor.groups.len().saturating_sub(1),
                                ..Location::default()
                            });
                        }
                        _ => {}
                    }
                }
                Part::Close(name) => {
                    let value = || plain(text.trim_ascii()).into_owned();
                    match (about, name) {
                        (_, b"cnode") => {
                            around.pop();
                        }
                        (About::Metric, b"uniq_name") => anchor.last_metric(|it| it.name = value()),
                        (About::Metric, b"dtype") => {
                            anchor.last_metric(|it| it.kind = Kind::of(&value()));
                        }
                        (About::Metric, b"uom") => {
                            anchor.last_metric(|it| it.unit = Unit::of_name(&value()));
                        }
                        (About::Region, b"name") => {
                            if let Some(region) = anchor.regions.get_mut(&region) {
                                region.name = value();
                            }
                        }
                        (About::Group, b"name") => anchor.last_group(|it| it.name = value()),
                        (About::Group, b"rank") => {
                            anchor.last_group(|it| it.rank = value().parse().unwrap_or(0));
                        }
                        (About::Location, b"name") => anchor.last_location(|it| it.name = value()),
                        (About::Location, b"rank") => anchor.last_location(|it| {
                            it.thread = value().parse().unwrap_or(0);
                        }),
                        (
                            _,
                            b"metric" | b"region" | b"location" | b"thread" | b"locationgroup"
                            | b"process",
                        ) => about = About::Nothing,
                        _ => {}
                    }
                    text = b"";
                }
            }
        }
        // Values are in the order of the locations' numbers.
        anchor.locations.sort_by_key(|location| location.id);
        anchor
    }

    fn last_metric(&mut self, change: impl FnOnce(&mut Metric)) {
        if let Some(metric) = self.metrics.last_mut() {
            change(metric);
        }
    }

    fn last_group(&mut self, change: impl FnOnce(&mut Group)) {
        if let Some(group) = self.groups.last_mut() {
            change(group);
        }
    }

    fn last_location(&mut self, change: impl FnOnce(&mut Location)) {
        if let Some(location) = self.locations.last_mut() {
            change(location);
        }
    }

    /// The values of a metric, by place and location.
    pub(super) fn values(&self, metric: &Metric, files: &FxHashMap<&str, &[u8]>) -> Values {
        let file = |end| {
            let name = format!("{}.{end}", metric.id);
            files.get(&*name).copied().unwrap_or_default()
        };
        let order = self.order(metric.is_inclusive);
        let count = self.locations.len();
        data::read(file("index"), file("data"), metric.kind, (&order, count))
    }

    /// The places in the order of the index. Of values with those of what is called in them, those
    /// that one place calls follow each other.
    fn order(&self, is_inclusive: bool) -> Vec<usize> {
        if !is_inclusive {
            return (0..self.nodes.len()).collect();
        }
        let mut inner: Vec<Vec<usize>> = Vec::new();
        inner.resize_with(self.nodes.len(), Vec::new);
        for (row, node) in self.nodes.iter().enumerate() {
            if let Some(inner) = node.around.and_then(|around| inner.get_mut(around)) {
                inner.push(row);
            }
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        for (row, node) in self.nodes.iter().enumerate() {
            if node.around.is_none() {
                order.push(row);
            }
            // The tree is in the order in which its places are entered.
            order.extend(inner.get(row).into_iter().flatten());
        }
        order
    }
}

fn metric(attributes: &[u8]) -> Metric {
    let kind = attribute(attributes, "type").unwrap_or_default();
    Metric {
        id: number(attributes, "id").unwrap_or(0),
        name: String::new(),
        unit: Unit::Count,
        kind: None,
        is_inclusive: kind == "INCLUSIVE",
    }
}
