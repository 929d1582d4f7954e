//! Versions 2 and 3: `experiment.xml` has the names, the tree and sums over all threads. Files
//! beside it have the values of each.
//!
//! ```text
//! <PF i="2" n="7" f="3" lm="2" l="10">      a call of a function; Pr is one that was inlined
//! <C i="3" l="12">  <S i="5" l="13"/>       a line that calls, and one that does not; L is a loop
//! <M n="4" v="1.5e+09"/>                    a value of the mark around it
//! ```
//!
//! Values have those of what is inside in them.

use std::rc::Rc;

use profundo_model::{StackId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::metric::{self, Metric};
use super::place::{Function, Names, Place, known};
use super::threads::{self, Values};
use crate::encoding::xml::{Part, Xml, attribute, number};
use crate::quantities::call_values::CallValues;
use crate::{Builder, Error, Source, Warning, source};

pub(super) fn is_start(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    start.starts_with(b"<?xml") && memchr::memmem::find(start, b"<HPCToolkitExperiment ").is_some()
}

/// A quantity whose values have those of what is inside in them.
struct Column {
    metric: Metric,
    /// The number of its values in the tree.
    sum: Option<u64>,
    /// The number of its values in files of threads.
    single: Option<usize>,
}

/// A mark of the tree.
struct Node {
    id: u64,
    around: Option<usize>,
    stack: Option<StackId>,
}

#[derive(Default)]
struct Experiment {
    name: String,
    columns: Vec<Column>,
    /// The columns by their titles.
    titles: FxHashMap<String, usize>,
    modules: FxHashMap<String, String>,
    files: FxHashMap<String, usize>,
    functions: FxHashMap<String, Rc<str>>,
    rows: FxHashMap<(String, String), usize>,
    names: Names,
    nodes: Vec<Node>,
    /// The values in the tree: the node, the number of the metric, the value.
    values: Vec<(usize, u64, f64)>,
}

pub(super) fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut experiment = Experiment::default();
    let mut xml = Xml::new(source.bytes);
    if !experiment.read(&mut xml, builder) {
        builder.warn(Warning::Damaged {
            offset: xml.offset() as u64,
            what: "it ends early".to_owned(),
        });
    }
    if experiment.columns.is_empty() {
        builder.note("the file has no metrics");
        return Ok(());
    }
    let titles: Vec<Metric> = (experiment.columns.iter())
        .map(|column| column.metric.clone())
        .collect();
    let used: FxHashSet<u64> = (experiment.values.iter())
        .map(|&(_, metric, _)| metric)
        .collect();
    let has_values = |row: usize| {
        let column = experiment.columns.get(row);
        let sum = column.and_then(|column| column.sum);
        used.is_empty() || sum.is_some_and(|sum| used.contains(&sum))
    };
    let wanted = source.options.value.as_deref();
    let row = metric::choice(&titles, wanted, has_values)?;
    let mut sums = CallValues::default();
    if !experiment.add_threads(source, builder, row, &mut sums) {
        builder.process(0, &experiment.name);
        let thread = builder.only_thread();
        let values = experiment.own(row);
        experiment.add(thread, row, &values, &mut sums);
        builder.note("the values are sums over all processes and threads, with six digits");
    }
    if let Some(metric) = titles.get(row) {
        metric.finish(builder, sums);
    }
    Ok(())
}

impl Experiment {
    /// Reads the file, and says whether it is whole.
    fn read(&mut self, xml: &mut Xml<'_>, builder: &mut Builder) -> bool {
        let mut around: Vec<(usize, Place)> = Vec::new();
        while let Some(part) = xml.next() {
            match part {
                Part::Open {
                    name: b"M",
                    attributes,
                    ..
                } => {
                    let metric = number(attributes, "n");
                    if let (Some(&(node, _)), Some(metric), Some(value)) =
                        (around.last(), metric, number(attributes, "v"))
                    {
                        self.values.push((node, metric, value));
                    }
                }
                Part::Open {
                    name: name @ (b"PF" | b"Pr" | b"C" | b"S" | b"L"),
                    attributes,
                    is_empty,
                } => {
                    let outer = around.last().copied();
                    let place = outer.map(|(_, place)| place).unwrap_or_default();
                    let place = self.place(builder, name, attributes, place);
                    self.nodes.push(Node {
                        id: number(attributes, "i").unwrap_or(0),
                        around: outer.map(|(node, _)| node),
                        stack: place.stack(builder, &mut self.names),
                    });
                    if !is_empty {
                        around.push((self.nodes.len() - 1, place));
                    }
                }
                Part::Close(b"PF" | b"Pr" | b"C" | b"S" | b"L") => {
                    around.pop();
                }
                Part::Close(b"HPCToolkitExperiment") => return true,
                Part::Open {
                    name, attributes, ..
                } => self.table(name, attributes),
                Part::Close(_) | Part::Text(_) => {}
            }
        }
        false
    }

