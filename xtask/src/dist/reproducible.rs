//! The same commit gives the same bytes: a second clone is built in another folder, and every file
//! of the release is compared.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::checksums;
use crate::test::tally::Tally;

/// Compares two folders of files.
pub fn compare(first: &Path, second: &Path, tally: &mut Tally) -> Result<()> {
    let names = checksums::names(first)?;
    let has_same_names = names == checksums::names(second)?;
    tally.check("the same files from another folder", has_same_names);
    for name in names {
        let (one, other) = (
            fs::read(first.join(&name))?,
            fs::read(second.join(&name)).ok(),
        );
        let difference = other.as_ref().map(|other| first_difference(&one, other));
        let name = name.display();
        match difference {
            Some(None) => println!("{name}: the same {} bytes", one.len()),
            Some(Some(at)) => println!(
                "{name}: {} and {} bytes, which differ from byte {at} on",
                one.len(),
                other.map_or(0, |other| other.len())
            ),
            None => println!("{name}: is missing in the second release"),
        }
        let is_same = difference == Some(None);
        tally.check(&format!("{name} from another folder"), is_same);
    }
    Ok(())
}

/// The place of the first byte that differs.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    differs.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn a_byte_that_differs_is_found() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!(first_difference(b"abc", b"abd"), Some(2));
        assert_eq!(first_difference(b"abc", b"ab"), Some(2));
    }

    #[test]
    fn a_file_that_differs_or_is_missing_fails() {
        let folder = Folder::new("reproducible");
        let (first, second) = (folder.path().join("1"), folder.path().join("2"));
        for place in [&first, &second] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("same"), "x").unwrap();
        }
        fs::write(first.join("other"), "x").unwrap();
        fs::write(second.join("other"), "y").unwrap();
        fs::write(first.join("only"), "x").unwrap();
        let mut tally = Tally::default();
        compare(&first, &second, &mut tally).unwrap();
        assert_eq!(tally.closing_line(), "1 passed, 3 failed, 0 skipped");
    }
}
