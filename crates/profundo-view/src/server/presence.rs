//! Who looks at the page: the number of open streams of events, and of questions that wait for
//! their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a server stays without a page.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Until the first page is opened.
    pub unopened: Duration,
    /// After the last page was closed.
    pub closed: Duration,
}

/// The open pages.
#[derive(Debug, Clone, Default)]
pub(super) struct Presence {
    open: Arc<AtomicUsize>,
    /// Whether somebody has asked for the address, and will open the page.
    is_expected: Arc<AtomicBool>,
}

/// An open page. It is closed when this is dropped.
#[derive(Debug)]
pub(super) struct Here(Arc<AtomicUsize>);

impl Drop for Here {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Presence {
    pub(super) fn enter(&self) -> Here {
        self.open.fetch_add(1, Ordering::Relaxed);
        Here(Arc::clone(&self.open))
    }

    /// Somebody is about to open the page.
    pub(super) fn expect(&self) {
        self.is_expected.store(true, Ordering::Relaxed);
    }

    /// Ends when no page was open for so long.
    pub(super) async fn ended(&self, patience: Patience) {
        let mut last = Instant::now();
        let mut left = patience.unopened;
        while last.elapsed() < left {
            if self.open.load(Ordering::Relaxed) > 0 {
                last = Instant::now();
                left = patience.closed;
            } else if self.is_expected.swap(false, Ordering::Relaxed) {
                last = Instant::now();
            }
            sleep(left.min(Duration::from_millis(200))).await;
        }
    }
}
