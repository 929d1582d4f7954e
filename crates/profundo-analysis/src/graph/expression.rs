//! The path to an object as a Python expression, such as `app.cache.entries['x'].items[3]`.
//!
//! Parts without an expression stand in angle brackets: `<dict>` for one that only native code
//! holds, `use.<locals>.rows` for a variable of a running function, `[<item 3>]` for a key that the
//! snapshot hides.

use profundo_model::graph::{EdgeId, Graph, NameId, NodeId};

use super::Step;
use super::python::{self, Hold, is_identifier, quoted};

/// A longer expression is cut in its middle: a linked list has as many steps as items.
const LONGEST: usize = 300;
const HEAD: usize = 120;

/// The path from the root as a Python expression. `None` where it leads to no Python object.
pub fn expression(graph: &Graph, steps: &[Step]) -> Option<String> {
    let modules = python::modules(graph)?;
    let mut written: Option<Written> = None;
    for pair in steps.windows(2) {
        let [from, to] = pair else { continue };
        let edge = to.edge?;
        written = match written {
            Some(written) => Some(written.step(graph, from.node, edge)),
            None => begin(graph, modules, from.node, to.node),
        };
    }
    written.map(|written| written.text)
}

/// The beginning of an expression: an object below one of the roots.
fn begin(graph: &Graph, modules: NodeId, from: NodeId, node: NodeId) -> Option<Written> {
    if from == modules {
        return Some(Written {
            text: "sys.modules".into(),
            below: Below::Modules,
        });
    }
    let holder = python::name(graph, from);
    if graph.kind_name(graph.kind(node)) == "synthetic" {
        if holder != b"(Thread)" {
            return None;
        }
        return Some(locals(graph, node));
    }
    if holder == b"(Thread)" {
        return Some(locals(graph, node));
    }
    let text = own_name(graph, node)
        .unwrap_or_else(|| format!("<{}>", String::from_utf8_lossy(python::name(graph, node))));
    Some(Written::new(text))
}

fn locals(graph: &Graph, frame: NodeId) -> Written {
    let function = python::name(graph, python::function_of(graph, frame));
    Written {
        text: format!("{}.<locals>", String::from_utf8_lossy(function)),
        below: Below::Locals,
    }
}

/// The name of a class, a function or a module, wherever it is held.
fn own_name(graph: &Graph, node: NodeId) -> Option<String> {
    let name = || String::from_utf8_lossy(python::name(graph, node)).into_owned();
    match graph.kind_name(graph.kind(node)) {
        "class" | "closure" | "module" => Some(name()),
        "code" => Some(format!("{}.__code__", name())),
        "string" => Some("<str>".into()),
        _ => None,
    }
}

/// Whether an expression ends in a cell of a closure, as in `f.__closure__[0]`.
fn ends_in_cell(text: &str) -> bool {
    let inside = text.rsplit_once(".__closure__[");
    inside.is_some_and(|(_, index)| {
        index
            .trim_end_matches(']')
            .bytes()
            .all(|byte| byte.is_ascii_digit())
    })
}

/// The expression so far.
struct Written {
    text: String,
    below: Below,
}

/// The last object, where it changes the form of the next step.
enum Below {
    Object,
    /// The `__dict__` of the expression at this length.
    Namespace(usize),
    /// `sys.modules`.
    Modules,
    /// The variables of a running function.
    Locals,
}

impl Written {
    fn new(text: String) -> Self {
        Self {
            text,
            below: Below::Object,
        }
    }

    fn step(mut self, graph: &Graph, from: NodeId, edge: EdgeId) -> Self {
        self.shorten();
        let node = graph.edge_to(edge);
        let name = |row: u32| String::from_utf8_lossy(graph.text(NameId(row))).into_owned();
        let text = self.text;
        let mut below = Below::Object;
        let text = match (python::hold(graph, from, edge), self.below) {
            (Hold::Namespace, _) => {
                below = Below::Namespace(text.len());
                format!("{text}.__dict__")
            }
            (Hold::Key(key), Below::Modules) if name(key).split('.').all(is_identifier) => {
                name(key)
            }
            (Hold::Key(key), Below::Namespace(end)) if is_identifier(&name(key)) => {
                format!("{}.{}", &text[..end], name(key))
            }
            (Hold::Key(key), _) => format!("{text}[{}]", quoted(&name(key))),
            (Hold::Local(variable), Below::Locals) => format!("{text}.{}", name(variable)),
            (Hold::Local(variable), _) => match python::frame_of(graph, from) {
                Some(frame) => format!("{text}.{frame}.f_locals[{}]", quoted(&name(variable))),
                None => format!("{text}.f_locals[{}]", quoted(&name(variable))),
            },
            (Hold::Attribute(attribute), Below::Locals) => {
                // A reference of the frame itself, which has no name.
                format!(
                    "<frame of {}>.{}",
                    text.trim_end_matches(".<locals>"),
                    name(attribute)
                )
            }
            // The variable has the name already, unless it is seen from an inner function.
            (Hold::Attribute(_), _) if python::is_cell(graph, from) && !ends_in_cell(&text) => text,
            (Hold::Attribute(attribute), _) => format!("{text}.{}", name(attribute)),
            (Hold::Index(index), _) => format!("{text}[{index}]"),
            (Hold::HiddenKey(place), _) => format!("{text}[<item {place}>]"),
            (Hold::Element(place), _) => format!("list({text})[{place}]"),
            (Hold::Class, _) => format!("type({text})"),
            (Hold::Unnamed, _) => match own_name(graph, node) {
                Some(own) => own,
                None => format!("{text}.<reference>"),
            },
        };
        Self { text, below }
    }

    fn shorten(&mut self) {
        if self.text.len() <= LONGEST {
            return;
        }
        let (head, tail) = (HEAD, self.text.len() - HEAD);
        let head = (0..=head).rev().find(|at| self.text.is_char_boundary(*at));
        let tail = (tail..self.text.len()).find(|at| self.text.is_char_boundary(*at));
        let (Some(head), Some(tail)) = (head, tail) else {
            return;
        };
        if let Below::Namespace(end) = &mut self.below {
            *end = *end - tail + head + '…'.len_utf8();
        }
        self.text = format!("{}…{}", &self.text[..head], &self.text[tail..]);
    }
}
