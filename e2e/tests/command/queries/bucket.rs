//! The same through a bucket: moto's server on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use profundo_store::{Folder, Store};
use profundo_testing::{profundo, skip, wait_until};

use super::{Fleet, TIME};

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// `None`, with a word, where moto is not installed.
    fn start() -> Option<Self> {
        let python = std::env::var("PROFUNDO_STORE_PYTHON").unwrap_or_else(|_| "python3".into());
        let found = Command::new(&python)
            .args(["-c", "import moto.server, flask"])
            .output();
        if !found.is_ok_and(|output| output.status.success()) {
            skip(&format!("{python} has no server of moto"));
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Command::new(&python)
            .args([
                "-m",
                "moto.server",
                "-H",
                "127.0.0.1",
                "-p",
                &port.to_string(),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        wait_until("moto's answer", || server.put("/bucket", b"").is_ok());
        Some(server)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let length = bytes.len();
        write!(
            stream,
            "PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )?;
        stream.write_all(bytes)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        match answer.starts_with("HTTP/1.1 200") {
            true => Ok(()),
            false => Err(std::io::Error::other(answer)),
        }
    }

    /// The command with this server as S3.
    fn command(&self, words: &[&str]) -> std::process::Output {
        let mut command = Command::new(profundo());
        command
            .args(words)
            .env("TZ", "UTC")
            .env("PROFUNDO_NO_CONFIG", "1");
        command.env("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port));
        command
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1");
        command
            .env("AWS_ACCESS_KEY_ID", "one")
            .env("AWS_SECRET_ACCESS_KEY", "two");
        command.output().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_bucket_is_asked_as_a_folder_is() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = Fleet::new("query-bucket");
    let folder = Folder::new(fleet.0.join("store"));
    for entry in folder.list("").unwrap() {
        let bytes = folder.read(&entry.path, 0..entry.size).unwrap();
        let path = entry.path.replace('=', "%3D");
        server.put(&format!("/bucket/prod/{path}"), &bytes).unwrap();
    }
    let query = format!("s3://bucket/prod?{TIME}&service=api");
    let words = ["functions", "--json", "--limit", "100"];
    let output = server.command(&[&["report", &query][..], &words].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let local = fleet.query("&service=api");
    let wanted = fleet.text(&[&["report", &local][..], &words].concat());
    // Alike but for the place, which the document names.
    let found = String::from_utf8(output.stdout).unwrap();
    let place = fleet.0.join("store").display().to_string();
    assert_eq!(
        found.replace("s3://bucket/prod", "PLACE"),
        wanted.replace(&place, "PLACE")
    );
    let output = server.command(&["list", &format!("s3://bucket/prod?{TIME}")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("api      1.5"), "{text}");
    let output = server.command(&["report", &format!("s3://nothing/prod?{TIME}")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("s3://nothing/prod"), "{said}");
}
