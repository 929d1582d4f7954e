//! A freed slot returns what was lent to it.

use profundo_probe::Threads;
use profundo_probe::caches::{Cache, Caches};

#[test]
fn sweeping_without_lent_caches_gives_none_back_twice() {
    let caches = Caches::new(crate::zeroed::<Cache>(4));
    let threads = Threads::new(crate::zeroed(16), crate::zeroed(16));
    threads.enter_other(5, [0; 16]).unwrap();
    threads.sweep(&caches, |_| false);
    threads.sweep(&caches, |_| false);
    assert!(threads.find(5).is_none());
}
