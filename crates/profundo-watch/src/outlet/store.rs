//! A store, by a folder of this machine where segments wait.

use anyhow::Result;
use profundo_model::{Nanos, Profile};
use profundo_store::{Spool, Store, Stretch, Writer};

use super::{Outlet, Sent};
use crate::spool_folder::Spools;

/// The way into a store.
#[derive(Debug)]
pub struct StoreOutlet {
    writer: Writer,
    spools: Spools,
    store: Box<dyn Store>,
    /// The number of the next segment.
    number: u64,
    /// Samples that were in no spool.
    lost: u64,
}

impl StoreOutlet {
    /// The way of a writer's segments into a store.
    pub fn new(store: Box<dyn Store>, spools: Spools, writer: Writer) -> Self {
        Self {
            writer,
            spools,
            store,
            number: 1,
            lost: 0,
        }
    }
}

impl Outlet for StoreOutlet {
    /// The piece is safe once this returns.
    fn take(&mut self, profile: Profile) -> Result<u64> {
        let stretch = Stretch {
            time: Nanos(0)..Nanos(u64::MAX),
            loss: profile.meta.loss,
            number: self.number,
        };
        self.number += 1;
        let segment = self.writer.segment(&profile, &stretch)?;
        drop(profile);
        let definitions = self.spools.own.dropped().definitions;
        let pushed = self.spools.own.push(&segment);
        if pushed.is_err() {
            self.lost += segment.samples;
        }
        // Later segments would refer to what is not there.
        if pushed.is_err() || self.spools.own.dropped().definitions != definitions {
            self.writer.forget();
        }
        pushed?;
        Ok(segment.samples)
    }

    fn send(&mut self) -> Sent {
        let Self { spools, store, .. } = self;
        let mut sent = Sent::default();
        for spool in spools.left.iter_mut().chain([&mut spools.own]) {
            match spool.send(&**store) {
                Ok(done) => {
                    sent.segments += done.segments;
                    sent.because = done.because.map(Into::into);
                }
                Err(error) => sent.because = Some(error.into()),
            }
            if sent.because.is_some() {
                break;
            }
        }
        self.spools.left.retain(|spool| spool.waiting() > 0);
        sent
    }

    fn waiting(&self) -> u64 {
        let left = self.spools.left.iter();
        self.spools.own.waiting() + left.map(Spool::waiting).sum::<u64>()
    }

    fn dropped(&self) -> u64 {
        self.lost + self.spools.own.dropped().samples
    }

    fn is_durable(&self) -> bool {
        true
    }
}
