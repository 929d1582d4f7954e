//! What is replaced, and what is not.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("profundo-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn say(text: &str) -> impl FnOnce(&mut dyn Write) -> Result<()> {
    move |out| Ok(out.write_all(text.as_bytes())?)
}

#[test]
fn what_is_read_is_never_replaced_under_any_name() {
    let folder = Folder::new("input");
    let input = folder.file("input", "# profundo report\n");
    let (soft, hard) = (folder.0.join("soft"), folder.0.join("hard"));
    symlink(&input, &soft).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    for path in [&input, &soft, &hard] {
        assert!(check(path, Kind::Report, &[&input], true).is_err());
        assert!(check(path, Kind::Report, &[], false).is_ok());
    }
}

#[test]
fn a_foreign_file_goes_only_by_force() {
    let folder = Folder::new("foreign");
    let source = folder.file("app.py", "import os\n");
    assert!(Text::create(&source, Kind::Report, &[], false).is_err());
    assert_eq!(fs::read_to_string(&source).unwrap(), "import os\n");
    let text = Text::create(&source, Kind::Report, &[], true).unwrap();
    text.write(say("new\n")).unwrap();
    assert_eq!(fs::read_to_string(&source).unwrap(), "new\n");
    for name in ["empty", "missing"] {
        let path = match name {
            "empty" => folder.file(name, ""),
            _ => folder.0.join(name),
        };
        let text = Text::create(&path, Kind::Report, &[], false).unwrap();
        text.write(say("new\n")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }
}

#[test]
fn what_fails_leaves_what_was_there() {
    let folder = Folder::new("fails");
    let old = folder.file("report", "# profundo report\nold\n");
    let text = Text::create(&old, Kind::Report, &[], false).unwrap();
    let failed = text.write(|out| {
        out.write_all(b"half")?;
        anyhow::bail!("no more")
    });
    assert!(failed.is_err());
    assert_eq!(
        fs::read_to_string(&old).unwrap(),
        "# profundo report\nold\n"
    );
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_as_it_was() {
    let folder = Folder::new("link");
    let old = folder.file("report", "");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.0.join("link");
    symlink(&old, &link).unwrap();
    let text = Text::create(&link, Kind::Report, &[], false).unwrap();
    text.write(say("new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&old).unwrap(), "new");
    let mode = fs::metadata(&old).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}
