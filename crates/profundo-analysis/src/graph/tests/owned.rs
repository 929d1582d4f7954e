//! A Python heap that is known by construction: the owner of each container, and the expression for
//! it.

use profundo_model::graph::{Builder, Graph, Label, NodeId, Sink};

use crate::graph::{Alive, Owners, expression};

/// A heap in the making, in the words of a Python snapshot.
#[derive(Default)]
struct Heap {
    heap: Builder,
    id: u64,
}

impl Heap {
    fn node(&mut self, kind: &str, name: &str) -> NodeId {
        self.id += 16;
        let kind = self.heap.node_kind(kind).unwrap();
        let name = self.heap.name(name.as_bytes()).unwrap();
        self.heap.node(kind, name, self.id, 64).unwrap()
    }

    fn edge(&mut self, kind: &str, name: &str, from: NodeId, to: NodeId) {
        let kind = self.heap.edge_kind(kind).unwrap();
        let name = self.heap.name(name.as_bytes()).unwrap();
        self.heap.edge(kind, Label::Name(name), from, to).unwrap();
    }

    /// An attribute, a variable, or an object below a root.
    fn named(&mut self, from: NodeId, name: &str, kind: &str, of: &str) -> NodeId {
        let node = self.node(kind, of);
        self.edge("property", name, from, node);
        node
    }

    fn item(&mut self, from: NodeId, index: u64, of: &str) -> NodeId {
        let node = self.node("object", of);
        let kind = self.heap.edge_kind("element").unwrap();
        (self.heap)
            .edge(kind, Label::Index(index), from, node)
            .unwrap();
        node
    }

    /// The value of a key that is a text.
    fn value(&mut self, dict: NodeId, key: &str, kind: &str, of: &str) -> NodeId {
        let value = self.named(dict, key, kind, of);
        let text = self.node("string", key);
        self.edge("internal", "key", dict, text);
        value
    }

    fn dict_of(&mut self, holder: NodeId) -> NodeId {
        self.named(holder, "__dict__", "object", "dict")
    }
}

/// Checks the findings about an object.
fn check(graph: &Graph, node: NodeId, phrase: Option<&str>, reached_by: Option<&str>) {
    let owners = Owners::new(graph, &Alive::new(graph));
    let found = owners.of(node).map(|owner| owners.phrase(owner));
    assert_eq!(found.as_deref(), phrase);
    let found = expression(graph, &owners.steps(graph, node));
    assert_eq!(found.as_deref(), reached_by);
}

fn with_module() -> (Heap, NodeId, NodeId, NodeId) {
    let mut heap = Heap::default();
    let root = heap.node("synthetic", "");
    let modules = heap.named(root, "1", "synthetic", "(Modules)");
    let all = heap.named(modules, "modules", "object", "dict");
    let app = heap.value(all, "app", "module", "app");
    let globals = heap.dict_of(app);
    (heap, root, app, globals)
}

#[test]
fn dictionaries_of_modules_classes_and_objects_are_theirs() {
    let (mut heap, _, _, globals) = with_module();
    let class = heap.value(globals, "Cache", "class", "app.Cache");
    let class_dict = heap.dict_of(class);
    let registry = heap.value(class_dict, "registry", "object", "dict");
    let cache = heap.value(globals, "cache", "object", "app.Cache");
    let own = heap.dict_of(cache);
    let entries = heap.value(own, "entries", "object", "dict");
    let list = heap.value(entries, "it's", "object", "list");
    let item = heap.item(list, 3, "dict");
    let odd = heap.value(globals, "no name", "object", "list");
    let graph = heap.heap.finish();
    let check = |node, phrase, reached_by| check(&graph, node, Some(phrase), Some(reached_by));
    check(globals, "of module app", "app.__dict__");
    check(class_dict, "of class app.Cache", "app.Cache.__dict__");
    check(registry, "at app.Cache.registry", "app.Cache.registry");
    check(own, "of app.Cache", "app.cache.__dict__");
    check(entries, "at <app.Cache>.entries", "app.cache.entries");
    check(
        list,
        "at <app.Cache>.entries['it\\'s']",
        "app.cache.entries['it\\'s']",
    );
    check(
        item,
        "at <app.Cache>.entries['it\\'s'][…]",
        "app.cache.entries['it\\'s'][3]",
    );
    check(odd, "at app.__dict__['no name']", "app.__dict__['no name']");
}

#[test]
fn variables_of_functions_own_what_they_hold() {
    let (mut heap, root, _, globals) = with_module();
    let function = heap.value(globals, "outer", "closure", "app.outer");
    let cells = heap.named(function, "__closure__", "object", "tuple");
    let cell = heap.item(cells, 0, "cell");
    let closed = heap.named(cell, "cell_contents", "object", "set");
    let threads = heap.named(root, "2", "synthetic", "(Threads)");
    let thread = heap.named(threads, "1", "synthetic", "(Thread)");
    let frame = heap.named(thread, "0", "synthetic", "serve");
    let local = heap.named(frame, "rows", "object", "list");
    let inner = heap.item(local, 7, "dict");
    let graph = heap.heap.finish();
    check(
        &graph,
        closed,
        Some("at app.outer.__closure__[…].cell_contents"),
        Some("app.outer.__closure__[0].cell_contents"),
    );
    check(
        &graph,
        local,
        Some("at serve.<locals>.rows"),
        Some("serve.<locals>.rows"),
    );
    check(
        &graph,
        inner,
        Some("at serve.<locals>.rows[…]"),
        Some("serve.<locals>.rows[7]"),
    );
}

#[test]
fn nothing_is_said_of_what_nobody_is_known_to_own() {
    let (mut heap, root, app, globals) = with_module();
    let native = heap.named(root, "2", "synthetic", "(Held by native code)");
    let held = heap.node("object", "dict");
    heap.edge("internal", "native", native, held);
    let number = heap.value(globals, "number", "object", "int");
    let weak = heap.node("object", "list");
    heap.edge("weak", "seen", app, weak);
    let graph = heap.heap.finish();
    // Native code is no name that Python could use.
    let owners = Owners::new(&graph, &Alive::new(&graph));
    let phrase = owners.of(held).map(|owner| owners.phrase(owner));
    assert_eq!(phrase.as_deref(), Some("at <native code>"));
    assert_eq!(
        expression(&graph, &owners.steps(&graph, held)).as_deref(),
        Some("<dict>")
    );
    // Not a container.
    assert_eq!(owners.of(number), None);
    // An object with only weak references to it has no owner and no path.
    check(&graph, weak, None, None);
    // A snapshot of another language has no owners at all.
    let mut other = Heap::default();
    let root = other.node("synthetic", "");
    let dict = other.named(root, "x", "object", "dict");
    check(&other.heap.finish(), dict, None, None);
}
