//! Graphs of profiles whose calls are known.

use profundo_model::{FrameKey, Language, Profile, SampleKind};

use super::{CallGraph, CallGraphOptions, GraphBy, call_graph};
use crate::{Filter, Selection};

fn graph(folded: &str, options: &CallGraphOptions) -> CallGraph {
    let profile = Profile::from_folded(folded).unwrap();
    call_graph(
        &profile,
        &Selection::new(&profile, &Filter::default()),
        options,
    )
}

fn everything() -> CallGraphOptions {
    CallGraphOptions {
        most_nodes: usize::MAX,
        min_share: 0.0,
        edge_share: 0.0,
        ..CallGraphOptions::default()
    }
}

/// The nodes with their own and total counts.
fn nodes(graph: &CallGraph) -> Vec<(&str, u64, u64)> {
    let nodes = graph.nodes.iter();
    nodes
        .map(|node| (node.name.as_str(), node.own.count, node.total.count))
        .collect()
}

/// The edges with their counts; `-->` is a bridge.
fn edges(graph: &CallGraph) -> Vec<String> {
    let mut edges: Vec<String> = (graph.edges.iter())
        .map(|edge| {
            let name = |row: usize| &graph.nodes[row].name;
            let arrow = if edge.is_bridge { "-->" } else { "->" };
            let (caller, callee) = (name(edge.caller), name(edge.callee));
            format!("{caller} {arrow} {callee} {}", edge.amount.count)
        })
        .collect();
    edges.sort();
    edges
}

#[test]
fn each_function_is_one_node_whatever_its_callers() {
    let graph = graph("main;a;work 3\nmain;b;work 5\nmain;a 2", &everything());
    assert_eq!(
        nodes(&graph),
        [("main", 0, 10), ("work", 8, 8), ("a", 2, 5), ("b", 0, 5)]
    );
    assert_eq!(
        edges(&graph),
        ["a -> work 3", "b -> work 5", "main -> a 5", "main -> b 5"]
    );
    assert_eq!((graph.all_nodes, graph.kept_share()), (4, 1.0));
}

#[test]
fn a_sample_counts_once_for_a_function_that_recurses() {
    let graph = graph("main;f;f;f 4\nmain;even;odd;even;odd 6", &everything());
    assert_eq!(
        nodes(&graph),
        [("main", 0, 10), ("odd", 6, 6), ("even", 0, 6), ("f", 4, 4)]
    );
    assert_eq!(
        edges(&graph),
        [
            "even -> odd 6",
            "f -> f 4",
            "main -> even 6",
            "main -> f 4",
            "odd -> even 6"
        ]
    );
}

#[test]
fn a_removed_function_is_bridged() {
    let folded = "main;pass;work 50\nmain;other;leaf 49\nmain;tiny 1";
    let options = CallGraphOptions {
        min_share: 0.02,
        most_nodes: 4,
        ..everything()
    };
    let graph = graph(folded, &options);
    // `tiny` has too little time, and of the others `pass` decides the least.
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["main", "work", "pass", "leaf"]);
    assert_eq!(
        edges(&graph),
        ["main --> leaf 49", "main -> pass 50", "pass -> work 50"]
    );
    assert_eq!(graph.all_nodes, 6);
    assert!((graph.kept_share() - 0.99).abs() < 1e-9);
}

#[test]
fn a_chain_without_time_of_its_own_is_bridged() {
    let mut folded = String::new();
    for leaf in 0..20 {
        folded.push_str(&format!("main;run;start;call;leaf{leaf} 5\n"));
    }
    let options = CallGraphOptions {
        most_nodes: 22,
        ..everything()
    };
    let graph = graph(&folded, &options);
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    // `main` is the entry and `call` decides, so these stay; `run` and `start` only pass on.
    assert_eq!(&names[..2], ["main", "call"]);
    assert!(edges(&graph).contains(&"main --> call 100".to_owned()));
}

#[test]
fn rare_edges_are_left_out_and_counted() {
    let options = CallGraphOptions {
        edge_share: 0.1,
        ..everything()
    };
    let graph = graph("main;a;work 95\nmain;work 5", &options);
    assert_eq!(edges(&graph), ["a -> work 95", "main -> a 95"]);
    assert_eq!(graph.all_edges, 3);
}

