//! Two threads that exchange a byte over a pair of sockets, each waiting by `epoll`, as servers do:
//! nearly all of the time is context switches between the threads, if both have one CPU (`taskset
//! -c 1 ping_pong`).

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use profundo_bench::options::Options;

fn main() -> io::Result<()> {
    let about = "Exchanges bytes between two threads that wait by epoll.";
    let options = Options::from_command_line(about, &[("thousands", 200.0)]);
    let rounds = (options.get("thousands") * 1000.0) as u64;
    let (ours, theirs) = UnixStream::pair()?;
    let answers = thread::spawn(move || answer(theirs));
    ask(ours, rounds)?;
    answers.join().map_err(|_| io::ErrorKind::Other)?
}

/// Sends a byte and waits for the next, `rounds` times.
fn ask(mut stream: UnixStream, rounds: u64) -> io::Result<()> {
    let poll = watch(&stream)?;
    for _ in 0..rounds {
        stream.write_all(&[1])?;
        wait(&poll)?;
        stream.read_exact(&mut [0])?;
    }
    Ok(())
}

/// Echoes each byte until the other end is closed.
fn answer(mut stream: UnixStream) -> io::Result<()> {
    let poll = watch(&stream)?;
    let mut byte = [0];
    loop {
        wait(&poll)?;
        if stream.read(&mut byte)? == 0 {
            return Ok(());
        }
        stream.write_all(&byte)?;
    }
}

fn watch(stream: &UnixStream) -> io::Result<OwnedFd> {
    // SAFETY: a call without memory of ours.
    let poll = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: the descriptor was opened above and has no other owner.
    let poll = unsafe { OwnedFd::from_raw_fd(poll) };
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: 0,
    };
    // SAFETY: both descriptors are open, and the event is ours.
    check(unsafe {
        libc::epoll_ctl(
            poll.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            stream.as_raw_fd(),
            &raw mut event,
        )
    })?;
    Ok(poll)
}

fn wait(poll: &OwnedFd) -> io::Result<()> {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    loop {
        // SAFETY: there is room for one event.
        match check(unsafe { libc::epoll_wait(poll.as_raw_fd(), &raw mut event, 1, -1) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(drop),
        }
    }
}

fn check(result: i32) -> io::Result<i32> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
