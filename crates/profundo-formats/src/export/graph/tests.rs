//! The words and figures of both kinds of files.

use profundo_model::Profile;

use super::super::{Format, Options, write};
use super::GraphOptions;

fn text(folded: &str, format: Format, options: &Options) -> String {
    let profile = Profile::from_folded(folded).unwrap();
    let mut out = Vec::new();
    write(&profile, format, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const PROGRAM: &str = "main;parse;lex 30\nmain;parse;parse 20\nmain;Vec<T>::push 49\nmain;rare 1";

#[test]
fn the_text_for_graphviz_has_boxes_and_arrows() {
    let dot = text(PROGRAM, Format::DOT, &Options::default());
    assert!(Format::DOT.is_start_of(dot.as_bytes()));
    for line in [
        "n0 [label=\"main\\n0.0 % own of 100.0 %\"",
        "n1 [label=\"parse\\n20.0 % own of 50.0 %\"",
        "n2 [label=\"Vec<T>::push\\n49.0 % own\"",
        "n1 -> n1 [label=\" 20.0 %\"",
        "n0 -> n1 [label=\" 50.0 %\"",
        "All 5 functions and their calls are drawn",
    ] {
        assert!(dot.contains(line), "{line}\n{dot}");
    }
}

#[test]
fn the_picture_says_what_is_left_out() {
    let options = Options {
        min_share: Some(0.02),
        graph: GraphOptions {
            edge_share: Some(0.25),
            ..GraphOptions::default()
        },
        ..Options::default()
    };
    let svg = text(PROGRAM, Format::GRAPH, &options);
    assert!(Format::GRAPH.is_start_of(svg.as_bytes()));
    let left_out = "4 of 5 functions, 99.0 % of the time; shares below 2.0 % are left out; 1 of 4 arrows are left out: below 25.0 %, or implied by others";
    assert!(svg.contains(left_out), "{svg}");
    assert_eq!(svg.matches("<g class=\"n\"").count(), 4);
    assert_eq!(svg.matches("<g class=\"e\"").count(), 3);
    // All that a name may have is text in XML, too.
    assert!(svg.contains("Vec&lt;T&gt;::push"));
    assert!(!svg.contains("Vec<T>"));
}

#[test]
fn a_limit_of_boxes_is_named() {
    let options = Options {
        graph: GraphOptions {
            nodes: Some(3),
            ..GraphOptions::default()
        },
        ..Options::default()
    };
    let svg = text(PROGRAM, Format::GRAPH, &options);
    assert!(svg.contains("3 of 5 functions"), "{svg}");
    assert!(svg.contains("only the 3 that say most are drawn"), "{svg}");
}

#[test]
fn few_samples_are_counts() {
    let svg = text("main;work 5\nmain 2", Format::GRAPH, &Options::default());
    assert!(svg.contains("own 2, all 7 of 7"), "{svg}");
    assert!(
        svg.contains("these are too few samples for shares"),
        "{svg}"
    );
}

#[test]
fn an_empty_recording_says_so() {
    for format in [Format::GRAPH, Format::DOT] {
        assert!(text("", format, &Options::default()).contains("There is nothing to draw"));
    }
}

#[test]
fn the_square_map_has_each_path_in_its_caller() {
    let svg = text(PROGRAM, Format::SQUARE, &Options::default());
    assert!(Format::SQUARE.is_start_of(svg.as_bytes()));
    for words in ["main", "parse", "lex", "Vec&lt;T&gt;::push"] {
        assert!(svg.contains(&format!("<title>{words}\n")), "{words}: {svg}");
    }
    assert_eq!(svg.matches("<title>parse\n").count(), 2);
    let few: String = (0..40).map(|leaf| format!("main;leaf{leaf} 1\n")).collect();
    let options = Options {
        min_share: Some(0.03),
        ..Options::default()
    };
    let svg = text(&few, Format::SQUARE, &options);
    assert!(svg.contains("<title>40 others\n100.0 %"), "{svg}");
}
