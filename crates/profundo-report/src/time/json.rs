//! The report as JSON: each run, and what all of them are like.

use std::io::{self, Write};

use profundo_analysis::usage::{Around, Ending, Measured, Quantity, Run};

use super::{Time, remarks};
use crate::json::Json;
use crate::json::SCHEMA;

pub(super) fn write(time: &Time, out: &mut dyn Write) -> io::Result<()> {
    Json::document(out, |json| {
        json.row("profundo", |json| {
            json.number("schema", SCHEMA);
            json.text("report", "time");
        });
        json.text("command", &time.command);
        json.number("warmups", time.warmups);
        json.array("runs", |json| {
            for run in &time.runs {
                json.object("", |json| members(json, run));
            }
        });
        json.array("figures", |json| {
            for quantity in Quantity::ALL {
                let Some(spread) = quantity.over(&time.runs) else {
                    continue;
                };
                json.row("", |json| {
                    json.text("figure", name(quantity));
                    json.number("runs", spread.count as u64);
                    for (key, value) in [
                        ("mean", Some(spread.mean)),
                        ("deviation", spread.deviation),
                        ("least", Some(spread.least)),
                        ("most", Some(spread.most)),
                    ] {
                        json.figure(key, value.map(|value| scaled(quantity, value)));
                    }
                });
            }
        });
        json.array("notes", |json| {
            for sentence in remarks::sentences(time) {
                json.text("", &sentence);
            }
        });
    })
}

fn members(json: &mut Json<'_>, run: &Run) {
    for quantity in Quantity::ALL {
        let value = quantity.of(run);
        match quantity.measured() {
            Measured::Time | Measured::Share => {
                json.figure(name(quantity), value.map(|value| scaled(quantity, value)));
            }
            Measured::Bytes | Measured::Count => {
                json.number_or_null(name(quantity), value.map(|value| value as u64));
            }
        }
    }
    json.is("peak_is_bound", run.peak_is_bound);
    json.seconds("unwaited_seconds", run.unwaited);
    json.is("unwaited_is_estimated", run.split_is_estimated);
    json.number_or_null("still_running", run.still_running);
    json.null("signals_received");
    let (code, signal) = match run.ending {
        Ending::Exited(code) => (Some(code), None),
        Ending::Killed(signal) => (None, Some(signal)),
    };
    json.number_or_null("exit_code", code.map(u64::from));
    json.number_or_null("signal", signal.map(u64::from));
    json.row("machine", |json| machine(json, &run.around));
}

fn machine(json: &mut Json<'_>, around: &Around) {
    json.number("cpus", around.cpus);
    json.seconds("busy_seconds", around.busy);
    json.seconds("stolen_seconds", Some(around.stolen));
    json.seconds("held_back_seconds", around.held_back);
    json.number_or_null("overheated", around.overheated);
    let (to, of) = around.limited.unzip();
    json.number_or_null("limited_to_khz", to);
    json.number_or_null("limited_of_khz", of);
}

fn scaled(quantity: Quantity, value: f64) -> f64 {
    match quantity.measured() {
        Measured::Time => value / 1e9,
        Measured::Share | Measured::Bytes | Measured::Count => value,
    }
}

fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Real => "real_seconds",
        Quantity::User => "user_seconds",
        Quantity::System => "system_seconds",
        Quantity::Cpu => "cpu_share",
        Quantity::PeakResident => "peak_resident_bytes",
        Quantity::TreeResident => "tree_peak_resident_bytes",
        Quantity::MinorFaults => "minor_faults",
        Quantity::MajorFaults => "major_faults",
        Quantity::Voluntary => "voluntary_switches",
        Quantity::Involuntary => "involuntary_switches",
        Quantity::Read => "read_bytes",
        Quantity::Written => "written_bytes",
        Quantity::DiskRead => "disk_read_bytes",
        Quantity::DiskWritten => "disk_written_bytes",
        Quantity::Processes => "processes",
        Quantity::Threads => "threads",
    }
}
