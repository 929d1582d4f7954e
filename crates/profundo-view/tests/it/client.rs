//! A client of bytes, and a server that runs beside a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use profundo_analysis::Filter;
use profundo_model::{Nanos, Profile};
use profundo_report::Listing;
use profundo_view::server::{Patience, Server};
use profundo_view::{Error, Library, Source};
use serde_json::Value;

/// A recording in a file.
struct Recording(PathBuf);

impl Source for Recording {
    fn path(&self) -> &Path {
        &self.0
    }

    fn is_growing(&self) -> bool {
        profundo_formats::is_being_written(&self.0)
    }

    fn read(&self, _: Range<Nanos>) -> Result<Profile, String> {
        let read = profundo_formats::read_file(&self.0);
        read.map(|(profile, _)| profile)
            .map_err(|error| error.to_string())
    }

    fn listings(&self, _: &mut Profile, _: &Filter, _: &str) -> Result<Vec<Listing>, String> {
        Err("there are no programs here".to_owned())
    }
}

/// Writes a recording of these stacks.
pub fn record(path: &Path, folded: &str) {
    let profile = Profile::from_folded(folded).unwrap();
    profundo_formats::write_file(path, &profile).unwrap();
}

/// A server. It is left alone at the end, as its page is.
pub struct Served {
    address: SocketAddr,
    host: String,
    token: String,
    thread: JoinHandle<Result<(), Error>>,
}

/// An answer: its status, its head, and its body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Served {
    pub fn new(paths: &[PathBuf]) -> Self {
        let hour = Duration::from_secs(3600);
        Self::patient(paths, hour, hour)
    }

    pub fn patient(paths: &[PathBuf], unopened: Duration, closed: Duration) -> Self {
        let sources = paths
            .iter()
            .map(|path| -> Box<dyn Source> { Box::new(Recording(path.clone())) });
        let library = Library::new(sources.collect());
        let server = Server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = server.url();
        let (host, token) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Self {
            address: host.parse().unwrap(),
            host: host.to_owned(),
            token: token.trim_end_matches('/').to_owned(),
            thread: std::thread::spawn(move || {
                server.serve(library, Patience { unopened, closed })
            }),
        }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    /// Sends bytes, and reads the answer to its end.
    pub fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        // A server that refuses early closes before all is sent.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// Asks for a path, with these lines in the head beside the host.
    pub fn get(&self, path: &str, more: &str) -> Answer {
        let host = &self.host;
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"
        ))
    }

    /// Asks a question.
    pub fn ask(&self, question: &str) -> Answer {
        self.get(&format!("/{}/api/{question}", self.token), "")
    }

    /// Opens the page's stream of events.
    pub fn events(&self) -> Events {
        let (host, token) = (&self.host, &self.token);
        let mut stream = self.connect();
        let request = format!("GET /{token}/api/events HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Events(BufReader::new(stream))
    }
}

/// A page that is open.
pub struct Events(BufReader<TcpStream>);

impl Events {
    /// The next version.
    pub fn version(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ends");
            if let Some(version) = line.trim().strip_prefix("data:") {
                return version.trim().to_owned();
            }
        }
    }
}
