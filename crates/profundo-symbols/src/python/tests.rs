//! The choice among several names of a function.

use profundo_cpython::slots;

use super::*;

fn given(owner: &str, method: &str, is_method: bool) -> Given {
    Given {
        owner: owner.to_owned(),
        method: method.to_owned(),
        is_method,
        function: 0x1000,
    }
}

fn check(given: &[Given], expected: Option<&str>) {
    assert_eq!(choose(given).as_deref(), expected, "{given:?}");
}

#[test]
fn a_function_has_the_name_that_its_tables_agree_on() {
    check(&[given("builtins", "sorted", true)], Some("sorted"));
    check(&[given("math", "sin", true)], Some("math.sin"));
    check(&[given("list", "append", true)], Some("list.append"));
    check(&[given("str", "", false)], Some("str"));
    check(&[given("", "f", true)], Some("f"));
    let both = [
        given("dict", "__contains__", false),
        given("dict", "has", true),
    ];
    check(&both, Some("dict.has"));
    let shared = [given("set", "copy", true), given("frozenset", "copy", true)];
    check(&shared, Some("copy"));
    let iterators = [
        given("zip", "__iter__", false),
        given("map", "__iter__", false),
    ];
    check(&iterators, None);
    let aliases = [
        given("_thread.lock", "acquire_lock", true),
        given("_thread.lock", "acquire", true),
        given("_thread.lock", "__enter__", true),
    ];
    check(&aliases, Some("_thread.lock.acquire"));
    let special = [
        given("int", "conjugate", true),
        given("int", "__trunc__", true),
        given("int", "__floor__", true),
    ];
    check(&special, None);
    let different = [given("a", "f", true), given("b", "g", true)];
    check(&different, None);
}

#[test]
fn each_slot_is_there_once() {
    let mut numbers: Vec<u64> = slots::SLOTS.iter().map(|slot| slot.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), slots::SLOTS.len());
    // Functions of bf_, tp_alloc and their like, which no Python code calls, are left out.
    assert!(numbers.iter().all(|number| (3..=82).contains(number)));
}
