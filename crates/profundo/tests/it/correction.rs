//! The line correction: the lines of a program that reloads code are taken over.

use std::collections::BTreeSet;

use profundo::{Data, NamedFrame, flatten, names_of, profile, set_line_correction};

use crate::alone::alone;
use crate::work::busy;

fn lines_of_busy(data: &Data) -> BTreeSet<u32> {
    let (_, frames) = flatten(data, &names_of(data)).unwrap();
    let frames = frames.values();
    frames
        .filter(|frame| frame.func.ends_with("work::busy"))
        .map(|frame| frame.line)
        .collect()
}

fn two_lines_on(frames: &mut [NamedFrame]) {
    for frame in frames {
        if frame.function.ends_with("work::busy") {
            frame.line += 2;
        }
    }
}

#[test]
fn lines_move_by_what_the_hook_says_and_a_panic_moves_none() {
    let _alone = alone();
    profile!(busy(60)).unwrap();
    let data = profundo::fetch().unwrap();
    let before = lines_of_busy(&data);
    assert!(!before.is_empty());

    set_line_correction(Some(two_lines_on));
    let moved: BTreeSet<u32> = before.iter().map(|line| line + 2).collect();
    assert_eq!(lines_of_busy(&data), moved);

    set_line_correction(Some(|_: &mut [NamedFrame]| panic!("on purpose")));
    assert_eq!(lines_of_busy(&data), before);

    set_line_correction(None::<fn(&mut [NamedFrame])>);
    assert_eq!(lines_of_busy(&data), before);
}
