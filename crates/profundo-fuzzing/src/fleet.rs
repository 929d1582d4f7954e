//! What the programs of a fleet read of each other: files of a store, queries, and the profiles
//! that other profilers push.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use bytes::Bytes;
use profundo_pushed::{Arrived, Route, open};
use profundo_store::table::{FrameRow, LabelRow, SampleRow, SegmentRow, StackRow, Table};
use profundo_store::{Entry, Error, Identity, Opened, Query, Store, Texts, Writer, answer};

/// The time of a query, in milliseconds since 1970.
const NOW: i64 = 1_795_856_400_000;

/// A Parquet file of the table that the first byte names.
pub fn store_file(bytes: &[u8]) {
    let Some((table, file)) = bytes.split_first() else {
        return;
    };
    let file = Bytes::copy_from_slice(file);
    quietly(|| match table % 5 {
        0 => rows::<FrameRow>(file),
        1 => rows::<StackRow>(file),
        2 => rows::<LabelRow>(file),
        3 => rows::<SegmentRow>(file),
        _ => rows::<SampleRow>(file),
    });
}

fn rows<T: Table>(bytes: Bytes) {
    let entry = Entry {
        path: "file".to_owned(),
        size: bytes.len() as u64,
    };
    let length = bytes.len();
    let store = OneFile(bytes);
    let Ok(opened) = Opened::new::<T>(&store, &entry) else {
        return;
    };
    let _ = (opened.fact("profundo.version"), opened.fact("writer"));
    for group in 0..opened.groups() {
        for column in ["service", "ts", "kind", "stack", "frame"] {
            let _ = opened.texts_of(group, column);
            let _ = opened.longs_of(group, column);
        }
    }
    let mut texts = Texts::default();
    if let Ok(rows) = opened.rows::<T>(&mut texts) {
        assert!(rows.len() <= length * 64);
        assert!(texts.len() <= length * 64);
    }
}

/// The text of a query, asked of a store without files.
pub fn store_query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(query) = Query::parse(&text, NOW) {
        let _ = answer(&OneFile(Bytes::new()), &query, 1);
    }
}

/// A body that another profiler pushes. The first byte says by which way, and a line what stands
/// behind `?` in the address.
pub fn pushed_body(bytes: &[u8]) {
    const WAYS: [(Route, &str, &str); 8] = [
        (Route::Otlp, "", ""),
        (Route::Otlp, "application/json", ""),
        (Route::Ingest, "", ""),
        (Route::Ingest, "multipart/form-data; boundary=x", ""),
        (Route::Push, "application/proto", ""),
        (Route::Push, "application/json", ""),
        (Route::Pprof, "", ""),
        (Route::Pprof, "", "gzip"),
    ];
    const LIMIT: usize = 1 << 20;
    let Some((way, rest)) = bytes.split_first() else {
        return;
    };
    let line = rest.iter().position(|&byte| byte == b'\n');
    let (query, body) = match line {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (&[][..], rest),
    };
    let (route, content_type, encoding) = WAYS[usize::from(*way) % WAYS.len()];
    let arrived = Arrived {
        route,
        at: NOW,
        query: String::from_utf8_lossy(query).into_owned(),
        content_type: content_type.to_owned(),
        encoding: encoding.to_owned(),
        body: Bytes::copy_from_slice(body),
    };
    // It comes back from a journal.
    let mut written = Vec::new();
    arrived.write(&mut written);
    assert!(Arrived::read(&written.into()).as_ref() == Some(&arrived));
    let Ok(pieces) = open(&arrived, LIMIT) else {
        return;
    };
    let mut writer = Writer::new(Identity::default(), "fuzzing");
    let mut batch = writer.batch(1, NOW);
    let mut rows = 0;
    for piece in &pieces {
        let Ok(decoded) = piece.decode(NOW) else {
            continue;
        };
        rows += decoded.rows();
        decoded.add(&mut writer, &mut batch);
    }
    assert!((batch.samples() > 0) == (rows > 0));
    // Packing takes longer than to read a small input.
    if rows > 0 && crate::imports::is_one_in(16, bytes) {
        let segment = batch
            .segment()
            .expect("rows that were decoded can be written");
        assert!(!segment.files.is_empty());
    }
}

/// A store that has the same bytes in each of its files, and lists none.
#[derive(Debug)]
struct OneFile(Bytes);

impl Store for OneFile {
    fn list(&self, _: &str) -> Result<Vec<Entry>, Error> {
        Ok(Vec::new())
    }

    fn read(&self, _: &str, range: Range<u64>) -> Result<Bytes, Error> {
        Ok(self.0.slice(range.start as usize..range.end as usize))
    }

    fn put(&self, _: &str, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn put_new(&self, _: &str, _: &[u8]) -> Result<bool, Error> {
        Ok(false)
    }

    fn delete(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }
}

/// Runs what catches panics itself. libFuzzer ends at each panic that it hears of, so it hears only
/// of those that were not caught.
fn quietly(run: impl FnOnce()) {
    static ONCE: Once = Once::new();
    thread_local! {
        static IS_QUIET: Cell<bool> = const { Cell::new(false) };
        static LAST: RefCell<String> = const { RefCell::new(String::new()) };
    }
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match IS_QUIET.get() {
            true => LAST.set(panic.to_string()),
            false => hook(panic),
        }));
    });
    IS_QUIET.set(true);
    let ended = catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(false);
    if ended.is_err() {
        panic!("{}", LAST.take());
    }
}
