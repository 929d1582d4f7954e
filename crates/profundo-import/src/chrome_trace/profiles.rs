//! The samples of V8's profiler in a trace: a `Profile` names the thread, and each `ProfileChunk`
//! has further nodes and samples. Older traces have all in one `CpuProfile`.

use profundo_model::ThreadId;
use rustc_hash::FxHashMap;

use super::event::Event;
use crate::Builder;
use crate::encoding::json::{Json, Read};
use crate::v8::cpu::CpuProfile;

/// The process and the id of a profile.
type Key = (Box<[u8]>, Box<[u8]>);

/// The profiles of the trace, each with its thread.
#[derive(Default)]
pub(super) struct Profiles {
    rows: FxHashMap<Key, (ThreadId, CpuProfile)>,
}

impl Profiles {
    pub(super) fn is_any(&self) -> bool {
        self.rows
            .values()
            .any(|(_, profile)| !profile.samples.is_empty())
    }

    /// Takes an event of a profile.
    pub(super) fn event(
        &mut self,
        event: &Event<'_>,
        thread: ThreadId,
        builder: &mut Builder,
    ) -> Read<()> {
        // A whole profile has no id, and is its own thread's.
        let id = if event.id.is_empty() {
            event.tid
        } else {
            event.id
        };
        let key = (event.pid.into(), id.into());
        let (of, profile) = self.rows.entry(key).or_insert_with(|| {
            let profile = CpuProfile {
                start: event.time.unwrap_or(0),
                ..CpuProfile::default()
            };
            (thread, profile)
        });
        if event.name == "Profile" {
            // Chunks are written by the profiler's own thread.
            *of = thread;
        }
        if event.arguments.is_empty() {
            return Ok(());
        }
        Json::new(event.arguments).object(|json, key| match key {
            "data" => json.object(|json, key| match key {
                "cpuProfile" => json.object(|json, key| field(profile, key, json, builder)),
                key => field(profile, key, json, builder),
            }),
            _ => json.skip(),
        })
    }

    pub(super) fn give(self, builder: &mut Builder) {
        let mut rows: Vec<(ThreadId, CpuProfile)> = (self.rows.into_values())
            .filter(|(_, profile)| !profile.samples.is_empty())
            .collect();
        rows.sort_by_key(|(thread, profile)| (*thread, profile.start));
        for (thread, mut profile) in rows {
            profile.end = profile.end.filter(|&end| end > profile.start);
            profile.give(thread, builder);
        }
    }
}

fn field(
    profile: &mut CpuProfile,
    key: &str,
    json: &mut Json<'_>,
    builder: &mut Builder,
) -> Read<()> {
    match key {
        "nodes" => json.array(|json| profile.nodes.read(json, builder)),
        "samples" => json.array(|json| {
            profile
                .samples
                .push(json.whole()?.map_or(0, |id| id as u64));
            Ok(())
        }),
        "lines" => json.array(|json| {
            profile.lines.push(json.index()?.unwrap_or(0));
            Ok(())
        }),
        "timeDeltas" => json.array(|json| {
            profile.deltas.push(json.decimal(3)?.unwrap_or(0));
            Ok(())
        }),
        "startTime" => {
            profile.start = json.decimal(3)?.unwrap_or(profile.start);
            Ok(())
        }
        "endTime" => {
            profile.end = json.decimal(3)?;
            Ok(())
        }
        _ => json.skip(),
    }
}
