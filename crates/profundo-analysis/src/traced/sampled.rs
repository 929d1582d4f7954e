//! The times of lines that were only counted, from the samples taken meanwhile.

use std::collections::HashSet;

use profundo_model::{FileId, Language, Nanos, ProcessId, Profile, SampleKind, StringId};
use rustc_hash::FxHashMap;

/// A line of a function in a process: its file, the line, and the name that samples have for the
/// function.
type Key<'a> = (ProcessId, FileId, u32, &'a str);

/// Gives lines that were counted without a clock the time of the samples in which they were
/// running, callees included. Returns whether there were such lines.
pub fn time_lines(profile: &mut Profile) -> bool {
    let lines = &profile.traced.lines;
    let is_untimed = !lines.is_empty() && lines.iter().all(|line| line.time.0 == 0);
    if !is_untimed || profile.meta.kind != SampleKind::Cpu {
        return false;
    }
    let mut times: FxHashMap<Key<'_>, u64> = FxHashMap::default();
    let mut by_stack: FxHashMap<_, u64> = FxHashMap::default();
    for sample in &profile.samples {
        let process = profile.threads.get(sample.thread).process;
        *by_stack.entry((process, sample.stack)).or_default() += sample.weight.0;
    }
    let mut met: HashSet<Key<'_>> = HashSet::new();
    for ((process, stack), weight) in by_stack {
        met.clear();
        for location in profile.stacks.locations(stack) {
            for &id in profile.locations.get(location).frames.iter() {
                let frame = profile.frames.get(id);
                let name = profile.strings.get(frame.function);
                let key = (process, frame.file, frame.line, name);
                // A function that calls itself is in the time once.
                if frame.language == Language::Python && met.insert(key) {
                    *times.entry(key).or_default() += weight;
                    // Before Python 3.11, the counter knows the bare name only.
                    let bare = name.split(" (line ").next().unwrap_or(name);
                    let bare = bare.rsplit('.').next().unwrap_or(bare);
                    let key = (process, frame.file, frame.line, bare);
                    if bare != name && met.insert(key) {
                        *times.entry(key).or_default() += weight;
                    }
                }
            }
        }
    }
    for line in &mut profile.traced.lines {
        let frame = profile.frames.get(line.frame);
        let has_qualified = frame.signature != StringId::default();
        let name = if has_qualified {
            frame.signature
        } else {
            frame.function
        };
        let time = times.get(&(
            line.process,
            frame.file,
            frame.line,
            profile.strings.get(name),
        ));
        line.time = Nanos(time.copied().unwrap_or(0));
    }
    true
}

#[cfg(test)]
mod tests {
    use profundo_model::{FrameKey, Line, LocationKind, Sample, Thread};

    use super::*;

    #[test]
    fn a_line_has_the_time_of_the_samples_that_it_is_in() {
        let mut profile = Profile::default();
        profile.threads.push(Thread::default());
        let mut frame = |function, line| {
            profile.frame(FrameKey {
                function,
                file: "app.py",
                line,
                language: Language::Python,
                ..FrameKey::default()
            })
        };
        let frames = [frame("main", 3), frame("work", 7), frame("work", 8)];
        let locations = frames.map(|id| {
            let kind = LocationKind::Python {
                frame: id,
                column: 0,
                is_call: false,
            };
            let location = profile.locations.intern(kind, None);
            profile.locations.set_frames(location, &[id]);
            location
        });
        let main = profile.stacks.intern(None, locations[0]);
        let outer = profile.stacks.intern(Some(main), locations[1]);
        let inner = profile.stacks.intern(Some(outer), locations[1]);
        let leaf = profile.stacks.intern(Some(inner), locations[2]);
        for (stack, weight) in [(main, 1), (outer, 10), (leaf, 100)] {
            profile.samples.push(Sample {
                stack,
                weight: Nanos(weight),
                ..Sample::default()
            });
        }
        profile.traced.lines = frames
            .map(|frame| Line {
                frame,
                hits: 1,
                ..Line::default()
            })
            .to_vec();
        assert!(time_lines(&mut profile));
        let times: Vec<u64> = profile
            .traced
            .lines
            .iter()
            .map(|line| line.time.0)
            .collect();
        assert_eq!(times, [111, 110, 100]);
        assert!(!time_lines(&mut profile));
    }
}
