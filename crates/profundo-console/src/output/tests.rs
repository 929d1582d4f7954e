//! Files that are replaced, and files that are not.

use std::os::unix::fs::{PermissionsExt, symlink};

use profundo_testing::Folder;

use super::*;

fn say(text: &str) -> impl FnOnce(&mut dyn Write) -> Result<()> {
    move |out| Ok(out.write_all(text.as_bytes())?)
}

#[test]
fn what_is_read_is_never_replaced_under_any_name() {
    let folder = Folder::new("input");
    let input = folder.write("input", "# profundo report\n");
    let (soft, hard) = (folder.join("soft"), folder.join("hard"));
    symlink(&input, &soft).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    for path in [&input, &soft, &hard] {
        let refused = check(path, Kind::Report, &[&input], true).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("is what is being read; name another file"),
            "{refused}"
        );
        check(path, Kind::Report, &[], false).unwrap();
    }
}

#[test]
fn a_foreign_file_goes_only_by_force() {
    let folder = Folder::new("foreign");
    let source = folder.write("app.py", "import os\n");
    let refused = Text::create(&source, Kind::Report, &[], false)
        .err()
        .unwrap();
    assert!(
        refused.to_string().contains("is there and is no report"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&source).unwrap(), "import os\n");
    let text = Text::create(&source, Kind::Report, &[], true).unwrap();
    text.write(say("new\n")).unwrap();
    assert_eq!(fs::read_to_string(&source).unwrap(), "new\n");
    for name in ["empty", "missing"] {
        let path = match name {
            "empty" => folder.write(name, ""),
            _ => folder.join(name),
        };
        let text = Text::create(&path, Kind::Report, &[], false).unwrap();
        text.write(say("new\n")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }
}

#[test]
fn what_fails_leaves_what_was_there() {
    let folder = Folder::new("fails");
    let old = folder.write("report", "# profundo report\nold\n");
    let text = Text::create(&old, Kind::Report, &[], false).unwrap();
    let failed = text.write(|out| {
        out.write_all(b"half")?;
        anyhow::bail!("no more")
    });
    assert_eq!(failed.unwrap_err().root_cause().to_string(), "no more");
    assert_eq!(
        fs::read_to_string(&old).unwrap(),
        "# profundo report\nold\n"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_as_it_was() {
    let folder = Folder::new("link");
    let old = folder.write("report", "");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.join("link");
    symlink(&old, &link).unwrap();
    let text = Text::create(&link, Kind::Report, &[], false).unwrap();
    text.write(say("new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&old).unwrap(), "new");
    let mode = fs::metadata(&old).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}
