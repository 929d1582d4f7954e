//! Writes a heap snapshot of many objects, or times reading one and finding its dominators.
//!
//! ```sh
//! cargo run --release -p profundo-formats --example large_snapshot write 10000000 large.heapsnapshot
//! /usr/bin/time -v target/release/examples/large_snapshot read large.heapsnapshot
//! ```
//!
//! xtask: run write 3000

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use profundo_analysis::graph::{Alive, dominators};
use profundo_formats::heapsnapshot::{Options, Parts, assemble_and_remove, read_file};
use profundo_model::graph::{Label, NodeId, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", count] => {
            let name = format!("profundo-large-{}.heapsnapshot", std::process::id());
            let path = std::env::temp_dir().join(name);
            let done = write(count.parse()?, &path).and_then(|()| read(&path));
            std::fs::remove_file(path)?;
            done
        }
        ["write", count, path] => write(count.parse()?, Path::new(path)),
        ["read", path] => read(Path::new(path)),
        _ => Err("write COUNT [FILE], or read FILE".into()),
    }
}

/// Pseudo-random numbers, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }
}

/// A heap like those of large programs: most objects are small and near to their holders, a list
/// has a tenth of all, all share a few hundred types, and a third are strings of their own.
fn write(count: u32, path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let prefix = PathBuf::from(format!("{}.parts", path.display()));
    let options = Options {
        redact: false,
        all_one: false,
    };
    let mut parts = Parts::create(&prefix, options)?;
    let mut kinds = vec![parts.node_kind("synthetic")?, parts.node_kind("string")?];
    for number in 0..300 {
        kinds.push(parts.node_kind(&format!("package.module.Type{number}"))?);
    }
    let internal = parts.edge_kind("internal")?;
    let property = parts.edge_kind("property")?;
    let element = parts.edge_kind("element")?;
    let mut fields = Vec::new();
    for number in 0..2000 {
        fields.push(parts.name(format!("field_{number}").as_bytes())?);
    }
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let types = 300.min(count);
    for row in 0..count {
        let from = match row {
            0 => None,
            _ if row <= types => Some(0),
            // The list.
            _ if row.is_multiple_of(10) => Some(row - 10),
            // Next to one another, or anywhere.
            _ if chance.below(3) > 0 => Some(row - 1 - chance.below(row.min(200))),
            _ => Some(chance.below(row)),
        };
        let is_string = row > types && chance.below(3) == 0;
        let (kind, name) = match row {
            0 => (kinds[0], parts.name(b"")?),
            _ if is_string => (kinds[1], parts.content(format!("text {row}").as_bytes())?),
            _ => {
                let number = chance.below(300);
                let name = parts.name(format!("Type{number}").as_bytes())?;
                (kinds[2 + number as usize], name)
            }
        };
        let size = if row == 0 {
            0
        } else {
            16 + 8 * chance.below(20)
        };
        let node = parts.node(
            kind,
            name,
            0x7f00_0000_0000 + u64::from(row) * 48,
            size.into(),
        )?;
        if let Some(from) = from {
            let field = Label::Name(fields[chance.below(2000) as usize]);
            parts.edge(property, field, NodeId(from), node)?;
        }
        if row > types {
            let of_type = Label::Name(fields[0]);
            parts.edge(internal, of_type, node, NodeId(1 + chance.below(types)))?;
            if !is_string {
                for index in 0..3 {
                    let near = row.saturating_sub(1000) + chance.below(2000);
                    let to = NodeId(match chance.below(8) {
                        0 => chance.below(count),
                        _ => near.min(count - 1),
                    });
                    parts.edge(element, Label::Index(index), node, to)?;
                }
            }
        }
    }
    parts.finish()?;
    print(&format!(
        "written in {:.2} s",
        start.elapsed().as_secs_f64()
    ));
    let counts = assemble_and_remove(&prefix, path)?;
    print(&format!(
        "{counts:?} after {:.2} s",
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

fn read(path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let graph = read_file(path)?;
    print(&format!(
        "{} objects and {} references read after {:.2} s",
        graph.node_count(),
        graph.edge_count(),
        start.elapsed().as_secs_f64()
    ));
    let found = dominators(&graph, &Alive::new(&graph));
    print(&format!(
        "dominators after {:.2} s: the root retains {} bytes",
        start.elapsed().as_secs_f64(),
        found.retained(graph.root())
    ));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn print(text: &str) {
    println!("{text}");
}
