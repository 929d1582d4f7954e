//! Objects as texts, with and without the contents of texts.

use super::*;
use profundo_process::reading::Integer;

fn object(class: &str, value: Value) -> Object {
    Object {
        class: class.to_owned(),
        address: 0x7f00,
        value,
    }
}

fn beginning(text: &str) -> Beginning {
    Beginning {
        text: text.to_owned(),
        length: text.chars().count() as u64,
        is_whole: true,
    }
}

fn text(text: &str) -> Object {
    object("str", Value::Text(beginning(text)))
}

fn int(number: i128) -> Object {
    object("int", Value::Int(Integer::Whole(number)))
}

const HIDES: Shower = Shower { shows_texts: false };
const SHOWS: Shower = Shower { shows_texts: true };

#[track_caller]
fn check(object: Object, hidden: &str, shown: &str) {
    assert_eq!(HIDES.variable("x", &object).0, hidden);
    assert_eq!(SHOWS.variable("x", &object).0, shown);
}

#[test]
fn texts_are_shown_only_if_they_are_asked_for() {
    check(text("abc"), "3 characters", "'abc'");
    check(text(""), "0 characters", "''");
    let bytes = object("bytes", Value::Bytes(beginning("a\u{ff}")));
    check(bytes, "2 bytes", "b'a\\xff'");
    let long = Beginning {
        length: 100,
        is_whole: false,
        ..beginning("abc")
    };
    let long = object("str", Value::Text(long));
    check(long, "100 characters", "'abc'… 100 characters");
    let list = object(
        "list",
        Value::Items(Shape::List, 9, vec![text("a"), int(1)]),
    );
    check(
        list,
        "9 items: [<1 character>, 1, …]",
        "9 items: ['a', 1, …]",
    );
}

#[test]
fn secrets_are_never_shown() {
    for shower in [HIDES, SHOWS] {
        for value in [text("abc"), int(5)] {
            let (shown, is_hidden) = shower.variable("db_password", &value);
            assert_eq!(shown, SECRET);
            assert!(is_hidden);
        }
    }
    let pair = |key: &str, value: Object| (text(key), value);
    let pairs = vec![
        pair("Authorization", text("abc")),
        pair("a", text("b")),
        pair("token", int(5)),
        pair("password", object("NoneType", Value::Single)),
    ];
    let headers = object("dict", Value::Pairs(4, pairs));
    check(
        headers,
        "4 items: {<13 characters>: <hidden>, <1 character>: <1 character>, <5 characters>: <hidden>, <8 characters>: None}",
        "4 items: {'Authorization': <hidden>, 'a': 'b', 'token': <hidden>, 'password': None}",
    );
    let header = vec![text("Cookie"), text("a=b")];
    let header = object("tuple", Value::Items(Shape::Tuple, 2, header));
    check(
        header,
        "2 items: (<6 characters>, <hidden>)",
        "2 items: ('Cookie', <hidden>)",
    );
    check(
        text("password=hunter2"),
        "16 characters",
        "16 characters, hidden: looks like a secret",
    );
}

#[test]
fn nothing_that_a_terminal_acts_on_is_shown() {
    let (shown, _) = SHOWS.variable("x", &text("\x1b[31m\r\n\u{9b}\u{202e}'\"\\é中"));
    assert_eq!(shown, r#"'\x1b[31m\r\n\x9b\u202e\'"\\é中'"#);
    assert!(!shown.chars().any(char::is_control));
    assert_eq!(SHOWS.variable("x", &text("it's")).0, "\"it's\"");
}

#[test]
fn containers_have_their_brackets() {
    let items = |class: &str, shape, items: Vec<Object>| {
        let number = items.len() as u64;
        object(class, Value::Items(shape, number, items))
    };
    let check = |object: Object, expected: &str| {
        assert_eq!(HIDES.variable("x", &object).0, expected);
    };
    check(items("tuple", Shape::Tuple, vec![int(1)]), "1 item: (1,)");
    check(items("set", Shape::Set, vec![]), "0 items: set()");
    check(
        items("frozenset", Shape::FrozenSet, vec![int(1)]),
        "1 item: frozenset({1})",
    );
    let point = items("app.Point", Shape::Tuple, vec![int(1), int(2)]);
    let queue = items("collections.deque", Shape::Deque, vec![int(1)]);
    let mine = items("app.Mine", Shape::List, vec![int(1)]);
    let deep = object("dict", Value::Pairs(7, vec![]));
    let other = object("app.Order", Value::Other);
    let error = object("app.Error", Value::Exception(1, vec![text("abc")]));
    let class = object("type", Value::Class("app.Order".into()));
    let all = vec![point, queue, mine, deep, other, error, class];
    check(
        items("list", Shape::List, all),
        "7 items: [Point(1, 2), deque([1]), Mine([1]), <dict, 7 items>, <app.Order at 0x7f00>, \
         Error(<3 characters>), <class app.Order>]",
    );
    let range = [int(0), int(10), int(2)];
    check(
        object("range", Value::Range(Box::new(range))),
        "range(0, 10, 2)",
    );
    check(object("", Value::Unreadable), "<unreadable>");
}
