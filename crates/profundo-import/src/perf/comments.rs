//! The head that perf prints with `--header`, and of pipes: lines that begin with `#`.

use crate::Builder;
use crate::perf::event::{Events, Interval};

/// Takes in a line without its mark.
pub(super) fn take(line: &[u8], builder: &mut Builder, events: &mut Events, command: &mut String) {
    let line = String::from_utf8_lossy(line);
    let Some((name, value)) = line.split_once(':') else {
        return;
    };
    let value = value.trim();
    let machine = &mut builder.profile.meta.machine;
    match name.trim() {
        "event" => {
            if let Some((name, interval)) = interval(value) {
                events.set_interval(name, interval);
            }
        }
        "os release" => value.clone_into(&mut machine.get_or_insert_default().kernel),
        "cpudesc" => value.clone_into(&mut machine.get_or_insert_default().cpu),
        "nrcpus online" => {
            machine.get_or_insert_default().cpus = value.parse().unwrap_or(0);
        }
        "cmdline" => value.clone_into(command),
        _ => {}
    }
}

/// `name = cpu-clock, …, { sample_period, sample_freq } = 199, …, freq = 1, …`.
fn interval(text: &str) -> Option<(&str, Interval)> {
    let name = text.strip_prefix("name = ")?;
    let (name, rest) = name.split_once(", ")?;
    let (_, number) = rest.split_once("{ sample_period, sample_freq } = ")?;
    let number = number.split(',').next()?.trim().parse().ok()?;
    let is_frequency = rest.contains(", freq = 1");
    let interval = match is_frequency {
        true => Interval::Frequency(number),
        false => Interval::Period(number),
    };
    Some((name, interval))
}

/// The program in a command line of `perf record`, where it stands behind `--`.
pub(super) fn program(command: &str) -> Option<&str> {
    command
        .split_once(" -- ")
        .map(|(_, program)| program.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_has_the_distance_of_samples() {
        let line = "name = cpu-clock, , id = { 300, 301 }, type = 1, { sample_period, sample_freq } \
                    = 199, sample_type = IP, disabled = 1, freq = 1, task = 1";
        let expected = ("cpu-clock", Interval::Frequency(199));
        assert_eq!(interval(line), Some(expected));
        let line = "name = cycles:u, { sample_period, sample_freq } = 5000, sample_type = IP";
        assert_eq!(interval(line), Some(("cycles:u", Interval::Period(5000))));
        assert_eq!(interval("name = cycles"), None);
    }

    #[test]
    fn a_program_stands_behind_the_options() {
        assert_eq!(
            program("/usr/bin/perf record -g -- ./work 20"),
            Some("./work 20")
        );
        assert_eq!(program("/usr/bin/perf record -a"), None);
    }
}
