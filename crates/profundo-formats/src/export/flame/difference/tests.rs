//! Comparisons whose truth is known by construction.

use super::*;

fn node(
    parent: Option<u32>,
    name: &str,
    before: f64,
    after: f64,
    change: Change,
) -> DifferenceNode {
    DifferenceNode {
        parent,
        name: name.into(),
        place: format!("/srv/{name}.py:1"),
        before,
        after,
        own_before: before,
        own_after: after,
        change,
    }
}

fn example() -> Difference {
    Difference {
        title: "app.py: before and after".into(),
        subtitle: "parse takes 1.00 s more".into(),
        before: "app-1519".into(),
        after: "app-1602".into(),
        unit: Unit::Time,
        nodes: vec![
            node(None, "main", 10e9, 11e9, Change::Grew),
            node(Some(0), "parse", 2e9, 3e9, Change::Grew),
            node(Some(0), "old", 1e9, 0.0, Change::Gone),
            node(Some(0), "new", 0.0, 1.5e9, Change::New),
            node(Some(0), "noise <&>", 4e9, 4.01e9, Change::Unclear),
        ],
    }
}

#[test]
fn each_recording_has_its_widths() {
    let picture = picture(&example(), &Options::default());
    let found: Vec<_> = (picture.nodes.iter().zip(&picture.before))
        .map(|(node, before)| {
            let name = picture.frames.name(node.frame).to_owned();
            (name, node.start, node.width, before.start, before.width)
        })
        .collect();
    const S: u64 = 1_000_000_000;
    let expected = [
        ("all", 0, 11 * S, 0, 10 * S),
        ("main", 0, 11 * S, 0, 10 * S),
        ("noise <&>", 0, 4_010_000_000, 0, 4 * S),
        ("parse", 4_010_000_000, 3 * S, 4 * S, 2 * S),
        ("new", 7_010_000_000, 1_500_000_000, 6 * S, 0),
        ("old", 8_510_000_000, 0, 6 * S, S),
    ];
    let expected = expected
        .map(|(name, start, width, was_at, was)| (name.to_owned(), start, width, was_at, was));
    assert_eq!(found, expected);
    assert_eq!(picture.span, 11 * S);
}

#[test]
fn the_colour_tells_the_change() {
    let classes: Vec<u8> = example().nodes.iter().map(class).collect();
    // A tenth more, a half more, gone, new, chance.
    assert_eq!(classes, [1, 2, GONE, NEW, UNCLEAR]);
}

#[test]
fn the_picture_has_both_recordings_in_words() {
    let mut out = Vec::new();
    write_difference(&example(), &Options::default(), &mut out).unwrap();
    let svg = String::from_utf8(out).unwrap();
    for words in [
        ">after, 11.00 s: app-1602<",
        ">before, 10.00 s: app-1519<",
        "before 2.00 s, after 3.00 s: +1.00 s, ×1.500",
        "before 1.00 s, after 0.00 s: −1.00 s, gone",
        "noise &lt;&amp;&gt;",
        ">may be chance<",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    // What is gone has a box in one part only, and what is new in the other.
    let boxes = |name: &str| svg.matches(&format!("<title>{name}\n")).count();
    assert_eq!((boxes("main"), boxes("old"), boxes("new")), (2, 1, 1));
}

#[test]
fn a_caller_behind_its_callee_makes_no_circle() {
    let mut difference = example();
    difference.nodes[0].parent = Some(1);
    difference.nodes[1].parent = Some(1);
    difference.nodes[2].before = f64::NAN;
    let mut out = Vec::new();
    write_difference(&difference, &Options::default(), &mut out).unwrap();
}
