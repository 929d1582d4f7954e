//! What programs have of the machine's memory, while they are recorded.

use std::time::Duration;

use profundo_wire::recording::Event;

use super::Recorder;
use crate::gauge::Unseen;
use crate::permits::gauge_refused;
use crate::sys;

impl Recorder {
    /// How long a turn may wait.
    pub(super) fn until_gauge(&self) -> Duration {
        match &self.gauges {
            Some(gauges) if self.running => {
                gauges.until_look(sys::nanoseconds(libc::CLOCK_MONOTONIC))
            }
            _ => Duration::MAX,
        }
    }

    /// Looks at programs that are new, and at those that are due.
    pub(super) fn look_at_memory(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(gauges) = self.gauges.as_mut().filter(|_| self.running) else {
            return;
        };
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        for (&key, program) in self.programs.range(gauges.newest() + 1..) {
            gauges.begin(key, program.pid, now);
        }
        let unseen = gauges.look(now, &mut |gauge| sink(Event::Gauge(gauge)));
        self.tell_unseen(unseen);
    }

    /// A program has ended or become another one.
    pub(super) fn end_gauges_of(
        &mut self,
        key: u32,
        is_replaced: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        if let Some(gauges) = &mut self.gauges {
            let now = profundo_probe::clock::now();
            gauges.end(key, is_replaced, now, &mut |gauge| {
                sink(Event::Gauge(gauge))
            });
        }
    }

    /// The recording is over while programs live.
    pub(super) fn finish_gauges(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(gauges) = &mut self.gauges else {
            return;
        };
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut tell = |gauge| sink(Event::Gauge(gauge));
        let unseen = match self.running {
            true => gauges.look_last(now, &mut tell),
            false => None,
        };
        gauges.finish(&mut tell);
        self.tell_unseen(unseen);
    }

    /// Says once of each file why it was not read.
    fn tell_unseen(&mut self, unseen: Option<Unseen>) {
        let Some(Unseen { file, error }) = unseen else {
            return;
        };
        if !self.told.unseen.contains(&file) {
            self.told.unseen.push(file);
            self.notes.push(gauge_refused(file, &error).to_string());
        }
    }
}
