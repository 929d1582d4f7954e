//! Lists of object files in an artificial memory; the object files are a compiler's.

use std::cell::RefCell;
use std::collections::BTreeMap;

use profundo_jit::{At, Change, Memory, Registered, object_code};
use profundo_testing::{Folder, compile};

const HEAD: u64 = 0x1000;

#[derive(Default)]
struct Made(RefCell<BTreeMap<u64, Vec<u8>>>);

impl Memory for Made {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let memory = self.0.borrow();
        let Some((start, bytes)) = memory.range(..=address).next_back() else {
            return 0;
        };
        let bytes = bytes.get((address - start) as usize..).unwrap_or_default();
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        count
    }
}

impl Made {
    fn put(&self, address: u64, words: &[u64]) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.0.borrow_mut().insert(address, bytes);
    }

    /// The entries, each with its file's address and size.
    fn list(&self, relevant: u64, entries: &[(u64, u64, u64)]) {
        let first = entries.first().map_or(0, |entry| entry.0);
        self.put(HEAD, &[1 << 32 | 1, relevant, first]);
        for (index, (at, file, size)) in entries.iter().enumerate() {
            let next = entries.get(index + 1).map_or(0, |entry| entry.0);
            self.put(*at, &[next, 0, *file, *size]);
        }
    }
}

/// An object file with `first` and `second`, its code loaded at an address.
fn object(text_at: u64, flags: &[&str]) -> Option<Vec<u8>> {
    let folder = Folder::new("jit");
    let text = "int first(int x) {\n  return x + 1;\n}\n\nint second(int x) {\n  x *= 3;\n  return first(x);\n}\n";
    let source = folder.write("made.c", text);
    let flags = [&["-c", "-g", "-O0", "-fno-pic"], flags].concat();
    let output = compile("cc", &source, &folder.join("made.o"), &flags)?;
    let mut bytes = std::fs::read(output).unwrap();
    // A JIT compiler writes the load addresses into the section headers.
    let word = |at: usize, bytes: &[u8]| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let heads = word(0x28, &bytes) as usize;
    let count = u16::from_le_bytes(bytes[0x3c..0x3e].try_into().unwrap());
    for head in (0..usize::from(count)).map(|index| heads + index * 64) {
        if word(head + 8, &bytes) & 4 != 0 {
            bytes[head + 16..head + 24].copy_from_slice(&text_at.to_le_bytes());
        }
    }
    Some(bytes)
}

fn described(changes: &[Change]) -> Vec<String> {
    let text = |change: &Change| match change {
        Change::Loaded(code) => format!("+{:x} {} {:?}", code.start, code.name, code.since),
        Change::Unloaded { start, at } => format!("-{start:x} {at:?}"),
    };
    changes.iter().map(text).collect()
}

struct Polls {
    registered: Registered,
    now: u64,
}

impl Polls {
    fn poll(&mut self, memory: &Made) -> Vec<String> {
        let mut out = Vec::new();
        let (since, now) = (At::Monotonic(self.now), At::Monotonic(self.now + 10));
        self.now += 10;
        self.registered.poll(HEAD, memory, since, now, &mut out);
        described(&out)
    }
}

fn polls() -> Polls {
    Polls {
        registered: Registered::default(),
        now: 0,
    }
}

#[test]
fn lines_of_an_object_file() {
    for flags in [&[][..], &["-gdwarf-4"], &["-gdwarf-5", "-gz"]] {
        let Some(bytes) = object(0x7f00_0000, flags) else {
            return;
        };
        let code = object_code(&bytes).unwrap().codes;
        let names: Vec<&str> = code.iter().map(|code| &*code.name).collect();
        assert_eq!(names, ["first", "second"], "{flags:?}");
        assert_eq!(code[0].start, 0x7f00_0000);
        assert_eq!(code[1].start, code[0].start + code[0].size);
        let lines = |index: usize| {
            let lines = code[index].lines.iter();
            lines
                .map(|line| line.line)
                .filter(|&line| line > 0)
                .collect::<Vec<_>>()
        };
        assert!(lines(0).starts_with(&[1, 2]), "{:?}", lines(0));
        assert!(
            [5, 6, 7].iter().all(|line| lines(1).contains(line)),
            "{:?}",
            lines(1)
        );
        assert!(code[1].lines[0].offset == 0 && code[1].lines[0].file.ends_with("/made.c"));
    }
}

#[test]
fn a_broken_object_file_does_no_harm() {
    let Some(bytes) = object(0x7f00_1000, &[]) else {
        return;
    };
    for cut in (0..bytes.len()).step_by(7) {
        let _ = object_code(&bytes[..cut]);
    }
    let mut state = 7_u64;
    for _ in 0..3000 {
        let mut bytes = bytes.clone();
        for _ in 0..3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = (state >> 24) as u8;
        }
        let _ = object_code(&bytes);
    }
    assert_eq!(object_code(b"\x7fELF"), None);
}

