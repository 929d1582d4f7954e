//! Known calls at known times, and the owners of their bytes.

use profundo_model::{
    Bytes, FrameKey, Language, LocationKind, Nanos, Profile, Sample, StackId, State, ThreadId,
    Traffic, Wait,
};

use super::{Io, IoAmount, io};
use crate::{Filter, Place, Selection, Shown};

const MS: u64 = 1_000_000;

/// A profile with one thread, whose lines are `f.py:1` and so on.
struct Made(Profile);

impl Made {
    fn new() -> Self {
        Self(Profile::from_folded("").unwrap())
    }

    /// The stack of a line that makes a call.
    fn calling(&mut self, line: u32, call: &str) -> StackId {
        let of = |function, language, file, line| FrameKey {
            function,
            language,
            file,
            line,
            ..FrameKey::default()
        };
        let profile = &mut self.0;
        let number = u64::from(line) * 100 + call.len() as u64;
        let own = of("f", Language::Python, "/home/me/f.py", line);
        let own = profile.hand_made_location(LocationKind::Invented(number), None, &[own]);
        // Not the reader's own.
        let native = of(call, Language::Runtime, "", 0);
        let kind = LocationKind::Invented(number + (1 << 32));
        let native = profile.hand_made_location(kind, None, &[native]);
        profile.hand_made_stack(&[own, native])
    }

    /// The stack of a line that waits for a file.
    fn waiting(&mut self, line: u32, wait: Wait, file: &str) -> StackId {
        let below = self.calling(line, "read");
        let profile = &mut self.0;
        let frame = profile.frame(FrameKey {
            function: &wait.frame_name(file),
            language: Language::Synthetic,
            ..FrameKey::default()
        });
        let kind = LocationKind::Wait { frame, wait };
        let place = profile.locations.intern(kind, None);
        profile.locations.set_frames(place, &[frame]);
        profile.stacks.intern(Some(below), place)
    }

    fn sample(&mut self, at: u64, weight: u64, state: State, stack: StackId, file: &str) {
        let file = self.0.strings.intern(file);
        let profile = &mut self.0;
        profile.samples.push(Sample {
            time: Nanos(at * MS),
            weight: Nanos(weight * MS),
            thread: profile.threads.find_number(1).unwrap(),
            task: profile.tasks.find_number(1).unwrap(),
            stack,
            state,
            file,
            ..Sample::default()
        });
    }

    fn traffic(&mut self, from: u64, to: u64, waits: u32, read: u64, written: u64) {
        self.0.traffic.push(Traffic {
            thread: ThreadId(0),
            from: Nanos(from * MS),
            to: Nanos(to * MS),
            waits,
            bytes: Bytes {
                read,
                written,
                fetched: 512,
                stored: 0,
            },
        });
    }

    fn io(&self, filter: &Filter) -> Io {
        let selection = Selection::new(&self.0, filter);
        let io = io(&self.0, &selection, filter, Shown::COMMAND);
        let mut sum = io.unseen;
        io.lines.iter().for_each(|row| sum += row.amount);
        assert_eq!(sum, io.total, "by line");
        let mut sum = io.unseen;
        io.files.iter().for_each(|row| sum += row.amount);
        assert_eq!(sum, io.total, "by file");
        io
    }

    fn all(&self) -> Io {
        let io = self.io(&Filter::default());
        let sum = |bytes: fn(&Bytes) -> u64| -> u64 {
            self.0.traffic.iter().map(|row| bytes(&row.bytes)).sum()
        };
        assert_eq!(
            io.total.read,
            sum(|bytes| bytes.read),
            "the kernel's own sum"
        );
        assert_eq!(io.total.written, sum(|bytes| bytes.written));
        assert_eq!(io.storage.fetched, sum(|bytes| bytes.fetched));
        io
    }

    fn line(&self, io: &Io, line: u32) -> IoAmount {
        let is_it = |place: Place| match place {
            Place::Frame(frame) => self.0.frames.get(frame).line == line,
            _ => false,
        };
        let row = io.lines.iter().find(|row| row.of.is_some_and(is_it));
        row.map(|row| row.amount).unwrap_or_default()
    }
}

fn file(io: &Io, name: Option<&str>) -> IoAmount {
    let row = io.files.iter().find(|row| row.of.as_deref() == name);
    row.map(|row| row.amount).unwrap_or_default()
}

#[test]
fn calls_share_the_bytes_of_their_time() {
    let mut made = Made::new();
    let reads = made.calling(1, "__libc_read");
    let more = made.calling(2, "pread64");
    let writes = made.calling(3, "__write_nocancel");
    let works = made.calling(4, "strlen");
    made.sample(2, 3, State::System, reads, "/tmp/a (deleted)");
    made.sample(4, 1, State::System, more, "/tmp/b");
    made.sample(5, 9, State::System, works, "");
    made.sample(6, 2, State::System, writes, "");
    // On a CPU in user code, which is no call.
    made.sample(7, 9, State::Running, more, "");
    made.traffic(0, 10, 0, 4001, 77);
    let io = made.all();
    assert_eq!(
        (made.line(&io, 1).read, made.line(&io, 2).read),
        (3000, 1001)
    );
    let third = IoAmount {
        written: 77,
        cpu: 2 * MS,
        samples: 1,
        ..IoAmount::default()
    };
    assert_eq!(made.line(&io, 3), third);
    assert_eq!(made.line(&io, 4), IoAmount::default());
    assert_eq!(file(&io, Some("/tmp/a")).read, 3000);
    assert_eq!(file(&io, None).written, 77);
    assert_eq!(io.unseen, IoAmount::default());
}

