//! Raw recordings made by hand are read, and so are damaged ones.

use profundo_testing::{Folder, damage};
use profundo_wire::{End, Gil, PythonEnd, SampleHead};

use super::*;

fn put(file: &mut Vec<u8>, kind: u64, content: &[u8]) {
    file.extend(kind.to_le_bytes());
    file.extend((content.len() as u64).to_le_bytes());
    file.extend(content);
    file.resize(file.len().next_multiple_of(8), 0);
}

fn of_words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn sample(clock: u64, thread: u32) -> Vec<u64> {
    let head = SampleHead {
        state: State::Running,
        end: End::Root,
        frames: 1,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: 4_000_000,
        task: 0,
        thread,
        tid: 7,
        span: 0,
    };
    let mut words = head.to_words().to_vec();
    words.push(0x1004);
    words
}

/// Two threads, the second with one sample, which comes first; a second of two cycles a nanosecond.
fn file(texts: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    put(
        &mut file,
        part::TEXTS,
        b"command\tpython3\0a%0ab.py\0\ndirectory\t/here\nprogram\t/bin/p\n",
    );
    let mut facts = [0; 20];
    (facts[0], facts[3], facts[4]) = (7, 1_000_000, 4_000_000);
    (facts[5], facts[7], facts[8]) = (0x03_0d_00, 1024, 3);
    facts[11..14].copy_from_slice(&[1000, 500, 1_700_000_000_000_000_000]);
    facts[14..17].copy_from_slice(&[2_000_001_000, 1_000_000_500, 1_700_000_001_000_000_000]);
    facts[17..].copy_from_slice(&[500_000_000, 10_000_000, 2_000_000]);
    put(&mut file, part::FACTS, &of_words(&facts));
    for thread in 1..=2 {
        let name = u64::from_le_bytes(*b"worker\0\0");
        let words = [
            thread,
            6 + thread,
            name,
            0,
            1000,
            2_000_001_000,
            900_000_000,
            0,
            0,
        ];
        put(&mut file, part::THREAD, &of_words(&words));
    }
    let mut module = of_words(&[0x1000, 0x2000, 0x1000, 0, 4]);
    module.extend([1, 2, 3, 4]);
    put(&mut file, part::FILE, &module);
    let late = [sample(1_600_001_000, 1), sample(1_800_001_000, 1)].concat();
    put(&mut file, part::SAMPLES, &of_words(&late));
    put(&mut file, part::SAMPLES, &of_words(&sample(400_001_000, 2)));
    put(&mut file, 99, b"of a later version");
    put(&mut file, part::TEXTS, texts);
    put(&mut file, part::END, &[]);
    file
}

fn read(bytes: &[u8]) -> Profile {
    let folder = Folder::new("raw");
    let path = folder.path().join("raw.profundo");
    fs::write(&path, bytes).unwrap();
    assert!(is_raw(&path));
    read_file(&path).unwrap()
}

#[test]
fn a_raw_recording_is_a_profile() {
    let profile = read(&file(b""));
    let times: Vec<u64> = profile
        .samples
        .iter()
        .map(|it| it.time.0 / 1_000_000)
        .collect();
    assert_eq!(times, [200, 800, 900]);
    let process = &profile.processes[0];
    let text = |id| profile.strings.get(id);
    assert_eq!(text(process.command), "python3 $'a\\nb.py'");
    assert_eq!(text(process.runtime), "CPython 3.13.0");
    assert_eq!(
        (process.user, process.system),
        (Some(Nanos(10_000_000)), Some(Nanos(2_000_000)))
    );
    assert_eq!(profile.meta.duration, Nanos(500_000_000));
    assert_eq!(profile.meta.loss.buffer_full, 3);
    assert_eq!(profile.meta.started_at_unix, 1_700_000_000_000_000_000);
    let modules: Vec<&str> = profile
        .modules
        .iter()
        .map(|(_, it)| text(it.path))
        .collect();
    assert_eq!(modules, ["/bin/p"]);
    // No region was open for half of the time: the samples say what a thread has used.
    let cpu: Vec<u64> = profile
        .threads
        .iter()
        .map(|(_, it)| it.cpu.unwrap().0)
        .collect();
    assert_eq!(cpu, [8_000_000, 4_000_000]);
    let notes = profile.meta.notes.join("\n");
    assert!(
        notes.contains("64 MiB") && notes.contains("3 that came later"),
        "{notes}"
    );
    assert!(!notes.contains("has no end"), "{notes}");
}

#[test]
fn a_part_of_it_may_be_meant() {
    let profile = read(&file(b"from\t0.7\nto\t0.85\n"));
    assert_eq!(profile.samples.len(), 1);
    let notes = profile.meta.notes.join("\n");
    assert!(notes.contains("one of its regions"), "{notes}");
}

#[test]
fn a_file_that_is_cut_gives_what_it_has() {
    let whole = file(b"");
    let cut = whole.len() - 160;
    let profile = read(&whole[..cut]);
    assert!(
        profile
            .meta
            .notes
            .iter()
            .any(|note| note.contains("has no end"))
    );
    assert!(!profile.samples.is_empty());
}

#[test]
fn damage_does_no_harm() {
    damage(&file(b"from\t0.1\n"), 2000, |bytes| {
        if let Ok(raw) = Raw::parse(bytes) {
            let _ = (raw.profile(), raw.filter());
        }
    });
}

#[test]
fn other_versions_and_other_files_are_refused() {
    let mut newer = file(b"");
    newer[14] = 9;
    let why = Raw::parse(&newer).unwrap_err().to_string();
    assert!(why.contains("version 9"), "{why}");
    assert!(Raw::parse(b"\x89PROFUNDO\r\n\x1a").is_err());
}
