//! The two lists of modules, of which handlers read one while the command writes the other.

use std::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::shared::{ForeignModule, Listings};

use crate::zeroed;

fn listings() -> &'static Listings {
    &zeroed::<Listings>(1)[0]
}

/// The command's publication, once no handler is inside the inactive half.
fn publish(listings: &Listings, count: u32, generation: u64) -> bool {
    let half = 1 - listings.active.load(Ordering::SeqCst) as usize;
    if listings.inside[half].load(Ordering::SeqCst) != 0 {
        return false;
    }
    for index in 0..count as usize {
        let module = ForeignModule {
            start: generation * 1000 + index as u64 * 10,
            end: generation * 1000 + index as u64 * 10 + 10,
            base: 0,
            rows: (8, 0),
            index: (8, 0),
        };
        // SAFETY: this half is not read.
        unsafe { *listings.modules[half][index].get() = module };
    }
    listings.count[half].store(count, Ordering::Relaxed);
    listings.generation[half].store(generation, Ordering::Relaxed);
    listings.active.store(half as u32, Ordering::SeqCst);
    true
}

#[test]
fn what_is_published_is_found() {
    let listings = listings();
    assert!(listings.with(|list| list.modules.find(1000).is_none()));
    assert!(publish(listings, 3, 1));
    listings.with(|list| {
        assert_eq!(list.generation, 1);
        assert_eq!(
            list.modules.find(1015).map(|module| module.start),
            Some(1010)
        );
        // The half being read is not the one that is written.
        assert!(publish(listings, 1, 2));
        assert!(!publish(listings, 1, 3));
        assert_eq!(
            list.modules.find(1025).map(|module| module.start),
            Some(1020)
        );
    });
    assert!(publish(listings, 1, 3));
    listings.with(|list| {
        list.modules.find(3005).expect("it is listed now");
    });
    assert_eq!(listings.inside[0].load(Ordering::SeqCst), 0);
    assert_eq!(listings.inside[1].load(Ordering::SeqCst), 0);
}

#[test]
fn a_list_is_never_half_of_one_and_half_of_another() {
    let listings = listings();
    publish(listings, 50, 1);
    let stop = AtomicBool::new(false);
    let stop = &stop;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    listings.with_raw(|modules, generation| {
                        if generation == u64::MAX {
                            return;
                        }
                        for (index, module) in modules.iter().enumerate() {
                            assert_eq!(module.start, generation * 1000 + index as u64 * 10);
                        }
                    });
                }
            });
        }
        let mut generation = 1;
        while generation < 3000 {
            generation += u64::from(publish(listings, 50, generation + 1));
        }
        stop.store(true, Ordering::Relaxed);
    });
}
