//! The files of single threads in versions 2 and 3: `NAME-RANK-THREAD-HOST-PID-0.metric-db`.
//!
//! ```text
//! HPCPROF-metricdb__00.10b  nodes (4)  metrics (4)  value (8) …     the highest byte first
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// The values of a thread.
pub(super) struct Values<'a> {
    rows: &'a [u8],
    nodes: usize,
    metrics: usize,
}

impl<'a> Values<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"HPCPROF-metricdb__")?;
        // The version, which is always the same, and the order of bytes.
        let rest = rest.get(5..)?.strip_prefix(b"b")?;
        let (nodes, rest) = rest.split_first_chunk()?;
        let (metrics, rows) = rest.split_first_chunk()?;
        Some(Self {
            rows,
            nodes: usize::try_from(u32::from_be_bytes(*nodes)).ok()?,
            metrics: usize::try_from(u32::from_be_bytes(*metrics)).ok()?,
        })
    }

    /// The value of a node. The first one is 1.
    pub(super) fn get(&self, node: u64, metric: usize) -> Option<f64> {
        let row = usize::try_from(node).ok()?.checked_sub(1)?;
        if row >= self.nodes || metric >= self.metrics {
            return None;
        }
        let at = row.checked_mul(self.metrics)?.checked_add(metric)?;
        let value = self.rows.get(at.checked_mul(8)?..)?.first_chunk()?;
        Some(f64::from_bits(u64::from_be_bytes(*value)))
    }
}

/// The files beside an experiment, with the rank and the thread of each.
pub(super) fn beside(path: Option<&Path>) -> Vec<(PathBuf, [u32; 2])> {
    let folder = match path.and_then(Path::parent) {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Vec::new(),
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(PathBuf, [u32; 2])> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let place = place(path.file_name()?.to_str()?)?;
            Some((path, place))
        })
        .collect();
    files.sort_by_key(|&(_, place)| place);
    files
}

/// The rank and the thread in `1.cpi-000003-000-a8c00270-160446-0.metric-db`.
fn place(name: &str) -> Option<[u32; 2]> {
    let mut words = name.strip_suffix(".metric-db")?.rsplit('-');
    // The last part, the process and the host.
    words.nth(2)?;
    let thread = words.next()?.parse().ok()?;
    let rank = words.next()?.parse().ok()?;
    Some([rank, thread])
}

/// Reads a file of a thread.
pub(super) fn read_member(bytes: &[u8]) {
    if let Some(values) = Values::of(bytes) {
        let sum = (0..1000).filter_map(|node| values.get(node, 1));
        let _ = sum.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_ranks_and_threads() {
        let name = "1.a-b-000003-012-a8c00270-160446-0.metric-db";
        assert_eq!(place(name), Some([3, 12]));
        assert_eq!(place("a-0.metric-db"), None);
    }
}
