//! The machine's energy counters.

use std::fs;
use std::io;
use std::path::Path;

use profundo_linux::energy::{Meter, POWERCAP, Uncounted};

use super::gap::{Finding, Gap, Mend, Verdict, error_text};
use super::settings::Settings;

/// The gap for counters that cannot be read.
pub fn refused(why: &Uncounted) -> Gap {
    explain(&Settings::read(), why, is_virtual(&processors()))
}

/// Reads them once.
pub(super) fn check(settings: &Settings) -> Finding {
    const TOPIC: &str = "--energy";
    match Meter::open(Path::new(POWERCAP)) {
        Ok(meter) => {
            let names = meter.names().join(", ");
            Finding::works(TOPIC, format!("the processors count it (RAPL): {names}"))
        }
        Err(why) => {
            let gap = explain(settings, &why, is_virtual(&processors()));
            Finding::gap(TOPIC, Verdict::Fails, gap)
        }
    }
}

fn explain(settings: &Settings, why: &Uncounted, is_virtual: bool) -> Gap {
    match why {
        Uncounted::None if is_virtual => Gap::advice(
            "this virtual machine has no counters of energy (RAPL)",
            "only the machine that it runs on has them",
        ),
        Uncounted::None if settings.container.is_some() => Gap {
            why: "this container shows no counters of energy (RAPL)".to_owned(),
            mend: Some(settings.container_with("--security-opt systempaths=unconfined")),
        },
        Uncounted::None if cfg!(target_arch = "x86_64") => Gap::command(
            format!("the kernel shows no counters of energy (RAPL) in {POWERCAP}"),
            "sudo modprobe intel_rapl_msr",
        ),
        Uncounted::None => Gap::of("this machine has no counters of energy (RAPL)"),
        Uncounted::Unreadable { file, error }
            if error.kind() == io::ErrorKind::PermissionDenied =>
        {
            // It lists the other packages and their parts too.
            let all = file.ancestors().nth(2).unwrap_or(Path::new(POWERCAP));
            let place = match settings.container {
                None => "",
                Some(_) => "  # on the host",
            };
            let command = format!(
                "sudo chmod a+r {}/intel-rapl*:*/energy_uj{place}",
                all.display()
            );
            Gap {
                why: "the counters of energy (RAPL) may be read by root alone, as it is since Linux 5.10"
                    .to_owned(),
                mend: Some(Mend::Command(command)),
            }
        }
        Uncounted::Unreadable { file, error } => Gap::of(format!(
            "the counter of energy {} cannot be read ({})",
            file.display(),
            error_text(error)
        )),
    }
}

fn processors() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

/// Whether the first processor is a virtual one.
fn is_virtual(processors: &str) -> bool {
    let mut lines = processors.lines();
    let flags = lines.find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| {
        flags
            .split_ascii_whitespace()
            .any(|flag| flag == "hypervisor")
    })
}

#[cfg(test)]
mod tests {
    use super::super::settings::Container;
    use super::super::settings::tests::ordinary;
    use super::*;

    fn denied() -> Uncounted {
        Uncounted::Unreadable {
            file: "/sys/class/powercap/intel-rapl:0/energy_uj".into(),
            error: io::Error::from_raw_os_error(libc::EACCES),
        }
    }

    #[test]
    fn what_root_alone_may_read_is_opened_by_one_command() {
        let chmod = "sudo chmod a+r /sys/class/powercap/intel-rapl*:*/energy_uj";
        let gap = explain(&ordinary(), &denied(), true).to_string();
        assert!(gap.ends_with(&format!("; mend it with `{chmod}`")), "{gap}");
        let inside = Settings {
            container: Some(Container::Docker),
            ..ordinary()
        };
        let gap = explain(&inside, &denied(), false).to_string();
        assert!(gap.ends_with(&format!("`{chmod}  # on the host`")), "{gap}");
    }

    #[test]
    fn missing_counters_are_explained() {
        let none = |settings: &Settings, is_virtual| {
            explain(settings, &Uncounted::None, is_virtual).to_string()
        };
        assert_eq!(
            none(&ordinary(), true),
            "this virtual machine has no counters of energy (RAPL); only the machine that it runs on has \
             them"
        );
        let inside = Settings {
            container: Some(Container::Podman),
            ..ordinary()
        };
        let gap = none(&inside, false);
        assert!(
            gap.contains("podman run --security-opt systempaths=unconfined"),
            "{gap}"
        );
        let gap = none(&ordinary(), false);
        assert!(gap.contains("no counters of energy"), "{gap}");
    }

    #[test]
    fn a_virtual_machine_is_known_by_its_processor() {
        assert!(is_virtual(
            "processor\t: 0\nflags\t\t: fpu hypervisor sse\n"
        ));
        assert!(!is_virtual("processor\t: 0\nflags\t\t: fpu sse\n"));
        assert!(!is_virtual(""));
    }
}
