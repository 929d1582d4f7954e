//! Callers and callees.

use profundo_model::{Profile, State};

use super::{location, push, stack};
use crate::*;

fn check_callers(
    name: &str,
    file: Option<&str>,
    lines: Option<(u32, u32)>,
    expected: &[(u64, &str)],
) {
    let mut profile = Profile::from_folded("").unwrap();
    let main = location(&mut profile, 1, "app::main", 1);
    let walk = location(&mut profile, 2, "app::walk", 2);
    let deep = location(&mut profile, 3, "app::walk", 3);
    let main_walk = stack(&mut profile, &[main, walk]);
    let recursive = stack(&mut profile, &[main, walk, deep, walk]);
    push(&mut profile, main_walk, 2, State::Running);
    push(&mut profile, recursive, 1, State::Running);
    let lines = lines.map(|(first, last)| first..=last);
    let callers = callers(&profile, name, file, lines).unwrap();
    let shown: Vec<(u64, String)> = (callers.iter())
        .map(|caller| match caller.place {
            Place::Frame(frame) => {
                let line = profile.frames.get(frame).line;
                (
                    caller.count,
                    format!("{}:{line}", profile.function_name(frame)),
                )
            }
            _ => (caller.count, "?".to_owned()),
        })
        .collect();
    let shown: Vec<(u64, &str)> = shown
        .iter()
        .map(|(count, name)| (*count, &**name))
        .collect();
    assert_eq!(shown, expected, "callers of {name}");
}

#[test]
fn callers_are_direct_and_each_call_counts() {
    let recursive = [(3, "app::main:1"), (1, "app::walk:2"), (1, "app::walk:3")];
    check_callers("walk", None, None, &recursive);
    check_callers("app::walk", None, None, &recursive);
    check_callers("alk", None, None, &[]);
    check_callers("main", None, None, &[]);
    check_callers("walk", Some("f.rs"), None, &recursive);
    check_callers("walk", Some("g.rs"), None, &[]);
    check_callers("walk", Some("f.rs"), Some((3, 9)), &[(1, "app::walk:2")]);
    check_callers("", None, None, &[]);
}

#[test]
fn lines_need_a_file() {
    let profile = Profile::default();
    assert_eq!(callers(&profile, "f", None, None), Ok(Vec::new()));
    let error = callers(&profile, "f", None, Some(1..=2)).unwrap_err();
    assert_eq!(error.to_string(), "lines 1..=2 need a file");
}
