//! Saving and loading: a profile that is taken here prints the same elsewhere.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;

use profundo::{Format, SortBy};

#[inline(never)]
fn work() -> u64 {
    (0..200_000_000).fold(1, |x, i| black_box(x ^ i).rotate_left(3))
}

fn main() -> profundo::Result<()> {
    let path = std::env::temp_dir().join("save_and_load.profundo");
    profundo::profile!(black_box(work()))?;
    let (data, names) = profundo::retrieve()?;
    profundo::save(&path, &data, &names)?;
    println!("{} samples saved to {}\n", data.len(), path.display());

    // On any machine, at any time:
    let (data, names) = profundo::load(&path)?;
    profundo::report()
        .of(&data, &names)
        .format(Format::Flat)
        .sorted_by(SortBy::Overhead)
        .print()?;
    std::fs::remove_file(&path)?;
    Ok(())
}