#[test]
fn a_wait_brings_what_a_pipe_holds() {
    let mut made = Made::new();
    let pipe = made.waiting(1, Wait::Read, "pipe, descriptor 3");
    let reads = made.calling(2, "read");
    let sleeps = made.waiting(3, Wait::Sleep, "");
    made.sample(30, 20, State::WallWaiting, pipe, "");
    made.sample(60, 25, State::WallWaiting, sleeps, "");
    made.sample(80, 4, State::System, reads, "/tmp/big");
    made.traffic(25, 35, 1, 1000, 0);
    // More than one wait can have brought, and a sample on a CPU nearby.
    made.traffic(28, 38, 1, (64 << 10) + 5000, 0);
    let io = made.all();
    let waited = made.line(&io, 1);
    assert_eq!(
        (waited.read, waited.waited, waited.cpu),
        (1000 + (64 << 10), 20 * MS, 0)
    );
    assert_eq!(made.line(&io, 2).read, 5000);
    assert_eq!(made.line(&io, 3), IoAmount::default());
    assert_eq!(file(&io, Some("pipe, descriptor 3")), waited);
    assert_eq!(file(&io, Some("/tmp/big")).cpu, 4 * MS);
}

#[test]
fn short_waits_are_recorded_late() {
    let mut made = Made::new();
    let pipe = made.waiting(1, Wait::Read, "");
    let other = made.waiting(2, Wait::Read, "");
    made.sample(900, 3, State::WallWaiting, pipe, "");
    made.sample(900, 1, State::WallWaiting, other, "");
    made.traffic(100, 110, 2, 400, 0);
    // It did not wait, or too long ago.
    made.traffic(200, 210, 0, 50, 0);
    made.traffic(2000, 2010, 1, 8, 0);
    let io = made.all();
    assert_eq!((made.line(&io, 1).read, made.line(&io, 2).read), (300, 100));
    assert_eq!((io.unseen.read, io.unseen.samples), (58, 0));
}

#[test]
fn what_nobody_is_near_to_is_not_anybodys() {
    let mut made = Made::new();
    let writes = made.calling(1, "write");
    made.sample(500, 4, State::System, writes, "/tmp/out");
    for from in [0, 300, 420, 500, 590, 700] {
        made.traffic(from, from + 10, 0, 0, 100);
    }
    // At an unknown time.
    made.traffic(500, 500, 0, 0, 1000);
    // Another direction, and another thread.
    made.traffic(500, 510, 0, 10, 0);
    let other = made.0.hand_made_thread(2, "other");
    let last = made.0.traffic.len() - 1;
    let row = Traffic {
        thread: other,
        ..made.0.traffic[last]
    };
    made.0.traffic.push(row);
    let io = made.all();
    assert_eq!(made.line(&io, 1).written, 300);
    assert_eq!((io.unseen.written, io.unseen.read), (1300, 20));
}

#[test]
fn filters_leave_the_rest_as_it_was() {
    let mut made = Made::new();
    let (reads, more) = (made.calling(1, "read"), made.calling(2, "read"));
    made.sample(1, 1, State::System, reads, "");
    made.sample(2, 3, State::System, more, "");
    made.traffic(0, 10, 0, 400, 0);
    made.traffic(1000, 1010, 0, 7, 0);
    let late = made.io(&Filter::default().from_seconds(0.0015));
    assert_eq!((late.total.read, late.unseen.read), (307, 7));
    let early = made.io(&Filter::default().to_seconds(0.0015));
    assert_eq!((early.total.read, early.unseen.read), (100, 0));
    let named = made.io(&Filter::default().function("f"));
    assert_eq!((named.total.read, named.unseen.read), (400, 0));
    let nobody = made.io(&Filter::default().thread("2"));
    assert_eq!(nobody.total, IoAmount::default());
}

#[test]
fn without_counts_there_is_nothing() {
    let mut made = Made::new();
    let reads = made.calling(1, "read");
    made.sample(1, 1, State::System, reads, "");
    assert_eq!(made.all(), Io::default());
}

#[test]
fn any_numbers_are_added_up() {
    let mut made = Made::new();
    let (pipe, reads) = (made.waiting(1, Wait::Read, "a"), made.calling(2, "read"));
    for at in 0..3 {
        made.sample(at, 1, State::System, reads, "");
        made.sample(at, u64::MAX / MS, State::WallWaiting, pipe, "");
    }
    made.traffic(0, 1, u32::MAX, u64::MAX, u64::MAX);
    made.traffic(5, 2, u32::MAX, u64::MAX, 0);
    let selection = Selection::new(&made.0, &Filter::default());
    let io = io(&made.0, &selection, &Filter::default(), Shown::COMMAND);
    assert_eq!(io.total.read, u64::MAX);
}
