//! Random courses of exceptions, counted by the tree and by a plain list of what happened.

use std::collections::HashMap;
use std::vec::Vec;

use core::sync::atomic::Ordering;

use super::{Own, described, tree};
use crate::calls::{Course, End, Site, Tree};
use crate::heap::Gaps;
use crate::shared::exception_end;

/// What is counted of a line and a type: a site's line, a type, and an end by its line.
type Row = (u32, Vec<u8>, Option<Option<u32>>);

/// The rows of the file that count something.
fn rows(tree: &Tree<Own>) -> HashMap<Row, u64> {
    let file = tree.file();
    let number = |number: &core::sync::atomic::AtomicU32| number.load(Ordering::Relaxed) as usize;
    let line = |site: usize| file.sites[site].line.load(Ordering::Relaxed);
    let rows = file.exceptions[..number(&file.header.exceptions)].iter();
    let rows = rows.filter(|row| row.count.load(Ordering::Relaxed) > 0);
    rows.map(|row| {
        let base = &file.exceptions[number(&row.raised)];
        let is_base = row.end.load(Ordering::Relaxed) == exception_end::NONE;
        let site = match is_base {
            true => number(&row.raised),
            false => number(&base.raised),
        };
        let name = &file.functions[number(&row.of_type)].name;
        let text = number(&name[0])..number(&name[0]) + number(&name[1]);
        let name = file.text[text]
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed));
        let end = match row.end.load(Ordering::Relaxed) {
            exception_end::NONE => None,
            exception_end::CAUGHT => Some(Some(line(number(&row.caught)))),
            _ => Some(None),
        };
        let count = row.count.load(Ordering::Relaxed);
        ((line(site), name.collect(), end), count)
    })
    .collect()
}

fn site(tree: &mut Tree<Own>, line: u32) -> Site {
    let key = (line, 8 * u64::from(line % 3 + 1));
    let known = tree.site(key);
    let made = |tree: &mut Tree<Own>| {
        tree.add_site(key, (key.1, line), 5, |describe| described(1, describe))
    };
    let site = known.or_else(|| made(tree)).unwrap();
    assert_eq!((tree.site(key), site.notes), (Some(site), 5));
    site
}

fn raise(tree: &mut Tree<Own>, exception: u64, name: &[u8], line: u32) {
    let at = site(tree, line);
    let of_type = tree.exception_type(name);
    tree.raised(exception, of_type, at);
}

const NAMES: [&[u8]; 3] = [b"KeyError", b"ValueError", b"Own"];

#[test]
fn ends_are_counted_where_exceptions_end_last() {
    for seed in 0..5 {
        let mut tree = tree(1000);
        tree.begin_exceptions().unwrap();
        let mut random = Gaps::new(seed + 1);
        let mut below = |most: u64| random.draw() % most;
        // An exception's line and type, and its end.
        let mut known: HashMap<u64, (u32, usize, Option<Option<u32>>)> = HashMap::new();
        let mut ended: Vec<(u32, usize, Option<Option<u32>>)> = Vec::new();
        for _ in 0..3000 {
            let exception = 16 * (1 + below(50));
            let line = below(9) as u32 + 1;
            match below(6) {
                0 | 1 => {
                    let name = below(3) as usize;
                    raise(&mut tree, exception, NAMES[name], line);
                    ended.extend(known.insert(exception, (line, name, None)));
                }
                2 | 3 => {
                    let at = site(&mut tree, line);
                    tree.ends(exception, End::Caught(at));
                    if let Some(known) = known.get_mut(&exception) {
                        known.2 = Some(Some(line));
                        assert_eq!(tree.catcher(exception).map(|site| site.notes), Some(0));
                    }
                }
                4 => {
                    tree.goes_on(exception);
                    known.entry(exception).and_modify(|known| known.2 = None);
                }
                _ if below(8) == 0 => {
                    tree.ignore(exception);
                    ended.extend(known.remove(&exception));
                }
                _ => {
                    tree.ends(exception, End::Left);
                    known
                        .entry(exception)
                        .and_modify(|known| known.2 = Some(None));
                    assert_eq!(tree.catcher(exception), None);
                }
            }
            let course = match known.get(&exception) {
                None => Course::Unknown,
                Some((_, _, None)) => Course::Underway,
                Some(_) => Course::Ended,
            };
            assert_eq!(tree.course(exception), course);
        }
        let mut expected: HashMap<Row, u64> = HashMap::new();
        for (line, name, end) in known.into_values().chain(ended) {
            let name = NAMES[name].to_vec();
            *expected.entry((line, name.clone(), None)).or_default() += 1;
            if end.is_some() {
                *expected.entry((line, name, end)).or_default() += 1;
            }
        }
        assert_eq!(rows(&tree), expected);
        let header = &tree.file().header;
        assert_eq!(header.uncounted_exceptions.load(Ordering::Relaxed), 0);
        tree.forget();
        assert!(rows(&tree).is_empty());
        raise(&mut tree, 16, b"KeyError", 3);
        assert_eq!(rows(&tree).len(), 1);
    }
}

/// Of very many exceptions, those that have ended make room for others.
#[test]
fn what_is_on_its_way_is_forgotten_last() {
    let mut tree = tree(1000);
    tree.begin_exceptions().unwrap();
    let mine = 8 * 16;
    raise(&mut tree, mine, b"Mine", 1);
    let at = site(&mut tree, 2);
    for exception in 0..200_000_u64 {
        let exception = 16 * (1000 + exception);
        raise(&mut tree, exception, b"Other", 3);
        tree.ends(exception, End::Caught(at));
    }
    assert_eq!(tree.course(mine), Course::Underway);
    let forgotten = || {
        tree.file()
            .header
            .forgotten_exceptions
            .load(Ordering::Relaxed)
    };
    assert_eq!(forgotten(), 0);
    let counted = rows(&tree);
    assert_eq!(counted[&(3, b"Other".to_vec(), Some(Some(2)))], 200_000);
    for exception in 0..200_000_u64 {
        raise(&mut tree, 16 * (1000 + exception), b"Other", 3);
    }
    let forgotten = tree
        .file()
        .header
        .forgotten_exceptions
        .load(Ordering::Relaxed);
    assert!((150_000..200_000).contains(&forgotten), "{forgotten}");
}

#[test]
fn without_room_exceptions_are_counted_as_uncounted() {
    let mut tree = tree(4);
    tree.begin_exceptions().unwrap();
    let mut made = 0;
    for line in 1..=20_000_u32 {
        let key = (line, 8);
        let Some(at) = tree.add_site(key, (8, line), 0, |describe| described(1, describe)) else {
            break;
        };
        made += 1;
        let of_type = tree.exception_type(b"KeyError");
        tree.raised(u64::from(line) * 16, of_type, at);
    }
    let uncounted = tree
        .file()
        .header
        .uncounted_exceptions
        .load(Ordering::Relaxed);
    let counted: u64 = rows(&tree).values().sum();
    assert!(
        made > 0 && counted + uncounted == made,
        "{made} {counted} {uncounted}"
    );
}
