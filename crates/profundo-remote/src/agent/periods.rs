//! The periods of threads' clocks. The first is drawn by chance for each thread (`profundo_probe::phase`); from
//! its first tick on, a clock goes on with the period of all, which changes now and then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_probe::ThreadRecord;

use super::{Agent, Thread};

impl Agent {
    /// Changes the period of the threads that were sampled lately: others may be many, and are none the
    /// wiser.
    pub(crate) fn set_period(&mut self, period: u64) {
        for thread in &mut self.threads {
            if thread.samples != thread.varied && !thread.has_first_period {
                thread.varied = thread.samples;
                thread.go_on_with(period, self.map.record(thread.index));
            }
        }
    }

    /// Has the clocks that have ticked for the first time go on with the period of all.
    pub(super) fn end_first_periods(&mut self, period: u64) {
        let map = Arc::clone(&self.map);
        // Most threads of many never run.
        let have_run = (self.threads.iter_mut()).filter(|it| it.has_first_period && it.samples > 0);
        for thread in have_run {
            let record = map.record(thread.index);
            if record.is_some_and(|it| it.has_ticked.load(Ordering::Relaxed) != 0) {
                thread.has_first_period = false;
                thread.go_on_with(period, record);
            }
        }
    }
}

impl Thread {
    /// Changes its clock's period, and what ticks weigh.
    fn go_on_with(&self, period: u64, record: Option<&ThreadRecord>) {
        if let Some(clock) = &self.clock {
            clock.set_period(period);
        }
        if let Some(record) = record {
            record.period.store(0, Ordering::Relaxed);
        }
    }
}
