//! Text: a stack of names on each line, and how often it was seen.

use profundo_store::table::Kind;
use profundo_store::{Frame, Thread};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::rows::{Group, Row, kind_of, text_of};
use crate::{About, Decoded};

/// The usual rate of Pyroscope's clients.
const RATE: f64 = 100.0;

pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    about: &About,
    decoded: &mut Decoded<'a>,
) -> Result<(), Error> {
    if !matches!(&about.units[..], "" | "samples") {
        return Err(Error::Unsupported {
            what: format!("text whose units are {}", about.units),
            instead: "samples are",
        });
    }
    if std::str::from_utf8(bytes).is_err() {
        return Err(Error::malformed("text of stacks", "it is not UTF-8"));
    }
    decoded.groups.push(Group {
        identity: about.identity.clone(),
        threads: vec![Thread::default()],
    });
    let period = (1e9 / about.rate.unwrap_or(RATE)).clamp(1.0, 1e12) as u64;
    let ts = decoded.time(about.from);
    let mut frames: FxHashMap<&'a str, u32> = FxHashMap::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = text_of(line).trim();
        if line.is_empty() {
            continue;
        }
        let parts = line.rsplit_once(' ');
        let count = parts.and_then(|(stack, count)| Some((stack, count.parse::<u64>().ok()?)));
        let Some((stack, count)) = count else {
            return Err(Error::malformed(
                "text of stacks",
                "a line does not end with a number",
            ));
        };
        let stack: Vec<u32> = stack
            .split(';')
            .map(|name| {
                *frames.entry(name).or_insert_with(|| {
                    // `file.py:3 - function`, as py-spy has it.
                    let (file, function) = name.split_once(" - ").unwrap_or(("", name));
                    let (file, line) = file.rsplit_once(':').unwrap_or((file, ""));
                    decoded.frame(Frame {
                        kind: kind_of(function, file),
                        function,
                        file,
                        line: line.parse().unwrap_or(0),
                        ..Frame::default()
                    })
                })
            })
            .collect();
        let stack = decoded.stack(&stack);
        decoded.row(Row {
            group: 0,
            thread: 0,
            stack,
            span: 0,
            kind: Kind::Cpu,
            state: "running",
            gil: "",
            ts,
            value: count.saturating_mul(period),
            count,
            period,
        });
    }
    Ok(())
}
