//! Another program: a collector, a Pyroscope, or what takes pprof. Each of them has one service in
//! a profile, so a piece is divided by services. What it does not take waits in memory.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Result;
use profundo_model::{ProcessId, Profile};
use profundo_push::{Error, Pusher};
use profundo_store::Identity;

use super::{Outlet, Sent};

/// The profiles that wait in memory. Beyond them the oldest are dropped.
const MOST: usize = 256;

/// The way to another program.
#[derive(Debug)]
pub struct RemoteOutlet {
    pusher: Pusher,
    general: Identity,
    waiting: VecDeque<(Profile, Identity)>,
    dropped: u64,
}

impl RemoteOutlet {
    /// The way of profiles by a pusher. `general` is what is known of all processes.
    pub fn new(pusher: Pusher, general: Identity) -> Self {
        Self {
            pusher,
            general,
            waiting: VecDeque::new(),
            dropped: 0,
        }
    }
}

impl Outlet for RemoteOutlet {
    fn take(&mut self, profile: Profile) -> Result<u64> {
        let samples = size(&profile);
        for (identity, processes) in services(&profile, &self.general) {
            let part = only(&profile, &processes);
            if size(&part) > 0 {
                self.waiting.push_back((part, identity));
            }
        }
        while self.waiting.len() > MOST {
            if let Some((profile, _)) = self.waiting.pop_front() {
                self.dropped += size(&profile);
            }
        }
        Ok(samples)
    }

    fn send(&mut self) -> Sent {
        let mut sent = Sent::default();
        while let Some((profile, identity)) = self.waiting.front() {
            match self.pusher.send(profile, identity) {
                Ok(()) => sent.segments += 1,
                Err(error) if error.is_passing() => {
                    sent.because = Some(error.into());
                    break;
                }
                Err(error) => {
                    // It would not be taken later either.
                    self.dropped += size(profile);
                    sent.because = Some(refused(error));
                }
            }
            self.waiting.pop_front();
        }
        sent
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn is_durable(&self) -> bool {
        false
    }
}

fn refused(error: Error) -> anyhow::Error {
    anyhow::Error::from(error).context("a profile was refused, and is dropped")
}

fn size(profile: &Profile) -> u64 {
    (profile.samples.len() + profile.heap.blocks.len()) as u64
}

/// The processes of each service, with what tells it from the others.
fn services(profile: &Profile, general: &Identity) -> Vec<(Identity, Vec<ProcessId>)> {
    type Parts = (String, String, String, String, String);
    let mut found: BTreeMap<Parts, (Identity, Vec<ProcessId>)> = BTreeMap::new();
    for index in 0..profile.processes.len() {
        let process = ProcessId::from_index(index);
        let mut identity = general.clone();
        for (key, value) in profile.all_labels_of(process) {
            let value = profile.strings.get(value);
            let place = match profile.strings.get(key) {
                "service" => &mut identity.service,
                "host" => &mut identity.host,
                "version" => &mut identity.version,
                "container" => &mut identity.container,
                "pod" => &mut identity.pod,
                _ => continue,
            };
            value.clone_into(place);
        }
        let parts = (
            identity.service.clone(),
            identity.version.clone(),
            identity.host.clone(),
            identity.container.clone(),
            identity.pod.clone(),
        );
        let (_, processes) = found.entry(parts).or_insert_with(|| (identity, Vec::new()));
        processes.push(process);
    }
    found.into_values().collect()
}

/// The part of a profile that is of these processes.
fn only(profile: &Profile, processes: &[ProcessId]) -> Profile {
    let mut part = profile.clone();
    let threads = &profile.threads;
    let is_in = |thread| processes.contains(&threads.get(thread).process);
    part.samples.retain(|sample| is_in(sample.thread));
    part.heap.blocks.retain(|block| is_in(block.thread));
    part
}

#[cfg(test)]
mod tests {
    use profundo_model::{Process, Sample, Thread};

    use super::*;

    #[test]
    fn a_piece_is_divided_by_services() {
        let mut profile = Profile::default();
        let key = profile.strings.intern("service");
        for (number, service) in ["api", "web", "api"].into_iter().enumerate() {
            let value = profile.strings.intern(service);
            profile.processes.push(Process {
                labels: vec![(key, value)],
                ..Process::default()
            });
            let process = ProcessId::from_index(number);
            let thread = profile.threads.push(Thread {
                process,
                ..Thread::default()
            });
            profile.samples.push(Sample {
                thread,
                ..Sample::default()
            });
        }
        let general = Identity {
            host: "h".into(),
            ..Identity::default()
        };
        let parts = services(&profile, &general);
        let sizes: Vec<_> = (parts.iter())
            .map(|(identity, processes)| {
                let part = only(&profile, processes);
                (
                    identity.service.as_str(),
                    identity.host.as_str(),
                    size(&part),
                )
            })
            .collect();
        assert_eq!(sizes, [("api", "h", 2), ("web", "h", 1)]);
    }
}
