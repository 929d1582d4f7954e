//! `bench!`: the number of runs of an expression, their order, and the output.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use profundo::bench;
use profundo::bench::{Options, black_box};

use crate::alone::alone;

#[test]
fn an_expression_runs_as_often_as_the_options_ask() {
    let _alone = alone();
    let count = Cell::new(0);
    let options = Options::new().number(7).repeat(3);
    let one = bench!(options = options; count.set(count.get() + 1));
    assert_eq!(count.get(), 21);
    let name = "count.set(count.get() + 1)";
    assert_eq!(one.loops(name), Some(7));
    assert_eq!(one.seconds(name).unwrap().len(), 3);
    assert_eq!(one.spread(name).unwrap().count, 3);
    let text = one.to_string();
    assert!(text.starts_with("7 loops, best of 3: "), "{text}");
    let second = text.lines().nth(1).unwrap();
    assert!(
        second.ends_with("(mean ± std. dev. of 3 runs, 7 loops each)"),
        "{text}"
    );
    assert_eq!(one.seconds("nothing"), None);
    assert_eq!(one.ratio(name, "nothing"), None);
}

#[test]
fn the_number_of_loops_is_found() {
    let _alone = alone();
    let options = Options::new().min_time(Duration::from_millis(20)).repeat(1);
    let count = Cell::new(0_u64);
    let one = bench!(options = options; {
        count.set(count.get() + 1);
        std::thread::sleep(Duration::from_millis(3));
    });
    // 1, 2, 5 and 10 loops, or fewer where each takes longer, and one run more.
    let found = [(10, 28), (5, 13), (2, 5), (1, 2)];
    let loops = count.get();
    assert!(
        found.iter().any(|(_, all)| *all == loops),
        "{loops} loops in {one}"
    );
}

#[test]
fn candidates_run_in_turn() {
    let _alone = alone();
    let log = RefCell::new(String::new());
    let options = Options::new().number(1).repeat(10);
    let three = bench!(
        options = options;
        "a" => log.borrow_mut().push('a'),
        "b" => log.borrow_mut().push('b'),
        "c" => log.borrow_mut().push('c'),
    );
    let log = log.into_inner();
    assert_eq!(log.len(), 30, "{log}");
    let rounds: Vec<&[u8]> = log.as_bytes().chunks(3).collect();
    for round in &rounds {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, b"abc", "{log}");
    }
    let place = |round: &[u8], who| round.iter().position(|candidate| *candidate == who);
    let before = rounds
        .iter()
        .filter(|round| place(round, b'a') < place(round, b'b'));
    assert_eq!(before.count(), 5, "{log}");
    assert_eq!(three.seconds("c").unwrap().len(), 10);
}

#[test]
fn much_longer_candidates_are_reported() {
    let _alone = alone();
    let numbers: Vec<u64> = (0..20_000).collect();
    let options = Options::new().number(5).repeat(12);
    let two = bench!(
        options = options;
        "all" => black_box(&numbers).iter().map(|number| black_box(*number)).sum::<u64>(),
        "few" => black_box(&numbers[..200]).iter().map(|number| black_box(*number)).sum::<u64>(),
    );
    assert_eq!(two.fastest(), Some("few"));
    assert!(two.ratio("all", "few").unwrap().low > 5.0, "{two}");
    assert!(two.to_string().contains("`few` is "), "{two}");
    let mut json = Vec::new();
    two.write_json(&mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    assert!(json.contains("\"subject\": \"rust\""), "{json}");
    assert!(json.contains("\"fastest\": \"few\""), "{json}");
    // It has the machine, so that it can be compared with a later day's.
    assert!(!json.contains("\"cpus\": 0,"), "{json}");
    assert!(json.contains("\"kernel\": \""), "{json}");
}
