//! Chrome's sampling heap profile, for DevTools, VS Code and speedscope: a tree of calls with the
//! bytes that each of them has allocated itself.
//!
//! ```text
//! { "head": { "callFrame": { "functionName", "scriptId", "url", "lineNumber", "columnNumber" },
//!             "selfSize": bytes, "id", "children": [node…] },
//!   "samples": [{ "size", "nodeId", "ordinal" }…] }
//! ```
//!
//! In Chrome it is memory that was live when the profile was taken, and so it is here by default.

use std::io::{self, Write};

use profundo_analysis::{heap_samples, records_allocations};
use profundo_model::{Kinds, Measure, Part, Profile};

use super::calls::{Callee, Calls, Manner};
use super::cpuprofile::{call_frame, first_lines};
use super::format::{Holds, Row, has};
use super::view::View;
use super::{Format, Options, Weights, json, measured};
use crate::Error;

impl Format {
    /// See [`heapprofile`](self).
    pub const HEAPPROFILE: Self = Self(&Row {
        name: "heapprofile",
        aliases: &[],
        extensions: &["heapprofile"],
        about: "Memory by stack, for Chrome's DevTools and VS Code",
        file: "heap profile of Chrome",
        holds: Holds::Allocations,
        has_title: false,
        is_in_order: false,
        has_memory_too: true,
        misfit: |options| {
            if options.weights.is_some() {
                Some("heapprofile has memory, and cpuprofile has time")
            } else if options.measure.is_some_and(|measure| measure.counts) {
                Some("heapprofile has bytes; pprof has blocks too")
            } else if options.merge.is_some() {
                Some("heapprofile has functions; it needs no --frames")
            } else if options.kinds {
                Some("memory has no kinds")
            } else {
                None
            }
        },
        is_start: |start| start.starts_with(b"{\"head\"") && has(start, b"\"selfSize\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the profile.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let sampled;
    let profile = match measured::of(profile) {
        Some(_) => profile,
        None if !records_allocations(profile) => return Err(Error::NoAllocations),
        None => {
            let measure = options.measure.unwrap_or(Measure {
                part: Part::Live,
                counts: false,
            });
            sampled = Profile {
                samples: heap_samples(profile, measure),
                ..profile.clone()
            };
            &sampled
        }
    };
    let view = View::new(profile, options);
    let manner = Manner::new(options, Weights::Time, false);
    let calls = Calls::new(&view, &Kinds::of(profile), manner);
    tree(&view, &calls, out).map_err(Error::Write)
}

fn tree(view: &View<'_>, calls: &Calls, out: &mut impl Write) -> io::Result<()> {
    let (roots, children) = calls.children(|call| call);
    let first_lines = first_lines(view);
    out.write_all(b"{\"head\":{")?;
    call_frame(out, "(root)", None)?;
    out.write_all(b",\"selfSize\":0,\"id\":1,\"children\":[")?;
    // The callees that are still to be written, by level.
    let mut open = vec![roots.iter()];
    let mut is_first = true;
    while let Some(level) = open.last_mut() {
        let Some(&index) = level.next() else {
            open.pop();
            out.write_all(match open.is_empty() {
                true => b"]",
                false => b"]}",
            })?;
            is_first = false;
            continue;
        };
        out.write_all(match is_first {
            true => b"\n{",
            false => b",\n{",
        })?;
        let call = calls.calls[index as usize];
        match call.callee {
            Callee::Owner(owner) => call_frame(out, &calls.owners[owner as usize], None)?,
            Callee::System => call_frame(out, "[system]", None)?,
            Callee::Function { function, .. } => {
                let line = first_lines[function as usize];
                let function = &view.functions[function as usize];
                let place = (function.file, view.path(function.file), line);
                call_frame(out, &function.name, Some(place))?;
            }
        }
        let id = u64::from(index) + 2;
        write!(out, ",\"selfSize\":{},\"id\":{id},\"children\":[", call.own)?;
        open.push(children[index as usize].iter());
        is_first = true;
    }
    out.write_all(b"},")?;
    let own = (2_u64..).zip(&calls.calls).filter(|(_, call)| call.own > 0);
    json::list(
        out,
        "samples",
        own.enumerate(),
        |out, (ordinal, (id, call))| {
            write!(
                out,
                "{{\"size\":{},\"nodeId\":{id},\"ordinal\":{}}}",
                call.own,
                ordinal + 1
            )
        },
    )?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Block, Nanos, Sampling};

    #[test]
    fn the_tree_has_what_was_not_freed() {
        let mut profile = Profile::from_folded("main;work;deep 1\nmain;other 1").unwrap();
        let nothing = write(&profile, &Options::default(), &mut Vec::new());
        assert!(matches!(nothing, Err(Error::NoAllocations)));
        profile.heap.sampling = Sampling::All;
        profile.meta.duration = Nanos(10);
        for (sample, freed) in profile.samples.iter().zip([None, Some(Nanos(5))]) {
            profile.heap.blocks.push(Block {
                size: 100,
                stack: sample.stack,
                thread: sample.thread,
                freed,
                ..Block::default()
            });
        }
        let written = |options: &Options| {
            let mut out = Vec::new();
            write(&profile, options, &mut out).unwrap();
            assert!(Format::HEAPPROFILE.is_start_of(&out));
            serde_json::from_slice::<serde_json::Value>(&out).unwrap()
        };
        let live = written(&Options::default());
        let deep = &live["head"]["children"][0]["children"][0]["children"][0];
        assert_eq!(deep["callFrame"]["functionName"], "deep");
        assert_eq!(deep["selfSize"], 100);
        assert_eq!(live["samples"].as_array().unwrap().len(), 1);
        assert_eq!(live["samples"][0]["nodeId"], deep["id"]);
        let all = written(&Options {
            measure: Some(Measure::default()),
            ..Options::default()
        });
        assert_eq!(all["samples"].as_array().unwrap().len(), 2);
    }
}
