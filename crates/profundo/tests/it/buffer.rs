//! The buffer: its size and delay, behaviour when full, and reading or clearing it during writes.

use profundo::{
    Error, FetchOptions, capacity, clear, fetch, fetch_with, init, is_full, is_running, len,
    profile, report, retrieve, settings, start, stop,
};

use crate::alone::{alone, on_each_engine};
use crate::blocks::{assert_mostly, mine};
use crate::program::Program;
use crate::work::{busy, deep, early, late};

const WITHOUT_META: FetchOptions = FetchOptions {
    include_meta: false,
    limitwarn: false,
};

#[test]
fn settings_are_kept() {
    let _alone = alone();
    assert_eq!(init!(), (10_000_000, 0.001));
    init!(n = 1_000_001, delay = 0.0005).unwrap();
    assert_eq!(init!(), (1_000_001, 0.0005));
    init!(n = 2_000_000).unwrap();
    assert_eq!(init!(), (2_000_000, 0.0005));
    init!(delay = 0.01).unwrap();
    assert_eq!((init!(), capacity()), ((2_000_000, 0.01), 2_000_000));
    init(1_000_000, 0.002).unwrap();
    assert_eq!(init!(), (1_000_000, 0.002));
    assert!(!settings().is_ring());
}

#[test]
fn wrong_settings_are_refused_and_change_nothing() {
    let _alone = alone();
    for delay in [0.0, -1.0, 1e-9, 1e9, f64::INFINITY, f64::NAN] {
        let error = init!(delay = delay).unwrap_err();
        let allowed = "is not possible; it must be from 10 microseconds to 1 hour";
        assert!(error.to_string().ends_with(allowed), "{delay}: {error}");
    }
    let error = init!(delay = f64::NAN).unwrap_err();
    assert!(matches!(error, Error::DelayNotANumber(_)));
    for words in [0, u64::MAX] {
        let said = init!(n = words).unwrap_err().to_string();
        assert!(
            said.contains("is not possible; it must be from 1 to 2^40 words"),
            "{words}: {said}"
        );
    }
    let error = profile!(init!(n = 1_000)).unwrap().unwrap_err();
    assert!(error.to_string().contains("while a profile is running"));
    assert_eq!(init!(), (10_000_000, 0.001));
}

#[test]
fn settings_empty_the_buffer() {
    let _alone = alone();
    profile!(busy(30)).unwrap();
    assert!(len() > 0);
    init!(delay = 0.001).unwrap();
    assert!(len() == 0 && fetch().unwrap().is_empty());
}

#[test]
fn a_cleared_buffer_is_empty() {
    let _alone = alone();
    profile!(busy(30)).unwrap();
    assert!(!fetch().unwrap().is_empty());
    clear();
    assert!(len() == 0 && fetch().unwrap().words().is_empty());
    assert_eq!(capacity(), 10_000_000);
}

#[test]
fn metadata_is_five_words_a_sample() {
    on_each_engine(|_| {
        profile!(busy(60)).unwrap();
        let data = fetch().unwrap();
        let (with, without) = (data.words(), fetch_with(WITHOUT_META).unwrap().words());
        assert_eq!(with.first(), without.first());
        assert_eq!(with.last(), without.last());
        assert_eq!(with.len(), without.len() + 5 * data.len());
        // The buffer counts the same words.
        assert_eq!(with.len() as u64, len());
    });
}

#[test]
fn a_tiny_buffer_is_full_at_once() {
    on_each_engine(|settings| {
        settings.words(17).apply().unwrap();
        let answer = profile!({
            busy(40);
            is_running()
        });
        assert!(answer.unwrap() && is_full());
        let text = report().to_text().unwrap();
        assert!(text.contains("the profile data buffer is full"), "{text}");
        clear();
        init!(n = 1_000_000).unwrap();
        assert!(!is_full());
    });
}

pub fn fills_its_buffer() {
    init(17, 0.001).unwrap();
    profile!(busy(40)).unwrap();
    fetch_with(WITHOUT_META).unwrap();
    fetch().unwrap();
}

#[test]
fn fetch_warns_of_a_full_buffer_once_and_not_if_asked_not_to() {
    let outcome = Program::start("fills its buffer").end();
    let warnings = outcome.stderr.matches("Warning: ").count();
    assert_eq!(warnings, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the profile data buffer is full"));
}

#[test]
fn a_buffer_that_fills_up_keeps_the_oldest_samples() {
    on_each_engine(|settings| {
        settings.words(2_000).apply().unwrap();
        profile!({
            early(80);
            deep(300, 200);
        })
        .unwrap();
        assert!(is_full() && len() <= capacity());
        let (data, names) = retrieve().unwrap();
        let mine = mine(&data);
        assert!(mine[0].runs("work::early", &names));
        assert!(data.profile().meta.loss.overwritten == 0);
    });
}

#[test]
fn a_ring_keeps_the_newest_samples() {
    on_each_engine(|settings| {
        settings.words(1_000).ring(true).apply().unwrap();
        profile!({
            early(40);
            deep(300, 500);
        })
        .unwrap();
        assert!(!is_full());
        let (data, names) = retrieve().unwrap();
        assert!(data.profile().meta.loss.overwritten > 0);
        let mine = mine(&data);
        assert_mostly("work::late", 3, &mine, &names);
        assert!(!mine.iter().any(|block| block.runs("early", &names)));
    });
}

#[test]
fn the_buffer_can_be_cleared_while_it_is_written() {
    on_each_engine(|_| {
        start().unwrap();
        early(60);
        clear();
        late(120);
        assert!(is_running());
        stop();
        let (data, names) = retrieve().unwrap();
        let mine = mine(&data);
        assert_mostly("work::late", 3, &mine, &names);
        assert!(!mine.iter().any(|block| block.runs("early", &names)));
    });
}

#[test]
fn the_buffer_can_be_read_while_it_is_written() {
    on_each_engine(|_| {
        start().unwrap();
        early(60);
        let (before, names) = retrieve().unwrap();
        assert_mostly("work::early", 3, &mine(&before), &names);
        late(120);
        assert!(is_running());
        let (after, names) = retrieve().unwrap();
        stop();
        assert!(after.len() > before.len());
        let late = |block: &&_| crate::blocks::Block::runs(block, "work::late", &names);
        assert!(mine(&after).iter().filter(late).count() >= 3);
    });
}
