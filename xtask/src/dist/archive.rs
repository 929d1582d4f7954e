//! The archive of a target: the programs, what they say of themselves, and the terms. Its members
//! are sorted, and have the commit's time and no owner, so that the same files give the same bytes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::Release;
use super::targets::Target;
use crate::tools::done;

/// The text of the archive's page, with names in braces.
const README: &str = include_str!("archive.md");

/// Writes the page of the archive into its folder.
pub fn write_page(release: &Release<'_>, target: &Target, folder: &Path) -> Result<()> {
    let text = page(&release.sources.version, target);
    Ok(fs::write(folder.join("README.md"), text)?)
}

fn page(version: &str, target: &Target) -> String {
    README
        .replace("{version}", version)
        .replace("{target}", target.triple)
        .replace("{machines}", &target.machines())
}

/// Packs a folder under another name.
pub fn pack(folder: &Path, name: &str, time: u64, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--format=ustar",
        "--sort=name",
        "--numeric-owner",
    ]);
    tar.args(["--owner=0", "--group=0", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{time}")).arg("-C").arg(folder);
    // A link (S) leads where it led.
    tar.arg(format!("--transform=s,^[.],{name},S"));
    tar.arg(".").stdout(Stdio::piped());
    let mut tar = tar.spawn().context("cannot run tar")?;
    let packed = tar.stdout.take().context("tar has no output")?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name"]).stdin(packed);
    done(gzip.stdout(File::create(archive)?))?;
    ensure!(tar.wait()?.success(), "tar has failed");
    Ok(())
}

/// Unpacks an archive, and gives the folder that it has.
pub fn unpack(archive: &Path, place: &Path) -> Result<PathBuf> {
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place)?;
    let mut tar = Command::new("tar");
    done(tar.arg("-xzf").arg(archive).arg("-C").arg(place))?;
    let mut entries = fs::read_dir(place)?;
    let first = entries.next().context("the archive is empty")??;
    ensure!(entries.next().is_none(), "the archive has several folders");
    Ok(first.path())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use profundo_testing::Folder;

    use super::*;
    use crate::dist::targets::TARGETS;

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let folder = Folder::new("archive");
        let mut archives = Vec::new();
        for (place, names, mode) in [("a", ["x", "y"], 0o600), ("b", ["y", "x"], 0o644)] {
            let place = folder.path().join(place);
            fs::create_dir_all(place.join("in")).unwrap();
            for name in names {
                let file = place.join("in").join(name);
                fs::write(&file, name).unwrap();
                fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
            }
            let archive = place.join("in.tar.gz");
            pack(&place.join("in"), "named", 1_000_000, &archive).unwrap();
            archives.push(fs::read(&archive).unwrap());
            let unpacked = unpack(&archive, &place.join("out")).unwrap();
            assert!(unpacked.ends_with("named"));
            assert_eq!(fs::read_to_string(unpacked.join("y")).unwrap(), "y");
        }
        assert_eq!(archives[0], archives[1]);
    }

    #[test]
    fn a_link_leads_to_the_same_file() {
        let folder = Folder::new("archive-link");
        let place = folder.path().join("in");
        fs::create_dir_all(place.join(".build-id/48")).unwrap();
        fs::write(place.join("x.debug"), "x").unwrap();
        let link = Path::new(".build-id/48/ca.debug");
        std::os::unix::fs::symlink("../../x.debug", place.join(link)).unwrap();
        let archive = folder.path().join("in.tar.gz");
        pack(&place, "named", 1_000_000, &archive).unwrap();
        let unpacked = unpack(&archive, &folder.path().join("out")).unwrap();
        assert_eq!(fs::read_to_string(unpacked.join(link)).unwrap(), "x");
    }

    #[test]
    fn the_page_has_no_gaps() {
        let page = page("1.2.3", &TARGETS[0]);
        assert!(!page.contains('{'), "{page}");
        assert!(page.contains("Profundo 1.2.3") && page.contains("glibc 2.17"));
    }
}
