//! Sampled calls as slices: a call lasts as long as one sample after the other shows it.

use std::io::{self, Write};

use profundo_model::{Profile, ThreadId};

use super::{Micros, place};
use crate::export::calls::Callee;
use crate::export::json::bare_string as string;
use crate::export::stretches::{Stretch, Stretches};
use crate::export::view::View;
use crate::export::{Options, owner};

/// The most slices: about 150 MB of text, which is what a page reads in a minute.
const MOST_SLICES: u64 = 1_000_000;

/// The distance of a thread's second track from its first one.
const SECOND: u64 = 1 << 31;

/// A call with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    from: u64,
    to: u64,
    depth: usize,
    call: u32,
}

/// Writes the calls of each thread. `begin` begins an event; `with_spans` are the threads whose
/// first track has spans or marks.
pub(super) fn write<W: Write>(
    profile: &Profile,
    options: &Options,
    with_spans: &[ThreadId],
    begin: &mut impl FnMut(&mut dyn Write) -> io::Result<()>,
    out: &mut W,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let mut stretches = Stretches::new(&view, options);
    stretches.bound(MOST_SLICES, count);
    for (thread, rows) in &stretches.threads {
        let is_second = with_spans.binary_search(thread).is_ok();
        names(profile, *thread, is_second, begin, out)?;
        for slice in slices(&stretches, rows) {
            begin(out)?;
            write!(out, "{{\"ph\":\"X\",\"cat\":\"sample\",\"name\":")?;
            let (mut file, mut line) = ("", 0);
            match stretches.calls.calls[slice.call as usize].callee {
                Callee::Owner(owner) => string(out, &stretches.calls.owners[owner as usize])?,
                Callee::System => string(out, "[system]")?,
                Callee::Function { function, .. } => {
                    let function = &view.functions[function as usize];
                    string(out, &function.name)?;
                    file = view.path(function.file);
                    line = stretches.calls.lines(slice.call).0;
                }
            }
            out.write_all(b",")?;
            track(profile, *thread, is_second, out)?;
            write!(
                out,
                ",\"ts\":{},\"dur\":{}",
                Micros(slice.from),
                Micros(slice.to - slice.from)
            )?;
            if !file.is_empty() {
                out.write_all(b",\"args\":{\"file\":")?;
                string(out, file)?;
                if line > 0 {
                    write!(out, ",\"line\":{line}")?;
                }
                out.write_all(b"}")?;
            }
            out.write_all(b"}")?;
        }
    }
    Ok(())
}

/// The names of a thread and of its process.
fn names<W: Write>(
    profile: &Profile,
    thread: ThreadId,
    is_second: bool,
    begin: &mut impl FnMut(&mut dyn Write) -> io::Result<()>,
    out: &mut W,
) -> io::Result<()> {
    let mut name = owner::thread_name(profile, thread);
    if is_second {
        name.push_str(", samples");
    }
    let process = owner::process(profile, thread);
    for (what, name) in [("process_name", process), ("thread_name", name)] {
        begin(out)?;
        write!(out, "{{\"ph\":\"M\",\"name\":\"{what}\",")?;
        track(profile, thread, is_second, out)?;
        out.write_all(b",\"args\":{\"name\":")?;
        string(out, &name)?;
        out.write_all(b"}}")?;
    }
    Ok(())
}

fn track(
    profile: &Profile,
    thread: ThreadId,
    is_second: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if !is_second {
        return place(profile, thread, out);
    }
    let tid = profile.threads.get(thread).number.saturating_add(SECOND);
    write!(out, "\"pid\":{},\"tid\":{tid}", owner::pid(profile, thread))
}

/// The slices of a thread: those around others first.
fn slices(stretches: &Stretches, rows: &[Stretch]) -> Vec<Slice> {
    let mut done = Vec::new();
    let mut open: Vec<Slice> = Vec::new();
    let mut end = 0;
    for row in rows {
        let path = stretches.path(row.call);
        let goes_on = match row.from > end {
            true => 0,
            false => shared(&open, &path),
        };
        done.extend(
            open.drain(goes_on..)
                .map(|slice| Slice { to: end, ..slice }),
        );
        for (depth, &call) in path.iter().enumerate().skip(goes_on) {
            open.push(Slice {
                from: row.from,
                to: 0,
                depth,
                call,
            });
        }
        end = row.to;
    }
    done.extend(open.drain(..).map(|slice| Slice { to: end, ..slice }));
    done.sort_by_key(|slice| (slice.from, slice.depth));
    done
}

fn shared(open: &[Slice], path: &[u32]) -> usize {
    let both = open.iter().zip(path);
    both.take_while(|(slice, call)| slice.call == **call)
        .count()
}

/// The number of all slices.
fn count(stretches: &Stretches) -> u64 {
    let mut count = 0;
    let mut last: Vec<u32> = Vec::new();
    for (_, rows) in &stretches.threads {
        let mut end = 0;
        for row in rows {
            let path = stretches.path(row.call);
            let goes_on = match row.from > end {
                true => 0,
                false => last.iter().zip(&path).take_while(|(a, b)| a == b).count(),
            };
            count += (path.len() - goes_on) as u64;
            (last, end) = (path, row.to);
        }
        last.clear();
    }
    count
}
