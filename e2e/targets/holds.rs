//! Allocates known numbers of bytes of known types.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::Arc;

struct Node {
    _values: [u64; 100],
}

#[inline(never)]
fn grown() -> Vec<u64> {
    let mut grown = Vec::new();
    for number in 0..100_000_u64 {
        grown.push(number);
    }
    grown
}

#[inline(never)]
fn boxed() -> Vec<Box<Node>> {
    (0..1000).map(|value| Box::new(Node { _values: [value; 100] })).collect()
}

#[inline(never)]
fn counted() -> Vec<Arc<Node>> {
    (0..1000).map(|value| Arc::new(Node { _values: [value; 100] })).collect()
}

#[inline(never)]
fn named() -> HashMap<u64, String> {
    (0..1000).map(|number| (number, "x".repeat(500 + number as usize % 2))).collect()
}

#[inline(never)]
fn sorted() -> BTreeMap<u32, [u8; 64]> {
    (0..1000).map(|number| (number, [1; 64])).collect()
}

fn main() {
    black_box((grown(), boxed(), counted(), named(), sorted()));
}