#[test]
fn files_come_and_go() {
    let (Some(one), Some(two)) = (object(0x7f00_2000, &[]), object(0x7f00_3000, &[])) else {
        return;
    };
    let (sizes, memory) = ((one.len() as u64, two.len() as u64), Made::default());
    let mut polls = polls();
    // An empty memory, then an empty list.
    assert!(polls.poll(&memory).is_empty());
    memory.list(0, &[]);
    assert!(polls.poll(&memory).is_empty());
    memory.0.borrow_mut().insert(0x10_0000, one);
    memory.0.borrow_mut().insert(0x20_0000, two);
    memory.list(0x2000, &[(0x2000, 0x10_0000, sizes.0)]);
    let found = polls.poll(&memory);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], "+7f002000 first Monotonic(20)");
    assert!(polls.poll(&memory).is_empty());
    memory.list(
        0x3000,
        &[(0x3000, 0x20_0000, sizes.1), (0x2000, 0x10_0000, sizes.0)],
    );
    assert_eq!(polls.poll(&memory)[0], "+7f003000 first Monotonic(40)");
    memory.list(0x2000, &[(0x3000, 0x20_0000, sizes.1)]);
    let gone = polls.poll(&memory);
    assert_eq!(
        (gone.len(), gone[0].as_str()),
        (2, "-7f002000 Monotonic(60)")
    );
    // The same entry at another place.
    memory.list(0x3000, &[(0x3000, 0x10_0000, sizes.0)]);
    let found = polls.poll(&memory);
    assert_eq!((&found[0][..9], &found[2][..9]), ("-7f003000", "+7f002000"));
}

#[test]
fn a_new_object_in_the_place_of_an_old_one_is_found() {
    let (Some(one), Some(two)) = (object(0x7f00_2000, &[]), object(0x7f00_3000, &[])) else {
        return;
    };
    assert_eq!(one.len(), two.len());
    let (size, memory) = (one.len() as u64, Made::default());
    let mut polls = polls();
    let put = |bytes: &[u8]| memory.0.borrow_mut().insert(0x10_0000, bytes.to_vec());
    let is_exchanged = |found: &[String]| (&found[0][..1], &found[2][..1]) == ("-", "+");
    let latest = [(0x2000, 0x10_0000, size)];
    put(&one);
    memory.list(0x2000, &latest);
    assert_eq!(polls.poll(&memory).len(), 2);
    // Nothing in the list differs: it was removed and added again between two polls.
    put(&two);
    let found = polls.poll(&memory);
    assert!(is_exchanged(&found), "{found:?}");
    assert!(polls.poll(&memory).is_empty());
    // So it is if another one was added later.
    put(&one);
    memory.0.borrow_mut().insert(0x20_0000, two);
    memory.list(0x3000, &[(0x3000, 0x20_0000, size), latest[0]]);
    let found = polls.poll(&memory);
    assert!(found.len() == 6 && is_exchanged(&found), "{found:?}");
}

#[test]
fn a_list_that_is_changing_is_read_at_the_next_poll() {
    let Some(one) = object(0x7f00_4000, &[]) else {
        return;
    };
    let (size, memory, mut polls) = (one.len() as u64, Made::default(), polls());
    // In a circle, then into unmapped memory, then with another version.
    memory.list(0, &[(0x2000, 0x10_0000, size), (0x3000, 0x10_0000, size)]);
    memory.put(0x3000, &[0x2000, 0, 0x10_0000, size]);
    assert!(polls.poll(&memory).is_empty());
    memory.put(0x3000, &[0xdead_0000, 0, 0x10_0000, size]);
    assert!(polls.poll(&memory).is_empty());
    memory.put(HEAD, &[2, 0, 0x2000]);
    assert!(polls.poll(&memory).is_empty());
    // The file is not there yet; it is tried again, but not for ever.
    memory.list(0, &[(0x2000, 0x10_0000, size)]);
    assert!(polls.poll(&memory).is_empty());
    memory.0.borrow_mut().insert(0x10_0000, one.clone());
    assert_eq!(polls.poll(&memory).len(), 2);
    memory.list(0, &[(0x2000, 0x30_0000, u64::MAX), (0x3000, 0x40_0000, 9)]);
    for _ in 0..5 {
        let _ = polls.poll(&memory);
    }
    memory.0.borrow_mut().insert(0x40_0000, one);
    assert!(polls.poll(&memory).is_empty());
}
