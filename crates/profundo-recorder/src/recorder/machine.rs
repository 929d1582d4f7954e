//! Recording all processes of the machine.

use profundo_permits::machine_refused;
use profundo_wire::recording::{Event, HowEnded};

use super::Recorder;
use crate::engines::Over;
use crate::error::Error;
use crate::parts::Part;

impl Recorder {
    /// Begins to record the processes of the machine that the options choose.
    pub fn begin_machine(&mut self) -> Result<(), Error> {
        let chosen = self.core.options.machine.clone().unwrap_or_default();
        let period = self.core.clock_plan().period;
        let opened = self.outside.open_machine(period, &chosen);
        opened.map_err(|error| Error::Refused(machine_refused(&error)))?;
        // A sampled thread that is read is resumed at once.
        profundo_linux::urgency::ask_for_short_slices();
        if self.core.running {
            self.parts.energy.resume(&mut self.core);
            self.outside.set_machine_running(true);
        }
        Ok(())
    }

    /// Ends the programs that others have replaced.
    pub(super) fn end_replaced(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        for Over { key, is_replaced } in self.outside.take_over() {
            let how = match is_replaced {
                true => HowEnded::Replaced,
                false => HowEnded::Unknown,
            };
            self.end_program(key, how, sink);
        }
    }
}
