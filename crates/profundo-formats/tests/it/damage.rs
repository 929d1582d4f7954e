//! Damage to a whole file: every cut and every changed byte of a small one.

use profundo_formats::{Damage, Error, Warning, read};
use profundo_model::{ExceptionEnd, FileId, Profile};

use crate::{raw, small, write};

/// The profile must be readable to the last row: a report would walk all of it.
fn walk(profile: &Profile) {
    for sample in &profile.samples {
        profile.tasks.get(sample.task);
        let thread = profile.threads.get(sample.thread);
        profile.strings.get(
            profile
                .strings
                .find(profile.strings.get(thread.name))
                .unwrap(),
        );
        assert!(thread.process.index() < profile.processes.len());
        for location in profile.stacks.locations(sample.stack) {
            for &frame in &profile.locations.get(location).frames {
                profile.function_name(frame);
                profile.file_path(frame);
            }
            let module = profile.locations.get(location).module;
            module
                .iter()
                .for_each(|&id| drop(profile.modules.get(id).clone()));
        }
    }
    for gauge in &profile.heap.gauges {
        assert!(gauge.process.index() < profile.processes.len());
    }
    for call in &profile.traced.calls {
        profile.threads.get(call.thread);
        profile.stacks.get(call.stack);
    }
    for line in &profile.traced.lines {
        assert!(line.process.index() < profile.processes.len());
        profile.file_path(line.frame);
    }
    for row in &profile.traced.exceptions {
        assert!(row.process.index() < profile.processes.len());
        profile.file_path(row.raised);
        profile.strings.get(row.of_type);
        if let ExceptionEnd::Caught(frame) = row.end {
            profile.file_path(frame);
        }
    }
    assert!(profile.files.get(FileId(0)) == profundo_model::File::default());
}

#[test]
fn every_cut_gives_the_samples_before_it() {
    let mut whole = small::small();
    // Two batches.
    let sample = whole.samples[7];
    whole.samples.extend(std::iter::repeat_n(sample, 16_384));
    let file = write(&whole);
    let ends = raw::ends(&file);
    assert!(file.len() < 10_000, "{}", file.len());
    for cut in 0..file.len() {
        let result = read(&file[..cut]);
        if cut < 16 {
            assert!(matches!(result, Err(Error::NotAProfile)), "cut at {cut}");
            continue;
        }
        let (profile, warnings) = result.unwrap();
        assert!(whole.samples.starts_with(&profile.samples), "cut at {cut}");
        let batches = ends
            .iter()
            .filter(|(kind, end)| kind == "SAMP" && *end <= cut)
            .count();
        assert_eq!(
            profile.samples.len(),
            whole.samples.len().min(batches * 16_384)
        );
        let offset = ends
            .iter()
            .rev()
            .find(|(_, end)| *end <= cut)
            .map_or(16, |(_, end)| *end);
        assert_eq!(
            warnings,
            [Warning::Cut {
                offset,
                samples: profile.samples.len()
            }]
        );
        walk(&profile);
    }
    assert_eq!(read(&file).unwrap().1, []);
}

#[test]
fn every_changed_byte_is_noticed() {
    for whole in [
        small::small(),
        small::gauged(),
        small::with_spans(),
        small::traced(),
        small::with_exceptions(),
    ] {
        check_changed_bytes(&whole);
    }
}

fn check_changed_bytes(whole: &Profile) {
    let file = write(whole);
    let ends = raw::ends(&file);
    for at in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = file.clone();
            changed[at] ^= change;
            match read(&changed) {
                Err(Error::NotAProfile) => assert!(at < 12),
                Err(Error::UnknownVersion { .. }) => assert!((12..16).contains(&at)),
                Err(error) => panic!("byte {at}: {error}"),
                Ok((profile, warnings)) => {
                    let chunk = ends.iter().rev().find(|(_, end)| *end <= at);
                    let begin = chunk.map_or(16, |(_, end)| *end);
                    assert!(
                        matches!(
                            warnings[..],
                            [Warning::Damaged { offset, damage: Damage::Checksum, .. }]
                            | [Warning::Cut { offset, .. }] if offset == begin
                        ),
                        "byte {at}: {warnings:?}"
                    );
                    assert!(whole.samples.starts_with(&profile.samples));
                    walk(&profile);
                }
            }
        }
    }
}

#[test]
fn what_follows_the_end_is_left_out() {
    let mut file = write(&small::small());
    let offset = file.len();
    file.extend(b"more");
    let (_, warnings) = read(&file).unwrap();
    assert_eq!(warnings, [Warning::Trailing { offset, bytes: 4 }]);
}

/// Changed bytes with a right checksum: only a hostile or a broken writer makes them.
#[test]
fn changed_payloads_with_right_checksums_do_no_harm() {
    for whole in [
        small::small(),
        small::gauged(),
        small::with_spans(),
        small::traced(),
        small::with_exceptions(),
    ] {
        check_changed_payloads(write(&whole));
    }
}

fn check_changed_payloads(mut file: Vec<u8>) {
    let ends = raw::ends(&file);
    let mut random = crate::made::Random(42);
    let mut begin = 16;
    for (kind, end) in ends {
        let whole = file[begin..end].to_vec();
        let kind: [u8; 4] = kind.into_bytes().try_into().unwrap();
        let raw_len = u32::from_le_bytes(whole[8..12].try_into().unwrap());
        for _ in 0..500 {
            let mut stored = whole[20..].to_vec();
            for _ in 0..1 + random.below(3) {
                let at = random.below(stored.len() as u64) as usize;
                stored[at] = random.next() as u8;
            }
            let changed = raw::chunk(&kind, whole[4], raw_len, &stored);
            file[begin..end].copy_from_slice(&changed);
            if let Ok((profile, _)) = read(&file) {
                walk(&profile);
            }
        }
        file[begin..end].copy_from_slice(&whole);
        begin = end;
    }
}
