//! However many spans a program enters: the memory is bounded, and what is counted is right.

use profundo_wire::span_limit::LABELS_OF_NAME;
use profundo_wire::{Reader, Record, SPAN_SEPARATOR};

use super::names::{Names, OTHER, OTHERS};

fn text(name: &str, value: u32) -> String {
    format!("{name}{SPAN_SEPARATOR}id{SPAN_SEPARATOR}{value}")
}

#[test]
fn the_values_of_an_attribute_are_bounded_for_each_name() {
    let mut names = Names::new();
    let first = names.label(&text("request", 0));
    for value in 1..LABELS_OF_NAME {
        let numbered = names.label(&text("request", value));
        assert!(!numbered.is_one_for_many);
        assert_ne!(numbered.label, first.label);
    }
    let one = names.label(&text("request", LABELS_OF_NAME));
    let other = names.label(&text("request", LABELS_OF_NAME + 1));
    assert!(one.is_one_for_many && other.is_one_for_many);
    assert_eq!(one.label, other.label);
    // Known values and other names stay.
    assert_eq!(names.label(&text("request", 0)), first);
    assert!(!names.label(&text("query", 0)).is_one_for_many);
    assert!(!names.label("request").is_one_for_many);
    let path = names.path(0, one.label);
    let mut words = Vec::new();
    names.write(&mut words);
    let texts = Reader::new(&words).filter_map(|record| match record.unwrap() {
        Record::SpanPath(known) if known.number == path => Some(known.text()),
        _ => None,
    });
    let expected = ["request", "id", "…"].join(&SPAN_SEPARATOR.to_string());
    assert_eq!(texts.collect::<Vec<_>>(), [expected]);
}

#[test]
fn paths_are_bounded_and_their_parents_come_first() {
    let mut names = Names::new();
    let label = names.label("deep").label;
    let mut path = 0;
    let mut met = 0;
    while path != OTHERS {
        path = names.path(path, label);
        met += 1;
        assert!(met < 1 << 20, "there is a limit");
    }
    assert_eq!(names.path(0, OTHER), OTHERS);
    assert_eq!(names.path(OTHERS, label), OTHERS);
    let mut words = Vec::new();
    names.write(&mut words);
    let mut last = 0;
    for record in Reader::new(&words) {
        let Record::SpanPath(path) = record.unwrap() else {
            panic!("only paths were written")
        };
        assert!(path.parent < path.number && path.number == last + 1);
        last = path.number;
    }
    assert!(last > 1000);
}
