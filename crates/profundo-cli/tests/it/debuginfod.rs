//! `--debuginfod`: a stripped program whose names are on a server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use profundo_testing::{compile_text, python, tool};

use crate::machine::{Folder, Outcome, SPIN_C};

/// A server of the files below a folder, on the loopback interface.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn new(folder: &Path) -> Option<Self> {
        const PROGRAM: &str = "
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
print(server.server_address[1], flush=True)
server.serve_forever()
";
        let mut child = Command::new(python()?)
            .args(["-c", PROGRAM])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/", port.trim());
        Some(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The build id of a file, in hexadecimal digits.
fn build_id(program: &Path) -> Option<String> {
    let output = Command::new(tool("readelf")?)
        .arg("-n")
        .arg(program)
        .output();
    let notes = String::from_utf8(output.unwrap().stdout).unwrap();
    let mut lines = notes.lines();
    let id = lines.find_map(|line| line.trim().strip_prefix("Build ID: "));
    Some(id.unwrap().to_owned())
}

#[test]
fn names_come_from_the_servers_that_the_environment_names() {
    let folder = Folder::new();
    let (Some(objcopy), Some(_)) = (tool("objcopy"), tool("curl")) else {
        return;
    };
    let flags = ["-O1", "-g", "-Wl,--build-id=sha1"];
    let Some(program) = compile_text("gcc", &folder, "spin.c", SPIN_C, &flags) else {
        return;
    };
    let Some(id) = build_id(&program) else { return };
    let served = folder.join("served/buildid").join(&id);
    fs::create_dir_all(&served).unwrap();
    let run = |arguments: &[&Path]| {
        let done = Command::new(&objcopy).args(arguments).status().unwrap();
        assert!(done.success(), "{arguments:?}");
    };
    let debug = served.join("debuginfo");
    run(&["--only-keep-debug".as_ref(), &program, &debug]);
    run(&["--strip-all".as_ref(), &program]);
    let program = program.to_str().unwrap();
    (folder.run(&["record", "-o", "x.profundo", program])).succeeded();
    let words = ["report", "x.profundo", "functions"];
    let before = folder.run(&words).succeeded().out.clone();
    assert!(!before.contains("spin.c:"), "{before}");

    let Some(server) = Server::new(&folder.join("served")) else {
        return;
    };
    let ask = |urls: &str| {
        let mut command = folder.profundo(&[&words[..], &["--debuginfod"]].concat());
        command
            .env("DEBUGINFOD_URLS", urls)
            .env("DEBUGINFOD_CACHE_PATH", folder.join("cache"));
        Outcome::of(command.output().unwrap())
    };
    let refused = ask("");
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(
        refused.err.contains("DEBUGINFOD_URLS is not set"),
        "{refused:#?}"
    );
    let named = ask(&server.url);
    assert!(named.succeeded().out.contains("spin.c:"), "{named:#?}");
    // What was fetched is kept: the server is not needed again. Nothing is lost without it.
    let url = server.url.clone();
    drop(server);
    let again = ask(&url);
    assert!(again.succeeded().out.contains("spin.c:"), "{again:#?}");
    fs::remove_dir_all(folder.join("cache")).unwrap();
    let without = ask(&url);
    assert_eq!(without.succeeded().out, before);
    assert!(
        without.err.contains("profundo: debuginfod: "),
        "{without:#?}"
    );
}
