//! Times an expression, and finds the fastest of several.
//!
//! xtask: run
#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use profundo::bench::{Options, black_box};

fn main() {
    // One expression: as many loops as make a run long enough, and the best of five runs.
    let options = Options::new().min_time(Duration::from_millis(10));
    let one = profundo::bench!(options = options; black_box("the quick brown fox").to_uppercase());
    println!("{one}\n");

    // Several: in turn, so that other load on the machine falls on all of them.
    let keys: Vec<u64> = (0..1000).map(|it| it * 7919 % 10_007).collect();
    let hashed: HashMap<u64, u64> = keys.iter().map(|key| (*key, 1)).collect();
    let sorted: BTreeMap<u64, u64> = keys.iter().map(|key| (*key, 1)).collect();
    let two = profundo::bench!(
        options = options;
        "HashMap" => keys.iter().map(|key| hashed[black_box(key)]).sum::<u64>(),
        "BTreeMap" => keys.iter().map(|key| sorted[black_box(key)]).sum::<u64>(),
    );
    println!("{two}");
    if let Some(ratio) = two.ratio("BTreeMap", "HashMap") {
        println!("between {:.2} and {:.2}", ratio.low, ratio.high);
    }
}