#[test]
fn a_group_that_calls_itself_is_one_node_without_an_edge() {
    let options = CallGraphOptions {
        by: GraphBy::Package,
        ..everything()
    };
    let folded =
        "app::main;app::parse;lexer::next 7\napp::main;lexer::new;<app::T as lexer::Read>::read 3";
    let graph = graph(folded, &options);
    assert_eq!(nodes(&graph), [("lexer", 7, 10), ("app", 3, 10)]);
    assert_eq!(edges(&graph), ["app -> lexer 10", "lexer -> app 3"]);
}

#[test]
fn shares_have_intervals() {
    let graph = graph("main;a 300\nmain;b 100", &everything());
    let a = graph.nodes.iter().find(|node| node.name == "a").unwrap();
    assert_eq!(a.own_share.share, 0.75);
    let interval = a.own_share.known().unwrap();
    assert!(interval.low > 0.5 && interval.low < 0.75 && interval.high > 0.75);
    let edge = graph
        .edges
        .iter()
        .find(|edge| graph.nodes[edge.callee].name == "a");
    let share = edge.unwrap().share;
    assert!(share.interval.low < 0.75 && share.interval.high > 0.75);
}

#[test]
fn counted_methods_of_one_name_are_several_functions() {
    let mut profile = Profile::from_folded("main;first;second 4").unwrap();
    let stack = profile.samples[0].stack;
    let locations: Vec<_> = profile.stacks.locations(stack).collect();
    for (location, line) in locations.into_iter().zip([323, 637]) {
        let frame = profile.frame(FrameKey {
            function: "wait",
            file: "threading.py",
            line,
            language: Language::Python,
            ..FrameKey::default()
        });
        profile.locations.set_frames(location, &[frame]);
    }
    let names = |profile: &Profile| -> Vec<String> {
        let selection = Selection::new(profile, &Filter::default());
        let graph = call_graph(profile, &selection, &everything());
        let nodes = graph.nodes.iter();
        let mut names: Vec<String> = nodes
            .map(|node| format!("{}:{}", node.name, node.line))
            .collect();
        names.sort();
        names
    };
    // A line of a sample is any line of its function.
    assert_eq!(names(&profile), ["main:0", "wait:637"]);
    profile.meta.kind = SampleKind::Traced;
    assert_eq!(names(&profile), ["main:0", "wait:323", "wait:637"]);
}

#[test]
fn a_graph_around_a_function_has_its_callers_and_callees() {
    let folded = "main;a;work;leaf 30\nmain;b;work 20\nmain;b;other 49\nmain;rare 1";
    let profile = Profile::from_folded(folded).unwrap();
    let selection = Selection::new(&profile, &Filter::default());
    let around = |name: &str, steps| {
        let around = super::Around {
            name: name.to_owned(),
            file: None,
            steps,
        };
        let graph = super::call_graph_around(&profile, &selection, &everything(), &around);
        let mut names: Vec<String> = graph.nodes.iter().map(|node| node.name.clone()).collect();
        names.sort();
        let centre = graph.centre.map(|row| graph.nodes[row].name.clone());
        (names.join(" "), centre, graph.whole, graph.all_nodes)
    };
    let whole = 100_000_000;
    let centre = Some("work".to_owned());
    // `other` is called by a caller of `work`, and is neither.
    assert_eq!(
        around("work", None),
        ("a b leaf main work".into(), centre.clone(), whole, 7)
    );
    assert_eq!(
        around("work", Some(1)),
        ("a b leaf work".into(), centre, whole, 7)
    );
    assert_eq!(around("none", None), (String::new(), None, whole, 7));
    // It stays although its share is too small.
    let least = CallGraphOptions {
        min_share: 0.1,
        ..CallGraphOptions::default()
    };
    let rare = super::Around {
        name: "rare".into(),
        file: None,
        steps: Some(1),
    };
    let graph = super::call_graph_around(&profile, &selection, &least, &rare);
    assert_eq!(graph.nodes.len(), 2);
    assert_eq!(graph.nodes[graph.centre.unwrap()].name, "rare");
}