    /// Reads a row of the tables before the tree.
    fn table(&mut self, name: &[u8], attributes: &[u8]) {
        let text = |key| attribute(attributes, key).unwrap_or_default().into_owned();
        match name {
            b"Header" | b"SecCallPathProfile" => self.name = text("n").chars().take(256).collect(),
            b"LoadModule" => {
                self.modules.insert(text("i"), text("n"));
            }
            b"File" => {
                let path = text("n");
                if !known(&path).is_empty() {
                    self.names.files.push(known(&path).to_owned());
                    self.files.insert(text("i"), self.names.files.len() - 1);
                }
            }
            b"Procedure" => {
                self.functions.insert(text("i"), text("n").into());
            }
            b"Metric" => self.column(attributes, |column| &mut column.sum, "i"),
            b"MetricDB" => self.column(attributes, |column| &mut column.single, "db-id"),
            _ => {}
        }
    }

    /// Adds the number of a metric to its column.
    fn column<T: std::str::FromStr>(
        &mut self,
        attributes: &[u8],
        part: impl Fn(&mut Column) -> &mut Option<T>,
        key: &str,
    ) {
        let title = attribute(attributes, "n").unwrap_or_default();
        // Other statistics over threads, such as `:Mean`, are no values of their own.
        let title = title.strip_suffix(" (I)").unwrap_or(&title);
        let title = title.strip_suffix(":Sum").unwrap_or(title).trim();
        let is_inclusive = attribute(attributes, "t").as_deref() == Some("inclusive");
        if !is_inclusive || title.contains(':') {
            return;
        }
        let columns = &mut self.columns;
        let at = *self.titles.entry(title.to_owned()).or_insert_with(|| {
            columns.push(Column {
                metric: Metric::of(title),
                sum: None,
                single: None,
            });
            columns.len() - 1
        });
        if let Some(column) = self.columns.get_mut(at) {
            *part(column) = number(attributes, key);
        }
    }

    fn place(
        &mut self,
        builder: &mut Builder,
        mark: &[u8],
        attributes: &[u8],
        around: Place,
    ) -> Place {
        let text = |key| attribute(attributes, key).unwrap_or_default();
        match mark {
            b"PF" | b"Pr" => {
                let (name, module) = (text("n"), text("lm"));
                // A name stands in the table, or here.
                let known_name = self.functions.get(&*name).cloned();
                if known_name.as_deref().unwrap_or(&name).is_empty() {
                    return around;
                }
                let key = (name.into_owned(), module.into_owned());
                let function = match self.rows.get(&key) {
                    Some(&row) => row,
                    None => {
                        let path = self.modules.get(&key.1).map_or(&*key.1, String::as_str);
                        let path = Some(known(path)).filter(|path| !path.is_empty());
                        let module = path.map(|path| builder.module(path));
                        self.names.functions.push(Function {
                            name: known_name.unwrap_or_else(|| key.0.as_str().into()),
                            module,
                        });
                        self.rows.insert(key, self.names.functions.len() - 1);
                        self.names.functions.len() - 1
                    }
                };
                let file = self.files.get(&*text("f")).copied();
                around.call(builder, &mut self.names, function, file)
            }
            // A range of lines begins with the first one.
            b"C" | b"S" => {
                let line = text("l");
                let line = line.split('-').next().and_then(|line| line.parse().ok());
                around.at(None, line.unwrap_or(0))
            }
            _ => around,
        }
    }

    /// The values of nodes alone, of those that have those inside in them.
    fn alone(&self, mut values: Vec<f64>) -> Vec<f64> {
        for (at, node) in self.nodes.iter().enumerate() {
            // A node comes after the one around it, which has lost nothing of its own yet.
            let value = values.get(at).copied().unwrap_or(0.0);
            if let Some(outer) = node.around.and_then(|outer| values.get_mut(outer)) {
                *outer -= value;
            }
        }
        values
    }

    /// The own values in the tree.
    fn own(&self, column: usize) -> Vec<f64> {
        let mut values = vec![0.0; self.nodes.len()];
        let id = self.columns.get(column).and_then(|column| column.sum);
        for &(node, metric, value) in &self.values {
            if Some(metric) == id
                && let Some(sum) = values.get_mut(node)
            {
                *sum = value;
            }
        }
        self.alone(values)
    }

    fn add(&self, thread: ThreadId, column: usize, values: &[f64], sums: &mut CallValues) {
        let Some(column) = self.columns.get(column) else {
            return;
        };
        for (node, &value) in self.nodes.iter().zip(values) {
            let weight = column.metric.weight(value);
            if let (Some(stack), 1..) = (node.stack, weight) {
                sums.add(thread, stack, weight, 0);
            }
        }
    }

    /// Adds the values in files of threads, and says whether there are any.
    fn add_threads(
        &self,
        source: &Source<'_>,
        builder: &mut Builder,
        column: usize,
        sums: &mut CallValues,
    ) -> bool {
        let single = self.columns.get(column).and_then(|column| column.single);
        let Some(single) = single else {
            return false;
        };
        let mut has_any = false;
        for (path, [rank, thread]) in threads::beside(source.path) {
            let bytes = source::load_beside(&path);
            let Some(values) = bytes.as_ref().ok().and_then(|bytes| Values::of(bytes)) else {
                builder.leave_out("files", || path.display().to_string());
                continue;
            };
            has_any = true;
            builder.process(rank, &format!("{} rank {rank}", self.name));
            let thread = builder.thread(rank, u64::from(thread), "");
            let all = self.nodes.iter();
            let all = all.map(|node| values.get(node.id, single).unwrap_or(0.0));
            let values = self.alone(all.collect());
            self.add(thread, column, &values, sums);
        }
        has_any
    }
}
