//! The counters of energy: finding them, and reading one.
//!
//! The kernel has a directory for each package (`intel-rapl:0`, on processors of AMD too) and for
//! each part of one (`intel-rapl:0:1`), all side by side. `psys` is the whole machine, packages
//! included. Memory (`dram`) hangs below its package but is not counted in it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Uncounted;

/// The counters that are read as registers, and the same ones by way of memory, which stand in
/// where the former are not there: both together would count everything twice.
const PREFIXES: [&str; 2] = ["intel-rapl:", "intel-rapl-mmio:"];

#[derive(Debug)]
pub(super) struct Zone {
    pub(super) name: String,
    /// Whether it is part of no other zone.
    pub(super) is_counted: bool,
    /// Microjoules since the first reading.
    pub(super) used: u64,
    file: File,
    /// The value at which the counter wraps around.
    range: u64,
    last: Option<u64>,
}

impl Zone {
    /// Adds the energy since the last reading. `goes_on`: whether the energy from now on counts
    /// too.
    pub(super) fn read(&mut self, goes_on: bool) {
        // A failed reading is not a wrap-around.
        let now = number(&self.file).ok().or(self.last);
        if let (Some(last), Some(now)) = (self.last, now) {
            self.used += match now.checked_sub(last) {
                Some(more) => more,
                None => self.range.saturating_sub(last) + now,
            };
        }
        self.last = now.filter(|_| goes_on);
    }
}

/// All zones, in the order of their numbers.
pub(super) fn find(root: &Path) -> Result<Vec<Zone>, Uncounted> {
    let names = names(root);
    let all_of = |prefix: &str| {
        let mut found: Vec<(Vec<u32>, &String)> = names
            .iter()
            .filter_map(|name| Some((numbers(name.strip_prefix(prefix)?)?, name)))
            .collect();
        found.sort();
        found
    };
    let found = PREFIXES
        .map(all_of)
        .into_iter()
        .find(|zones| !zones.is_empty());
    let mut zones = Vec::new();
    let mut package = String::new();
    for (numbers, directory) in found.unwrap_or_default() {
        let directory = root.join(directory);
        // A zone may disappear with its driver.
        let Ok(name) = fs::read_to_string(directory.join("name")) else {
            continue;
        };
        let name = name.trim();
        let is_part = numbers.len() > 1;
        if !is_part {
            package = name.to_owned();
        }
        let file = directory.join("energy_uj");
        let opened = File::open(&file).and_then(|opened| number(&opened).map(|_| opened));
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Uncounted::Unreadable { file, error }),
        };
        let range = File::open(directory.join("max_energy_range_uj"));
        zones.push(Zone {
            name: match is_part {
                true => format!("{package}/{name}"),
                false => name.to_owned(),
            },
            is_counted: if is_part {
                name == "dram"
            } else {
                name != "psys"
            },
            used: 0,
            file: opened,
            range: range.and_then(|file| number(&file)).unwrap_or(0),
            last: None,
        });
    }
    // Some machines report only the whole.
    if zones.iter().all(|zone| !zone.is_counted) {
        for zone in &mut zones {
            zone.is_counted = zone.name == "psys";
        }
    }
    match zones.iter().any(|zone| zone.is_counted) {
        true => Ok(zones),
        false => Err(Uncounted::None),
    }
}

fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

/// `0:1` as numbers: the package, and its part.
fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split(':').map(|part| part.parse().ok()).collect()
}

/// The number in a kernel file, read from its start.
fn number(file: &File) -> io::Result<u64> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0)?;
    let text = std::str::from_utf8(text.get(..length).unwrap_or_default());
    let number = text.ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}
