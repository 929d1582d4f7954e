//! A profile from collapsed stacks, one `root;…;leaf count` a line: the shortest way to write
//! one down in a test.

use crate::{FrameKey, Gil, Language, LocationKind, Nanos, Profile, Sample, State};

/// A line that is not `stack count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedError {
    /// The line, from 1.
    pub line: usize,
}

impl std::fmt::Display for FoldedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} is not `frame;frame;… count`", self.line)
    }
}

impl std::error::Error for FoldedError {}

impl Profile {
    /// Reads collapsed stacks into a profile of one thread. Each count becomes that many samples.
    pub fn from_folded(text: &str) -> Result<Profile, FoldedError> {
        let mut profile = Profile::default();
        profile.meta.period = Nanos(1_000_000);
        let thread = profile.hand_made_thread(1, "main");
        let task = profile.hand_made_task(1);
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let error = FoldedError { line: index + 1 };
            let (frames, count) = line.rsplit_once(' ').ok_or_else(|| error.clone())?;
            let count: u64 = count.parse().map_err(|_| error)?;
            let mut stack = None;
            for name in frames.split(';') {
                let frame = profile.frame(FrameKey {
                    function: name,
                    language: Language::Rust,
                    ..FrameKey::default()
                });
                let kind = LocationKind::Invented(u64::from(frame.0) + 1);
                let location = profile.locations.intern(kind, None);
                profile.locations.set_frames(location, &[frame]);
                stack = Some(profile.stacks.intern(stack, location));
            }
            let Some(stack) = stack else { continue };
            for _ in 0..count {
                let time = Nanos(profile.samples.len() as u64 * profile.meta.period.0);
                profile.samples.push(Sample {
                    time,
                    weight: profile.meta.period,
                    clock: 0,
                    thread,
                    task,
                    stack,
                    state: State::Running,
                    gil: Gil::None,
                    ..Sample::default()
                });
            }
        }
        Ok(profile)
    }
}
