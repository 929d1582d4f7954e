//! A server of debug information on the loopback interface, and programs whose names are there.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use profundo_debuginfod::{Outcome, Servers};
use profundo_symbols::{DebugServer, Symbolizer};
use profundo_testing::{Folder, compile_text, files_below, tool};

const PROGRAM: &str = "\
int inner(int x) { return x * 3; }
int outer(int x) {
    return inner(x) + 1;
}
int main(int count, char **words) { (void)words; return outer(count) & 1; }
";

/// The answers by path: a file, or a status.
type Answers = HashMap<String, Result<Vec<u8>, u16>>;

struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::Relaxed);
                answer(&stream.unwrap(), &answers);
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: &TcpStream, answers: &Answers) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let line = lines.next().unwrap_or_default();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let _ = lines.find(String::is_empty);
    let (status, body) = match answers.get(&path) {
        Some(Ok(file)) => (200, file.as_slice()),
        Some(Err(status)) => (*status, [].as_slice()),
        None => (404, [].as_slice()),
    };
    let head = format!(
        "HTTP/1.1 {status} Words\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // The client may have hung up.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

/// A stripped program, its build id, its debug information, and an address in `outer`.
struct Stripped {
    program: PathBuf,
    id: String,
    debug: Vec<u8>,
    address: u64,
}

fn stripped(folder: &Folder) -> Option<Stripped> {
    let (objcopy, nm) = (tool("objcopy")?, tool("nm")?);
    let flags = ["-O0", "-g", "-no-pie", "-Wl,--build-id=sha1"];
    let program = compile_text("gcc", folder, "program.c", PROGRAM, &flags)?;
    let symbols = Command::new(nm).arg(&program).output().unwrap().stdout;
    let symbols = String::from_utf8(symbols).unwrap();
    let outer = symbols
        .lines()
        .find(|line| line.ends_with(" outer"))
        .unwrap();
    let address = u64::from_str_radix(outer.split(' ').next().unwrap(), 16).unwrap();
    let debug = folder.join("program.debug");
    let run = |arguments: &[&str]| {
        let done = Command::new(&objcopy).args(arguments).status().unwrap();
        assert!(done.success(), "{arguments:?}");
    };
    let (path, to) = (program.to_str().unwrap(), debug.to_str().unwrap());
    run(&["--only-keep-debug", path, to]);
    run(&["--strip-all", path]);
    let bytes = fs::read(&debug).unwrap();
    fs::remove_file(debug).unwrap();
    let id = build_id(&program);
    Some(Stripped {
        program,
        id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
        debug: bytes,
        address: address + 4,
    })
}

fn build_id(program: &Path) -> Vec<u8> {
    let bytes = fs::read(program).unwrap();
    // The note's name, and the bytes after it.
    let at = bytes
        .windows(16)
        .position(|at| at.starts_with(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"));
    bytes[at.unwrap() + 16..][..20].to_vec()
}

/// Asks by `curl` alone, with files in a folder.
fn servers(url: &str, cache: &Path) -> Option<Arc<Servers>> {
    let curl = tool("curl")?;
    let variable = |name: &str| -> Option<OsString> {
        match name {
            "DEBUGINFOD_URLS" => Some(url.into()),
            "DEBUGINFOD_CACHE_PATH" => Some(cache.into()),
            "DEBUGINFOD_TIMEOUT" => Some("5".into()),
            _ => None,
        }
    };
    Some(Arc::new(Servers::with_curl(curl, variable).unwrap()))
}

/// The name and the line of an address in the program.
fn name_of(of: &Stripped, server: &Arc<Servers>) -> (String, u32) {
    let symbolizer = Symbolizer::new().with_server(Some(Arc::clone(server) as _));
    let found = symbolizer.resolve(of.program.to_str().unwrap(), &[], &[of.address]);
    let frame = found[0].last().unwrap();
    (frame.function.to_string(), frame.line)
}

fn path(id: &str) -> String {
    format!("/buildid/{id}/debuginfo")
}

#[test]
fn a_stripped_program_has_its_names_and_is_asked_for_once() {
    let folder = Folder::new("debuginfod");
    let Some(program) = stripped(&folder) else {
        return;
    };
    let file = program.debug.clone();
    let server = Server::new(Answers::from([(path(&program.id), Ok(file))]));
    let cache = folder.join("cache");
    let Some(servers) = servers(&server.url, &cache) else {
        return;
    };
    for _ in 0..2 {
        assert_eq!(name_of(&program, &servers), ("outer".to_owned(), 2));
    }
    // So does the next command.
    let later = self::servers(&server.url, &cache).unwrap();
    assert_eq!(name_of(&program, &later), ("outer".to_owned(), 2));
    assert_eq!(server.asked(), 1);
    assert_eq!(servers.outcome().found, 1);
    let kept = cache.join(&program.id).join("debuginfo");
    assert_eq!(fs::read(kept).unwrap(), program.debug);
    assert_eq!(files_below(&cache).len(), 1);
}

#[test]
fn a_program_that_no_server_knows_is_not_asked_for_again() {
    let folder = Folder::new("debuginfod-unknown");
    let Some(program) = stripped(&folder) else {
        return;
    };
    let server = Server::new(Answers::new());
    let cache = folder.join("cache");
    let urls = format!("{0} {0}", server.url);
    let Some(servers) = servers(&urls, &cache) else {
        return;
    };
    let later = self::servers(&urls, &cache).unwrap();
    for servers in [&servers, &later] {
        assert_ne!(name_of(&program, servers).0, "outer");
    }
    assert_eq!(server.asked(), 2);
    let expected = Outcome {
        unknown: 1,
        ..Outcome::default()
    };
    assert_eq!(servers.outcome(), expected);
}

#[test]
fn failures_say_why_and_leave_nothing_behind() {
    let folder = Folder::new("debuginfod-failure");
    let Some(program) = stripped(&folder) else {
        return;
    };
    let server = Server::new(Answers::from([(path(&program.id), Err(500))]));
    let cache = folder.join("cache");
    let Some(broken) = servers(&server.url, &cache) else {
        return;
    };
    assert_ne!(name_of(&program, &broken).0, "outer");
    let failures: Vec<String> = broken.outcome().failures.into_iter().collect();
    let [failure] = failures.as_slice() else {
        panic!("{failures:?}");
    };
    assert!(
        failure.starts_with(&server.url) && failure.contains("500"),
        "{failure}"
    );
    // It is not asked for anything else.
    assert_eq!(broken.debug_file(b"another"), None);
    assert_eq!((server.asked(), broken.outcome().not_asked), (1, 1));
    // The next server has it.
    let file = program.debug.clone();
    let second = Server::new(Answers::from([(path(&program.id), Ok(file))]));
    let urls = format!("{} {}", server.url, second.url);
    let both = servers(&urls, &cache).unwrap();
    assert_eq!(name_of(&program, &both).0, "outer");
}

#[test]
fn a_file_of_another_program_is_not_believed() {
    let folder = Folder::new("debuginfod-other");
    let Some(program) = stripped(&folder) else {
        return;
    };
    let other = fs::read(std::env::current_exe().unwrap()).unwrap();
    let server = Server::new(Answers::from([(path(&program.id), Ok(other))]));
    let Some(servers) = servers(&server.url, &folder.join("cache")) else {
        return;
    };
    assert_ne!(name_of(&program, &servers).0, "outer");
}

#[test]
fn no_other_name_than_a_build_id_is_asked_for() {
    let folder = Folder::new("debuginfod-names");
    let server = Server::new(Answers::new());
    let Some(servers) = servers(&server.url, &folder.join("cache")) else {
        return;
    };
    for id in [&b""[..], b"abc", &[7; 65]] {
        assert_eq!(servers.debug_file(id), None);
    }
    assert_eq!(server.asked(), 0);
}
