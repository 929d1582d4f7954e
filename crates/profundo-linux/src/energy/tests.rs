//! A machine that is made of files.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::*;

pub struct Machine(pub PathBuf);

impl Machine {
    pub fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("powercap-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).unwrap();
        Self(root)
    }

    pub fn zone(&self, directory: &str, name: &str, microjoules: u64) {
        let path = self.0.join(directory);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("name"), format!("{name}\n")).unwrap();
        fs::write(path.join("max_energy_range_uj"), "1000000\n").unwrap();
        self.set(directory, microjoules);
    }

    pub fn set(&self, directory: &str, microjoules: u64) {
        let path = self.0.join(directory).join("energy_uj");
        fs::write(path, format!("{microjoules}\n")).unwrap();
    }

    /// Two packages, of which one has parts.
    pub fn ordinary(name: &str) -> Self {
        let machine = Self::new(name);
        // What else is there: the type itself, and the same counters by another way.
        fs::create_dir(machine.0.join("intel-rapl")).unwrap();
        machine.zone("intel-rapl-mmio:0", "package-0", 1);
        machine.zone("intel-rapl:10", "package-1", 500);
        machine.zone("intel-rapl:2", "package-0", 999_000);
        machine.zone("intel-rapl:2:0", "core", 10);
        machine.zone("intel-rapl:2:1", "dram", 20);
        machine.zone("intel-rapl:11", "psys", 30);
        machine
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn microjoules(used: &EnergyUsed) -> Vec<(&str, u64, bool)> {
    let zones = used.zones.iter();
    zones
        .map(|zone| (zone.name.as_str(), zone.microjoules, zone.is_counted))
        .collect()
}

#[test]
fn zones_are_counted_once_and_across_their_end() {
    let machine = Machine::ordinary("zones");
    let mut meter = Meter::open(&machine.0).unwrap();
    meter.set_running(true);
    machine.set("intel-rapl:2", 999_900);
    machine.set("intel-rapl:10", 700);
    assert_eq!(meter.used(true, 0).zones[0].microjoules, 900);
    // The counter wraps around.
    machine.set("intel-rapl:2", 100);
    machine.set("intel-rapl:2:0", 11);
    machine.set("intel-rapl:2:1", 60);
    meter.set_running(false);
    // A pause.
    machine.set("intel-rapl:10", 900_000);
    meter.set_running(true);
    machine.set("intel-rapl:10", 900_001);
    let used = meter.used(true, 77);
    assert_eq!(
        microjoules(&used),
        [
            ("package-0", 1100, true),
            ("package-0/core", 1, false),
            ("package-0/dram", 40, true),
            ("package-1", 201, true),
            ("psys", 0, false),
        ]
    );
    assert_eq!(used.program_cpu, 77);
    assert!(used.duration > 0);
}

#[test]
fn a_machine_that_counts_only_itself_is_reported_as_a_whole() {
    let machine = Machine::new("psys");
    machine.zone("intel-rapl:0", "psys", 3);
    let meter = Meter::open(&machine.0).unwrap();
    assert_eq!(meter.names(), ["psys"]);
    assert!(meter.zones.iter().all(|zone| zone.is_counted));
}

#[test]
fn registers_stand_before_memory() {
    let machine = Machine::new("mmio");
    machine.zone("intel-rapl-mmio:0", "package-0", 3);
    assert_eq!(Meter::open(&machine.0).unwrap().names(), ["package-0"]);
}

#[test]
fn a_reading_is_due_long_before_a_counter_begins_anew() {
    let machine = Machine::ordinary("due");
    let mut meter = Meter::open(&machine.0).unwrap();
    meter.set_running(true);
    let began = meter.last_read;
    assert!(!meter.is_due(began + 1_000_000_000));
    assert!(meter.is_due(began + EVERY));
}

#[test]
fn missing_and_unreadable_counters_are_errors() {
    let machine = Machine::new("refusals");
    assert!(matches!(
        Meter::open(&machine.0.join("nowhere")),
        Err(Uncounted::None)
    ));
    assert!(matches!(Meter::open(&machine.0), Err(Uncounted::None)));
    // Not even root may read a directory as a file, so this fails for any user.
    machine.zone("intel-rapl:0", "package-0", 3);
    let path = machine.0.join("intel-rapl:0/energy_uj");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    match Meter::open(&machine.0) {
        Err(Uncounted::Unreadable { file, error }) => {
            assert_eq!((file, error.kind()), (path, io::ErrorKind::IsADirectory));
        }
        other => panic!("{other:?}"),
    }
}
