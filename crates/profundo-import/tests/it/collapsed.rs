//! Collapsed stacks, as several tools write them.

use profundo_model::{SampleKind, State};

use crate::support::{read_text, stacks};

#[test]
fn weights_are_numbers_of_samples() {
    let imported = read_text("main;work 3\nmain;idle 1\nmain;work 2\n");
    assert_eq!(imported.reader.name(), "collapsed");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert!(!profile.has_times());
    assert_eq!(
        stacks(profile),
        [("main;idle".to_owned(), 1), ("main;work".to_owned(), 5)].into()
    );
    assert_eq!(profile.sample_count(), 6);
}

#[test]
fn frames_may_have_spaces_places_and_marks() {
    let text = "main (app.py:3);std::vector<int, a b>::f() (lib.py:9) 1\r\nmain (app.py:3) 2\r\n";
    let profile = read_text(text).profile;
    let names: Vec<_> = profile.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(names, [3, 9]);
    let profile = read_text("main;do_syscall_64_[k] 4\nmain;hot_[j] 2\n").profile;
    let stacks = stacks(&profile);
    assert_eq!(stacks["main;do_syscall_64"], 4);
    assert_eq!(profile.samples[0].state, State::System);
}

#[test]
fn fractions_and_utf16_are_read() {
    let profile = read_text("a;b 2.4e1\na 0.6\n").profile;
    assert_eq!(
        stacks(&profile),
        [("a".to_owned(), 1), ("a;b".to_owned(), 24)].into()
    );
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend("main;käse 7\r\n".encode_utf16().flat_map(u16::to_le_bytes));
    let read = profundo_import::read(&bytes, &profundo_import::Options::default()).unwrap();
    assert_eq!(stacks(&read.profile), [("main;käse".to_owned(), 7)].into());
}

#[test]
fn lines_that_are_no_stack_are_counted() {
    let text = format!("{}no number here\n", "a;b 1\n".repeat(20_000));
    let imported = read_text(&text);
    assert_eq!(imported.warnings.len(), 1);
    assert!(imported.warnings[0].to_string().contains("line 20001"));
}

#[test]
fn threads_stand_at_the_root_of_async_profiler() {
    let text = "[main tid=7];a;b_[j] 3\n[pool [x] tid=8];a 1\n[main tid=7];a 2\n[no thread];a 1\n";
    let profile = read_text(text).profile;
    let names: Vec<_> = (profile.threads.iter())
        .map(|(_, thread)| (profile.strings.get(thread.name), thread.tid))
        .collect();
    assert_eq!(names, [("main", 7), ("pool [x]", 8), ("", 0)]);
    assert_eq!(stacks(&profile)["a;b"], 3);
    assert_eq!(stacks(&profile)["[no thread];a"], 1);
}
