//! Who looks at the page: the number of open streams of events, and of questions that wait for
//! their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The open pages.
#[derive(Debug, Clone, Default)]
pub(super) struct Presence {
    open: Arc<AtomicUsize>,
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

    /// Ends when no page was open for so long.
    pub(super) async fn ended(&self, patience: Duration) {
        let mut last = Instant::now();
        while last.elapsed() < patience {
            if self.open.load(Ordering::Relaxed) > 0 {
                last = Instant::now();
            }
            sleep(patience.min(Duration::from_millis(200))).await;
        }
    }
}
